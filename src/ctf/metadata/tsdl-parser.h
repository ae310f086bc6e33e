/*
 * tsdl-parser: the state and the functions that the files of the TSDL parser share (tsdl.h).
 *
 * Failure leaves by longjmp to tsdl_feed(): the input is untrusted and every step can fail.
 */
#pragma once

#include <setjmp.h>

#include "base/arena.h"
#include "base/err.h"
#include "ctf/metadata/lex.h"
#include "ctf/metadata/type.h"

enum tag_kind { TAG_ALIAS, TAG_STRUCT, TAG_VARIANT, TAG_ENUM };

/* One name of a type; `struct x`, `variant x`, `enum x` and aliases are separate name spaces. */
struct type_symbol {
	struct type_symbol *next;
	enum tag_kind tag;
	const char *name;
	const struct type *type;
};

/* Names declared in one pair of braces.  The root scope can be large, so it has a hash table. */
#define SCOPE_BUCKETS_ROOT 256
struct type_scope {
	struct type_scope *outer;
	unsigned int bucket_count;
	struct type_symbol *symbols[];
};

struct tsdl {
	struct arena *arena;
	struct metadata metadata;
	struct type_scope *root, *scope;
	struct lex lex;
	unsigned int line; /* of the next declaration */
	struct lex_scan scan;
	unsigned int depth;
	char words[128]; /* name of the last type if it was given by name, else "" */
	bool is_broken;
	jmp_buf fail;
	struct err *err;
};

__attribute__((noreturn, format(printf, 2, 3))) void tsdl_fail(struct tsdl *p, const char *fmt,
							       ...);
void tsdl_expect(struct tsdl *p, int punct);
bool tsdl_accept(struct tsdl *p, int punct);
bool tsdl_accept_word(struct tsdl *p, const char *word);
char *tsdl_ident(struct tsdl *p);

/* At the start and the end of braces that may declare types. */
struct type_scope *tsdl_scope_push(struct tsdl *p);
void tsdl_scope_pop(struct tsdl *p);
/* The innermost visible type of that name, or NULL. */
const struct type *tsdl_symbol(const struct tsdl *p, enum tag_kind tag, const char *name);
void tsdl_symbol_add(struct tsdl *p, enum tag_kind tag, const char *name, const struct type *type);

/* `typealias ...;`, `typedef ...;` or a named struct, variant or enum; false if it is another. */
bool tsdl_type_declaration(struct tsdl *p);

/* A type specifier, e.g. `struct { ... } align(8)` or `unsigned long`. */
const struct type *tsdl_type_specifier(struct tsdl *p);

/* The rest of a type whose keyword was taken. */
const struct type *tsdl_integer(struct tsdl *p);
const struct type *tsdl_float(struct tsdl *p);
const struct type *tsdl_string_type(struct tsdl *p);
const struct type *tsdl_enum(struct tsdl *p);

/* @bits as an alignment; fails if it is none. */
uint32_t tsdl_alignment(struct tsdl *p, uint64_t bits);

/* A number or a character, with signs in front. */
bool tsdl_is_constant(const struct tsdl *p);
uint64_t tsdl_constant(struct tsdl *p);

/* The value after `=`: identifiers with dots and arrows, numbers or a string, as text. */
char *tsdl_value_text(struct tsdl *p);
char *tsdl_string(struct tsdl *p);

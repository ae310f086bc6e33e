/*
 * lex: tokens of TSDL text (CTF 1.8.3, appendix C).
 *
 * The scanner owns no memory: tokens point into the text, which the caller keeps.  It looks one
 * token ahead, skips comments and white space, and counts lines.  An error is a token too
 * (TOKEN_BAD), so the parser reports all errors the same way.
 *
 * lex_declaration() is the stage before: it cuts a growing text at the semicolons outside braces,
 * literals and comments, so the parser always sees whole declarations.  It keeps its state between
 * calls and looks at each character once.
 *
 * Invariant: at <= end; the token's text lies within the text.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum token_kind {
	TOKEN_END,
	TOKEN_BAD,    /* not a token: @text is the rest of the line */
	TOKEN_IDENT,  /* identifiers and keywords */
	TOKEN_NUMBER, /* @number */
	TOKEN_STRING, /* @text without the quotes; escapes are still in it */
	TOKEN_CHAR,   /* @number */
	TOKEN_PUNCT,  /* @punct: one character, or one of the three below */
};

#define PUNCT_ASSIGN_TYPE 256 /* := */
#define PUNCT_ELLIPSIS    257 /* ... */
#define PUNCT_ARROW       258 /* -> */

struct token {
	enum token_kind kind;
	const char *text;
	size_t len;
	uint64_t number;
	int punct;
	unsigned int line;
};

struct lex {
	const char *at, *end;
	unsigned int line;
	struct token token; /* the next token, not yet taken */
};

void lex_init(struct lex *lex, const char *text, size_t len, unsigned int line);
void lex_next(struct lex *lex);
bool lex_token_is(const struct token *token, const char *ident);

/* The character of the escape sequence at *@at, behind the backslash; moves *@at behind it. */
char lex_unescape(const char **at, const char *end);

/* How far a declaration has been scanned; all zeros before its first character. */
struct lex_scan {
	size_t at;
	unsigned int depth; /* of braces */
	char inside;        /* a literal's quote, a comment's second character, or 0 */
};

/*
 * The length of the first complete top-level declaration in @text, including its semicolon.
 * 0: it is not complete yet; call again with the same text and more behind it.
 */
size_t lex_declaration(struct lex_scan *scan, const char *text, size_t len);

/* Line ends from @from up to @to. */
unsigned int lex_lines(const char *from, const char *to);

/*
 * tsdl-type: compound types of TSDL (structs, variants, arrays, sequences), declarators and type
 * names.
 *
 * Recursion follows the nesting of braces only, so TYPE_DEPTH_MAX bounds it.
 */
#include "ctf/metadata/tsdl-parser.h"

#include <assert.h>
#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "base/vec.h"

/* ---- declarators: names, arrays, sequences ---- */

/* `stream.event.context.len` and the like */
static const struct type_path *parse_path(struct tsdl *p)
{
	struct type_path *path = arena_alloc(p->arena, sizeof(*path));
	char *text = tsdl_value_text(p);
	const char **names;

	path->count = 1;
	for (const char *at = text; *at; at++) {
		path->count += *at == '.';
	}
	names = arena_alloc(p->arena, path->count * sizeof(*names));
	for (size_t i = 0; i < path->count; i++) {
		names[i] = strsep(&text, ".");
		assert(names[i]); /* there is one name more than dots */
	}
	path->names = names;
	return path;
}

static struct type *bracket(struct tsdl *p, const struct type *element)
{
	struct type *type = arena_alloc(p->arena, sizeof(*type));

	if (element->kind == TYPE_VARIANT && !element->tag) {
		tsdl_fail(p, "an array of variants without a <tag>");
	}
	type->element = element;
	type->align_bits = element->align_bits;
	if (tsdl_is_constant(p)) {
		type->kind = TYPE_ARRAY;
		type->length = tsdl_constant(p);
		if (type->length > INT64_MAX) {
			tsdl_fail(p, "an array of a negative length");
		}
	} else {
		type->kind = TYPE_SEQUENCE;
		type->length_path = parse_path(p);
	}
	return type;
}

/*
 * `[a][b]...` after a name.  As in C, the last bracket binds first: x[2][3] is two arrays of
 * three.  The brackets are read in order, then applied from the right.
 */
static const struct type *parse_brackets(struct tsdl *p, const struct type *element)
{
	struct type *brackets[TYPE_DEPTH_MAX];
	unsigned int count = 0;

	while (tsdl_accept(p, '[')) {
		if (count == TYPE_DEPTH_MAX) {
			tsdl_fail(p, "more than %d dimensions", TYPE_DEPTH_MAX);
		}
		brackets[count++] = bracket(p, element);
		tsdl_expect(p, ']');
	}
	while (count > 0) {
		count--;
		brackets[count]->element = element;
		element = brackets[count];
		if (CHECKS_ON) {
			type_check(element);
		}
	}
	return element;
}

/*
 * `*` and `const` before a name.  "T *" is a type of its own if it was declared.  Otherwise the
 * pointer stands for the type it points to, as metadata made from C headers has both.
 */
static const struct type *skip_stars(struct tsdl *p, const struct type *type)
{
	char words[sizeof(p->words)];
	size_t len = strlen(p->words);

	memcpy(words, p->words, len + 1);
	for (;;) {
		const struct type *pointer;

		if (tsdl_accept_word(p, "const")) {
			continue;
		}
		if (!tsdl_accept(p, '*')) {
			return type;
		}
		if (len == 0 || len + 3 > sizeof(words)) {
			continue;
		}
		memcpy(words + len, " *", 3);
		len += 2;
		pointer = tsdl_symbol(p, TAG_ALIAS, words);
		type = pointer ? pointer : type;
	}
}

/* ---- structs and variants ---- */

static bool alias_declaration(struct tsdl *p);

struct field_list {
	struct field_list *next;
	struct type_field field;
};

struct tsdl_fields {
	struct field_list *list, **tail;
	size_t count;
	uint32_t align_bits;
};

static void add_field(struct tsdl *p, struct tsdl_fields *fields, const struct type *type)
{
	struct field_list *item = arena_alloc(p->arena, sizeof(*item));

	type = skip_stars(p, type);
	item->field.name = tsdl_ident(p);
	item->field.type = parse_brackets(p, type);
	if (item->field.type->kind == TYPE_VARIANT && !item->field.type->tag) {
		tsdl_fail(p, "the variant \"%s\" has no <tag>", item->field.name);
	}
	if (item->field.type->align_bits > fields->align_bits) {
		fields->align_bits = item->field.type->align_bits;
	}
	*fields->tail = item;
	fields->tail = &item->next;
	fields->count++;
}

static void parse_fields(struct tsdl *p, struct type *type)
{
	struct tsdl_fields fields = { .align_bits = 1 };
	struct type_field *array;

	fields.tail = &fields.list;
	(void)tsdl_scope_push(p);
	while (!tsdl_accept(p, '}')) {
		const struct type *specified;

		if (alias_declaration(p)) {
			continue;
		}
		specified = tsdl_type_specifier(p);
		if (tsdl_accept(p, ';')) {
			continue; /* only declares a name */
		}
		do {
			add_field(p, &fields, specified);
		} while (tsdl_accept(p, ','));
		tsdl_expect(p, ';');
	}
	tsdl_scope_pop(p);
	array = arena_alloc(p->arena, fields.count * sizeof(*array));
	type->fields = array;
	type->field_count = fields.count;
	type->align_bits = fields.align_bits;
	for (; fields.list; fields.list = fields.list->next) {
		*array++ = fields.list->field;
	}
	assert(array == type->fields + type->field_count);
	metadata_note_twice(p->metadata.notes, type);
}

static const struct type *parse_struct(struct tsdl *p)
{
	const char *name = p->lex.token.kind == TOKEN_IDENT && !lex_token_is(&p->lex.token, "align")
				   ? tsdl_ident(p)
				   : NULL;
	struct type *type;

	if (!tsdl_accept(p, '{')) {
		const struct type *known = name ? tsdl_symbol(p, TAG_STRUCT, name) : NULL;

		if (!known) {
			tsdl_fail(p, "unknown type \"struct %s\"", name ? name : "");
		}
		return known;
	}
	type = arena_alloc(p->arena, sizeof(*type));
	type->kind = TYPE_STRUCT;
	parse_fields(p, type);
	if (tsdl_accept_word(p, "align")) {
		uint32_t align_bits;

		tsdl_expect(p, '(');
		align_bits = tsdl_alignment(p, tsdl_constant(p));
		tsdl_expect(p, ')');
		if (align_bits > type->align_bits) {
			type->align_bits = align_bits;
		}
	}
	if (name) {
		tsdl_symbol_add(p, TAG_STRUCT, name, type);
	}
	return type;
}

static const struct type_path *parse_tag(struct tsdl *p)
{
	const struct type_path *tag = NULL;

	if (tsdl_accept(p, '<')) {
		tag = parse_path(p);
		tsdl_expect(p, '>');
	}
	return tag;
}

static const struct type *with_tag(struct tsdl *p, const struct type *variant,
				   const struct type_path *tag)
{
	struct type *tagged;

	if (!tag) {
		return variant;
	}
	tagged = arena_copy(p->arena, variant, sizeof(*variant));
	tagged->tag = tag;
	return tagged;
}

static const struct type *parse_variant(struct tsdl *p)
{
	const char *name = p->lex.token.kind == TOKEN_IDENT ? tsdl_ident(p) : NULL;
	const struct type_path *tag = parse_tag(p);
	struct type *type;

	if (!tsdl_accept(p, '{')) {
		const struct type *known = name ? tsdl_symbol(p, TAG_VARIANT, name) : NULL;

		if (!known) {
			tsdl_fail(p, "unknown type \"variant %s\"", name ? name : "");
		}
		return with_tag(p, known, tag);
	}
	type = arena_alloc(p->arena, sizeof(*type));
	type->kind = TYPE_VARIANT;
	parse_fields(p, type);
	type->align_bits = 1; /* each option aligns itself */
	if (name) {
		tsdl_symbol_add(p, TAG_VARIANT, name, type);
	}
	return with_tag(p, type, tag);
}

/* ---- specifiers and aliases ---- */

/* The words of a type name, joined by blanks: "unsigned long". */
static const char *type_words(struct tsdl *p)
{
	char words[128];
	size_t len = 0;

	while (p->lex.token.kind == TOKEN_IDENT) {
		const struct token *token = &p->lex.token;

		if (len + token->len + 2 > sizeof(words)) {
			tsdl_fail(p, "a type name longer than %zu bytes", sizeof(words) - 2);
		}
		if (len > 0) {
			words[len++] = ' ';
		}
		memcpy(words + len, token->text, token->len);
		len += token->len;
		lex_next(&p->lex);
	}
	while (tsdl_accept(p, '*') && len + 3 <= sizeof(words)) {
		memcpy(words + len, " *", 2);
		len += 2;
	}
	assert(len <= sizeof(words));
	return arena_strndup(p->arena, words, len);
}

/*
 * A type given by name.  A field name may follow ("unsigned long x;"), so the longest run of words
 * that names a type wins.
 */
static const struct type *named_type(struct tsdl *p)
{
	char words[sizeof(p->words)] = "";
	const struct type *found = NULL;
	struct lex past = p->lex;
	size_t len = 0;

	while (p->lex.token.kind == TOKEN_IDENT) {
		const struct token *token = &p->lex.token;
		const struct type *type;

		if (len + token->len + 2 > sizeof(words)) {
			break;
		}
		if (len > 0) {
			words[len++] = ' ';
		}
		memcpy(words + len, token->text, token->len);
		len += token->len;
		words[len] = '\0';
		lex_next(&p->lex);
		type = tsdl_symbol(p, TAG_ALIAS, words);
		if (!type && len + 3 <= sizeof(words)) {
			/* Perhaps only "char *" is declared, not "char": see skip_stars(). */
			memcpy(words + len, " *", 3);
			type = tsdl_symbol(p, TAG_ALIAS, words);
			words[len] = '\0';
		}
		if (type) {
			found = type;
			past = p->lex;
			memcpy(p->words, words, len + 1);
		}
	}
	if (!found) {
		p->lex = past;
		tsdl_fail(p, "unknown type \"%.*s\"", (int)past.token.len, past.token.text);
	}
	p->lex = past;
	return found;
}

/* A type that begins with a keyword; NULL if there is none. */
static const struct type *keyword_type(struct tsdl *p)
{
	static const struct {
		const char *word;
		const struct type *(*parse)(struct tsdl *p);
	} keywords[] = {
		{ "integer", tsdl_integer },    { "floating_point", tsdl_float },
		{ "string", tsdl_string_type }, { "enum", tsdl_enum },
		{ "struct", parse_struct },     { "variant", parse_variant },
	};

	for (size_t i = 0; i < ARRAY_COUNT(keywords); i++) {
		if (tsdl_accept_word(p, keywords[i].word)) {
			return keywords[i].parse(p);
		}
	}
	return NULL;
}

const struct type *tsdl_type_specifier(struct tsdl *p)
{
	const struct type *type;

	while (tsdl_accept_word(p, "const")) {
	}
	if (p->lex.token.kind != TOKEN_IDENT) {
		tsdl_fail(p, "expected a type");
	}
	type = keyword_type(p);
	if (!type) {
		return named_type(p);
	}
	if (CHECKS_ON) {
		type_check(type);
	}
	p->words[0] = '\0';
	return type;
}

static void parse_typealias(struct tsdl *p)
{
	const struct type *type = tsdl_type_specifier(p);

	type = parse_brackets(p, skip_stars(p, type));
	tsdl_expect(p, PUNCT_ASSIGN_TYPE);
	tsdl_symbol_add(p, TAG_ALIAS, type_words(p), type);
	tsdl_expect(p, ';');
}

static void parse_typedef(struct tsdl *p)
{
	const struct type *type = tsdl_type_specifier(p);

	do {
		const struct type *pointer = skip_stars(p, type);
		const char *name = tsdl_ident(p);

		tsdl_symbol_add(p, TAG_ALIAS, name, parse_brackets(p, pointer));
	} while (tsdl_accept(p, ','));
	tsdl_expect(p, ';');
}

static bool alias_declaration(struct tsdl *p)
{
	if (tsdl_accept_word(p, "typealias")) {
		parse_typealias(p);
		return true;
	}
	if (tsdl_accept_word(p, "typedef")) {
		parse_typedef(p);
		return true;
	}
	return false;
}

bool tsdl_type_declaration(struct tsdl *p)
{
	const struct token *token = &p->lex.token;

	if (lex_token_is(token, "struct") || lex_token_is(token, "variant") ||
	    lex_token_is(token, "enum")) {
		(void)tsdl_type_specifier(p);
		if (p->scope != p->root || p->lex.token.kind != TOKEN_IDENT) {
			tsdl_expect(p, ';');
		} /* else a block follows: hand-written metadata ends no struct of its own */
		return true;
	}
	return alias_declaration(p);
}

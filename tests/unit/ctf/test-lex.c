/*
 * lex: tokens, their lines, and where declarations end.
 */
#include <string.h>

#include "ctf/metadata/lex.h"
#include "suites.h"

static const struct {
	const char *text;
	enum token_kind kind;
	const char *token; /* its text */
	uint64_t number;
	int punct;
	unsigned int line;
} tokens[] = {
	{ "", TOKEN_END, "", 0, 0, 1 },
	{ " \n\t", TOKEN_END, "", 0, 0, 2 },
	{ "/* a\nb */ x", TOKEN_IDENT, "x", 0, 0, 2 },
	{ "// a\n_x9 y", TOKEN_IDENT, "_x9", 0, 0, 2 },
	{ "/* open", TOKEN_BAD, "/* open", 0, 0, 1 },
	{ "0x1F;", TOKEN_NUMBER, "0x1F", 31, 0, 1 },
	{ "017", TOKEN_NUMBER, "017", 15, 0, 1 },
	{ "42ULL ", TOKEN_NUMBER, "42ULL", 42, 0, 1 },
	{ "18446744073709551615", TOKEN_NUMBER, "18446744073709551615", UINT64_MAX, 0, 1 },
	{ "18446744073709551616\nx", TOKEN_BAD, "18446744073709551616", 0, 0, 1 },
	{ "12ab c", TOKEN_BAD, "12ab c", 0, 0, 1 },
	{ "\"a\\\"b\" c", TOKEN_STRING, "a\\\"b", 0, 0, 1 },
	{ "\"open", TOKEN_BAD, "\"open", 0, 0, 1 },
	{ "'a'", TOKEN_CHAR, "a", 'a', 0, 1 },
	{ ":= x", TOKEN_PUNCT, ":=", 0, PUNCT_ASSIGN_TYPE, 1 },
	{ "...", TOKEN_PUNCT, "...", 0, PUNCT_ELLIPSIS, 1 },
	{ "->x", TOKEN_PUNCT, "->", 0, PUNCT_ARROW, 1 },
	{ ".x", TOKEN_PUNCT, ".", 0, '.', 1 },
	{ "` x\ny", TOKEN_BAD, "` x", 0, 0, 1 },
};

START_TEST(takes_tokens)
{
	const char *text = tokens[_i].text;
	struct lex lex;

	lex_init(&lex, text, strlen(text), 1);
	ck_assert_int_eq(lex.token.kind, tokens[_i].kind);
	ck_assert_uint_eq(lex.token.len, strlen(tokens[_i].token));
	ck_assert_int_eq(memcmp(lex.token.text, tokens[_i].token, lex.token.len), 0);
	ck_assert_uint_eq(lex.token.line, tokens[_i].line);
	ck_assert_int_eq(lex.token.punct, tokens[_i].punct);
	if (tokens[_i].kind != TOKEN_BAD) {
		ck_assert_uint_eq(lex.token.number, tokens[_i].number);
	}
}
END_TEST

/* The length of the first declaration; 0: not complete. */
static const struct {
	const char *text;
	size_t len;
} declarations[] = {
	{ "", 0 },         { "a", 0 },         { "a;b", 2 },          { "a { b; }; c", 9 },
	{ "a { b; }", 0 }, { "}; x", 2 },      { "\";\" ;", 5 },      { "\"\\\";\";", 6 },
	{ "';';", 4 },     { "/* ; */;", 8 },  { "/* * ; **/;", 11 }, { "// ;\n;", 6 },
	{ "a / b;", 6 },   { "/* open ;", 0 },
};

/* In pieces of one byte, of two ..., and at once. */
START_TEST(finds_declarations)
{
	const char *text = declarations[_i].text;
	size_t len = strlen(text);

	for (size_t step = 1; step <= len + 1; step++) {
		struct lex_scan scan = { 0 };
		size_t found = 0;

		for (size_t there = step; found == 0; there += step) {
			found = lex_declaration(&scan, text, there < len ? there : len);
			if (there >= len) {
				break;
			}
		}
		ck_assert_uint_eq(found, declarations[_i].len);
	}
}
END_TEST

START_TEST(counts_lines)
{
	static const char text[] = "a\n\nb\n";

	ck_assert_uint_eq(lex_lines(text, text), 0);
	ck_assert_uint_eq(lex_lines(text, text + strlen(text)), 3);
	ck_assert_uint_eq(lex_lines(text + 2, text + 4), 1);
}
END_TEST

Suite *suite_lex(void)
{
	Suite *suite = suite_create("lex");
	TCase *tcase = tcase_create("lex");

	tcase_add_loop_test(tcase, takes_tokens, 0, (int)(sizeof(tokens) / sizeof(tokens[0])));
	tcase_add_loop_test(tcase, finds_declarations, 0,
			    (int)(sizeof(declarations) / sizeof(declarations[0])));
	tcase_add_test(tcase, counts_lines);
	suite_add_tcase(suite, tcase);
	return suite;
}

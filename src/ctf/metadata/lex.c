/*
 * lex: a hand-written scanner; the language has few tokens and no context.
 */
#include "ctf/metadata/lex.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"

/* The end of the comment at @at; NULL if @at is no comment or the comment does not end. */
static const char *comment_end(const char *at, const char *end)
{
	if (end - at >= 2 && at[0] == '/' && at[1] == '*') {
		const char *close = memmem(at + 2, (size_t)(end - at - 2), "*/", 2);

		return close ? close + 2 : NULL;
	}
	if (end - at >= 2 && at[0] == '/' && at[1] == '/') {
		const char *newline = memchr(at, '\n', (size_t)(end - at));

		return newline ? newline : end;
	}
	return NULL;
}

unsigned int lex_lines(const char *from, const char *to)
{
	unsigned int lines = 0;

	assert(from <= to);
	for (; from < to; from++) {
		lines += *from == '\n';
	}
	return lines;
}

static void skip_blank(struct lex *lex)
{
	while (lex->at < lex->end) {
		const char *past;

		if (isspace((unsigned char)*lex->at) || *lex->at == '\0') {
			lex->line += *lex->at == '\n';
			lex->at++;
			continue;
		}
		past = comment_end(lex->at, lex->end);
		if (!past) {
			return;
		}
		lex->line += lex_lines(lex->at, past);
		lex->at = past;
	}
}

/* The closing quote of the literal that opens at @at; NULL if it does not close. */
static const char *quote_end(const char *at, const char *end)
{
	char quote = *at;

	for (at++; at < end; at++) {
		if (*at == '\\') {
			at++;
		} else if (*at == quote) {
			return at;
		}
	}
	return NULL;
}

static void take_bad(struct lex *lex)
{
	const char *newline = memchr(lex->at, '\n', (size_t)(lex->end - lex->at));

	lex->token.kind = TOKEN_BAD;
	lex->token.text = lex->at;
	lex->token.len = (size_t)((newline ? newline : lex->end) - lex->at);
}

char lex_unescape(const char **at, const char *end)
{
	static const char from[] = "abfnrtv", to[] = "\a\b\f\n\r\t\v";
	bool is_hex = **at == 'x' && end - *at > 1 && isxdigit((unsigned char)(*at)[1]);
	int base = is_hex ? 16 : 8, digits = 0;
	char number[4] = "";
	const char *found;

	assert(*at < end);
	*at += is_hex;
	while (*at < end && digits < (is_hex ? 2 : 3) &&
	       (is_hex ? isxdigit((unsigned char)**at) : **at >= '0' && **at <= '7')) {
		number[digits++] = *(*at)++;
	}
	if (digits > 0) {
		return (char)strtoul(number, NULL, base);
	}
	found = strchr(from, **at);
	return found && **at ? (*at)++, to[found - from] : *(*at)++;
}

/* The value of the character constant between @at and @close, the last character if it has more. */
static uint64_t character(const char *at, const char *close)
{
	unsigned char c = 0;

	while (at < close) {
		c = (unsigned char)*at++;
		if (c == '\\' && at < close) {
			c = (unsigned char)lex_unescape(&at, close);
		}
	}
	return c;
}

static void take_quoted(struct lex *lex)
{
	const char *close = quote_end(lex->at, lex->end);
	struct token *token = &lex->token;

	if (!close) {
		take_bad(lex);
		return;
	}
	token->text = lex->at + 1;
	token->len = (size_t)(close - lex->at - 1);
	token->kind = *lex->at == '"' ? TOKEN_STRING : TOKEN_CHAR;
	if (token->kind == TOKEN_CHAR) {
		token->number = character(token->text, close);
	}
	lex->line += lex_lines(lex->at, close);
	lex->at = close + 1;
}

static void take_number(struct lex *lex)
{
	struct token *token = &lex->token;
	char digits[72]; /* more than any number of 64 bits has */
	size_t len = 0;
	char *past;

	while (lex->at + len < lex->end && isalnum((unsigned char)lex->at[len])) {
		len++;
	}
	if (len >= sizeof(digits)) {
		take_bad(lex);
		return;
	}
	memcpy(digits, lex->at, len);
	digits[len] = '\0';
	errno = 0;
	token->number = strtoull(digits, &past, 0);
	while (*past && strchr("uUlL", *past)) {
		past++;
	}
	if (*past || errno) {
		take_bad(lex);
		return;
	}
	token->kind = TOKEN_NUMBER;
	token->text = lex->at;
	token->len = len;
	lex->at += len;
}

static bool is_ident(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static void take_ident(struct lex *lex)
{
	struct token *token = &lex->token;

	token->kind = TOKEN_IDENT;
	token->text = lex->at;
	while (lex->at < lex->end && is_ident(*lex->at)) {
		lex->at++;
	}
	token->len = (size_t)(lex->at - token->text);
}

static bool starts(const struct lex *lex, const char *what)
{
	size_t len = strlen(what);

	return (size_t)(lex->end - lex->at) >= len && memcmp(lex->at, what, len) == 0;
}

static void take_punct(struct lex *lex)
{
	struct token *token = &lex->token;
	size_t len = 1;

	token->kind = TOKEN_PUNCT;
	token->punct = (unsigned char)*lex->at;
	if (starts(lex, ":=")) {
		token->punct = PUNCT_ASSIGN_TYPE;
		len = 2;
	} else if (starts(lex, "...")) {
		token->punct = PUNCT_ELLIPSIS;
		len = 3;
	} else if (starts(lex, "->")) {
		token->punct = PUNCT_ARROW;
		len = 2;
	}
	token->text = lex->at;
	token->len = len;
	lex->at += len;
	assert_hot(lex->at <= lex->end);
}

void lex_next(struct lex *lex)
{
	char c;

	assert_hot(lex->at <= lex->end);
	skip_blank(lex);
	memset(&lex->token, 0, sizeof(lex->token));
	lex->token.line = lex->line;
	lex->token.text = lex->at;
	if (lex->at == lex->end) {
		lex->token.kind = TOKEN_END;
		return;
	}
	c = *lex->at;
	if (c == '"' || c == '\'') {
		take_quoted(lex);
	} else if (isdigit((unsigned char)c)) {
		take_number(lex);
	} else if (is_ident(c)) {
		take_ident(lex);
	} else if (strchr("{}[]()<>;:,.=+-*", c)) {
		take_punct(lex);
	} else {
		take_bad(lex);
	}
}

void lex_init(struct lex *lex, const char *text, size_t len, unsigned int line)
{
	assert(line > 0);
	lex->at = text;
	lex->end = text + len;
	lex->line = line;
	lex_next(lex);
}

bool lex_token_is(const struct token *token, const char *ident)
{
	return token->kind == TOKEN_IDENT && token->len == strlen(ident) &&
	       memcmp(token->text, ident, token->len) == 0;
}

/* One step inside a comment or a literal; false if more text is needed. */
static bool scan_inside(struct lex_scan *scan, const char *text, size_t len)
{
	char c = text[scan->at];

	assert_hot(scan->inside);
	if (scan->inside == '/') {
		scan->inside = c == '\n' ? '\0' : '/';
	} else if (c == '\\' && scan->inside != '*') {
		if (scan->at + 1 == len) {
			return false;
		}
		scan->at++;
	} else if (c == scan->inside && c != '*') {
		scan->inside = '\0';
	} else if (c == '*' && scan->inside == '*') {
		if (scan->at + 1 == len) {
			return false;
		}
		if (text[scan->at + 1] == '/') {
			scan->at++;
			scan->inside = '\0';
		}
	}
	scan->at++;
	return true;
}

size_t lex_declaration(struct lex_scan *scan, const char *text, size_t len)
{
	assert(scan->at <= len); /* the caller keeps the text that was scanned */
	while (scan->at < len) {
		char c = text[scan->at];

		if (scan->inside) {
			if (!scan_inside(scan, text, len)) {
				return 0;
			}
			continue;
		}
		if (c == '/') {
			if (scan->at + 1 == len) {
				return 0;
			}
			if (text[scan->at + 1] == '*' || text[scan->at + 1] == '/') {
				scan->inside = text[++scan->at];
			}
		} else if (c == '"' || c == '\'') {
			scan->inside = c;
		} else if (c == '{') {
			scan->depth++;
		} else if (c == '}' && scan->depth > 0) {
			scan->depth--;
		} else if (c == ';' && scan->depth == 0) {
			size_t used = scan->at + 1;

			memset(scan, 0, sizeof(*scan));
			return used;
		}
		scan->at++;
	}
	return 0;
}

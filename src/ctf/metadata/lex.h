/*
 * lex: tokens of TSDL text (CTF 1.8.3, appendix C).
 *
 * Tokens point into the text.  There is one token of look-ahead; comments and
 * white space are skipped and lines counted.  Errors are tokens too, so that the
 * parser reports all of them the same way.
 */
#ifndef SILLAGE_CTF_METADATA_LEX_H
#define SILLAGE_CTF_METADATA_LEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum token_kind {
	TOKEN_END,
	TOKEN_BAD,    /* not a token: @text is the place, up to the end of its line */
	TOKEN_IDENT,  /* identifiers and keywords */
	TOKEN_NUMBER, /* @number */
	TOKEN_STRING, /* @text without the quotes, escapes not yet replaced */
	TOKEN_CHAR,   /* @number */
	TOKEN_PUNCT,  /* @punct: one character, or one of the two below */
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

/* How far a declaration has been looked through; zeros before its first character. */
struct lex_scan {
	size_t at;
	unsigned int depth; /* of braces */
	char inside;        /* a literal (its quote) or comment (its second character), or 0 */
};

/*
 * The length of the first complete top-level declaration in @text, through its
 * semicolon, or 0 if there is none yet: then call again with more text behind the same.
 * Each character is looked at once, in however many pieces the text comes.
 */
size_t lex_declaration(struct lex_scan *scan, const char *text, size_t len);

unsigned int lex_lines(const char *from, const char *to);

#endif

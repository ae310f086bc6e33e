/*
 * expression-parser: for expression.c, words and fields, at which it is.
 */
#pragma once

#include "query/expression.h"

struct form;

struct parser {
	struct scan scan;
	enum expression_form option;
	const struct form *form;
	struct expression *is;
};

/* Raises the error of what is expected next; returns -EINVAL. */
int expression_lacks(const struct parser *p, const char *what);

/* A word, or a text in quotes that is not empty. */
int expression_word(struct parser *p, const char *what, char *word, size_t size);

/* Events of which one splits a part off. */
struct among {
	const struct definition *at;
	size_t count;
};

/* FIELD, $ctx.FIELD, $app.PROVIDER:NAME, any of them with [NUMBER]; or what is made of others. */
int expression_field(struct parser *p, const char *what, struct among among,
		     char field[PATTERN_WORD_BYTES]);

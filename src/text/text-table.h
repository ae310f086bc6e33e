/*
 * text-table: rows of cells as text, for terminals and files; the one printer of all such tables.
 *
 *     WHO RAN                         RUN IN CALLS     text_head()
 *       burst-1 (18723)            806 ms   788 us     text_cell(), text_ns(), text_ns(),
 * text_end()
 *       ... and 123 more                               text_more()
 *
 * A table is a list of columns and the place of the next cell.  It allocates nothing.  Texts may
 * come from traces and hold any bytes: what could be a command to a terminal is replaced
 * (base/text/utf8.h), here and nowhere else in these tables.  Widths are columns of the screen.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define TEXT_COLUMNS_MAX 24
#define TEXT_TITLE_MAX   96

struct text_column {
	char title[TEXT_TITLE_MAX];
	int width;    /* 0: of the last column, whatever the cell needs */
	int gap;      /* blanks before the cell */
	bool is_left; /* cells are cut to the width, of others all is shown; no blanks end a line */
};

struct text_table {
	FILE *out;
	size_t count; /* columns */
	size_t next;  /* column of the next cell */
	bool hangs;   /* the first title begins at the left, above its cells' gap */
	/* The columns are those of text_table_of(), unless others are given. */
	const struct text_column *columns;
	struct text_column own[TEXT_COLUMNS_MAX];
	const char *bold, *plain; /* around the titles; NULL: nothing */
};

/*
 * A table that hangs, with the columns that @format names, of which each is printf's:
 *
 *     "  WHO RAN<24| RUN>8|  SINCE<"    two blanks, 24 letters from the left; one blank, 8 letters
 *                                       from the right; two blanks, whatever the cell needs
 */
struct text_table text_table_of(FILE *out, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* At most @width columns of the text, and blanks up to there; -1: all of it. */
void text_put(FILE *out, const char *text, int width);

/* Cuts a text that is wider; it ends with two dots then.  Of "NAME (NUMBER)" the number stays. */
void text_cut(char *text, int width);

/* The head and the words, in lines of at most so many columns; the further ones are indented. */
void text_wrapped(FILE *out, const char *head, const char *words, size_t width);

/* "  TITLE TEXT" in a line of which so many columns are used, or in the next one if there is no
 * room; returns how many are used then. */
size_t text_item(FILE *out, size_t used, size_t width, const char *title, const char *text);

/* All of the text, and the end of the line. */
void text_line(FILE *out, const char *text);

/* The line of titles. */
void text_head(struct text_table *table);

/*
 * Cells, from left to right.  A row has at most as many as there are columns, and may have fewer.
 */
void text_cell(struct text_table *table, const char *text);
void text_cell_format(struct text_table *table, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* "806 ms"; 0 is "-": such tables are mostly empty. */
void text_ns(struct text_table *table, uint64_t ns);
/* "1,234". */
void text_count(struct text_table *table, uint64_t count);
/* "41.6 %" of 0.416, with so many decimals. */
void text_share(struct text_table *table, double share, int decimals);

/* The end of a row. */
void text_end(struct text_table *table);
/* "... and 5 more", if fewer than @count are shown. */
void text_more(FILE *out, size_t count, size_t shown);

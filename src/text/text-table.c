/*
 * text-table: see text-table.h.
 */
#include "text/text-table.h"

#include <assert.h>
#include <stdarg.h>
#include <string.h>

#include "base/text/utf8.h"
#include "base/units.h"

#define CELL_TEXT_MAX    512
#define COLUMNS_TEXT_MAX 512

void text_put(FILE *out, const char *text, int width)
{
	size_t end = width < 0 ? strlen(text) : utf8_fit(text, width, SIZE_MAX);
	int used = 0;

	for (const char *at = text; at < text + end;) {
		used += utf8_letter_at(at).columns;
		at += utf8_put(out, at);
	}
	(void)fprintf(out, "%*s", width > used ? width - used : 0, "");
}

/* The " (NUMBER)" at the end of a text, or its end. */
static const char *number_of(const char *text)
{
	const char *end = text + strlen(text), *at = end;

	if (at == text || *--at != ')') {
		return end;
	}
	while (at > text && at[-1] >= '0' && at[-1] <= '9') {
		at--;
	}
	return at - 2 > text && at[-1] == '(' && at[-2] == ' ' && *at != ')' ? at - 2 : end;
}

void text_cut(char *text, int width)
{
	const char *number = number_of(text);
	int room = width - 2 - (int)strlen(number);
	size_t at;

	assert(width > 2);
	if (utf8_columns(text) <= width) {
		return;
	}
	if (room < 1) {
		number = text + strlen(text);
		room = width - 2;
	}
	at = utf8_fit(text, room, SIZE_MAX);
	memmove(text + at + 2, number, strlen(number) + 1);
	memcpy(text + at, "..", 2);
}

void text_wrapped(FILE *out, const char *head, const char *words, size_t width)
{
	size_t used = strlen(head);

	(void)fputs(head, out);
	for (bool is_first = used == 0; words[0] != '\0'; is_first = false) {
		size_t len = strcspn(words, " "), more = strspn(words, "0123456789.,");

		if (more > 0 && words[more] == ' ') { /* a number, with its unit */
			len = more + 1 + strcspn(words + more + 1, " ");
		}

		used += len + !is_first;
		if (used > width && !is_first) {
			(void)fputs("\n  ", out);
			used = 2 + len;
		} else if (!is_first) {
			(void)fputc(' ', out);
		}
		(void)fprintf(out, "%.*s", (int)len, words);
		words += len + (words[len] == ' ');
	}
	(void)fputc('\n', out);
}

size_t text_item(FILE *out, size_t used, size_t width, const char *title, const char *text)
{
	size_t more = 2 + strlen(title) + 1 + strlen(text);

	if (used + more > width && used > 0) {
		(void)fputc('\n', out);
		used = 0;
	}
	(void)fprintf(out, "  %s %s", title, text);
	return used + more;
}

void text_line(FILE *out, const char *text)
{
	text_put(out, text, -1);
	(void)fputc('\n', out);
}

/* One column of text_table_of().  Returns what is behind it. */
static const char *parse_column(const char *at, struct text_column *ret)
{
	size_t len;

	*ret = (struct text_column){ .gap = (int)strspn(at, " ") };
	at += ret->gap;
	len = strcspn(at, "<>");
	assert(len < TEXT_TITLE_MAX && at[len]);
	(void)memcpy(ret->title, at, len);
	ret->is_left = at[len] == '<';
	for (at += len + 1; *at >= '0' && *at <= '9'; at++) {
		ret->width = 10 * ret->width + (*at - '0');
	}
	assert(*at == '|' || !*at);
	return *at ? at + 1 : at;
}

struct text_table text_table_of(FILE *out, const char *format, ...)
{
	struct text_table table = { .out = out, .hangs = true };
	char text[COLUMNS_TEXT_MAX];
	const char *at = text;
	va_list values;
	int len;

	va_start(values, format);
	len = vsnprintf(text, sizeof(text), format, values);
	va_end(values);
	assert(len > 0 && len < (int)sizeof(text));
	while (*at) {
		assert(table.count < TEXT_COLUMNS_MAX);
		at = parse_column(at, &table.own[table.count++]);
	}
	return table;
}

static const struct text_column *column_of(const struct text_table *table, size_t index)
{
	assert(index < table->count);
	return table->columns ? &table->columns[index] : &table->own[index];
}

void text_head(struct text_table *table)
{
	assert(table->count > 0 && table->next == 0);
	(void)fputs(table->bold ? table->bold : "", table->out);
	for (size_t i = 0; i < table->count; i++) {
		const struct text_column *column = column_of(table, i);
		int hang = i == 0 && table->hangs ? column->gap : 0;
		int width = column->width + hang;
		bool is_last = i == table->count - 1 && column->is_left;

		(void)fprintf(table->out, "%*s%*s", column->gap - hang, "",
			      is_last           ? 0
			      : column->is_left ? -width
						: width,
			      column->title);
	}
	(void)fprintf(table->out, "%s\n", table->plain ? table->plain : "");
}

void text_cell(struct text_table *table, const char *text)
{
	const struct text_column *column = column_of(table, table->next++);
	int len = utf8_columns(text);

	(void)fprintf(table->out, "%*s", column->gap, "");
	if (column->is_left) {
		bool is_whole =
			table->next == table->count && (column->width == 0 || len < column->width);
		char cut[CELL_TEXT_MAX];

		if (!is_whole && len > column->width && *number_of(text)) {
			(void)snprintf(cut, sizeof(cut), "%s", text);
			text_cut(cut, column->width);
			text = cut;
		}
		text_put(table->out, text, is_whole ? -1 : column->width);
	} else {
		(void)fprintf(table->out, "%*s", column->width > len ? column->width - len : 0, "");
		text_put(table->out, text, -1);
	}
}

void text_cell_format(struct text_table *table, const char *format, ...)
{
	char text[CELL_TEXT_MAX];
	va_list values;

	va_start(values, format);
	(void)vsnprintf(text, sizeof(text), format, values);
	va_end(values);
	text_cell(table, text);
}

void text_ns(struct text_table *table, uint64_t ns)
{
	char text[UNITS_TEXT_MAX];

	text_cell(table, ns == 0 ? "-" : units_ns(text, ns));
}

void text_count(struct text_table *table, uint64_t count)
{
	char text[UNITS_TEXT_MAX];

	text_cell(table, units_count(text, count));
}

void text_share(struct text_table *table, double share, int decimals)
{
	text_cell_format(table, "%.*f %%", decimals, 100 * share);
}

void text_end(struct text_table *table)
{
	table->next = 0;
	(void)fputc('\n', table->out);
}

void text_more(FILE *out, size_t count, size_t shown)
{
	assert(shown <= count);
	if (count > shown) {
		(void)fprintf(out, "  ... and %zu more\n", count - shown);
	}
}

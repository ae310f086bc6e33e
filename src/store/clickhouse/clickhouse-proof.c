/*
 * clickhouse-proof: see clickhouse-proof.h.
 */
#include "store/clickhouse/clickhouse-proof.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct proof_row {
	const char *text; /* NULL: there is none */
	uint64_t version;
};

/* The version is the last column. */
static bool take_row(const char *row, const char *end, struct proof_row *newest)
{
	const char *tab = memrchr(row, '\t', (size_t)(end - row));
	uint64_t version;

	if (!tab || !clickhouse_take_version(tab + 1, (size_t)(end - tab - 1), &version)) {
		return false;
	}
	if (!newest->text || version > newest->version) {
		*newest = (struct proof_row){ .text = row, .version = version };
	}
	return true;
}

/* A list of a window may be empty: the statement, which is the first line, only makes its table. */
static bool has_rows(const struct clickhouse_part *part)
{
	const char *end =
		part->body.count > 0 ? memchr(part->body.at, '\n', part->body.count) : NULL;

	return !end || end + 1 < part->body.at + part->body.count;
}

/* Of the rows behind the statement. */
static bool find_newest(const struct clickhouse_part *part, struct proof_row *newest)
{
	const char *at = part->body.at, *end = at + part->body.count;
	const char *line_end = part->body.count > 0 ? memchr(at, '\n', part->body.count) : NULL;

	*newest = (struct proof_row){ 0 };
	while (line_end && line_end + 1 < end) {
		at = line_end + 1;
		line_end = memchr(at, '\n', (size_t)(end - at));
		if (!line_end || !take_row(at, line_end, newest)) {
			return false;
		}
	}
	return newest->text;
}

/* A key of a number or a trace, as a condition. */
static bool put_key(FILE *out, const struct clickhouse_column *column, const char *value,
		    size_t len)
{
	int64_t number;

	if (column->type == CLICKHOUSE_TRACE && clickhouse_is_trace(value, len)) {
		(void)fprintf(out, "`%s` = '%.*s' AND ", column->name, (int)len, value);
		return true;
	}
	if (column->type != CLICKHOUSE_INT || !clickhouse_take_int(value, len, &number)) {
		return false;
	}
	(void)fprintf(out, "`%s` = %lld AND ", column->name, (long long)number);
	return true;
}

/* Keys up to the first text: they find the row without reading the table. */
static bool put_question(FILE *out, const struct clickhouse_table *table,
			 const struct proof_row *row)
{
	const char *at = row->text;

	(void)fprintf(out, "SELECT '%s', count() > 0 FROM `%s` WHERE ", table->name, table->name);
	for (size_t i = 0; table->columns[i].is_key && table->columns[i].type != CLICKHOUSE_TEXT;
	     i++) {
		size_t len = strcspn(at, "\t\n");

		assert(i < table->count);
		if (at[len] != '\t' || !put_key(out, &table->columns[i], at, len)) {
			return false;
		}
		at += len + 1;
	}
	(void)fprintf(out, "`version` >= %llu", (unsigned long long)row->version);
	return true;
}

/* The caller frees it; NULL: the batch is damaged. */
static char *question_of(const struct clickhouse_batch *batch)
{
	bool is_good = true;
	const char *between = "";
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	for (size_t i = 0; is_good && i < batch->parts.count; i++) {
		const struct clickhouse_part *part = &batch->parts.at[i];
		struct clickhouse_table *table = clickhouse_table_new(part->table);
		struct proof_row newest;

		if (has_rows(part)) {
			(void)fputs(between, out);
			is_good = table && find_newest(part, &newest) &&
				  put_question(out, table, &newest);
			between = " UNION ALL ";
		}
		free(table);
	}
	(void)fputs(" FORMAT TabSeparated", out);
	(void)fclose(out);
	if (!is_good) {
		free(text);
		text = NULL;
	}
	return text;
}

static int judge(struct http *http, const struct clickhouse_batch *batch, const char *answer,
		 struct err *err)
{
	for (size_t i = 0; i < batch->parts.count; i++) {
		struct clickhouse_table *table = clickhouse_table_new(batch->parts.at[i].table);
		char line[STORE_NAME_MAX + 8];
		bool has;

		assert(table);
		(void)snprintf(line, sizeof(line), "%s\t1", table->name);
		has = !has_rows(&batch->parts.at[i]) || clickhouse_has_line(answer, line);
		if (!has) {
			(void)err_raise(err, -EREMOTEIO,
					"%s: took rows of %s and does not have them",
					http_name(http), table->name);
		}
		free(table);
		if (!has) {
			return -EREMOTEIO;
		}
	}
	return 0;
}

int clickhouse_prove(struct http *http, const struct clickhouse_batch *batch, struct err *err)
{
	char *question, *answer = NULL;
	int r;

	if (batch->rows == 0) {
		return 0;
	}
	question = question_of(batch);
	if (!question) {
		return err_raise(err, -EBADMSG, "%s: a batch is damaged", http_name(http));
	}
	r = http_ask(http, question, false, &answer, err);
	r = r < 0 ? r : judge(http, batch, answer, err);
	free(question);
	free(answer);
	return r;
}

/*
 * head: see head.h.
 */
#include "store/rows/head.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "engine/tables/columns.h"
#include "store/rows/schema.h"

static void name_lists(const struct report *report, FILE *out)
{
	for (size_t i = 0; i < report->table_count; i++) {
		const struct analysis *analysis = report->tables[i].analysis;

		if (i == 0 || report->tables[i - 1].analysis != analysis) {
			(void)fprintf(out, "%s%s", i > 0 ? "," : "", analysis->name);
		}
	}
}

static void name_missing(const struct report *report, FILE *out)
{
	for (size_t i = 0; i < report->missing_count; i++) {
		(void)fprintf(out, "%s:%.300s\n", report->missing[i].analysis->name,
			      report->missing[i].event);
	}
}

static void name_unknown(const struct report *report, FILE *out)
{
	for (size_t i = 0; i < report->table_count; i++) {
		const struct report_table *table = &report->tables[i];
		const struct column *columns = table->table->columns;
		char name[STORE_NAME_MAX], before = ':';

		if (!table->unknown) {
			continue;
		}
		store_table_name(table->analysis, (size_t)(table->table - table->analysis->tables),
				 name);
		(void)fprintf(out, "%s.%s", table->analysis->name, name);
		for (unsigned int c = 0; c < column_count(table->table); c++) {
			if (report_is_unknown(table, c)) {
				(void)fprintf(out, "%c%s", before, columns[c].key);
				before = ',';
			}
		}
		(void)fputs(before == ':' ? ": " : " ", out);
	}
}

/* Behind "cpu.2:" or "cpu.cpu_threads:" of the text; NULL: it is not there. */
static const char *behind(const char *text, const char *analysis, const char *table)
{
	char word[2 * STORE_NAME_MAX];
	const char *at;

	(void)snprintf(word, sizeof(word), "%s.%s:", analysis, table);
	for (at = text; (at = strstr(at, word)); at++) {
		if (at == text || at[-1] == ' ') {
			return at + strlen(word);
		}
	}
	return NULL;
}

uint16_t store_head_unknown(const char *unknown, const struct analysis *analysis, size_t t)
{
	const struct table *table = &analysis->tables[t];
	char name[STORE_NAME_MAX], number[24];
	uint16_t ret = 0;
	const char *at;

	(void)snprintf(number, sizeof(number), "%zu", t);
	at = behind(unknown, analysis->name, number);
	if (at) {
		return (uint16_t)strtoul(at, NULL, 10);
	}
	store_table_name(analysis, t, name);
	for (at = behind(unknown, analysis->name, name); at && *at && *at != ' ';
	     at += *at == ',') {
		size_t len = strcspn(at, ", ");

		for (unsigned int c = 0; c < column_count(table); c++) {
			bool is_it = strlen(table->columns[c].key) == len &&
				     memcmp(table->columns[c].key, at, len) == 0;

			ret |= (uint16_t)(is_it ? 1u << c : 0);
		}
		at += len;
	}
	return ret;
}

void store_head_of(const struct report *report, struct store_head *ret)
{
	void (*const names[])(const struct report *, FILE *) = { name_lists, name_missing,
								 name_unknown };
	char **const texts[] = { &ret->lists, &ret->missing, &ret->unknown };

	for (size_t i = 0; i < 3; i++) {
		size_t size;
		FILE *out = open_memstream(texts[i], &size);

		names[i](report, out);
		(void)fclose(out);
	}
}

void store_head_fini(struct store_head *head)
{
	free(head->lists);
	free(head->missing);
	free(head->unknown);
}

/* ---- two of one window ---- */

bool store_head_names(const char *lists, const char *name)
{
	size_t len = strlen(name);

	for (const char *at = lists; at && *at; at = strchr(at, ',')) {
		at += *at == ',';
		if (strncmp(at, name, len) == 0 && (at[len] == ',' || at[len] == '\0')) {
			return true;
		}
	}
	return false;
}

void store_head_join(struct store_head *to, const struct store_head *more)
{
	char *lists =
		mem_printf("%s%s%s", to->lists, *to->lists && *more->lists ? "," : "", more->lists);
	char *missing = mem_printf("%s%s", to->missing, more->missing);
	char *unknown = mem_printf("%s%s", to->unknown, more->unknown);

	assert(more->lists && more->missing && more->unknown);
	store_head_fini(to);
	*to = (struct store_head){ lists, missing, unknown };
}

/* Whether a word such as "cpu.cpu_cpus:busy_ns", of which the first @len bytes count, is of an
 * analysis that is not in the list. */
static bool is_other(const char *word, size_t len, const char *lists)
{
	char name[STORE_NAME_MAX];

	(void)snprintf(name, sizeof(name), "%.*s", (int)len, word);
	return len > 0 && !store_head_names(lists, name);
}

/* The words of @text, each with its end, that are of other analyses than @lists: their names go up
 * to one of @stops. */
static char *others(const char *text, const char *ends, const char *stops, const char *lists)
{
	char *ret = NULL;
	size_t size;
	FILE *out = open_memstream(&ret, &size);

	for (const char *at = text, *end; *at; at = end) {
		size_t len = strcspn(at, ends);

		end = at + len + (at[len] != '\0');
		if (is_other(at, strcspn(at, stops), lists)) {
			(void)fwrite(at, 1, (size_t)(end - at), out);
		}
	}
	(void)fclose(out);
	return ret;
}

void store_head_others(const struct store_head *before, const char *lists, struct store_head *ret)
{
	size_t len;

	*ret = (struct store_head){ others(before->lists, ",", ",", lists),
				    others(before->missing, "\n", ":", lists),
				    others(before->unknown, " ", ".", lists) };
	len = strlen(ret->lists);
	if (len > 0 && ret->lists[len - 1] == ',') {
		ret->lists[len - 1] = '\0';
	}
}

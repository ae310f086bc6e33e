/*
 * json-describe: the keys of JSON lines, for `sillage help json`; see json.h.
 */
#include "output/sinks/json.h"

static void describe_columns(FILE *out, const struct table *table, bool *is_first)
{
	for (size_t i = 0; i < COLUMNS_MAX && table->columns[i].key; i++) {
		(void)fprintf(out, "%s\"%s\"%s", *is_first ? "" : ",", table->columns[i].key,
			      table->columns[i].kind == COLUMN_HISTOGRAM ? ":SPREAD" : "");
		*is_first = false;
	}
}

static void describe_key(FILE *out, const char *key, const char *suffix, bool *is_first)
{
	if (key) {
		(void)fprintf(out, "%s\"%s%s\"", *is_first ? "" : ",", key, suffix);
		*is_first = false;
	}
}

static void describe_pair(FILE *out, const struct table *table)
{
	bool is_first = true;

	describe_key(out, table->scope == SCOPE_PAIR ? "tid" : NULL, "", &is_first);
	describe_key(out, table->id_key ? NULL : "pid", "", &is_first);
	describe_key(out, table->id_key ? NULL : "comm", "", &is_first);
	describe_key(out, table->id_key, "", &is_first);
	describe_key(out, table->name_key, "", &is_first);
	describe_key(out, table->owner_key, "", &is_first);
	describe_key(out, table->by_key, "", &is_first);
	describe_columns(out, table, &is_first);
	(void)fputs("}]", out);
}

static void describe_list(FILE *out, const struct table *table, bool has_labels)
{
	bool is_first = true;

	(void)fprintf(out, "\"%s\":[{", table->key);
	if (scope_is_of_pairs(table->scope)) {
		describe_pair(out, table);
		return;
	}
	if (table->scope == SCOPE_CPU) {
		describe_key(out, "cpu", "", &is_first);
	} else if (table->scope == SCOPE_LONGEST) {
		(void)fputs("\"begin\",\"end\"", out);
		is_first = false;
		describe_columns(out, table, &is_first);
		(void)fputs(",\"cpu\"", out);
	}
	describe_key(out, table->owner_key, "", &is_first);
	describe_key(out, table->id_key, "", &is_first);
	describe_key(out, table->id_name ? table->id_key : NULL, "_name", &is_first);
	describe_key(out, table->name_key, "", &is_first);
	describe_key(out, has_labels && table->name_key ? "label" : NULL, "", &is_first);
	describe_key(out, table->by_key, "", &is_first);
	if (table->scope == SCOPE_THREAD || table->scope == SCOPE_LONGEST) {
		describe_key(out, "tid", "", &is_first);
	}
	if (table->scope == SCOPE_THREAD || table->scope == SCOPE_PROCESS ||
	    table->scope == SCOPE_LONGEST) {
		describe_key(out, "pid", "", &is_first);
		describe_key(out, "comm", "", &is_first);
	}
	if (table->has_containers) {
		describe_key(out, "pid_ns", "", &is_first);
		describe_key(out, "container", "", &is_first);
		describe_key(out, "service", "", &is_first);
	}
	if (table->scope != SCOPE_LONGEST) {
		describe_columns(out, table, &is_first);
	}
	(void)fputs("}]", out);
}

void json_describe(FILE *out, const struct analysis *const *list)
{
	for (; *list; list++) {
		bool is_first = true;

		(void)fprintf(out, "\"%s\": {", (*list)->name);
		for (size_t t = 0; t < TABLES_MAX && (*list)->tables[t].columns[0].key; t++) {
			const struct table *table = &(*list)->tables[t];

			if (table->scope == SCOPE_TRACE) {
				describe_columns(out, table, &is_first);
				continue;
			}
			(void)fputs(is_first ? "\n    " : ",\n    ", out);
			is_first = false;
			if (table->scope == SCOPE_EVENT) {
				(void)fprintf(out, "\"%s\":{NAME:N}", table->key);
			} else {
				describe_list(out, table, analysis_rare(*list)->label_of);
			}
		}
		(void)fputs("}\n", out);
	}
}

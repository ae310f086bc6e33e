/*
 * csv: see csv.h.
 */
#include "csv/csv.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "base/mem.h"
#include "figure/by-name.h"

#define DEPTH_MAX 32 /* of JSON that we write */
#define ROW_END   UINT32_MAX

struct csv_table {
	struct by_name columns; /* of size_t: its number, plus one */
	FILE *rows;             /* cells: column, length, bytes; ROW_END behind each row */
};

struct csv {
	const char *wanted;
	struct json_tokener *tokener;
	VEC(char) line;
	struct by_name tables; /* of struct csv_table */
	int failure;           /* errno of the first one */
};

/* A member of a row.  Texts stay as long as its line. */
struct csv_cell {
	char *key;
	const char *text;
};

struct csv_row {
	VEC(struct csv_cell) cells;
};

struct csv *csv_new(const char *table)
{
	struct csv *csv = mem_alloc(sizeof(*csv));

	csv->wanted = table;
	csv->tokener = json_tokener_new_ex(DEPTH_MAX);
	csv->failure = csv->tokener ? 0 : ENOMEM;
	return csv;
}

void csv_free(struct csv *csv)
{
	if (!csv) {
		return;
	}
	VEC_EACH(&csv->tables.all, named) {
		struct csv_table *table = named->row;

		by_name_fini(&table->columns);
		if (table->rows) {
			(void)fclose(table->rows);
		}
	}
	by_name_fini(&csv->tables);
	json_tokener_free(csv->tokener);
	vec_fini(&csv->line);
	free(csv);
}

/* ---- rows ---- */

static void row_add(struct csv_row *row, const char *prefix, const char *key, const char *text)
{
	*vec_push(&row->cells) =
		(struct csv_cell){ .key = mem_printf("%s%s", prefix, key), .text = text };
}

static void row_cut(struct csv_row *row, size_t count)
{
	while (row->cells.count > count) {
		free(row->cells.at[--row->cells.count].key);
	}
}

static void spool_number(struct csv *csv, FILE *rows, uint32_t number)
{
	if (fwrite(&number, sizeof(number), 1, rows) != 1) {
		csv->failure = csv->failure ? csv->failure : errno;
	}
}

static void spool_cell(struct csv *csv, struct csv_table *table, const struct csv_cell *cell)
{
	size_t *number = by_name_add(&table->columns, cell->key, sizeof(*number));
	size_t len = strlen(cell->text);

	*number = *number ? *number : table->columns.all.count;
	spool_number(csv, table->rows, (uint32_t)(*number - 1));
	spool_number(csv, table->rows, (uint32_t)len);
	if (fwrite(cell->text, 1, len, table->rows) != len) {
		csv->failure = csv->failure ? csv->failure : errno;
	}
}

static void spool_row(struct csv *csv, const char *name, const struct csv_row *row)
{
	struct csv_table *table = by_name_add(&csv->tables, name, sizeof(*table));
	bool is_wanted = !csv->wanted || strcmp(csv->wanted, name) == 0;

	if (!is_wanted || csv->failure) {
		return; /* it is known that there is one */
	}
	table->rows = table->rows ? table->rows : tmpfile();
	if (!table->rows) {
		csv->failure = errno;
		return;
	}
	VEC_EACH(&row->cells, cell) {
		spool_cell(csv, table, cell);
	}
	spool_number(csv, table->rows, ROW_END);
}

/* ---- lines ---- */

/* Objects whose keys are data. */
static bool is_dictionary(const char *key)
{
	return strcmp(key, "log2") == 0 || strcmp(key, "buckets") == 0 ||
	       strcmp(key, "by_name") == 0;
}

static bool is_scalar(struct json_object *value)
{
	return !json_object_is_type(value, json_type_object) &&
	       !json_object_is_type(value, json_type_array);
}

static const char *field_text(struct json_object *value)
{
	return value ? json_object_get_string(value) : "";
}

/* A list, or a dictionary, or an analysis, whose rows begin with what @row has. */
struct csv_child {
	char *name;
	struct json_object *value;
};

struct csv_children {
	VEC(struct csv_child) all;
};

/* The members that are columns into the row, the others into the children.  @path: where they are;
 * @is_level: objects are tables, not columns. */
static void take_members(struct json_object *object, const char *path, const char *prefix,
			 bool is_level, struct csv_row *row, struct csv_children *children)
{
	json_object_object_foreach(object, key, value)
	{
		char *name = mem_printf("%s%s%s", path, path[0] ? "." : "", key);
		char *inner = mem_printf("%s%s.", prefix, key);
		bool is_object = json_object_is_type(value, json_type_object);

		if (is_scalar(value)) {
			row_add(row, prefix, key, field_text(value));
		} else if (is_object && !is_dictionary(key) &&
			   !(is_level && strcmp(key, "trace") != 0)) {
			take_members(value, name, inner, false, row, children);
		} else {
			*vec_push(&children->all) = (struct csv_child){ name, value };
			name = NULL;
		}
		free(name);
		free(inner);
	}
}

static void take_child(struct csv *csv, const struct csv_child *child, struct csv_row *row);

/* One row, and what is within it. */
static void flatten_object(struct csv *csv, const char *name, struct json_object *object,
			   struct csv_row *row, const char *number)
{
	struct csv_children children = { 0 };
	size_t count = row->cells.count;
	char *key = mem_printf("%s#", name);

	take_members(object, name, "", false, row, &children);
	spool_row(csv, name, row);
	row_cut(row, count);
	if (number) {
		row_add(row, "", key, number);
	}
	VEC_EACH(&children.all, child) {
		take_child(csv, child, row);
		free(child->name);
	}
	row_cut(row, count);
	vec_fini(&children.all);
	free(key);
}

static void flatten_element(struct csv *csv, const char *name, struct json_object *value, size_t at,
			    struct csv_row *row)
{
	size_t count = row->cells.count;
	char number[24];

	(void)snprintf(number, sizeof(number), "%zu", at + 1);
	if (json_object_is_type(value, json_type_object)) {
		flatten_object(csv, name, value, row, number);
		return;
	}
	row_add(row, "", "value", field_text(value)); /* a list in a list stays JSON */
	spool_row(csv, name, row);
	row_cut(row, count);
}

static void flatten_dictionary(struct csv *csv, const char *name, struct json_object *object,
			       struct csv_row *row)
{
	size_t count = row->cells.count;

	json_object_object_foreach(object, key, value)
	{
		row_add(row, "", "key", key);
		row_add(row, "", "value", field_text(value));
		spool_row(csv, name, row);
		row_cut(row, count);
	}
}

static void take_child(struct csv *csv, const struct csv_child *child, struct csv_row *row)
{
	const char *key = strrchr(child->name, '.');

	if (json_object_is_type(child->value, json_type_array)) {
		(void)by_name_add(&csv->tables, child->name, sizeof(struct csv_table));
		for (size_t i = 0; i < json_object_array_length(child->value); i++) {
			flatten_element(csv, child->name,
					json_object_array_get_idx(child->value, i), i, row);
		}
	} else if (is_dictionary(key ? key + 1 : child->name)) {
		flatten_dictionary(csv, child->name, child->value, row);
	} else {
		flatten_object(csv, child->name, child->value, row, NULL);
	}
}

/* What rows of tables in the line begin with. */
static void flatten_context(const struct csv_row *line, struct csv_row *ret)
{
	static const char *const keys[] = { "type", "begin", "begin_time", "end", "end_time" };

	VEC_EACH(&line->cells, cell) {
		bool is_of = strncmp(cell->key, "trace", strlen("trace")) == 0;

		for (size_t i = 0; i < ARRAY_COUNT(keys); i++) {
			is_of |= strcmp(cell->key, keys[i]) == 0;
		}
		if (is_of) {
			row_add(ret, "", cell->key, cell->text);
		}
	}
}

static void flatten_line(struct csv *csv, struct json_object *line)
{
	struct csv_children children = { 0 };
	struct csv_row row = { 0 }, context = { 0 };
	const char *type = field_text(json_object_object_get(line, "type"));

	take_members(line, "", "", strcmp(type, "window") == 0 || strcmp(type, "total") == 0, &row,
		     &children);
	spool_row(csv, type, &row);
	flatten_context(&row, &context);
	VEC_EACH(&children.all, child) {
		take_child(csv, child, &context);
		free(child->name);
	}
	vec_fini(&children.all);
	row_cut(&row, 0);
	row_cut(&context, 0);
	vec_fini(&row.cells);
	vec_fini(&context.cells);
}

static void end_line(struct csv *csv)
{
	struct json_object *line = NULL;

	if (csv->line.count == 0 || csv->failure) {
		return;
	}
	*vec_push(&csv->line) = '\0';
	json_tokener_reset(csv->tokener);
	if (csv->line.count <= INT32_MAX) {
		line = json_tokener_parse_ex(csv->tokener, csv->line.at, (int)csv->line.count);
	}
	if (json_object_is_type(line, json_type_object)) {
		flatten_line(csv, line);
	} else {
		csv->failure = EBADMSG;
	}
	(void)json_object_put(line);
	csv->line.count = 0;
}

bool csv_take(struct csv *csv, const char *bytes, size_t len)
{
	const char *end;

	while ((end = memchr(bytes, '\n', len))) {
		vec_append(&csv->line, bytes, (size_t)(end - bytes));
		end_line(csv);
		len -= (size_t)(end - bytes) + 1;
		bytes = end + 1;
	}
	vec_append(&csv->line, bytes, len);
	return csv->failure == 0;
}

/* ---- tables ---- */

/* A quote or a comma, or a break of a line, has the field in quotes, and a quote in it twice. */
static void render_field(FILE *out, const char *text)
{
	if (!strpbrk(text, ",\"\r\n")) {
		(void)fputs(text, out);
		return;
	}
	(void)fputc('"', out);
	for (; *text; text++) {
		(void)fputs(*text == '"' ? "\"" : "", out);
		(void)fputc(*text, out);
	}
	(void)fputc('"', out);
}

static void render_fields(FILE *out, char **fields, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		(void)fputs(i > 0 ? "," : "", out);
		render_field(out, fields[i] ? fields[i] : "");
		free(fields[i]);
		fields[i] = NULL;
	}
	(void)fputs("\r\n", out);
}

static bool unspool_number(FILE *rows, uint32_t *ret)
{
	return fread(ret, sizeof(*ret), 1, rows) == 1;
}

/* The next row into fields, from malloc().  False: there is none. */
static bool unspool_row(FILE *rows, char **fields, size_t count)
{
	uint32_t column, len;

	while (unspool_number(rows, &column) && column != ROW_END) {
		if (column >= count || !unspool_number(rows, &len)) {
			return false;
		}
		free(fields[column]);
		fields[column] = mem_alloc((size_t)len + 1);
		if (fread(fields[column], 1, len, rows) != len) {
			return false;
		}
	}
	return !feof(rows) && !ferror(rows);
}

static int render_table(const char *name, struct csv_table *table, csv_write_fn *write, void *user)
{
	size_t count = table->columns.all.count, size = 0;
	char **fields = mem_alloc((count + 1) * sizeof(*fields)), *text = NULL;
	FILE *out = open_memstream(&text, &size);
	int r = 0;

	for (size_t i = 0; i < count; i++) {
		fields[i] = mem_strdup(table->columns.all.at[i].name);
	}
	render_fields(out, fields, count);
	rewind(table->rows);
	while (r == 0 && unspool_row(table->rows, fields, count)) {
		render_fields(out, fields, count);
		if (ftell(out) > 65536) {
			(void)fflush(out);
			r = write(user, name, text, (size_t)ftell(out));
			rewind(out);
		}
	}
	(void)fflush(out);
	r = r ? r : write(user, name, text, (size_t)ftell(out));
	for (size_t i = 0; i < count; i++) {
		free(fields[i]);
	}
	free(fields);
	(void)fclose(out);
	free(text);
	return r;
}

static int fail_table(const struct csv *csv, struct err *err)
{
	char *names = NULL;
	size_t size;
	FILE *out = open_memstream(&names, &size);
	int r;

	VEC_EACH(&csv->tables.all, named) {
		(void)fprintf(out, " %s", named->name);
	}
	(void)fclose(out);
	r = err_raise(err, -ENOENT, "--table: there is no \"%s\"; there is:%s", csv->wanted,
		      size > 0 ? names : " nothing");
	free(names);
	return r;
}

int csv_end(struct csv *csv, csv_write_fn *write, void *user, struct err *err)
{
	bool has_rows = false;
	int r = 0;

	end_line(csv);
	if (csv->failure) {
		return err_raise(err, -csv->failure, "the tables cannot be kept: %s",
				 strerror(csv->failure));
	}
	if (csv->wanted && !by_name_find(&csv->tables, csv->wanted)) {
		return fail_table(csv, err);
	}
	VEC_EACH(&csv->tables.all, named) {
		struct csv_table *table = named->row;

		has_rows |= table->rows && table->columns.all.count > 0;
		if (table->rows && r == 0) {
			r = render_table(named->name, table, write, user);
		}
	}
	if (r != 0) {
		return err_raise(err, -r, "writing the tables: %s", strerror(r));
	}
	return csv->wanted && !has_rows ? 1 : 0;
}

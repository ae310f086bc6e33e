/*
 * rows: see rows.h.
 */
#include "api/rows.h"

#include <assert.h>
#include <errno.h>
#include <fnmatch.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"

enum row_op { OP_IS, OP_IS_NOT, OP_ABOVE, OP_FROM, OP_BELOW, OP_UP_TO, OP_LIKE };

struct row_condition {
	char *path;
	enum row_op op;
	const char *value; /* in `path` */
	bool is_number;
	double number;
};

struct row_rank {
	struct json_object *row, *by; /* by: borrowed; NULL: it has none */
	size_t number;
};

struct api_rows {
	struct api_page page;
	struct row_condition conditions[API_CONDITIONS_MAX];
	size_t condition_count;
	VEC(struct row_rank) all; /* those that count; without an order only those of the page */
	uint64_t count;
};

/* ---- members ---- */

struct json_object *api_rows_member(struct json_object *row, const char *path)
{
	struct json_object *found = NULL;

	if (!json_object_is_type(row, json_type_object)) {
		return NULL;
	}
	if (json_object_object_get_ex(row, path, &found)) {
		return found;
	}
	for (const char *dot = strchr(path, '.'); dot; dot = strchr(dot + 1, '.')) {
		char *head = mem_strdup(path);

		head[dot - path] = '\0';
		(void)json_object_object_get_ex(row, head, &found);
		free(head);
		if (found) {
			return api_rows_member(found, dot + 1);
		}
	}
	return NULL;
}

static bool is_number(struct json_object *value)
{
	return json_object_is_type(value, json_type_int) ||
	       json_object_is_type(value, json_type_double);
}

/* ---- conditions ---- */

static int parse_condition(char *text, struct row_condition *ret, struct err *err)
{
	static const struct {
		const char *text;
		enum row_op op;
	} ops[] = { { "!=", OP_IS_NOT }, { ">=", OP_FROM }, { "<=", OP_UP_TO }, { "=", OP_IS },
		    { ">", OP_ABOVE },   { "<", OP_BELOW }, { "~", OP_LIKE } };
	size_t at = strcspn(text, "!<>=~");
	char *past;

	for (size_t i = 0; at > 0 && i < ARRAY_COUNT(ops); i++) {
		size_t len = strlen(ops[i].text);

		if (strncmp(text + at, ops[i].text, len) == 0) {
			*ret = (struct row_condition){ .path = text,
						       .op = ops[i].op,
						       .value = text + at + len };
			text[at] = '\0';
			ret->number = strtod(ret->value, &past);
			ret->is_number = past != ret->value && !*past;
			if (!ret->is_number && (ret->op >= OP_ABOVE && ret->op <= OP_UP_TO)) {
				return err_raise(err, -EINVAL,
						 "filter: %s is compared with a number", text);
			}
			return 0;
		}
	}
	return err_raise(err, -EINVAL,
			 "filter: a condition is MEMBER and =, !=, <, <=, >, >= or ~ "
			 "and a value");
}

static bool holds_for_number(const struct row_condition *condition, double value)
{
	switch (condition->op) {
	case OP_IS:
		return condition->is_number && value == condition->number;
	case OP_IS_NOT:
		return !condition->is_number || value != condition->number;
	case OP_ABOVE:
		return value > condition->number;
	case OP_FROM:
		return value >= condition->number;
	case OP_BELOW:
		return value < condition->number;
	case OP_UP_TO:
		return value <= condition->number;
	default:
		return false;
	}
}

/* What is not known fulfils nothing. */
static bool holds(const struct row_condition *condition, struct json_object *row)
{
	struct json_object *value = api_rows_member(row, condition->path);
	const char *text;

	if (!value) {
		return false;
	}
	if (is_number(value) && condition->op != OP_LIKE) {
		return holds_for_number(condition, json_object_get_double(value));
	}
	text = json_object_get_string(value);
	return condition->op == OP_IS       ? strcmp(text, condition->value) == 0
	       : condition->op == OP_IS_NOT ? strcmp(text, condition->value) != 0
	       : condition->op == OP_LIKE   ? fnmatch(condition->value, text, 0) == 0
					    : false;
}

struct api_rows *api_rows_new(const struct api_page *page, struct err *err)
{
	struct api_rows *rows = mem_alloc(sizeof(*rows));
	char *copy = mem_strdup_if(page->filter), *rest = NULL;
	int r = 0;

	rows->page = *page;
	for (char *one = copy ? strtok_r(copy, ",", &rest) : NULL; one && r == 0;
	     one = strtok_r(NULL, ",", &rest)) {
		if (rows->condition_count == API_CONDITIONS_MAX) {
			r = err_raise(err, -EINVAL, "filter: %d conditions at most",
				      API_CONDITIONS_MAX);
		} else {
			char *own = mem_strdup(one);

			r = parse_condition(own, &rows->conditions[rows->condition_count], err);
			rows->conditions[rows->condition_count++].path = own;
		}
	}
	free(copy);
	if (r < 0) {
		api_rows_free(rows);
		return NULL;
	}
	return rows;
}

void api_rows_free(struct api_rows *rows)
{
	if (!rows) {
		return;
	}
	VEC_EACH(&rows->all, one) {
		json_object_put(one->row);
	}
	vec_fini(&rows->all);
	for (size_t i = 0; i < rows->condition_count; i++) {
		free(rows->conditions[i].path);
	}
	free(rows);
}

/* ---- rows ---- */

uint64_t api_rows_count(const struct api_rows *rows)
{
	return rows->count;
}

void api_rows_add(struct api_rows *rows, struct json_object *row)
{
	const struct api_page *page = &rows->page;
	bool is_shown = page->sort ||
			(rows->count >= page->offset && rows->count - page->offset < page->limit);

	for (size_t i = 0; i < rows->condition_count; i++) {
		if (!holds(&rows->conditions[i], row)) {
			json_object_put(row);
			return;
		}
	}
	rows->count++;
	if (!is_shown) {
		json_object_put(row);
		return;
	}
	*vec_push(&rows->all) =
		(struct row_rank){ .row = row,
				   .by = page->sort ? api_rows_member(row, page->sort) : NULL,
				   .number = rows->all.count };
}

/* Numbers, then texts; integers of 64 bits as they are. */
static int compare_values(struct json_object *a, struct json_object *b)
{
	if (json_object_is_type(a, json_type_int) && json_object_is_type(b, json_type_int)) {
		bool is_less = json_object_get_int64(a) < 0 || json_object_get_int64(b) < 0
				       ? json_object_get_int64(a) < json_object_get_int64(b)
				       : json_object_get_uint64(a) < json_object_get_uint64(b);

		return json_object_equal(a, b) ? 0 : is_less ? -1 : 1;
	}
	if (is_number(a) && is_number(b)) {
		double x = json_object_get_double(a), y = json_object_get_double(b);

		return (x > y) - (x < y);
	}
	if (is_number(a) != is_number(b)) {
		return is_number(a) ? -1 : 1;
	}
	return strcmp(json_object_get_string(a), json_object_get_string(b));
}

/* Largest first; what has no value is last in any order. */
static int compare_ranked(const void *first, const void *second, void *ascending)
{
	const struct row_rank *a = first, *b = second;
	int r = 0;

	if (!a->by != !b->by) {
		return a->by ? -1 : 1;
	}
	if (a->by) {
		r = compare_values(a->by, b->by);
		r = *(const bool *)ascending ? r : -r;
	}
	return r != 0 ? r : (a->number > b->number) - (a->number < b->number);
}

/* The members of the columns, by their paths; what a row lacks is null. */
static struct json_object *columns_of(struct json_object *row, const char *columns)
{
	struct json_object *ret = json_object_new_object();
	char *copy = mem_strdup(columns), *rest = NULL;
	size_t count = 0;

	for (char *one = strtok_r(copy, ",", &rest); one && count < API_COLUMNS_MAX;
	     one = strtok_r(NULL, ",", &rest), count++) {
		json_object_object_add(ret, one, json_object_get(api_rows_member(row, one)));
	}
	free(copy);
	return ret;
}

static void put_extent(const struct api_rows *rows, uint64_t shown, struct json_object *reply)
{
	const struct api_page *page = &rows->page;
	struct json_object *ret = json_object_new_object();
	uint64_t past = page->offset + shown;

	json_object_object_add(ret, "offset", json_object_new_uint64(page->offset));
	json_object_object_add(ret, "limit", json_object_new_uint64(page->limit));
	json_object_object_add(ret, "total", json_object_new_uint64(rows->count));
	json_object_object_add(
		ret, "next", shown > 0 && past < rows->count ? json_object_new_uint64(past) : NULL);
	json_object_object_add(reply, "page", ret);
}

void api_rows_put(struct api_rows *rows, struct json_object *reply)
{
	struct json_object *list = json_object_new_array();
	const struct api_page *page = &rows->page;
	size_t first = page->sort && page->offset < rows->all.count ? page->offset : 0;
	size_t left = page->sort && page->offset >= rows->all.count ? 0 : rows->all.count - first;
	size_t shown = left < page->limit ? left : page->limit;
	bool is_ascending = page->is_ascending;

	if (page->sort && rows->all.count > 0) {
		qsort_r(rows->all.at, rows->all.count, sizeof(*rows->all.at), compare_ranked,
			&is_ascending);
	}
	for (size_t i = first; i < first + shown; i++) {
		struct json_object *row = rows->all.at[i].row;

		json_object_array_add(list, page->columns ? columns_of(row, page->columns)
							  : json_object_get(row));
	}
	put_extent(rows, shown, reply);
	json_object_object_add(reply, "rows", list);
}

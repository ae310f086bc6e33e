/*
 * reader-many: several stores read as one; see reader.h.
 *
 * The traces are those of all; which windows are read is chosen over all stores (reader-plan.c),
 * and each is read by the reader of its store.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "store/reader-state.h"

/* ---- traces ---- */

static int by_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) : (a != NULL) - (b != NULL);
}

/* As a single store orders them. */
static int by_name(const void *left, const void *right)
{
	const struct store_trace *a = left, *b = right;
	const char *const texts[][2] = { { a->identity.host, b->identity.host },
					 { a->identity.session, b->identity.session },
					 { a->identity.domain, b->identity.domain },
					 { a->identity.path, b->identity.path },
					 { a->id, b->id } };
	int order = 0;

	for (size_t i = 0; order == 0 && i < ARRAY_COUNT(texts); i++) {
		order = by_text(texts[i][0], texts[i][1]);
	}
	return order;
}

static uint32_t trace_of(const struct store_reader *reader, const char *id)
{
	for (uint32_t i = 0; i < reader->traces.count; i++) {
		if (strcmp(reader->traces.at[i].id, id) == 0) {
			return i;
		}
	}
	return UINT32_MAX;
}

/* The texts stay those of the members. */
static void find_traces(struct store_reader *reader)
{
	for (size_t m = 0; m < reader->members.count; m++) {
		const struct store_reader *one = reader->members.at[m].reader;

		for (size_t i = 0; i < one->traces.count; i++) {
			if (trace_of(reader, one->traces.at[i].id) == UINT32_MAX) {
				*vec_push(&reader->traces) = one->traces.at[i];
			}
		}
	}
	vec_sort(&reader->traces, by_name);
}

static void number_traces(struct store_reader *reader)
{
	VEC_EACH(&reader->members, member) {
		const struct store_reader *one = member->reader;

		member->global = mem_alloc((one->traces.count + 1) * sizeof(*member->global));
		member->own = mem_alloc((reader->traces.count + 1) * sizeof(*member->own));
		for (size_t i = 0; i < reader->traces.count; i++) {
			member->own[i] = UINT32_MAX;
		}
		for (uint32_t i = 0; i < one->traces.count; i++) {
			member->global[i] = trace_of(reader, one->traces.at[i].id);
			assert(member->global[i] != UINT32_MAX);
			member->own[member->global[i]] = i;
		}
	}
}

/* ---- opening ---- */

int store_reader_open_many(const char **urls, const atomic_bool *stop, struct store_reader **ret,
			   struct err *err)
{
	struct store_reader *reader;
	char *name = mem_strdup("");
	int r = 0;

	if (!urls[1]) {
		free(name);
		return store_reader_open(urls[0], stop, ret, err);
	}
	reader = mem_alloc(sizeof(*reader));
	for (size_t i = 0; r == 0 && urls[i]; i++) {
		struct store_reader *one = NULL;

		r = store_reader_open(urls[i], stop, &one, err);
		if (r == 0) {
			char *longer = mem_printf("%s%s%s", name, i > 0 ? ", " : "",
						  store_reader_name(one));

			free(name);
			name = longer;
			*vec_push(&reader->members) = (struct reader_member){ .reader = one };
		}
	}
	reader->path = name;
	if (r < 0) {
		reader_many_close(reader);
		return r;
	}
	find_traces(reader);
	number_traces(reader);
	store_reader_want(reader, analyses, NULL, true);
	*ret = reader;
	return 0;
}

void reader_many_close(struct store_reader *reader)
{
	for (size_t m = 0; m < reader->members.count; m++) {
		store_reader_close(reader->members.at[m].reader);
		free(reader->members.at[m].global);
		free(reader->members.at[m].own);
	}
	vec_fini(&reader->members);
	vec_fini(&reader->traces);
	free(reader->path);
	free(reader);
}

/* ---- reading ---- */

int reader_many_span(struct store_reader *reader, uint64_t *ret_first, uint64_t *ret_last,
		     struct err *err)
{
	int r = 0;

	*ret_first = *ret_last = 0;
	for (size_t m = 0; r == 0 && m < reader->members.count; m++) {
		uint64_t first, last;

		r = store_reader_span(reader->members.at[m].reader, &first, &last, err);
		if (r == 0 && last > 0) {
			*ret_first = *ret_last == 0 || first < *ret_first ? first : *ret_first;
			*ret_last = last > *ret_last ? last : *ret_last;
		}
	}
	return r;
}

int reader_many_gaps(struct store_reader *reader, uint64_t begin, uint64_t end, store_gap_fn *each,
		     void *user, struct err *err)
{
	int r = 0;

	for (size_t m = 0; r == 0 && m < reader->members.count; m++) {
		r = store_reader_gaps(reader->members.at[m].reader, begin, end, each, user, err);
	}
	return r;
}

int reader_many_read(struct store_reader *reader, const struct store_window *window,
		     struct report *ret, struct err *err)
{
	const struct reader_member *member = &reader->members.at[window->member];
	struct store_window own = *window;

	assert(window->member < reader->members.count);
	own.trace = member->own[window->trace];
	assert(own.trace != UINT32_MAX);
	return store_reader_read(member->reader, &own, ret, err);
}

/*
 * report-pairs: tables of pairs of threads, and of pairs of processes and containers.
 *
 * The rows of pairs.h are pairs of threads.  Which process and container a thread belongs to may
 * become known late, so that other pairs are added up here, for each report.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "engine/tables/report-listing.h"

HASH_DECLARE(pair_numbers, uint32_t)

/* One of a pair as the table shows it. */
struct side {
	int64_t number;   /* tid, pid or PID namespace; REPORT_NO_NUMBER: none */
	int32_t named_by; /* the tid that the name is of; INT32_MIN: it is the right one */
	char name[64];    /* "": unknown */
};

/* The sum of pairs of threads; the first is a report_process.memory. */
struct pair_sum {
	struct thread_view view;                          /* of the first one */
	struct side of, by;                               /* once all is added up ... */
	uint32_t of_number, by_number;                    /* ... of these in pairs_pass.all */
	char keyed[2 * sizeof(((struct side *)0)->name)]; /* the names of what has no number */
	uint64_t values[PAIR_COLUMNS];
};

struct pairs_pass {
	struct tables *tables;
	struct listing *listing;
	bool by_name; /* processes are put together by their threads' names */
	khash_t(pair_numbers) * sides, *pairs;
	VEC(struct side) all;
	VEC(struct pair_sum *) sums;
};

/* ---- sides ---- */

static const char *special_name(uint32_t member)
{
	static const char *const names[] = {
		[PAIR_OTHERS] = "(others)", [PAIR_IDLE] = "(idle)", [PAIR_UNKNOWN] = "(unknown)"
	};

	assert(member < PAIR_FIRST);
	return names[member];
}

/* The name of a process is that of its leader; "": that is not known. */
static const char *process_name(struct tables *tables, int64_t pid)
{
	struct shard *shard = &tables->shards[key_shard(pid)];
	const struct thread *leader = shard_thread_known(shard, pid);

	return leader && leader->view.pid == pid ? leader->view.comm : "";
}

static void set_name(struct side *side, const char *name)
{
	(void)snprintf(side->name, sizeof(side->name), "%s", name);
}

/* Of a process without a known leader the name is that of its thread with the smallest tid. */
static struct side side_of(const struct pairs_pass *pass, uint32_t member)
{
	struct side side = { .number = REPORT_NO_NUMBER, .named_by = INT32_MIN };
	const struct thread_view *view;
	char room[NAME_BYTES + 1];

	if (member < PAIR_FIRST) {
		side.number =
			member == PAIR_IDLE && pass->listing->table->scope != SCOPE_CONTAINER_PAIR
				? 0
				: REPORT_NO_NUMBER;
		set_name(&side, special_name(member));
		return side;
	}
	view = pairs_view(&pass->tables->pairs, member);
	if (pass->listing->table->scope == SCOPE_CONTAINER_PAIR) {
		side.number = view->container != 0 ? view->container : REPORT_NO_NUMBER;
		set_name(&side, report_container_name(pass->tables, pass->listing->selection,
						      view->container, room));
	} else if (pass->listing->table->scope == SCOPE_PAIR || pass->by_name) {
		side.number = pass->by_name ? REPORT_NO_NUMBER : view->tid;
		set_name(&side, view->comm);
	} else if (view->pid >= 0) {
		const char *name = process_name(pass->tables, view->pid);

		side.number = view->pid;
		side.named_by = name[0] ? INT32_MIN : view->comm[0] ? view->tid : INT32_MAX;
		set_name(&side, name[0] ? name : view->comm);
	}
	return side;
}

/* Sides that the table does not tell apart have one number. */
static uint32_t number_of(struct pairs_pass *pass, const struct side *side)
{
	uint64_t key = side->number != REPORT_NO_NUMBER ? (uint64_t)side->number
							: hash_text(1, side->name) | 1ull << 63;
	int is_new;
	khint_t at = kh_put(pair_numbers, pass->sides, key, &is_new);

	if (is_new) {
		kh_value(pass->sides, at) = (uint32_t)pass->all.count;
		*vec_push(&pass->all) = *side;
	} else if (side->named_by < pass->all.at[kh_value(pass->sides, at)].named_by) {
		pass->all.at[kh_value(pass->sides, at)] = *side;
	}
	return kh_value(pass->sides, at);
}

/* ---- sums ---- */

static struct pair_sum *sum_of(struct pairs_pass *pass, const struct pair_row *row)
{
	struct side of = side_of(pass, row->of), by = side_of(pass, row->by);
	uint64_t key = (uint64_t)number_of(pass, &of) << 32;
	struct pair_sum *sum;
	int is_new;
	khint_t at;

	key |= number_of(pass, &by);
	at = kh_put(pair_numbers, pass->pairs, key, &is_new);
	if (!is_new) {
		return pass->sums.at[kh_value(pass->pairs, at)];
	}
	kh_value(pass->pairs, at) = (uint32_t)pass->sums.count;
	sum = mem_alloc(sizeof(*sum));
	sum->of_number = (uint32_t)(key >> 32);
	sum->by_number = (uint32_t)key;
	*vec_push(&pass->sums) = sum;
	*vec_push(&pass->listing->memory->processes) = (struct report_process){
		.row = sum->values,
		.memory = sum,
		.columns = &pass->tables->layout.keyed_columns[pass->listing->a][pass->listing->t],
	};
	return sum;
}

static void list_sum(const struct pairs_pass *pass, struct pair_sum *sum)
{
	bool is_container = pass->listing->table->scope == SCOPE_CONTAINER_PAIR;
	struct report_row *row = report_add_row(pass->listing, sum->values, false);

	if (!row) {
		return;
	}
	sum->of = pass->all.at[sum->of_number];
	sum->by = pass->all.at[sum->by_number];
	row->owner = sum->by.number;
	row->by = sum->by.name;
	(void)snprintf(sum->keyed, sizeof(sum->keyed), "%s\t%s",
		       sum->of.number == REPORT_NO_NUMBER ? sum->of.name : "",
		       sum->by.number == REPORT_NO_NUMBER ? sum->by.name : "");
	row->keyed = sum->keyed;
	row->id = sum->of.number != REPORT_NO_NUMBER ? (uint64_t)sum->of.number : ROW_KEY_NO_ID;
	if (is_container) {
		row->name = sum->of.name;
		return;
	}
	sum->view = (struct thread_view){ .tid = -1,
					  .pid = sum->of.number != REPORT_NO_NUMBER ? sum->of.number
										    : -1 };
	(void)snprintf(sum->view.comm, sizeof(sum->view.comm), "%.16s", sum->of.name);
	row->thread = &sum->view;
}

/* ---- threads ---- */

static void list_pair(struct pairs_pass *pass, const struct pair_row *pair, const uint64_t *values)
{
	struct report_row *row = report_add_row(pass->listing, values, false);
	struct side by = side_of(pass, pair->by);
	struct pair_sum *names;

	if (!row) {
		return;
	}
	names = mem_alloc(sizeof(*names));
	*vec_push(&pass->listing->memory->processes) = (struct report_process){
		.row = names->values, .memory = names, .columns = pass->tables->layout.pair_columns
	};
	names->by = by;
	if (pair->of >= PAIR_FIRST) {
		names->view = *pairs_view(&pass->tables->pairs, pair->of);
	} else {
		names->view = (struct thread_view){ .tid = -1, .pid = -1 };
		strcpy(names->view.comm, special_name(pair->of));
	}
	row->thread = &names->view;
	row->owner = by.number;
	row->by = names->by.name;
	row->keyed = "";
	row->id = pairs_row_id(&pass->tables->pairs, pair);
}

/* ---- all ---- */

static void add_pair(struct pairs_pass *pass, const struct pair_row *pair)
{
	const uint64_t *values = pass->listing->total ? pair->total : pair->window;

	if (pass->listing->table->scope == SCOPE_PAIR) {
		list_pair(pass, pair, values);
	} else if (report_has_value(pass->listing, values)) {
		columns_add(pass->tables->layout.pair_columns, sum_of(pass, pair)->values, values);
	}
}

void report_pairs(struct tables *tables, struct listing *listing)
{
	const struct pairs *pairs = &tables->pairs;
	struct pairs_pass pass = { .tables = tables,
				   .listing = listing,
				   .by_name = listing->selection &&
					      listing->selection->per == PER_COMM &&
					      listing->table->scope == SCOPE_PROCESS_PAIR,
				   .sides = kh_init(pair_numbers),
				   .pairs = kh_init(pair_numbers) };
	size_t count = listing->total ? pairs->rows.count : pairs->touched.count;

	for (size_t i = 0; i < count; i++) {
		add_pair(&pass, &pairs->rows.at[listing->total ? i : pairs->touched.at[i]]);
	}
	for (size_t i = 0; i < pass.sums.count; i++) {
		list_sum(&pass, pass.sums.at[i]);
	}
	kh_destroy(pair_numbers, pass.sides);
	kh_destroy(pair_numbers, pass.pairs);
	vec_fini(&pass.all);
	vec_fini(&pass.sums);
}

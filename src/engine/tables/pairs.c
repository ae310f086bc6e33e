/*
 * pairs: see pairs.h.
 */
#include "engine/tables/pairs.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "engine/tables/report-listing.h"
#include "engine/tables/tables.h"

void pairs_fini(struct pairs *pairs)
{
	vec_fini(&pairs->members);
	vec_fini(&pairs->free);
	vec_fini(&pairs->rows);
	vec_fini(&pairs->touched);
	pair_refs_fini(&pairs->refs);
}

/* ---- members ---- */

static struct pair_member *member_at(const struct pairs *pairs, uint32_t member)
{
	assert_hot(member >= PAIR_FIRST);
	assert_hot(member - PAIR_FIRST < pairs->members.count);
	return &pairs->members.at[member - PAIR_FIRST];
}

static uint32_t new_member(struct pairs *pairs)
{
	if (pairs->free.count > 0) {
		return pairs->free.at[--pairs->free.count];
	}
	memset(vec_push(&pairs->members), 0, sizeof(struct pair_member));
	return (uint32_t)pairs->members.count - 1 + PAIR_FIRST;
}

void pairs_use(struct pairs *pairs, uint32_t member)
{
	if (member >= PAIR_FIRST) {
		member_at(pairs, member)->uses++;
	}
}

uint32_t pairs_member(struct pairs *pairs, struct thread *thread)
{
	uint32_t *member = thread_member(pairs->layout, thread);

	if (*member == 0) {
		*member = new_member(pairs);
		*member_at(pairs, *member) = (struct pair_member){
			.thread = thread, .uses = 1, .serial = PAIR_FIRST + pairs->made++
		};
	}
	return *member;
}

bool pairs_claim(struct pairs *pairs, uint32_t member)
{
	if (member < PAIR_FIRST || member - PAIR_FIRST >= pairs->members.count) {
		return false;
	}
	pairs_use(pairs, member);
	return true;
}

void pairs_release(struct pairs *pairs, uint32_t member)
{
	struct pair_member *at;

	if (member < PAIR_FIRST) {
		return;
	}
	at = member_at(pairs, member);
	assert(at->uses > 0);
	if (--at->uses == 0) {
		assert(!at->thread);
		*vec_push(&pairs->free) = member;
	}
}

const struct thread_view *pairs_view(const struct pairs *pairs, uint32_t member)
{
	const struct pair_member *at = member_at(pairs, member);

	return at->thread ? &at->thread->view : &at->view;
}

void pairs_count_free(struct pairs *pairs)
{
	pairs->free.count = 0;
	for (uint32_t i = 0; i < pairs->members.count; i++) {
		if (pairs->members.at[i].uses == 0) {
			*vec_push(&pairs->free) = i + PAIR_FIRST;
		}
	}
}

void pairs_forget_thread(struct pairs *pairs, struct thread *thread)
{
	uint32_t *member = thread_member(pairs->layout, thread);
	struct pair_member *at;

	if (*member == 0) {
		return;
	}
	at = member_at(pairs, *member);
	assert(at->thread == thread);
	at->view = thread->view;
	at->thread = NULL;
	at->is_orphan = true;
	*member = 0;
	atomic_fetch_add_explicit(&pairs->orphans, 1, memory_order_relaxed);
}

/* No other thread of the program is at work: the list of free numbers is touched. */
static void release_orphans(struct pairs *pairs)
{
	if (atomic_load_explicit(&pairs->orphans, memory_order_relaxed) == 0) {
		return;
	}
	for (uint32_t i = 0; i < pairs->members.count; i++) {
		if (pairs->members.at[i].is_orphan) {
			pairs->members.at[i].is_orphan = false;
			pairs_release(pairs, i + PAIR_FIRST);
		}
	}
	atomic_store_explicit(&pairs->orphans, 0, memory_order_relaxed);
}

/* ---- rows ---- */

static int64_t key_of(uint32_t of, uint32_t by)
{
	return (int64_t)((uint64_t)of << 32 | by);
}

static void touch(struct pairs *pairs, uint32_t row)
{
	if (!pairs->rows.at[row].is_touched) {
		pairs->rows.at[row].is_touched = true;
		*vec_push(&pairs->touched) = row;
	}
}

/* Made when new: the caller fills it in then. */
static struct pair_ref *ref_of(struct pairs *pairs, uint32_t of, uint32_t by)
{
	int64_t key = key_of(of, by);
	struct pair_ref *ref = pairs->refs.at ? pair_refs_find(&pairs->refs, NULL, key) : NULL;

	return ref && ref->after != 0 ? ref : pair_refs_add_at(&pairs->refs, NULL, ref, key);
}

uint32_t pairs_row(struct pairs *pairs, uint32_t of, uint32_t by)
{
	struct pair_ref *ref = ref_of(pairs, of, by);

	if (ref->after == 0) {
		*vec_push(&pairs->rows) = (struct pair_row){ .of = of, .by = by };
		*ref = (struct pair_ref){ of, by, (uint32_t)pairs->rows.count };
		pairs_use(pairs, of);
		pairs_use(pairs, by);
	}
	touch(pairs, ref->after - 1);
	return ref->after - 1;
}

static uint32_t serial_of(const struct pairs *pairs, uint32_t member)
{
	return member < PAIR_FIRST ? member : member_at(pairs, member)->serial;
}

uint64_t pairs_row_id(const struct pairs *pairs, const struct pair_row *row)
{
	return (uint64_t)serial_of(pairs, row->of) << 32 | serial_of(pairs, row->by);
}

struct rank {
	uint64_t most, id;
	uint32_t row;
};

/* By the first column, those with the most first. */
static bool has_more(const struct rank *a, const struct rank *b)
{
	return a->most != b->most ? a->most > b->most : a->id < b->id;
}

VEC_SELECT(select_ranks, struct rank, has_more)

/* Marks all rows but the @kept with the most in the first column; the caller frees it. */
static bool *find_least(const struct pairs *pairs, size_t kept)
{
	size_t count = pairs->rows.count;
	struct rank *ranks = mem_alloc(count * sizeof(*ranks));
	bool *is_least = mem_alloc(count);

	for (uint32_t i = 0; i < count; i++) {
		const struct pair_row *row = &pairs->rows.at[i];

		ranks[i] = (struct rank){ row->window[0] + row->total[0], pairs_row_id(pairs, row),
					  i };
	}
	select_ranks(ranks, count, kept);
	for (size_t i = kept; i < count; i++) {
		is_least[ranks[i].row] = true;
	}
	free(ranks);
	return is_least;
}

/* Finds the rows and those that are touched again: their places have changed. */
static void index_rows(struct pairs *pairs)
{
	pairs->touched.count = 0;
	pair_refs_clear(&pairs->refs);
	for (uint32_t i = 0; i < pairs->rows.count; i++) {
		const struct pair_row *row = &pairs->rows.at[i];

		*ref_of(pairs, row->of, row->by) =
			(struct pair_ref){ .of = row->of, .by = row->by, .after = i + 1 };
		if (row->is_touched) {
			*vec_push(&pairs->touched) = i;
		}
	}
}

void pairs_fold(struct pairs *pairs, const struct columns *columns)
{
	size_t count = pairs->rows.count, kept = 0;
	struct pair_row others = { .of = PAIR_OTHERS, .by = PAIR_OTHERS };
	bool *is_least;
	uint32_t at;

	if (count <= PAIRS_MAX) {
		return;
	}
	is_least = find_least(pairs, PAIRS_MAX / 2);
	for (size_t i = 0; i < count; i++) {
		struct pair_row *row = &pairs->rows.at[i];

		if (!is_least[i]) {
			pairs->rows.at[kept++] = *row;
			continue;
		}
		columns_add(columns, others.window, row->window);
		columns_add(columns, others.total, row->total);
		pairs_release(pairs, row->of);
		pairs_release(pairs, row->by);
	}
	free(is_least);
	assert(kept == PAIRS_MAX / 2);
	pairs->rows.count = kept;
	index_rows(pairs);
	at = pairs_row(pairs, PAIR_OTHERS, PAIR_OTHERS);
	columns_add(columns, pairs->rows.at[at].window, others.window);
	columns_add(columns, pairs->rows.at[at].total, others.total);
}

void pairs_close(struct pairs *pairs, const struct columns *columns, bool keep)
{
	for (size_t i = 0; i < pairs->touched.count; i++) {
		struct pair_row *row = &pairs->rows.at[pairs->touched.at[i]];

		if (keep) {
			columns_close(columns, row->total, row->window);
		} else {
			columns_empty(columns, row->window);
		}
		row->is_touched = false;
	}
	pairs->touched.count = 0;
	release_orphans(pairs);
}

/* ---- for analyses ---- */

/* The shard is the one that on_ordered() gets, so that no other touches the pairs. */
static struct pairs *pairs_of(const struct shard *shard)
{
	struct tables *tables = (struct tables *)shard->layout->tables;

	assert_hot(shard == &tables->whole);
	return &tables->pairs;
}

uint32_t shard_pair_member(struct shard *shard, struct thread *thread)
{
	return pairs_member(pairs_of(shard), thread);
}

void shard_pair_use(struct shard *shard, uint32_t member)
{
	pairs_use(pairs_of(shard), member);
}

bool shard_pair_claim(struct shard *shard, uint32_t member)
{
	return pairs_claim(pairs_of(shard), member);
}

void shard_pair_release(struct shard *shard, uint32_t member)
{
	pairs_release(pairs_of(shard), member);
}

uint64_t *shard_pair_row(struct shard *shard, unsigned int table, uint32_t of, uint32_t by)
{
	struct pairs *pairs = pairs_of(shard);
	uint32_t row;

	assert_hot(shard->layout->setup->analyses[shard->running]->tables[table].scope ==
		   SCOPE_PAIR);
	if (shard->left_out && shard_leaves_out(shard, table)) {
		return pairs->left_out;
	}
	row = pairs_row(pairs, of, by); /* may move the array */
	return pairs->rows.at[row].window;
}

void shard_pair_fold(struct shard *shard, unsigned int table)
{
	assert(shard->layout->setup->analyses[shard->running]->tables[table].scope == SCOPE_PAIR);
	pairs_fold(pairs_of(shard), shard->layout->pair_columns);
}

/* ---- checks ---- */

static bool is_member(const struct pairs *pairs, uint32_t member)
{
	return member < PAIR_FIRST || (member - PAIR_FIRST < pairs->members.count &&
				       pairs->members.at[member - PAIR_FIRST].uses > 0);
}

bool pairs_are_sound(const struct pairs *pairs)
{
	size_t unused = 0, touched = 0;

	for (size_t i = 0; i < pairs->members.count; i++) {
		const struct pair_member *member = &pairs->members.at[i];

		unused += member->uses == 0;
		if (member->thread &&
		    *thread_member(pairs->layout, member->thread) != i + PAIR_FIRST) {
			return false;
		}
	}
	for (size_t i = 0; i < pairs->free.count; i++) {
		uint32_t member = pairs->free.at[i];

		if (member < PAIR_FIRST || is_member(pairs, member) ||
		    member - PAIR_FIRST >= pairs->members.count) {
			return false;
		}
	}
	for (size_t i = 0; i < pairs->rows.count; i++) {
		touched += pairs->rows.at[i].is_touched;
		if (!is_member(pairs, pairs->rows.at[i].of) ||
		    !is_member(pairs, pairs->rows.at[i].by)) {
			return false;
		}
	}
	return unused == pairs->free.count && touched == pairs->touched.count &&
	       pairs->refs.used == pairs->rows.count;
}

/* ---- reports ---- */

/* Which process and container a thread belongs to may become known late, so that pairs of those are
 * added up here, for each report. */

HASH_MAP(pair_numbers, uint32_t)

/* One of a pair of processes or containers as the table shows it. */
struct pair_side {
	int64_t number;   /* pid or PID namespace; REPORT_NO_NUMBER: none */
	int32_t named_by; /* rank of the thread that the name is of (kernel/thread-identity.h) */
	char name[CONTAINER_NAME_BYTES]; /* "": unknown */
};

/* The sum of pairs of threads; the first is a report_process.memory. */
struct pair_sum {
	struct thread_view view; /* of the first one */
	uint32_t of, by;         /* in pairs_pass.all */
	uint64_t values[PAIR_COLUMNS];
};

struct pairs_pass {
	struct tables *tables;
	struct listing *listing;
	struct pair_numbers sides, pairs;
	VEC(struct pair_side) all;
	uint32_t *numbers; /* by member: of its side in `all`, UINT32_MAX: not looked up yet */
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

static void set_name(struct pair_side *side, const char *name)
{
	size_t len = strlen(name);

	len = len < sizeof(side->name) ? len : sizeof(side->name) - 1;
	memcpy(side->name, name, len);
	side->name[len] = 0;
}

static struct pair_side side_of(const struct pairs_pass *pass, uint32_t member)
{
	struct pair_side side = { .number = REPORT_NO_NUMBER, .named_by = INT32_MIN };
	const struct thread_view *view;
	char room[CONTAINER_NAME_BYTES];

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
		side.number = view->container != 0
				      ? (int64_t)selection_container_id(pass->listing->selection,
									view->container)
				      : REPORT_NO_NUMBER;
		set_name(&side, report_container_name(pass->tables, pass->listing->selection,
						      view->container, room));
	} else if (view->pid >= 0) {
		const struct thread *leader = report_leader(pass->tables, view->pid);

		side.number = view->pid;
		side.named_by = leader          ? INT32_MIN
				: view->comm[0] ? process_name_rank(view->tid, view->pid)
						: PROCESS_UNNAMED;
		set_name(&side, leader ? leader->view.comm : view->comm);
	}
	return side;
}

static uint32_t number_of_side(struct pairs_pass *pass, const struct pair_side *side)
{
	uint64_t key = side->number != REPORT_NO_NUMBER ? (uint64_t)side->number
							: hash_text(1, side->name) | 1ull << 63;
	bool is_new;
	uint32_t *at = pair_numbers_put(&pass->sides, key, &is_new);

	if (is_new) {
		*at = (uint32_t)pass->all.count;
		*vec_push(&pass->all) = *side;
	} else if (side->named_by < pass->all.at[*at].named_by) {
		pass->all.at[*at] = *side;
	}
	return *at;
}

/* Sides that the table does not tell apart have one number. */
static uint32_t number_of(struct pairs_pass *pass, uint32_t member)
{
	if (pass->numbers[member] == UINT32_MAX) {
		struct pair_side side = side_of(pass, member);

		pass->numbers[member] = number_of_side(pass, &side);
	}
	return pass->numbers[member];
}

/* ---- sums ---- */

static struct pair_sum *sum_of(struct pairs_pass *pass, const struct pair_row *row)
{
	uint64_t key = (uint64_t)number_of(pass, row->of) << 32;
	struct pair_sum *sum;
	bool is_new;
	uint32_t *at;

	key |= number_of(pass, row->by);
	at = pair_numbers_put(&pass->pairs, key, &is_new);
	if (!is_new) {
		return pass->sums.at[*at];
	}
	*at = (uint32_t)pass->sums.count;
	sum = mem_alloc(sizeof(*sum));
	sum->of = (uint32_t)(key >> 32);
	sum->by = (uint32_t)key;
	*vec_push(&pass->sums) = sum;
	*vec_push(&pass->listing->memory->processes) = (struct report_process){
		.row = sum->values,
		.memory = sum,
		.columns = &pass->tables->layout.keyed_columns[pass->listing->a][pass->listing->t],
	};
	return sum;
}

/* The names of sides that have no number. */
static const char *keyed_of(const struct pairs_pass *pass, const struct pair_side *of,
			    const struct pair_side *by)
{
	bool has_of = of->number == REPORT_NO_NUMBER, has_by = by->number == REPORT_NO_NUMBER;
	char *keyed;

	if (!has_of && !has_by) {
		return "\t";
	}
	keyed = mem_printf("%s\t%s", has_of ? of->name : "", has_by ? by->name : "");
	*vec_push(&pass->listing->memory->labels) = keyed;
	return keyed;
}

/* All is added up: sides stay where they are. */
static void list_sum(const struct pairs_pass *pass, struct pair_sum *sum)
{
	const struct pair_side *of = &pass->all.at[sum->of], *by = &pass->all.at[sum->by];
	struct report_row *row = report_add_row(pass->listing, sum->values, false);

	if (!row) {
		return;
	}
	row->owner = by->number;
	row->by = by->name;
	row->keyed = keyed_of(pass, of, by);
	row->id = of->number != REPORT_NO_NUMBER ? (uint64_t)of->number : ROW_KEY_NO_ID;
	if (pass->listing->table->scope == SCOPE_CONTAINER_PAIR) {
		row->name = of->name;
		return;
	}
	sum->view.tid = -1;
	sum->view.pid = of->number != REPORT_NO_NUMBER ? (int32_t)of->number : -1;
	memcpy(sum->view.comm, of->name, sizeof(sum->view.comm) - 1);
	row->thread = &sum->view;
}

/* ---- threads ---- */

/* What is shown of a pair of threads. */
struct pair_names {
	struct thread_view of;
	char by[sizeof(((struct thread_view *)0)->comm)];
};

static struct thread_view view_of(const struct pairs *pairs, uint32_t member)
{
	struct thread_view special = { .tid = -1, .pid = -1 };

	if (member >= PAIR_FIRST) {
		return *pairs_view(pairs, member);
	}
	(void)snprintf(special.comm, sizeof(special.comm), "%s", special_name(member));
	return special;
}

static void list_pair(struct pairs_pass *pass, const struct pair_row *pair, const uint64_t *values)
{
	const struct pairs *pairs = &pass->tables->pairs;
	struct report_row *row = report_add_row(pass->listing, values, false);
	struct thread_view by;
	struct pair_names *names;

	if (!row) {
		return;
	}
	names = mem_alloc(sizeof(*names));
	*vec_push(&pass->listing->memory->lists) = names;
	names->of = view_of(pairs, pair->of);
	by = view_of(pairs, pair->by);
	memcpy(names->by, by.comm, sizeof(names->by));
	row->thread = &names->of;
	row->owner = pair->by >= PAIR_FIRST ? by.tid : pair->by == PAIR_IDLE ? 0 : REPORT_NO_NUMBER;
	row->by = names->by;
	row->keyed = "";
	row->id = pairs_row_id(pairs, pair);
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
	struct pairs_pass pass = { .tables = tables, .listing = listing };
	size_t count = listing->total ? pairs->rows.count : pairs->touched.count;
	size_t numbers = (PAIR_FIRST + pairs->members.count) * sizeof(*pass.numbers);

	pass.numbers = mem_alloc(numbers);
	memset(pass.numbers, 0xFF, numbers);
	for (size_t i = 0; i < count; i++) {
		add_pair(&pass, &pairs->rows.at[listing->total ? i : pairs->touched.at[i]]);
	}
	for (size_t i = 0; i < pass.sums.count; i++) {
		list_sum(&pass, pass.sums.at[i]);
	}
	pair_numbers_fini(&pass.sides);
	pair_numbers_fini(&pass.pairs);
	vec_fini(&pass.sums);
	*vec_push(&listing->memory->lists) = pass.all.at; /* rows show them */
	free(pass.numbers);
}

/*
 * items: see items.h.
 */
#include "engine/tables/keyed.h"

#include "base/limits.h"
#include "engine/tables/tables.h"

/* ---- items ---- */

void items_init(struct items *items, bool has_totals)
{
	items->has_totals = has_totals;
	items->by_key = kh_init(items);
}

void items_fini(struct items *items, const struct columns (*columns)[TABLES_MAX])
{
	for (size_t i = 0; i < items->all.count; i++) {
		struct item *item = items->all.at[i];
		const struct columns *of = &columns[item->analysis][item->table];

		columns_empty(of, item->window);
		if (item->total) {
			columns_empty(of, item->total);
		}
		free(item->window);
		free(item->label);
		free(item);
	}
	kh_destroy(items, items->by_key);
	vec_fini(&items->all);
	vec_fini(&items->touched);
}

static struct item *item_new(struct items *items, const struct columns *columns,
			     struct item_ref like)
{
	struct item *item = mem_alloc(sizeof(*item));
	int is_new;

	*item = *like.item;
	item->window =
		mem_alloc((columns->count + 1) * sizeof(uint64_t) * (items->has_totals ? 2 : 1));
	item->total = items->has_totals ? item->window + columns->count + 1 : NULL;
	*vec_push(&items->all) = item;
	items->counts[item->analysis][item->table]++;
	like.item = item;
	(void)kh_put(items, items->by_key, like, &is_new);
	return item;
}

static struct item *find(const struct items *items, struct item_ref like)
{
	khint_t at = kh_get(items, items->by_key, like);

	return at == kh_end(items->by_key) ? NULL : kh_key(items->by_key, at).item;
}

static struct item *find_or_make(struct items *items, const struct columns *columns,
				 unsigned int analysis, unsigned int table,
				 const struct item_key *key)
{
	struct item like = { .key = *key, .analysis = (uint8_t)analysis, .table = (uint8_t)table };
	struct item_ref ref = item_ref_to(&like);
	struct item **others = &items->others[analysis][table], *item = find(items, ref);

	if (item) {
		return item;
	}
	if (items->counts[analysis][table] < ITEMS_MAX) {
		return item_new(items, columns, ref);
	}
	if (!*others) {
		like.key = item_key_of(ITEM_NO_ID, ITEM_OTHERS, sizeof(ITEM_OTHERS));
		ref = item_ref_to(&like);
		item = find(items, ref);
		*others = item ? item : item_new(items, columns, ref);
	}
	return *others;
}

static struct item **recent_place(struct items *items, unsigned int analysis, unsigned int table,
				  const struct item_key *key)
{
	uint64_t word;

	memcpy(&word, key->name, sizeof(word));
	word = (key->id ^ word) * 0x9E3779B97F4A7C15ull;
	return &items->recent[((word >> 32) + analysis * TABLES_MAX + table) % ITEMS_RECENT];
}

struct item *items_find(struct items *items, const struct columns *columns, unsigned int analysis,
			unsigned int table, const struct item_key *key)
{
	struct item **recent = recent_place(items, analysis, table, key);
	struct item *item = *recent;

	if (!item || item->analysis != analysis || item->table != table ||
	    !item_equal(&item->key, key)) {
		item = find_or_make(items, columns, analysis, table, key);
		*recent = item;
	}
	items_touch(items, item);
	return item;
}

void item_label(struct item *item, const char *label)
{
	if (!item->label || strcmp(item->label, label) != 0) {
		free(item->label);
		item->label = mem_strdup(label);
	}
}

void items_gather(struct items *to, struct items *from, const struct columns (*columns)[TABLES_MAX])
{
	for (size_t i = 0; i < from->touched.count; i++) {
		struct item *part = from->touched.at[i];
		const struct columns *of = &columns[part->analysis][part->table];
		struct item *sum = items_find(to, of, part->analysis, part->table, &part->key);

		columns_move(of, sum->window, part->window);
		if (part->label && item_equal(&sum->key, &part->key)) { /* it may be the others */
			item_label(sum, part->label);
		}
		part->is_touched = false;
	}
	from->touched.count = 0;
}

void items_close(struct items *items, const struct columns (*columns)[TABLES_MAX], bool keep)
{
	for (size_t i = 0; i < items->touched.count; i++) {
		struct item *item = items->touched.at[i];
		const struct columns *of = &columns[item->analysis][item->table];

		if (keep) {
			columns_close(of, item->total, item->window);
		} else {
			columns_empty(of, item->window);
		}
		item->is_touched = false;
	}
	items->touched.count = 0;
}

/* ---- longest ---- */

int instance_compare(const struct instance *a, const struct thread_view *a_thread,
		     const struct instance *b, const struct thread_view *b_thread)
{
	int32_t p = a_thread ? a_thread->tid : -1, q = b_thread ? b_thread->tid : -1;

	if (a->ns != b->ns) {
		return a->ns > b->ns ? -1 : 1;
	}
	if (a->end != b->end) {
		return a->end < b->end ? -1 : 1;
	}
	if (p != q) {
		return p < q ? -1 : 1;
	}
	if (a->cpu != b->cpu) {
		return a->cpu < b->cpu ? -1 : 1;
	}
	return memcmp(&a->item, &b->item, sizeof(a->item));
}

static const struct thread_view *thread_of(const struct shown_instance *shown)
{
	return shown->instance.thread ? &shown->instance.thread->view
	       : shown->has_view      ? &shown->view
				      : NULL;
}

static bool is_before(const struct shown_instance *a, const struct shown_instance *b)
{
	return instance_compare(&a->instance, thread_of(a), &b->instance, thread_of(b)) < 0;
}

static void add_shown(struct longest *longest, const struct shown_instance *shown)
{
	size_t at = longest->all.count;

	if (at == longest->room) {
		if (!is_before(shown, &longest->all.at[at - 1])) {
			return;
		}
		at--;
	} else {
		(void)vec_push(&longest->all);
	}
	for (; at > 0 && is_before(shown, &longest->all.at[at - 1]); at--) {
		longest->all.at[at] = longest->all.at[at - 1];
	}
	longest->all.at[at] = *shown;
}

void longest_add(struct longest *longest, const struct instance *instance)
{
	if (longest_may_have(longest, instance->ns)) {
		add_shown(longest, &(struct shown_instance){ .instance = *instance });
	}
}

void longest_gather(struct longest *to, struct longest *from)
{
	for (size_t i = 0; i < from->all.count; i++) {
		struct shown_instance shown = from->all.at[i];

		if (shown.instance.thread) {
			shown.view = shown.instance.thread->view;
			shown.has_view = true;
			shown.instance.thread = NULL;
		}
		add_shown(to, &shown);
	}
	from->all.count = 0;
}

void longest_move(struct longest *to, struct longest *from)
{
	for (size_t i = 0; i < from->all.count; i++) {
		add_shown(to, &from->all.at[i]);
	}
	from->all.count = 0;
}

/*
 * selection: see selection.h.
 */
#include "engine/tables/selection.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "engine/contract/row-key.h"
#include "engine/tables/report.h"

/* An empty list has all. */
static bool has(const int64_t *at, size_t count, int64_t value)
{
	for (size_t i = 0; i < count; i++) {
		if (at[i] == value) {
			return true;
		}
	}
	return count == 0;
}

static bool has_text(const char *const *at, size_t count, const char *text)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(at[i], text) == 0) {
			return true;
		}
	}
	return count == 0;
}

bool selection_picks_threads(const struct selection *s)
{
	return s && s->tids.count + s->pids.count + s->comms.count > 0;
}

bool selection_wants_table(const struct selection *s, const struct table *table)
{
	const char *id_key = table->id_key ? table->id_key : "";

	switch (s ? s->per : PER_ALL) {
	case PER_ALL:
		return true;
	case PER_CPU:
		return table->scope == SCOPE_CPU || strcmp(id_key, "cpu") == 0;
	case PER_TID:
		return table->scope == SCOPE_THREAD;
	case PER_PID:
	case PER_COMM:
		return table->scope == SCOPE_PROCESS;
	case PER_PRIO:
		return strcmp(id_key, "prio") == 0;
	}
	return true;
}

bool selection_wants_cpu(const struct selection *s, uint64_t cpu)
{
	return !s || has(s->cpus.at, s->cpus.count, (int64_t)cpu);
}

bool selection_wants_thread(const struct selection *s, const struct table *table,
			    const struct thread_view *view)
{
	assert_hot(table->scope == SCOPE_THREAD || table->scope == SCOPE_PROCESS ||
		   table->scope == SCOPE_LONGEST);
	if (!s) {
		return true;
	}
	return has_text(s->comms.at, s->comms.count, view->comm) &&
	       has(s->pids.at, s->pids.count, view->pid) &&
	       (table->scope == SCOPE_PROCESS || has(s->tids.at, s->tids.count, view->tid));
}

bool selection_wants_owner(const struct selection *s, const struct table *table,
			   const struct row_key *key)
{
	assert_hot(table->scope == SCOPE_KEYED);
	return !s || !table->owner_key || s->pids.count == 0 ||
	       (key->id != ROW_KEY_NO_ID &&
		has(s->pids.at, s->pids.count, (int32_t)(key->id >> 32)));
}

bool selection_wants_irq(const struct selection *s, const struct table *table, uint64_t id,
			 const char *name)
{
	const char *id_name = table->id_name ? table->id_name(id) : NULL;
	char number[24];

	assert_hot(name);
	if (!s || s->irqs.count == 0 || !table->lami_class ||
	    strcmp(table->lami_class, "irq") != 0) {
		return true;
	}
	(void)snprintf(number, sizeof(number), "%" PRIu64, id);
	return has_text(s->irqs.at, s->irqs.count, number) ||
	       has_text(s->irqs.at, s->irqs.count, name) ||
	       (id_name && has_text(s->irqs.at, s->irqs.count, id_name));
}

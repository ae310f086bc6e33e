/*
 * ran: see ran.h.
 */
#include "phases/ran.h"

#include <inttypes.h>
#include <string.h>

#include "base/hash.h"

struct process_sum {
	char *name;
	const char *host;
	VEC(struct ran_slice) runs; /* in the order of slices */
};

HASH_MAP(process_of, uint32_t)

struct ran {
	VEC(struct process_sum) processes;
	struct process_of by_pid;
};

struct ran *ran_new(void)
{
	return mem_alloc(sizeof(struct ran));
}

void ran_free(struct ran *ran)
{
	if (!ran) {
		return;
	}
	VEC_EACH(&ran->processes, process) {
		free(process->name);
		vec_fini(&process->runs);
	}
	vec_fini(&ran->processes);
	process_of_fini(&ran->by_pid);
	free(ran);
}

/* The same pid on two hosts is two processes. */
static struct process_sum *process_of(struct ran *ran, size_t number,
				      const struct thread_view *view)
{
	struct process_sum *process;
	uint32_t *at;
	bool is_new;

	at = process_of_put(&ran->by_pid, (uint64_t)number << 32 | (uint32_t)view->pid, &is_new);
	if (!is_new) {
		return &ran->processes.at[*at];
	}
	*at = (uint32_t)ran->processes.count;
	process = vec_push(&ran->processes);
	*process = (struct process_sum){ 0 };
	return process;
}

static void add_process_run(struct ran *ran, size_t number, const char *host, size_t slice,
			    const struct report_row *row)
{
	struct process_sum *process = process_of(ran, number, row->thread);

	free(process->name); /* the last name is shown */
	process->name = row->thread->pid < 0
				? mem_strdup("(not known)")
				: mem_printf("%s (%" PRId32 ")",
					     row->thread->comm[0] ? row->thread->comm : "?",
					     row->thread->pid);
	process->host = host;
	*vec_push(&process->runs) =
		(struct ran_slice){ .slice = (uint32_t)slice, .ns = row->values[0] };
}

void ran_report(struct ran *ran, size_t number, const char *host, size_t slice,
		const struct report *report)
{
	for (size_t i = 0; i < report->table_count; i++) {
		const struct report_table *table = &report->tables[i];

		if (table->table->scope != SCOPE_PROCESS ||
		    strcmp(table->analysis->name, "cpu") != 0) {
			continue;
		}
		for (size_t k = 0; k < table->row_count && k < RAN_ROWS_MAX; k++) {
			if (table->rows[k].thread && table->rows[k].values[0] > 0) {
				add_process_run(ran, number, host, slice, &table->rows[k]);
			}
		}
	}
}

/* Puts a process into the list, which is sorted. */
static size_t insert(struct ran_process *list, size_t count, size_t room,
		     const struct ran_process *process)
{
	size_t at = count;

	if (count == room && (room == 0 || list[room - 1].ns >= process->ns)) {
		return count;
	}
	at = count == room ? room - 1 : count;
	while (at > 0 && list[at - 1].ns < process->ns) {
		list[at] = list[at - 1];
		at--;
	}
	list[at] = *process;
	return count < room ? count + 1 : room;
}

size_t ran_most(const struct ran *ran, const struct part *part, struct ran_process *ret,
		size_t room)
{
	size_t count = 0;

	VEC_EACH(&ran->processes, process) {
		struct ran_process one = { .name = process->name, .host = process->host };
		uint64_t ns = 0;

		VEC_EACH(&process->runs, run) {
			ns += run->slice >= part->first && run->slice <= part->last ? run->ns : 0;
		}
		one.ns = (double)ns;
		count = ns > 0 ? insert(ret, count, room, &one) : count;
	}
	return count;
}

const struct ran_slice *ran_slices(const struct ran *ran, size_t index, const char **ret_name,
				   size_t *ret_count)
{
	if (index >= ran->processes.count) {
		return NULL;
	}
	*ret_name = ran->processes.at[index].name;
	*ret_count = ran->processes.at[index].runs.count;
	return ran->processes.at[index].runs.at;
}

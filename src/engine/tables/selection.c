/*
 * selection: see selection.h.
 */
#include "engine/tables/selection.h"

#include <fnmatch.h>
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

/* The list has patterns, as those of a shell. */
static bool matches(const char *const *at, size_t count, const char *text)
{
	for (size_t i = 0; i < count; i++) {
		if (fnmatch(at[i], text, 0) == 0) {
			return true;
		}
	}
	return count == 0;
}

uint8_t selection_of(const struct selection *s)
{
	if (!s) {
		return 0;
	}
	return (s->tids.count + s->pids.count + s->comms.count > 0 ? OF_ALL_THREADS : 0) |
	       (s->cpus.count > 0 ? OF_ALL_CPUS : 0) | (s->irqs.count > 0 ? OF_ALL_IRQS : 0);
}

static void put_numbers(FILE *out, const char *option, const int64_t *at, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		(void)fprintf(out, "%s%s%s%" PRId64, i == 0 ? (ftell(out) > 0 ? " " : "") : "",
			      i == 0 ? option : "", i == 0 ? " " : ",", at[i]);
	}
}

static void put_names(FILE *out, const char *option, const char *const *at, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		(void)fprintf(out, "%s%s%s%s", i == 0 ? (ftell(out) > 0 ? " " : "") : "",
			      i == 0 ? option : "", i == 0 ? " " : ",", at[i]);
	}
}

static char *text_of(const struct selection *s, const char *tids, const char *comms)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (s) {
		put_numbers(out, tids, s->tids.at, s->tids.count);
		put_numbers(out, "--pid", s->pids.at, s->pids.count);
		put_names(out, comms, s->comms.at, s->comms.count);
		put_numbers(out, "--cpu", s->cpus.at, s->cpus.count);
		put_names(out, "--irq", s->irqs.at, s->irqs.count);
	}
	if (selection_of(s) == 0) {
		(void)fputs("all threads, CPUs and interrupts", out);
	}
	(void)fclose(out);
	return text;
}

char *selection_text(const struct selection *s)
{
	char *text = text_of(s, "--tid", "--comm"), *whole = text;

	if (selection_by_service(s)) { /* what is in what differs */
		whole = mem_printf("%s, --per service", text);
		free(text);
	}
	return whole;
}

char *selection_asked(const struct selection *s)
{
	return text_of(s, s && s->tids_option ? s->tids_option : "--tid",
		       s && s->comms_option ? s->comms_option : "--comm");
}

const char *selection_container(const struct selection *s, uint32_t pid_ns)
{
	for (size_t i = 0; s && !s->by_service && i < s->containers.count; i++) {
		if (s->containers.at[i].pid_ns == pid_ns) {
			return s->containers.at[i].name;
		}
	}
	return NULL;
}

uint64_t selection_container_id(const struct selection *s, uint32_t number)
{
	return number == 0               ? ROW_KEY_NO_ID
	       : selection_by_service(s) ? REPORT_PLACE_ID | number
					 : number;
}

bool selection_shows(enum per per, const struct table *table)
{
	const char *id_key = table->id_key ? table->id_key : "";

	switch (per) {
	case PER_ALL:
		return true;
	case PER_CPU:
		return table->scope == SCOPE_CPU || strcmp(id_key, "cpu") == 0;
	case PER_TID:
		return table->scope == SCOPE_THREAD || table->scope == SCOPE_PAIR;
	case PER_PID:
	case PER_COMM:
		return table->scope == SCOPE_PROCESS || table->scope == SCOPE_PROCESS_PAIR;
	case PER_PRIO:
		return strcmp(id_key, "prio") == 0;
	case PER_CONTAINER:
	case PER_SERVICE:
		return scope_is_of_containers(table->scope) || table->has_containers;
	}
	return true;
}

bool selection_wants_cpu(const struct selection *s, uint64_t cpu)
{
	return !s || has(s->cpus.at, s->cpus.count, (int64_t)cpu);
}

/* A thread whose process is not known may be the one that leads the process of its number. */
bool selection_wants_thread(const struct selection *s, const struct thread_view *view)
{
	return !s || (has(s->tids.at, s->tids.count, view->tid) &&
		      has(s->pids.at, s->pids.count, view->pid < 0 ? view->tid : view->pid) &&
		      matches(s->comms.at, s->comms.count, view->comm));
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
	return matches(s->irqs.at, s->irqs.count, number) ||
	       matches(s->irqs.at, s->irqs.count, name) ||
	       (id_name && matches(s->irqs.at, s->irqs.count, id_name));
}

/*
 * survey: see survey.h.
 */
#include "tracedat/survey.h"

#include <errno.h>
#include <string.h>

#include "base/now.h"
#include "tracedat/pages.h"

/* Events that tell of a new thread: the field with its tid. */
static const struct birth {
	const char *system, *event, *field;
} births[] = {
	{ "sched", "sched_process_fork", "child_pid" },
	{ "sched", "sched_wakeup_new", "pid" },
	{ "task", "task_newtask", "pid" },
};

/* A number of the events of one format, or of all. */
struct number {
	const struct ftrace_field *field; /* NULL: there is no such event */
	uint32_t id;
};

struct taking {
	const struct ftrace_layout *layout;
	struct survey *survey;
	struct number births[ARRAY_COUNT(births)];
	struct number type, tid; /* which each event has */
};

static void find_number(struct number *number, const struct ftrace_format *format, const char *name)
{
	const struct ftrace_field *field = ftrace_format_field(format, name);

	if (field && field->kind == FTRACE_INTEGER && field->place == FTRACE_HERE) {
		*number = (struct number){ .field = field, .id = format->id };
	}
}

static void find_numbers(struct taking *taking, const survey_formats *formats)
{
	VEC_EACH_OF(formats, format) {
		if (!taking->tid.field) {
			find_number(&taking->type, format, "common_type");
			find_number(&taking->tid, format, "common_pid");
		}
		for (size_t i = 0; i < ARRAY_COUNT(births); i++) {
			if (strcmp(format->system, births[i].system) == 0 &&
			    strcmp(format->name, births[i].event) == 0) {
				find_number(&taking->births[i], format, births[i].field);
			}
		}
	}
}

/* 0: it is not there. */
static uint64_t survey_number(const struct taking *taking, const struct number *number,
			      const struct ftrace_record *record)
{
	const struct ftrace_field *field = number->field;

	return field && record->len >= field->offset + field->size
		       ? ftrace_field_number(field, record->payload, taking->layout->is_big)
		       : 0;
}

static void survey_record(struct taking *taking, const struct ftrace_record *record)
{
	struct survey *survey = taking->survey;
	uint64_t type = survey_number(taking, &taking->type, record);
	struct survey_thread *thread =
		survey_threads_get(&survey->threads, survey_number(taking, &taking->tid, record));

	survey->end = record->time > survey->end ? record->time : survey->end;
	survey->has[type % SURVEY_IDS] = true;
	if (thread) {
		thread->is_seen = true;
	}
	for (size_t i = 0; i < ARRAY_COUNT(births); i++) {
		const struct number *birth = &taking->births[i];

		if (birth->field && birth->id == type) {
			thread = survey_threads_get(&survey->threads,
						    survey_number(taking, birth, record));
			if (thread) {
				thread->is_born = true;
			}
		}
	}
}

static void take_page(struct taking *taking, const uint8_t *bytes, size_t len)
{
	struct ftrace_page page;
	struct ftrace_record record;
	struct err err;

	if (ftrace_page_begin(&page, taking->layout, bytes, len, &err) < 0) {
		return;
	}
	if (page.time < taking->survey->begin) {
		taking->survey->begin = page.time;
	}
	while (ftrace_page_next(&page, &record)) {
		survey_record(taking, &record);
	}
}

static int survey_cpu_of(struct taking *taking, const struct tracedat *dat,
			 const struct tracedat_buffer *buffer, const struct tracedat_cpu *cpu,
			 struct err *err)
{
	struct pages pages;
	const uint8_t *page = NULL;
	size_t len;
	struct err why;
	int r = 0;

	if (pages_begin(dat, buffer, cpu, &pages, &why) == 0) {
		while (r == 0 && pages_next(&pages, &page, &len, &why) == 0 && page) {
			take_page(taking, page, len);
			r = now_is_leaving()
				    ? err_raise(err, -EINTR, "interrupted while it was read")
				    : 0;
		}
	}
	pages_fini(&pages);
	return r;
}

int survey_take(const struct tracedat *dat, const struct tracedat_buffer *buffer,
		const struct ftrace_layout *layout, const survey_formats *formats,
		struct survey *survey, struct err *err)
{
	struct taking taking = { .layout = layout, .survey = survey };
	int r = 0;

	*survey = (struct survey){ .begin = UINT64_MAX };
	VEC_EACH(&dat->tasks, task) {
		survey_threads_put(&survey->threads, (uint64_t)task->tid, NULL)->name = task->name;
	}
	find_numbers(&taking, formats);
	for (size_t i = 0; r == 0 && i < buffer->cpus.count; i++) {
		r = survey_cpu_of(&taking, dat, buffer, &buffer->cpus.at[i], err);
	}
	survey->begin = survey->begin < UINT64_MAX ? survey->begin : 0;
	survey->end = survey->end > survey->begin ? survey->end : survey->begin;
	return r;
}

void survey_fini(struct survey *survey)
{
	survey_threads_fini(&survey->threads);
}

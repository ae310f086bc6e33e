/*
 * recorded-span: from when to when a trace goes, by its packets.
 */
#include <stdlib.h>

#include "base/now.h"
#include "ctf/clock.h"
#include "recorded/recorded.h"

static void add_time(const struct packet_info *info, uint64_t cycles, uint64_t *begin,
		     uint64_t *end)
{
	struct clock clock;
	uint64_t ns;

	clock_init(&clock, info->stream->clock);
	ns = clock_ns(&clock, cycles);
	*begin = ns < *begin ? ns : *begin;
	*end = ns > *end ? ns : *end;
}

/* Of a packet that does not tell its times: extends the span by its events. */
static void add_events(struct recorded *trace, const struct recorded_file *file, uint64_t *begin,
		       uint64_t *end)
{
	uint8_t *bytes = recorded_start(file, trace->plan, trace->decoder, SIZE_MAX);
	struct ctf_event event = { 0 };

	while (bytes && !now_must_leave() && decoder_next(trace->decoder, &event) > 0) {
		add_time(&file->info, event.cycles, begin, end);
	}
	free(bytes);
}

/* Extends the span by all packets of a file. */
static void add_span(struct recorded *trace, struct recorded_file *file, uint64_t *begin,
		     uint64_t *end)
{
	for (; file->has_info; recorded_next(file, trace->plan, trace->decoder)) {
		const struct packet_info *info = &file->info;

		free(recorded_take_fault(file));
		if (!info->stream->clock) {
			continue;
		}
		if (info->has_begin) {
			add_time(info, info->begin, begin, end);
		}
		if (info->has_end) {
			add_time(info, info->end, begin, end);
		}
		if (!info->has_begin || !info->has_end) {
			add_events(trace, file, begin, end);
		}
	}
}

int recorded_span(const struct recorded_path *path, uint64_t *ret_first, uint64_t *ret_last,
		  struct err *err)
{
	struct recorded trace;
	int r = recorded_open(path, &trace, err);

	*ret_first = UINT64_MAX;
	*ret_last = 0;
	for (size_t i = 0; r == 0 && i < trace.files.at.count; i++) {
		add_span(&trace, &trace.files.at.at[i], ret_first, ret_last);
	}
	recorded_close(&trace);
	return r;
}

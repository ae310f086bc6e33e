/*
 * partials: hostile frames of a file that `sillage map` is said to have written, for a trace.
 *
 * Each frame is behind its length in two bytes, and not packed: what zstd's checksum would refuse
 * is to be looked at.  All are merged, with every analysis.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "engine/engine.h"
#include "engine/exchange/partial-file.h"
#include "engine/trace.h"
#include "fuzz.h"
#include "query/period.h"

static void on_report(void *user, const struct report *report)
{
	unsigned int *reports = user;

	*reports += report->table_count > 0;
}

static void on_warning(void *user, const struct engine_warning *warning)
{
}

static struct period_set *periods(void)
{
	static const char *const texts[] = {
		"label line = irq_handler_entry key=irq name=name",
		"outer = sched_waking; sched_wakeup; by $tid",
		"inner = irq_handler_entry; irq_handler_exit; by $tid; within outer",
		"cpu = irq_handler_entry; irq_handler_exit; by irq, $cpu; group line(irq)",
		("chain = sched_waking; sched_wakeup; by tid; then irq_handler_entry; group "
		 "line(irq)"),
		"job job = sched_waking; irq_handler_entry; deadline 1ms; group line(irq)",
	};
	static struct period_set set;
	struct err err;

	for (size_t i = 0; set.jobs.count < 1; i++) {
		if (period_add_text(&set, texts[i], &err) < 0) {
			abort(); /* they are ours */
		}
	}
	return &set;
}

static void merge_all(struct engine *engine, struct trace *trace, const uint8_t *data, size_t size)
{
	struct partial_intake *merging = partial_intake_new(trace);
	struct err err;
	int r = 0;

	while (r == 0 && size > 2) {
		size_t len = (size_t)data[0] << 8 | data[1];
		uint8_t *frame;

		data += 2;
		size -= 2;
		len = len < size ? len : size;
		/* Of its own, so that a sanitizer sees reads beyond it. */
		frame = malloc(len + (len == 0));
		memcpy(frame, data, len);
		r = partial_intake_take(merging, &(struct codec){ .at = frame, .left = len }, &err);
		free(frame);
		if (r < 0 && !err.text[0]) {
			abort();
		}
		if (r >= 0) { /* else the trace is only to be freed */
			engine_step(engine, false, 0);
		}
		data += len;
		size -= len;
	}
	partial_intake_free(merging);
	if (r >= 0) {
		trace_finish(trace, 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned int reports = 0;
	struct engine_config config = { .interval_ns = 1000000,
					.range_end = UINT64_MAX,
					.wants_windows = true,
					.chunk_bytes = 256,
					.max_memory = UINT64_C(1) << 28,
					.periods = periods(),
					.on_report = on_report,
					.on_warning = on_warning };
	struct engine *engine;
	struct trace *trace;

	for (size_t i = 0; analyses[i]; i++) {
		config.analyses[i] = analyses[i];
	}
	engine = engine_new(&config);
	trace = trace_new(engine, &reports);
	merge_all(engine, trace, data, size);
	trace_free(trace);
	engine_free(engine);
	return 0;
}

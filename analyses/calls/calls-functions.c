/*
 * calls-functions: see calls.h; names of functions that are traced by their addresses.
 *
 * What the trace tells of images is taken in its order of time, like calls.  A function is looked
 * for when it is called, and once more when more is known of images and it is called again, ends,
 * or is open at the end of a window; so rows before a state dump have addresses.  Pairs are told by
 * addresses, whatever they are called.
 */
#include <string.h>

#include "analyses/calls/calls.h"
#include "symbols/symbols.h"

void calls_on_image(struct calls_trace *trace, const struct ordered *ordered)
{
	const uint64_t *words = (const uint64_t *)(uintptr_t)ordered->words[NOTE_WORDS];
	const struct symbols_event event = {
		.says = (uint8_t)words[IMAGE_SAYS],
		.place = { .pid = (int64_t)words[IMAGE_PID], .base = words[IMAGE_BASE] },
		.ts = ordered->ts,
		.number = words[IMAGE_NUMBER],
		.bytes = (const uint8_t *)&words[IMAGE_WORDS],
		.len = words[IMAGE_LEN],
	};

	if (!trace->symbols) {
		trace->symbols = symbols_new();
	}
	symbols_take(trace->symbols, &event);
	trace->images++;
}

bool calls_accept_image(const struct untrusted_record *untrusted)
{
	const uint64_t *words = untrusted->numbers;

	return untrusted_has(untrusted, IMAGE_WORDS) && words[IMAGE_SAYS] < SYMBOLS_SAYS &&
	       words[IMAGE_LEN] <= SYMBOLS_TEXT_MAX &&
	       untrusted_has(untrusted, IMAGE_WORDS + (words[IMAGE_LEN] + 7) / 8);
}

void calls_name_function(struct calls_trace *trace, struct call_name *name, uint64_t ts)
{
	int64_t pid = (int64_t)name->process;

	if (name->images == trace->images + 1) {
		return;
	}
	name->images = trace->images + 1;
	name->looked = ts;
	if (!trace->symbols) {
		trace->symbols = symbols_new();
	}
	name->symbol = symbols_find(trace->symbols, pid, ts, name->address);
	name->why = name->symbol ? NULL : symbols_why(trace->symbols, pid, ts, name->address);
}

/* Of a name from a file: what it was called there, whatever was mapped since. */
static void look_again(struct calls_trace *trace, struct call_name *name, bool is_read)
{
	if (is_read && name->is_function && name->images == trace->images + 1) {
		name->images = 0;
		calls_name_function(trace, name, name->looked);
	}
}

void calls_codec_images(struct codec *codec, struct calls_trace *trace)
{
	bool has = trace->symbols != NULL;

	codec_each(codec, &has, &trace->images);
	if (has && codec_reads(codec)) {
		trace->symbols = symbols_new();
	}
	if (has) {
		symbols_codec(codec, trace->symbols);
	}
	HASH_EACH(call_names, &trace->names, one) {
		look_again(trace, one->value, codec_reads(codec) && !codec->is_wrong);
	}
}

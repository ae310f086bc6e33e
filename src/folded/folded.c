/*
 * folded: see folded.h.
 */
#include "folded/folded.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "perfetto/trace.h"
#include "symbols/callstack.h"

struct stack_frame {
	char *name;
	uint32_t within;
	uint64_t ns;
};

HASH_MAP(frames_by, uint32_t)

struct stacks {
	VEC(struct stack_frame)
	frames;                   /* an outer one before its inner ones; the first is around all */
	struct frames_by by_name; /* by what it is within, and its name */
};

struct stacks *folded_new(void)
{
	struct stacks *folded = mem_alloc(sizeof(*folded));

	*vec_push(&folded->frames) = (struct stack_frame){ .name = mem_strdup("") };
	return folded;
}

void folded_free(struct stacks *folded)
{
	for (size_t i = 0; i < folded->frames.count; i++) {
		free(folded->frames.at[i].name);
	}
	vec_fini(&folded->frames);
	frames_by_fini(&folded->by_name);
	free(folded);
}

/* A name may not have what separates frames and lines. */
static char *clean_name(const char *name)
{
	size_t room = 3 * strlen(name) + 2;
	char *clean = mem_alloc(room);

	if (utf8_copy(clean, room, name, strlen(name)) == 0) {
		clean[0] = '?';
	}
	for (char *at = clean; *at; at++) {
		*at = *at == ';' ? ':' : (unsigned char)*at < ' ' || *at == 127 ? '?' : *at;
	}
	return clean;
}

static uint32_t outermost(const struct stacks *folded, uint32_t frame)
{
	while (frame != 0 && folded->frames.at[frame].within != 0) {
		frame = folded->frames.at[frame].within;
	}
	return frame;
}

uint32_t folded_frame(struct stacks *folded, uint32_t within, const char *name)
{
	static const char others[] = "(others)";
	uint64_t key = hash_text(hash_bytes(0, &within, sizeof(within)), name);
	uint32_t *known = frames_by_get(&folded->by_name, key);

	assert(within < folded->frames.count);
	if (known) {
		return *known;
	}
	if (folded->frames.count >= FOLDED_MAX && strcmp(name, others) != 0) {
		return folded_frame(folded, outermost(folded, within), others);
	}
	*frames_by_put(&folded->by_name, key, NULL) = (uint32_t)folded->frames.count;
	*vec_push(&folded->frames) =
		(struct stack_frame){ .name = clean_name(name), .within = within };
	return (uint32_t)folded->frames.count - 1;
}

void folded_add(struct stacks *folded, uint32_t frame, uint64_t ns)
{
	folded->frames.at[frame].ns += ns;
}

uint32_t folded_copy(struct stacks *folded, uint32_t within, const struct stacks *from,
		     uint32_t frame)
{
	if (frame == 0) {
		return within;
	}
	within = folded_copy(folded, within, from, from->frames.at[frame].within);
	return folded_frame(folded, within, from->frames.at[frame].name);
}

/* ---- lines ---- */

struct stack_line {
	char *stack;
	uint64_t ns;
};

ORDER(by_stack, struct stack_line, UP_TEXT(stack))

static char *stack_text(const struct stacks *folded, uint32_t frame)
{
	const struct stack_frame *is = &folded->frames.at[frame];
	char *outer, *stack;

	if (is->within == 0) {
		return mem_strdup(is->name);
	}
	outer = stack_text(folded, is->within);
	stack = mem_printf("%s;%s", outer, is->name);
	free(outer);
	return stack;
}

size_t folded_write(struct stacks *folded, FILE *out)
{
	VEC(struct stack_line) lines = { 0 };
	size_t count;

	for (uint32_t i = 1; i < folded->frames.count; i++) {
		if (folded->frames.at[i].ns > 0) {
			*vec_push(&lines) = (struct stack_line){ .stack = stack_text(folded, i),
								 .ns = folded->frames.at[i].ns };
		}
	}
	vec_sort(&lines, by_stack);
	VEC_EACH(&lines, line) {
		(void)fprintf(out, "%s %" PRIu64 "\n", line->stack, line->ns);
		free(line->stack);
	}
	count = lines.count;
	vec_fini(&lines);
	return count;
}

/* ---- a trace ---- */

int folded_take(struct stacks *folded, struct folded_trace *trace, struct err *err)
{
	static const struct plan_request stacks[] = { CALLSTACK_REQUEST };
	struct reader *reader = reader_open(trace->setup, stacks, ARRAY_COUNT(stacks), err);
	bool is_of_kernel;

	if (!reader) {
		return -EINVAL;
	}
	is_of_kernel = trace_is_kernel(reader_plan(reader));
	trace->has_stacks = reader_is_asked(reader, false, 0, ARRAY_COUNT(stacks));
	reader_close(reader);
	if (trace->counts_samples) {
		return folded_take_samples(folded, trace, err);
	}
	return is_of_kernel ? folded_take_kernel(folded, trace, err)
			    : folded_take_user(folded, trace, err);
}

/*
 * callstack: see callstack.h.
 */
#include "symbols/callstack.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "ctf/decoder.h"
#include "symbols/symbols.h"

/* Fields by name.  Programs that record what backtrace() gives call it so. */
static const struct {
	const char *name;
	enum address_space space;
	bool is_row, is_of_functions;
} address_fields[] = {
	{ "callstack_kernel", SPACE_KERNEL, .is_row = true },
	{ "callstack_user", SPACE_USER, .is_row = true },
	{ "perf_callchain", SPACE_MARKED, .is_row = true },
	{ "callstack", SPACE_USER, .is_row = true },
	{ "backtrace", SPACE_USER, .is_row = true },
	{ "stacktrace", SPACE_USER, .is_row = true },
	{ "stack_trace", SPACE_USER, .is_row = true },
	{ "ip", SPACE_USER },
	{ "addr", SPACE_USER, .is_of_functions = true },
	{ "call_site", SPACE_USER, .is_of_functions = true },
};

enum address_space callstack_space(const char *field, bool is_row, bool is_function)
{
	for (size_t i = 0; i < ARRAY_COUNT(address_fields); i++) {
		if (address_fields[i].is_row == is_row &&
		    strcmp(address_fields[i].name, field) == 0 &&
		    (is_function || !address_fields[i].is_of_functions)) {
			return address_fields[i].space;
		}
	}
	return SPACE_NONE;
}

/* ---- rows ---- */

/* perf's marks (enum perf_callchain_context in linux/perf_event.h) are its highest numbers. */
#define MARK_KERNEL ((uint64_t)-128)
#define MARK_USER   ((uint64_t)-512)
#define MARKS       ((uint64_t)-4095)

static enum address_space space_behind(uint64_t mark)
{
	return mark == MARK_KERNEL ? SPACE_KERNEL : mark == MARK_USER ? SPACE_USER : SPACE_NONE;
}

enum address_space callstack_walk(struct callstack_walk *walk, const struct type *element,
				  uint64_t value)
{
	if (walk->space != SPACE_MARKED) {
		/* Old kernels write all ones behind the outermost frame. */
		uint64_t ones = element->size_bits < 64 ? (UINT64_C(1) << element->size_bits) - 1
							: UINT64_MAX;

		return (value & ones) == ones || value == 0 ? SPACE_NONE : walk->space;
	}
	if (value >= MARKS) {
		walk->now = space_behind(value);
		return SPACE_NONE;
	}
	return value != 0 ? walk->now : SPACE_NONE;
}

const char *callstack_name(struct symbols *symbols, int64_t pid, uint64_t ts, uint64_t address,
			   enum address_space space, char text[CALLSTACK_TEXT])
{
	const char *name = space == SPACE_KERNEL ? symbols_find_kernel(symbols, address)
						 : symbols_find(symbols, pid, ts, address);

	if (!name) {
		(void)snprintf(text, CALLSTACK_TEXT, "0x%" PRIx64, address);
	}
	return name ? name : text;
}

/* ---- events ---- */

/* The fields of CALLSTACK_REQUEST. */
enum { KERNEL, USER, CHAIN, TID, PID, VTID, VPID, PERF_TID, PERF_PID, PROCNAME };

static bool stack_has(const struct plan_binding *binding, unsigned int field)
{
	return binding->present >> field & 1;
}

/* Adds the row's frames, and turns them to have the outermost first. */
static void take_frames(struct callstack *stack, const struct plan_field *field,
			const struct value *row, enum address_space space)
{
	struct callstack_walk walk = { .space = space };
	size_t first = stack->frames.count;
	struct value element;

	for (uint64_t i = 0; i < CALLSTACK_MAX && decoder_element(field, row, i, &element); i++) {
		enum address_space of = callstack_walk(&walk, field->type->element, element.u);

		if (of != SPACE_NONE) {
			*vec_push(&stack->frames) =
				(struct callstack_frame){ .address = element.u, .space = of };
		}
	}
	for (size_t low = first, high = stack->frames.count; low + 1 < high; low++) {
		struct callstack_frame frame = stack->frames.at[--high];

		stack->frames.at[high] = stack->frames.at[low];
		stack->frames.at[low] = frame;
	}
}

static int64_t first_known(const struct plan_binding *binding, const struct value *values,
			   unsigned int a, unsigned int b, unsigned int c)
{
	return stack_has(binding, a)   ? values[a].i
	       : stack_has(binding, b) ? values[b].i
	       : stack_has(binding, c) ? values[c].i
				       : -1;
}

bool callstack_read(struct callstack *stack, const struct plan_event *class,
		    const struct plan_binding *binding, const struct value *values)
{
	/* The program called the kernel: its frames are around those of the kernel. */
	static const struct {
		uint8_t field;
		enum address_space space;
	} rows[] = { { CHAIN, SPACE_MARKED }, { USER, SPACE_USER }, { KERNEL, SPACE_KERNEL } };

	stack->frames.count = 0;
	for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
		if (stack_has(binding, rows[i].field)) {
			take_frames(stack, plan_field_of(class, binding, rows[i].field),
				    &values[rows[i].field], rows[i].space);
		}
	}
	stack->tid = first_known(binding, values, TID, VTID, PERF_TID);
	stack->pid = first_known(binding, values, PID, VPID, PERF_PID);
	stack->name = stack_has(binding, PROCNAME) ? &values[PROCNAME] : NULL;
	return stack->frames.count > 0;
}

void callstack_fini(struct callstack *stack)
{
	vec_fini(&stack->frames);
}

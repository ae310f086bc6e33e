/*
 * callstack: the stacks of return addresses that events carry.
 *
 *     LTTng   contexts callstack_kernel, callstack_user      innermost frame first
 *     perf    perf_callchain: the kernel's part, then the program's, each behind a mark
 *
 * Which fields hold addresses of functions is said here alone.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "ctf/plan/plan.h"

struct symbols;

/* Whose addresses a field has.  A row of perf's has both, told apart by marks. */
enum address_space { SPACE_NONE, SPACE_USER, SPACE_KERNEL, SPACE_MARKED };

/* Of a field that is a number, or a row of numbers; SPACE_NONE: no addresses of functions.
 * @is_function: the event is of -finstrument-functions. */
enum address_space callstack_space(const char *field, bool is_row, bool is_function);

/* The elements of a row, one by one: @space is what its field has. */
struct callstack_walk {
	enum address_space space, now; /* now: of the elements that follow; SPACE_NONE: neither */
};
/* Whose address the element is; SPACE_NONE: it is a mark, or the end of the stack. */
enum address_space callstack_walk(struct callstack_walk *walk, const struct type *element,
				  uint64_t value);

/* The name of the function at an address, or the address as text, in @text. */
#define CALLSTACK_TEXT 24
const char *callstack_name(struct symbols *symbols, int64_t pid, uint64_t ts, uint64_t address,
			   enum address_space space, char text[CALLSTACK_TEXT]);

struct callstack_frame {
	uint64_t address;
	enum address_space space; /* SPACE_USER or SPACE_KERNEL */
};

struct callstack {
	VEC(struct callstack_frame) frames; /* the outermost first */
	int64_t tid, pid;                   /* as the event says; -1: it does not */
	const struct value *name;           /* of the thread, the same; NULL: it does not */
};

/* The request for all events that have a stack, of a group that no other request has. */
#define CALLSTACK_REQUEST                                                                          \
	{                                                                                          \
		.event = "*", .needs = 3, .group = UINT16_MAX, .fields = {                         \
			"@context.callstack_kernel",                                               \
			"@context.callstack_user",                                                 \
			"@perf_callchain",                                                         \
			"context.tid",                                                             \
			"context.pid",                                                             \
			"context.vtid",                                                            \
			"context.vpid",                                                            \
			"perf_tid",                                                                \
			"perf_pid",                                                                \
			"@context.procname"                                                        \
		}                                                                                  \
	}
/* Reads the one of an event; false: it has none.  @binding: of the request. */
bool callstack_read(struct callstack *stack, const struct plan_event *class,
		    const struct plan_binding *binding, const struct value *values);
void callstack_fini(struct callstack *stack);

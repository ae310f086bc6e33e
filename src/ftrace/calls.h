/*
 * calls: the system calls of a machine: names by number, and what their arguments are.
 */
#pragma once

#include "ftrace/convert.h"

struct call_argument {
	const char *name;
	uint8_t index; /* among the six */
	uint8_t bytes; /* 2, 4 or 8 */
	bool is_signed;
	bool at_entry, at_exit; /* when it is written */
};

#define CALL_ARGUMENTS_MAX 6

struct call {
	const char *name; /* LTTng's, without syscall_entry_ */
	struct call_argument arguments[CALL_ARGUMENTS_MAX];
	size_t count;
	bool opens; /* what it returns is a descriptor of a file with a path */
	/* Which descriptors are others after it: those from the first argument to the second, both
	 * inclusive; the same argument twice: that one.  0: none, else 1 more than its index. */
	uint8_t closes_from, closes_to;
};

struct calls;

/* NULL: the machine is not known. */
struct calls *ftrace_calls_new(enum convert_machine machine);
void ftrace_calls_free(struct calls *calls);
/* One more than the highest number. */
uint32_t ftrace_calls_end(const struct calls *calls);
/* NULL: none has this number. */
const struct call *ftrace_calls_get(const struct calls *calls, uint64_t number);
/* The 32-bit calls that the machine's kernel serves, too. */
enum convert_machine ftrace_calls_compat(enum convert_machine machine);

/*
 * kernel: names of system calls, pairs of entry and exit, wake-ups, states of threads, bytes of
 * calls.
 */
#include <string.h>

#include "kernel/call-pairing.h"
#include "kernel/file-calls.h"
#include "kernel/syscall-names.h"
#include "kernel/task-state.h"
#include "kernel/thread-identity.h"
#include "kernel/wait-object.h"
#include "kernel/wake-context.h"
#include "kernel/wake-source.h"
#include "suites.h"

/* ---- system calls ---- */

static const struct {
	const char *event;
	size_t size;
	const char *label;
} labels[] = {
	{ "syscall_entry_read", 32, "read" },
	{ "syscall_exit_read", 32, "read" },
	{ "sys_read", 32, "read" },
	{ "compat_syscall_entry_read", 32, "read/32" },
	{ "compat_sys_read", 32, "read/32" },
	{ "exit_syscall", 32, "?" },
	{ "syscall_entry_", 32, "" },
	{ "syscall_entry_sched_setattr", 8, "sched_s" },
	{ "compat_syscall_entry_sched_setattr", 8, "sche/32" },
	{ "compat_syscall_entry_read", 8, "read/32" },
};

START_TEST(labels_calls)
{
	char label[32];

	memset(label, 'x', sizeof(label));
	syscall_label(labels[_i].event, label, labels[_i].size);
	ck_assert_str_eq(label, labels[_i].label);
	for (size_t i = labels[_i].size; i < sizeof(label); i++) {
		ck_assert_int_eq(label[i], 'x');
	}
}
END_TEST

START_TEST(numbers_calls)
{
	ck_assert_uint_eq(syscall_id("syscall_entry_read"), syscall_id("syscall_exit_read"));
	ck_assert_uint_eq(syscall_id("syscall_entry_read"), syscall_id("sys_read"));
	ck_assert_uint_ne(syscall_id("syscall_entry_read"), syscall_id("syscall_entry_write"));
	ck_assert_uint_ne(syscall_id("syscall_entry_read"),
			  syscall_id("compat_syscall_entry_read"));
	ck_assert_uint_eq(syscall_id("exit_syscall"), SYSCALL_UNNAMED_ID);
	ck_assert_uint_ne(syscall_id("syscall_entry_read"), SYSCALL_UNNAMED_ID);
}
END_TEST

static const struct {
	unsigned int call;
	bool has_ret;
	int64_t ret;
	uint64_t message, bytes;
} moved[] = {
	{ FILE_CALL_read, true, 100, 0, 100 },       { FILE_CALL_read, true, -11, 0, 0 },
	{ FILE_CALL_read, false, 100, 0, 0 },        { FILE_CALL_recvmmsg, true, 3, 0, 0 },
	{ FILE_CALL_mq_timedsend, true, 0, 64, 64 }, { FILE_CALL_mq_timedsend, true, -4, 64, 0 },
};

START_TEST(counts_bytes)
{
	ck_assert_uint_eq(file_call_bytes(moved[_i].call, moved[_i].has_ret, moved[_i].ret,
					  moved[_i].message),
			  moved[_i].bytes);
}
END_TEST

/* ---- entry and exit ---- */

enum { READ = 7, WRITE = 8, CHANNEL = 3 };

/*
 * What happens, one letter an ns from 100 on: R and W enter a call, r and w exit it, u is an exit
 * that names no call, g a gap in the channel of the entry, o a gap in another, f forgets.
 * The last is an exit: whether it ends the call, and the duration, UNKNOWN: none.
 */
#define UNKNOWN UINT64_MAX
static const struct {
	const char *what;
	bool ends;
	uint64_t ns;
} pairings[] = {
	{ "r", false, 0 }, /* nothing was entered */
	{ "u", false, 0 }, /* nor can an exit without a name end anything */
	{ "Rr", true, 1 },          { "R..r", true, 3 }, { "Ru", true, 1 }, /* the name is missing
									     */
	{ "Rw", false, 0 },                                                 /* another call */
	{ "Rwr", false, 0 },                            /* the exit of another call closed it */
	{ "Rrr", false, 0 },                            /* ended already */
	{ "RuR.u", true, 2 },       { "RWw", true, 1 }, /* the second entry replaced the first */
	{ "RWr", false, 0 },        { "RRr", true, 1 }, /* of the same call too */
	{ "Rgr", true, UNKNOWN }, /* it is the call, but the time is not known */
	{ "Rgu", true, UNKNOWN },   { "Ror", true, 2 }, /* a gap of a channel that calls do not come
							   from */
	{ "Rogor", true, UNKNOWN }, { "RgRr", true, 1 }, /* an entry after the gap is sound */
	{ "gRr", true, 1 },         { "Rfr", false, 0 }, { "Rfu", false, 0 }, { "RfWw", true, 1 },
};

static bool pairing_exit(struct call_pairing *call, uint32_t id, uint64_t ts, uint64_t *ret_ns)
{
	bool ends = call_ends(call, id);

	if (!ends) {
		*ret_ns = 0;
	} else if (!call_duration(call, ts, ret_ns)) {
		*ret_ns = UNKNOWN;
	}
	call_forget(call);
	return ends;
}

START_TEST(pairs_calls)
{
	struct call_pairing call = { .is_open = false };
	bool ends = false;
	uint64_t ns = 0;

	for (size_t i = 0; pairings[_i].what[i]; i++) {
		switch (pairings[_i].what[i]) {
		case 'R':
		case 'W':
			call_enter(&call, pairings[_i].what[i] == 'R' ? READ : WRITE, 100 + i,
				   CHANNEL);
			ck_assert_uint_eq(call.channel, CHANNEL);
			break;
		case 'r':
		case 'w':
			ends = pairing_exit(&call, pairings[_i].what[i] == 'r' ? READ : WRITE,
					    100 + i, &ns);
			break;
		case 'u':
			ends = pairing_exit(&call, CALL_UNNAMED, 100 + i, &ns);
			break;
		case 'g':
		case 'o':
			call_gap(&call, pairings[_i].what[i] == 'g');
			break;
		case 'f':
			call_forget(&call);
			break;
		}
	}
	ck_assert_int_eq(ends, pairings[_i].ends);
	ck_assert_uint_eq(ns, pairings[_i].ns);
}
END_TEST

/* Clocks of two CPUs may disagree: an exit before its entry has no duration. */
START_TEST(refuses_negative_durations)
{
	struct call_pairing call;
	uint64_t ns;

	call_enter(&call, READ, 100, CHANNEL);
	ck_assert(call_ends(&call, READ));
	ck_assert(!call_duration(&call, 99, &ns));
	ck_assert(call_duration(&call, 100, &ns));
	ck_assert_uint_eq(ns, 0);
}
END_TEST

/* Users number calls differently, but all number the unnamed exit alike. */
START_TEST(shares_the_unnamed_exit)
{
	ck_assert_uint_eq(FILE_CALL_UNNAMED, CALL_UNNAMED);
	ck_assert_uint_eq(SYSCALL_UNNAMED_ID, CALL_UNNAMED);
}
END_TEST

/* ---- wake-ups ---- */

/* Events: t sched_ttwu, w sched_waking, u sched_wakeup, n sched_wakeup_new.  Of each, in this
 * order: Source, Confirms, New, or - */
static const struct {
	const char *has;
	const char *means;
	bool has_wakeup;
} sources[] = {
	{ "twun", "S-CN", true }, { "wun", "-SCN", true }, { "un", "--SN", true },
	{ "t", "S-CN", false },   { "w", "-SCN", false },  { "u", "--SN", true },
	{ "tu", "S-CN", true },   { "tw", "S-CN", false }, { "", "--SN", false },
};

START_TEST(finds_the_wake_up)
{
	static const char letters[] = "twun", kinds[] = "-SCN";
	struct wake_source source = { 0 };
	bool has[WAKE_EVENTS];

	ck_assert(!wake_source_is_known(&source));
	for (unsigned int i = 0; i < WAKE_EVENTS; i++) {
		has[i] = strchr(sources[_i].has, letters[i]) != NULL;
	}
	source = wake_source_among(has);
	ck_assert(wake_source_is_known(&source));
	ck_assert_int_eq(source.has_wakeup, sources[_i].has_wakeup);
	for (unsigned int i = 0; i < WAKE_EVENTS; i++) {
		ck_assert_int_eq(kinds[wake_source_kind(&source, i)], sources[_i].means[i]);
	}
}
END_TEST

/* A part of a stream does to the count before it what its events do one by one. */
START_TEST(counts_open_interrupts_in_parts)
{
	static const char *const parts[] = { "",   "+",   "-", "+-",   "--+",
					     "-+", "++-", "0", "+0-+", "0-" };
	const char *what = parts[_i];

	for (uint32_t before = 0; before < 4; before++) {
		struct wake_depth depth = { 0 };
		uint32_t open = before;

		for (size_t at = 0; what[at]; at++) {
			if (what[at] == '+') {
				open++;
				wake_depth_enter(&depth);
			} else if (what[at] == '-') {
				open -= open > 0;
				wake_depth_leave(&depth);
			} else {
				open = 0;
				depth = WAKE_DEPTH_CLOSED;
			}
			ck_assert_uint_eq(wake_depth_after(depth, before), open);
			ck_assert_int_eq(before >= wake_depth_limit(depth), open > 0);
		}
	}
}
END_TEST

START_TEST(finds_the_waker)
{
	ck_assert_int_eq(wake_context_waker(false, false, 7, false), 7);
	ck_assert_int_eq(wake_context_waker(true, false, 7, true), 0);
	ck_assert_int_eq(wake_context_waker(false, true, 7, false), 0);
	ck_assert_int_eq(wake_context_waker(false, true, 7, wake_thread_serves("ksoftirqd/3")), 7);
	ck_assert_int_eq(wake_context_waker(false, true, -1, false), -1);
	ck_assert_int_eq(wake_context_waker(true, true, -1, false), 0);
}
END_TEST

/* Neither the idle thread nor what is no tid is woken, nor anyone without success. */
START_TEST(ignores_wake_ups)
{
	ck_assert(wake_source_wakes(1, 1));
	ck_assert(!wake_source_wakes(1, 0));
	ck_assert(!wake_source_wakes(0, 1));
	ck_assert(!wake_source_wakes(-1, 1));
	ck_assert(!wake_source_wakes(INT64_C(0x80000000), 1));
}
END_TEST

/* ---- who is who ---- */

static const struct {
	int64_t tid, former;
	bool takes;
} execs[] = {
	{ 5, 7, true },
	{ 5, 5, false },
	{ 5, 0, false }, /* the event does not say who it was */
	{ 0, 7, false },
	{ 5, -7, false },
	{ -5, 7, false },
	/* A tid has 32 bits. */
	{ 5, INT64_C(0x100000005), false },
};

START_TEST(takes_tids)
{
	ck_assert_int_eq(thread_takes_tid(execs[_i].tid, execs[_i].former), execs[_i].takes);
}
END_TEST

/* Threads of process 5, as tid and row, that are seen one after the other; which of them names it.
 */
static const struct {
	struct {
		int32_t tid;
		uint64_t row;
	} seen[4];
	size_t named_by;
} named[] = {
	{ { { 5, 1 }, { 4, 2 }, { 7, 3 } }, 0 }, /* the leader */
	{ { { 4, 2 }, { 7, 3 }, { 5, 1 } }, 2 },
	{ { { 9, 1 }, { 7, 2 }, { 8, 3 } }, 1 }, /* else the smallest tid */
	{ { { 7, 2 }, { 7, 4 }, { 7, 3 } }, 1 }, /* of one tid the newest */
	{ { { 5, 1 }, { 5, 3 }, { 5, 2 }, { 1, 9 } }, 1 },
};

START_TEST(names_processes)
{
	struct process_name name = { .rank = PROCESS_UNNAMED };
	size_t by = SIZE_MAX;

	for (size_t i = 0; i < 4 && named[_i].seen[i].tid != 0; i++) {
		if (process_name_by(&name, named[_i].seen[i].tid, 5, named[_i].seen[i].row)) {
			by = i;
		}
	}
	ck_assert_uint_eq(by, named[_i].named_by);
}
END_TEST

/* ---- states ---- */

static const struct {
	uint16_t states;
	uint64_t prev_state;
	char meaning; /* Dead, Sleeps, sTopped, Preempted, or - */
} meanings[] = {
	{ TASK_STATES_4_14, 0, '-' },          { TASK_STATES_4_14, 1, 'S' },
	{ TASK_STATES_4_14, 2, 'S' },          { TASK_STATES_4_14, 0x10, 'D' },
	{ TASK_STATES_4_14, 0x20, 'D' },       { TASK_STATES_4_14, 0x100, 'P' },
	{ TASK_STATES_4_14, 0x81, 'S' },       { TASK_STATES_4_8, 4096, 'P' },
	{ TASK_STATES_4_8, 1, 'S' },           { TASK_STATES_4_8, 0x40, 'D' },
	{ TASK_STATES_4_2, 2048, 'P' },        { TASK_STATES_3_9, 1024, 'P' },
	{ TASK_STATES_3_9, 512, 'T' },         { TASK_STATES_3_2, 512, 'P' },
	{ TASK_STATES_OLDEST, 512, '-' },      { TASK_STATES_4_14_RAW, 0, '-' },
	{ TASK_STATES_4_14_RAW, 0x1000, 'P' }, { TASK_STATES_4_14_RAW, 0x80, 'D' },
	{ TASK_STATES_4_14_RAW, 0x10, 'D' },   { TASK_STATES_4_14_RAW, 0x20, 'D' },
	{ TASK_STATES_4_14_RAW, 0x102, 'S' },  { TASK_STATES_4_14_RAW, 0x402, 'T' },
	{ TASK_STATES_4_14_RAW, 0x40, 'T' },   { TASK_STATES_4_14, 4, 'T' },
	{ TASK_STATES_4_14, 8, 'T' },          { TASK_STATES_4_14, 0x40, 'T' },
	{ TASK_STATES_4_14, 0x80, 'T' },       { TASK_STATES_4_8, 130, 'S' },
	{ TASK_STATES_4_8, 1026, 'T' },        { TASK_STATES_4_8, 4, 'T' },
	{ TASK_STATES_4_8, 512, 'T' },         { TASK_STATES_3_9, 1024, 'P' },
};

START_TEST(decodes_states)
{
	uint64_t prev_state = meanings[_i].prev_state;
	uint16_t states = meanings[_i].states;

	ck_assert_int_eq(task_state_is_dead(prev_state, states), meanings[_i].meaning == 'D');
	ck_assert_int_eq(task_state_sleeps(prev_state, states),
			 meanings[_i].meaning == 'S' || meanings[_i].meaning == 'T');
	ck_assert_int_eq(task_state_is_stopped(prev_state, states), meanings[_i].meaning == 'T');
	ck_assert_int_eq(task_state_is_halted(prev_state, states),
			 meanings[_i].meaning == 'T' && prev_state & 12 && !(prev_state & 3));
	ck_assert_int_eq(task_state_is_preempted(prev_state, states), meanings[_i].meaning == 'P');
	if (meanings[_i].meaning != 'D' && prev_state != 512) {
		ck_assert_int_eq((prev_state & task_state_sleep_bits(states)) != 0,
				 meanings[_i].meaning == 'S' || meanings[_i].meaning == 'T');
	}
}
END_TEST

/* What a call waits for, by its name in any form. */
START_TEST(names_what_is_waited_for)
{
	ck_assert_uint_eq(wait_object_of("syscall_entry_futex"), WAIT_FOR_FUTEX);
	ck_assert_uint_eq(wait_object_of("compat_sys_futex_time32"), WAIT_FOR_FUTEX);
	ck_assert_uint_eq(wait_object_of("syscall_entry_futex_waitv"), WAIT_FOR_NOTHING);
	ck_assert_uint_eq(wait_object_of("sys_clock_nanosleep_time64"), WAIT_FOR_TIMER);
	ck_assert_uint_eq(wait_object_of("syscall_entry_mq_timedreceive"), WAIT_FOR_QUEUE);
	ck_assert_uint_eq(wait_object_of("syscall_entry_rt_sigtimedwait"), WAIT_FOR_SIGNAL);
	ck_assert_uint_eq(wait_object_of("compat_syscall_entry_recvmmsg_time32"), WAIT_FOR_SOCKET);
	ck_assert_uint_eq(wait_object_of("syscall_entry_anything"), WAIT_FOR_FILE);
	ck_assert(wait_object_is_descriptor(WAIT_FOR_SOCKET));
	ck_assert(!wait_object_is_descriptor(WAIT_FOR_FUTEX));
	ck_assert(syscall_waits("mq_timedreceive"));
	ck_assert(syscall_waits("futex/32") && syscall_waits("poll"));
	ck_assert(!syscall_waits("vfork") && !syscall_waits("read") && !syscall_waits(""));
	ck_assert(futex_op_waits(0) && futex_op_waits(FUTEX_OP_PRIVATE | 6) && !futex_op_waits(1));
	ck_assert(futex_op_is_pi(FUTEX_OP_PRIVATE | 13) && !futex_op_is_pi(11));
}
END_TEST

Suite *suite_kernel(void)
{
	Suite *suite = suite_create("kernel");
	TCase *tcase = tcase_create("kernel");

	tcase_add_loop_test(tcase, labels_calls, 0, sizeof(labels) / sizeof(labels[0]));
	tcase_add_test(tcase, numbers_calls);
	tcase_add_loop_test(tcase, counts_bytes, 0, sizeof(moved) / sizeof(moved[0]));
	tcase_add_loop_test(tcase, pairs_calls, 0, sizeof(pairings) / sizeof(pairings[0]));
	tcase_add_test(tcase, refuses_negative_durations);
	tcase_add_test(tcase, shares_the_unnamed_exit);
	tcase_add_loop_test(tcase, finds_the_wake_up, 0, sizeof(sources) / sizeof(sources[0]));
	tcase_add_test(tcase, ignores_wake_ups);
	tcase_add_loop_test(tcase, counts_open_interrupts_in_parts, 0, 10);
	tcase_add_test(tcase, finds_the_waker);
	tcase_add_test(tcase, names_what_is_waited_for);
	tcase_add_loop_test(tcase, takes_tids, 0, sizeof(execs) / sizeof(execs[0]));
	tcase_add_loop_test(tcase, names_processes, 0, sizeof(named) / sizeof(named[0]));
	tcase_add_loop_test(tcase, decodes_states, 0, sizeof(meanings) / sizeof(meanings[0]));
	suite_add_tcase(suite, tcase);
	return suite;
}

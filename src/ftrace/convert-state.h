/*
 * convert-state: what the files of the conversion share.
 *
 *     convert.c         a conversion: sub-buffers and events of our own, in the order of time
 *     convert-stream.c  packets
 *     convert-class.c   event classes as text
 *     convert-role.c    which events tell of threads and calls
 *     convert-recipe.c  from an event of ftrace to the bytes of a class
 *     convert-calls.c   system calls
 *     convert-tasks.c   threads: who they are, and which one runs
 */
#pragma once

#include "base/hash.h"
#include "base/vec.h"
#include "ftrace/calls.h"
#include "ftrace/convert.h"

/* ---- classes ---- */

struct convert_class {
	char *name;
	uint32_t id;
	uint64_t count; /* events that were written */
};

/* A member of a class, for its text. */
enum member_kind { MEMBER_INTEGER, MEMBER_CHARS, MEMBER_STRING, MEMBER_ARRAY, MEMBER_SEQUENCE };
struct class_member {
	const char *name;
	enum member_kind kind;
	uint8_t bytes; /* of an integer, or each element */
	uint8_t base;  /* 8, 10 or 16 */
	bool is_signed;
	uint32_t count; /* of characters, or elements of an array */
};

/* Begins a class, adds its members, ends it: its text is pending then. */
struct convert_class *class_begin(struct convert *convert, const char *name);
void class_add(struct convert *convert, const struct class_member *member);
void class_end(struct convert *convert);
/* The type of a word such as s4, u8x, c16 or str. */
struct class_member class_member_of(const char *name, const char *type);
/* What comes before all classes. */
void class_preamble(struct convert *convert);

/* ---- recipes ---- */

/* What an event tells of threads, beside itself. */
enum recipe_role {
	ROLE_NONE,
	ROLE_SWITCH,
	ROLE_WAKE, /* and other events from which on a thread may run on a CPU */
	ROLE_FORK,
	ROLE_NEW_TASK,
	ROLE_EXEC,
	ROLE_EXIT,
	ROLE_RENAME,
	ROLE_MOVE,   /* to another control group */
	ROLE_ENTER,  /* raw_syscalls:sys_enter */
	ROLE_RETURN, /* and sys_exit */
};

enum recipe_op {
	RECIPE_COPY,      /* bytes as they are */
	RECIPE_INTEGER,   /* with another size */
	RECIPE_PRIORITY,  /* LTTng's begin 100 below the kernel's */
	RECIPE_RWBS,      /* letters of a request to LTTng's bits */
	RECIPE_PAGE,      /* the number of a page to its address on x86-64 */
	RECIPE_ACCOUNTED, /* whether memory is accounted, by its flags */
	RECIPE_THREAD,    /* the thread that runs */
	RECIPE_CHARS,     /* a text of a fixed length, which ends with a zero */
	RECIPE_STRING,    /* one that ends with a zero */
	RECIPE_ELEMENTS,  /* an array, of the other byte order */
	RECIPE_SEQUENCE,  /* with its number of elements before it */
};

struct recipe_step {
	enum recipe_op op;
	const struct ftrace_field *field; /* NULL: of none */
	uint32_t from, len;               /* RECIPE_COPY */
	uint8_t bytes;                    /* that an integer gets, */
	uint32_t chars;                   /* or a text of a fixed length */
};

#define RECIPE_FIELDS 4
/* Of ROLE_SWITCH. */
enum { SWITCH_PREV, SWITCH_NEXT, SWITCH_PREV_PRIO, SWITCH_PREV_STATE };

struct recipe {
	const struct ftrace_format *format;
	enum recipe_role role;
	struct convert_class *class; /* NULL: roles with classes of their own */
	VEC(struct recipe_step) steps;
	/* Of roles: the fields that say it; NULL: this kernel's event has none. */
	const struct ftrace_field *fields[RECIPE_FIELDS];
	bool is_odd;        /* it has been noted */
	uint32_t out_max;   /* bytes that all steps write, beside those that lie elsewhere, */
	uint32_t elsewhere; /* and of how many fields these are */
};

/* An event of a CPU. */
struct convert_input {
	uint64_t time;
	const uint8_t *payload;
	uint32_t len;
	int32_t tid; /* the thread that ran */
	bool is_big;
};

/* Finds its role, and the fields that say it; first of all. */
void recipe_take_role(struct convert *convert, struct recipe *recipe);
void recipe_make(struct convert *convert, struct recipe *recipe);
/* A field of its event is not of a form that is known, or is missing. */
void recipe_note_odd(struct convert *convert, struct recipe *recipe, const char *field);
uint8_t *recipe_write(const struct recipe *recipe, const struct convert_input *event, uint8_t *out);
/* A number that a role's field has. */
static inline uint64_t recipe_number(const struct recipe *recipe, unsigned int field,
				     const struct convert_input *event)
{
	return recipe->fields[field]
		       ? ftrace_field_number(recipe->fields[field], event->payload, event->is_big)
		       : 0;
}
/* A text of @room bytes, zeroes behind it. */
void recipe_chars(const struct ftrace_field *field, const struct convert_input *event, char *to,
		  size_t room);

/* ---- threads ---- */

#define TASK_NAME_BYTES 16

struct convert_task {
	int32_t pid;
	uint32_t pid_ns;
	uint32_t place;   /* convert_place() */
	uint64_t ready;   /* since when it may run, if it does not; 0: not known */
	int32_t priority; /* as LTTng has it */
	char name[TASK_NAME_BYTES];
	bool has_name, is_compat, knows_pid, is_in_call;
	bool is_ending; /* all but its last switch is behind it */
	uint64_t call;
	uint64_t arguments[CALL_ARGUMENTS_MAX];
};

HASH_MAP(convert_tasks, struct convert_task)

/* As far as it is known: a thread is else its own. */
static inline int32_t process_of_task(const struct convert_task *task, int32_t tid)
{
	return task && task->knows_pid ? task->pid : tid;
}

/* ---- streams ---- */

struct queued_page {
	uint8_t *bytes;
	size_t len;
};

struct convert_stream {
	uint32_t cpu;
	uint8_t *packet;
	size_t at; /* where the next event begins */
	uint64_t begin, last;
	uint64_t seq, discarded, events;
	bool has_unsaid; /* losses that no packet says yet */
	VEC(struct queued_page) pages;
	size_t next_page;
	bool has_page, has_record;
	struct ftrace_page page;
	struct ftrace_record record;
	/* The thread that runs, as far as events tell. */
	int32_t current;
	bool knows_current;
	struct convert_account account;
};

/* Of an event of our own. */
struct own_event {
	uint64_t time;
	uint32_t class_id, cpu;
	uint8_t *bytes;
	size_t len;
	bool is_path; /* of a descriptor of a process: */
	int32_t pid, fd;
};

struct call_classes {
	struct convert_class *entry, *exit, *exit_only; /* the last without arguments */
};

struct call_table {
	struct calls *calls;
	bool is_compat;
	VEC(struct call_classes) classes;
	struct call_classes unknown;
};

struct convert {
	struct convert_setup setup;
	struct convert_sink sink;
	struct ftrace_layout layout;
	bool has_layout, has_started;
	VEC(char) text; /* of the metadata, that the sink has not got */
	VEC(struct convert_class *) classes;
	VEC(struct recipe *) recipes; /* in order */
	VEC(struct recipe *) by_id;
	/* What each record begins with. */
	const struct ftrace_field *type_field, *pid_field;
	uint32_t common_bytes;
	bool has_switches;
	bool tells_ends; /* switches say of which thread it is the last one */
	struct convert_class *derived_switch;
	const struct ftrace_field *switch_name;    /* prev_comm */
	const struct ftrace_field *call_arguments; /* of sys_enter */
	char *odd;                                 /* the first event of a form that is not known */
	size_t odd_count;
	bool knows_processes; /* events say which process a new thread is of */
	struct call_table native, compat;
	struct convert_tasks tasks;
	VEC(struct own_event) own;
	size_t next_own;
	size_t paths; /* of own: those of descriptors */
	struct convert_stream *streams;
	VEC(struct convert_stream *) heap; /* by the time of their next records */
	struct err *err;                   /* of the sink, while it is called */
	int failure;
};

/* Room for an event of @len bytes at most in the packet of a stream, behind its header.  NULL: it
 * is too large for any, or the sink failed. */
uint8_t *stream_reserve(struct convert *convert, struct convert_stream *stream, uint64_t time,
			struct convert_class *class, size_t len);
/* The event ends before @end. */
void stream_commit(struct convert_stream *stream, struct convert_class *class, const uint8_t *end);
/* Packets are whole at @time. */
int stream_close(struct convert *convert, struct convert_stream *stream, uint64_t time);
/* Behind the last event. */
void stream_lost(struct convert *convert, struct convert_stream *stream, uint64_t events,
		 uint64_t next);
/* Hands over the pending text. */
int convert_text(struct convert *convert);

/* ---- what events tell ---- */

void tasks_derive(struct convert *convert, struct convert_stream *stream,
		  const struct convert_input *event);
void tasks_event(struct convert *convert, struct convert_stream *stream,
		 const struct recipe *recipe, const struct convert_input *event);
bool tasks_fork(struct convert *convert, struct convert_stream *stream, const struct recipe *recipe,
		const struct convert_input *event);
void tasks_fork_class(struct convert *convert, struct recipe *recipe);
struct convert_task *tasks_put(struct convert *convert, int32_t tid);

/* false: it is of no use. */
bool convert_calls_enter(struct convert *convert, struct convert_stream *stream,
			 const struct recipe *recipe, const struct convert_input *event);
bool convert_calls_return(struct convert *convert, struct convert_stream *stream,
			  const struct recipe *recipe, const struct convert_input *event);
/* Descriptors of a process from @first to @last are no longer what they were. */
void convert_drop_paths(struct convert *convert, int32_t pid, uint64_t first, uint64_t last);

void convert_calls_begin(struct convert *convert);
void convert_calls_free(struct convert *convert);

/* ---- the table of LTTng's names ---- */

/* "LTTNG_NAME MEMBERS" of an event; NULL: it is not in the table. */
const char *convert_table_find(const char *system, const char *name);

/* ---- numbers as they are written ---- */

static inline uint8_t *put_number(uint8_t *out, uint64_t value, size_t bytes)
{
	value = htole64(value);
	memcpy(out, &value, bytes);
	return out + bytes;
}

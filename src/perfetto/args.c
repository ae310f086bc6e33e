/*
 * args: see args.h.
 */
#include "perfetto/args.h"

#include <assert.h>
#include <string.h>

#include "base/arena.h"
#include "base/limits.h"
#include "base/text/utf8.h"
#include "query/value.h"
#include "symbols/callstack.h"
#include "symbols/symbols.h"

/* A value, in the arena of its event. */
struct arg {
	Perfetto__DebugAnnotation is;
	struct arg *outer, *next; /* next: in what it is in */
	struct arg *first, *last; /* of those that are in it */
	size_t count;
	bool is_array;
};

struct args {
	struct perfetto *writer;
	struct arena arena;
	struct args_where where;
	struct arg top;
	struct arg *in;   /* where the next value goes */
	const char *name; /* of the next value; NULL: it has none */
	size_t bytes;     /* about: of the event's values */
	uint64_t left_out;
	unsigned int left_depth; /* how many levels are left out that are open */
	/* The row of addresses that is being read; NULL: none is. */
	const struct arg *row;
	const char *row_name;
	struct callstack_walk walk;
	VEC(struct callstack_frame) addresses;
};

static bool args_fit(const struct args *args)
{
	return args->left_depth == 0 && args->bytes < ARGS_BYTES_MAX;
}

static struct arg *add_arg(struct args *args)
{
	struct arg *arg = arena_alloc(&args->arena, sizeof(*arg));
	struct arg *in = args->in;

	perfetto__debug_annotation__init(&arg->is);
	arg->outer = in;
	if (!in->is_array && args->name) {
		uint64_t iid = writer_intern(args->writer, WRITER_ARGS, args->name);

		arg->is.name_field_case = PERFETTO__DEBUG_ANNOTATION__NAME_FIELD_NAME_IID;
		arg->is.name_iid = iid;
		if (iid == 0) {
			size_t room = 4 * strlen(args->name) + 1;

			arg->is.name_field_case = PERFETTO__DEBUG_ANNOTATION__NAME_FIELD_NAME;
			arg->is.name = arena_alloc(&args->arena, room);
			(void)utf8_copy(arg->is.name, room, args->name, strlen(args->name));
		}
	}
	if (in->last) {
		in->last->next = arg;
	} else {
		in->first = arg;
	}
	in->last = arg;
	in->count++;
	args->name = NULL;
	args->bytes += 8;
	return arg;
}

/* ---- values ---- */

static void put_string(struct args *args, struct arg *arg, const uint8_t *bytes, size_t len)
{
	size_t most = len < ARGS_TEXT_MAX ? len : ARGS_TEXT_MAX, room = 3 * most + 1;

	arg->is.value_case = PERFETTO__DEBUG_ANNOTATION__VALUE_STRING_VALUE;
	arg->is.string_value = arena_alloc(&args->arena, room);
	args->bytes += utf8_copy(arg->is.string_value, room, bytes, most);
}

/* Labels are few. */
static bool put_enum_label(struct args *args, struct arg *arg, const struct type *type,
			   const struct value *value)
{
	const struct query_value number = {
		.kind = QUERY_NUMBER, .is_signed = type->is_signed, .type = type, .is = *value
	};
	size_t at = 0;
	const char *label = query_value_label(&number, &at);

	if (!label) {
		return false;
	}
	arg->is.string_value_iid = writer_intern(args->writer, WRITER_VALUES, label);
	arg->is.value_case = PERFETTO__DEBUG_ANNOTATION__VALUE_STRING_VALUE_IID;
	if (arg->is.string_value_iid == 0) {
		put_string(args, arg, (const uint8_t *)label, strlen(label));
	}
	return true;
}

static void put_integer(struct args *args, struct arg *arg, const struct type *type,
			const struct value *value)
{
	if (type->kind == TYPE_ENUM && put_enum_label(args, arg, type, value)) {
		return;
	}
	if (type->is_signed) {
		arg->is.value_case = PERFETTO__DEBUG_ANNOTATION__VALUE_INT_VALUE;
		arg->is.int_value = value->i;
	} else {
		arg->is.value_case = PERFETTO__DEBUG_ANNOTATION__VALUE_UINT_VALUE;
		arg->is.uint_value = value->u;
	}
}

/* Whose address the next value is, a number or a row. */
static enum address_space space_of_next(const struct args *args, bool is_row)
{
	return args->where.symbols && args->name
		       ? callstack_space(args->name, is_row, args->where.is_function)
		       : SPACE_NONE;
}

/* "ip_symbol" */
static const char *symbol_field(struct args *args, const char *field)
{
	size_t len = strlen(field);
	char *name = arena_alloc(&args->arena, len + sizeof("_symbol"));

	memcpy(name, field, len);
	memcpy(name + len, "_symbol", sizeof("_symbol"));
	return name;
}

static void put_symbol(struct args *args, const char *field, uint64_t address)
{
	const char *name =
		symbols_find(args->where.symbols, args->where.pid, args->where.ts, address);
	struct arg *arg;

	if (name) {
		args->name = symbol_field(args, field);
		arg = add_arg(args);
		put_string(args, arg, (const uint8_t *)name, strlen(name));
	}
}

/* ---- rows of addresses ---- */

static void note_address(struct args *args, const struct type *element, uint64_t address)
{
	enum address_space space = callstack_walk(&args->walk, element, address);

	if (space != SPACE_NONE && args->addresses.count < CALLSTACK_MAX) {
		*vec_push(&args->addresses) =
			(struct callstack_frame){ .address = address, .space = space };
	}
}

static void begin_address_row(struct args *args, const struct arg *row, const char *field,
			      enum address_space space)
{
	args->row = row;
	args->row_name = symbol_field(args, field);
	args->walk = (struct callstack_walk){ .space = space };
	args->addresses.count = 0;
}

/* Names of what has none are its address; a row without any name says nothing more. */
static bool is_any_named(const struct args *args)
{
	const struct args_where *where = &args->where;
	char text[CALLSTACK_TEXT];

	VEC_EACH(&args->addresses, one) {
		if (callstack_name(where->symbols, where->pid, where->ts, one->address, one->space,
				   text) != text) {
			return true;
		}
	}
	return false;
}

static void end_address_row(struct args *args)
{
	const struct args_where *where = &args->where;
	char text[CALLSTACK_TEXT];
	struct arg *outer = args->in;

	args->row = NULL;
	if (!is_any_named(args)) {
		return;
	}
	args->name = args->row_name;
	args->in = add_arg(args);
	args->in->is_array = true;
	for (size_t i = 0; i < args->addresses.count; i++) {
		const struct callstack_frame *one = &args->addresses.at[i];
		const char *name;

		if (!args_fit(args)) {
			args->left_out += args->addresses.count - i;
			break;
		}
		name = callstack_name(where->symbols, where->pid, where->ts, one->address,
				      one->space, text);
		put_string(args, add_arg(args), (const uint8_t *)name, strlen(name));
	}
	args->in = outer;
}

static void on_leaf(void *user, const struct type *type, const struct value *value)
{
	struct args *args = user;
	const char *field = space_of_next(args, false) == SPACE_USER ? args->name : NULL;
	struct arg *arg;

	if (!args_fit(args)) {
		args->left_out++;
		return;
	}
	arg = add_arg(args);
	switch (type->kind) {
	case TYPE_INT:
	case TYPE_ENUM:
		put_integer(args, arg, type, value);
		break;
	case TYPE_FLOAT:
		arg->is.value_case = PERFETTO__DEBUG_ANNOTATION__VALUE_DOUBLE_VALUE;
		arg->is.double_value = value->f;
		break;
	default:
		put_string(args, arg, value->bytes,
			   strnlen((const char *)value->bytes, value->len));
		break;
	}
	if (field && type->kind == TYPE_INT) {
		put_symbol(args, field, value->u);
	} else if (args->row && args->in == args->row && type->kind == TYPE_INT) {
		note_address(args, type, value->u);
	}
}

/* ---- what they are in ---- */

/* Contexts of the stream and of the event are one. */
static bool joins_context(const struct args *args)
{
	return args->in == &args->top && args->name == plan_context_name && args->top.last;
}

static void enter_value(struct args *args, const struct type *type)
{
	const char *field = args->name;
	enum address_space space =
		type->kind == TYPE_STRUCT ? SPACE_NONE : space_of_next(args, true);

	if (!args_fit(args)) {
		args->left_depth++;
		return;
	}
	args->in = joins_context(args) ? args->top.last : add_arg(args);
	args->in->is_array = type->kind != TYPE_STRUCT;
	if (space != SPACE_NONE) {
		begin_address_row(args, args->in, field, space);
	}
}

static void leave_value(struct args *args)
{
	bool was_row;

	if (args->left_depth > 0) {
		args->left_depth--;
		return;
	}
	assert(args->in->outer);
	was_row = args->row == args->in;
	args->in = args->in->outer;
	if (was_row) {
		end_address_row(args);
	}
}

static void on_shape(void *user, const struct step *step)
{
	struct args *args = user;

	if (step->op == STEP_NAME) {
		args->name = step->name;
	} else if (step->op == STEP_ENTER) {
		enter_value(args, step->type);
	} else {
		leave_value(args);
	}
}

/* ---- an event ---- */

static Perfetto__DebugAnnotation **seal_list(struct args *args, const struct arg *in)
{
	Perfetto__DebugAnnotation **list =
		arena_alloc(&args->arena, (in->count + 1) * sizeof(*list));
	size_t i = 0;

	for (struct arg *arg = in->first; arg; arg = arg->next) {
		list[i++] = &arg->is;
		if (arg->count > 0 && arg->is_array) {
			arg->is.array_values = seal_list(args, arg);
			arg->is.n_array_values = arg->count;
		} else if (arg->count > 0) {
			arg->is.dict_entries = seal_list(args, arg);
			arg->is.n_dict_entries = arg->count;
		}
	}
	assert(i == in->count);
	return list;
}

void args_read(struct args *args, struct reader *reader, const struct args_where *where)
{
	const struct batch_visitor visitor = { .visit = on_leaf, .shape = on_shape, .user = args };

	arena_reset(&args->arena);
	memset(&args->top, 0, sizeof(args->top));
	args->where = *where;
	args->in = &args->top;
	args->name = NULL;
	args->row = NULL;
	args->bytes = args->left_out = args->left_depth = 0;
	reader_visit(reader, &visitor);
	args->in = &args->top;
	if (args->left_out > 0) {
		struct arg *arg;

		args->name = "left_out";
		arg = add_arg(args);
		arg->is.value_case = PERFETTO__DEBUG_ANNOTATION__VALUE_UINT_VALUE;
		arg->is.uint_value = args->left_out;
	}
	args->top.is.dict_entries = seal_list(args, &args->top);
}

Perfetto__DebugAnnotation **args_list(const struct args *args, size_t *ret_count)
{
	*ret_count = args->top.count;
	return args->top.is.dict_entries;
}

struct args *args_new(struct perfetto *writer)
{
	struct args *args = mem_alloc(sizeof(*args));

	args->writer = writer;
	return args;
}

void args_free(struct args *args)
{
	if (args) {
		arena_fini(&args->arena);
		vec_fini(&args->addresses);
		free(args);
	}
}

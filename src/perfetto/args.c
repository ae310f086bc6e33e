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

/* The name of a field whose value is an address of a function, to stand beside it; NULL: no. */
static const char *symbol_field(const struct args *args)
{
	static const char *const fields[] = { "ip", "addr", "call_site" };
	static const char *const names[] = { "ip_symbol", "addr_symbol", "call_site_symbol" };
	if (!args->where.symbols || !args->name) {
		return NULL;
	}
	for (size_t i = 0; i < (args->where.is_function ? ARRAY_COUNT(fields) : 1); i++) {
		if (strcmp(fields[i], args->name) == 0) {
			return names[i];
		}
	}
	return NULL;
}

static void put_symbol(struct args *args, const char *field, uint64_t address)
{
	const char *name =
		symbols_find(args->where.symbols, args->where.pid, args->where.ts, address);
	struct arg *arg;

	if (name) {
		args->name = field;
		arg = add_arg(args);
		put_string(args, arg, (const uint8_t *)name, strlen(name));
	}
}

static void on_leaf(void *user, const struct type *type, const struct value *value)
{
	struct args *args = user;
	const char *symbol = symbol_field(args);
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
	if (symbol && type->kind == TYPE_INT) {
		put_symbol(args, symbol, value->u);
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
	if (!args_fit(args)) {
		args->left_depth++;
		return;
	}
	args->in = joins_context(args) ? args->top.last : add_arg(args);
	args->in->is_array = type->kind != TYPE_STRUCT;
}

static void leave_value(struct args *args)
{
	if (args->left_depth > 0) {
		args->left_depth--;
		return;
	}
	assert(args->in->outer);
	args->in = args->in->outer;
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
		free(args);
	}
}

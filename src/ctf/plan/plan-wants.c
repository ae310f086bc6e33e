/*
 * plan-wants: which requests are for an event class, and which of its fields they want.
 */
#include <string.h>

#include "ctf/plan/plan-builder.h"

/* Whether the request has the class by its other name. */
static bool is_by_other(const struct plan_request *request, const struct plan_class_names *name)
{
	return !plan_takes(request->event, name->own);
}

/* What field @f of the request is of this class, without its slot. */
static struct compile_want want_of(const struct plan_builder *b, const struct plan_request *request,
				   unsigned int f, const struct event_class *class,
				   const struct plan_class_names *name)
{
	static const char context[] = "context.";
	static const size_t context_len = sizeof(context) - 1;
	char first = request->fields[f][0];
	enum want_kind kind = first == PLAN_TEXT[0]  ? WANT_TEXT
			      : first == PLAN_ANY[0] ? WANT_ANY
						     : WANT_NUMBER;
	const char *asked = request->fields[f] + (kind != WANT_NUMBER);
	int16_t add = 0;
	const char *field = is_by_other(request, name) ? b->renames->field(asked, &add) : asked;
	bool in_context = field && strncmp(field, context, context_len) == 0;
	/* A bare name is that of a context, where one event is meant that has no such field. */
	bool is_bare = kind == WANT_ANY && field && !in_context &&
		       strcmp(request->event, name->own) == 0 &&
		       !plan_member_of(class->fields, field);

	return (struct compile_want){
		.root = in_context || is_bare ? ROOT_EVENT_CONTEXT : ROOT_FIELDS,
		.name = in_context ? field + context_len
			: field    ? field
				   : "",
		.kind = kind,
		.add = add,
	};
}

static void add_wants(struct plan_builder *b, size_t i, const struct event_class *class,
		      const struct plan_class_names *name, uint16_t *slot, struct event_wants *ew)
{
	const struct plan_request *request = &b->requests[i];

	*vec_push(&ew->bindings) = (struct plan_binding){
		.request = (uint16_t)i,
		.base = *slot,
		.user = request->user_of ? request->user_of(name->other) : request->user,
	};
	for (unsigned int f = 0; f < PLAN_FIELDS_MAX && request->fields[f]; f++) {
		struct compile_want want = want_of(b, request, f, class, name);

		want.slot = (*slot)++;
		*vec_push(&ew->wants) = want;
	}
}

static bool has_wanted(const struct type *type, const struct compile_want *want)
{
	const struct type *member = plan_member_of(type, want->name);

	return member && compile_loads(member, want->kind);
}

/* Whether the class has one of the fields that the request needs, if it needs any. */
static bool has_needed(const struct plan_builder *b, const struct plan_request *request,
		       const struct event_class *class, const struct plan_class_names *name)
{
	const struct stream_class *stream = metadata_stream_of(b->metadata, class);

	for (unsigned int f = 0; f < request->needs; f++) {
		struct compile_want want = want_of(b, request, f, class, name);

		if (want.root == ROOT_FIELDS
			    ? has_wanted(class->fields, &want)
			    : has_wanted(class->context, &want) ||
				      (stream && has_wanted(stream->event_context, &want))) {
			return true;
		}
	}
	return request->needs == 0;
}

/* The index in b->patterns, from @at on, of the next request whose pattern matches a name. */
static size_t next_pattern(const struct plan_builder *b, size_t at,
			   const struct plan_class_names *name)
{
	for (; at < b->patterns.count; at++) {
		const char *pattern = b->requests[b->patterns.at[at]].event;

		if (plan_takes(pattern, name->own) ||
		    (name->other != name->own && plan_takes(pattern, name->other))) {
			break;
		}
	}
	return at;
}

/* The first request for exactly this name; UINT32_MAX: there is none. */
static uint32_t first_exact(struct plan_builder *b, const char *name)
{
	uint32_t *found = request_names_get(&b->names, name);

	return found ? *found : UINT32_MAX;
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

bool plan_in_domain(const char *domain, const char *asked)
{
	bool is_not = asked && *asked == PLAN_NOT[0];

	return !asked || (domain && strcmp(domain, asked + is_not) == 0) != is_not;
}

static bool is_wanted(const struct plan_builder *b, const struct plan_request *request,
		      const struct event_class *class, const struct plan_class_names *name)
{
	const struct env_entry *domain = request->domain ? metadata_env(b->of->of, "domain") : NULL;

	return plan_in_domain(domain ? domain->text : NULL, request->domain) &&
	       (!request->takes || request->takes(class)) && has_needed(b, request, class, name);
}

void plan_collect_wants(struct plan_builder *b, const struct event_class *class,
			const struct plan_class_names *name, uint16_t slot, struct event_wants *ew)
{
	uint32_t exact[2] = { first_exact(b, name->own),
			      name->other == name->own ? UINT32_MAX : first_exact(b, name->other) };
	size_t pattern = next_pattern(b, 0, name);
	uint32_t group = UINT32_MAX;

	while (exact[0] != UINT32_MAX || exact[1] != UINT32_MAX || pattern < b->patterns.count) {
		uint32_t other = pattern < b->patterns.count ? b->patterns.at[pattern] : UINT32_MAX;
		uint32_t i = least(other, least(exact[0], exact[1]));

		if (b->requests[i].group != group && is_wanted(b, &b->requests[i], class, name)) {
			group = b->requests[i].group;
			add_wants(b, i, class, name, &slot, ew);
		}
		if (i == exact[0] || i == exact[1]) {
			exact[i != exact[0]] = b->next_same[i];
		} else {
			pattern = next_pattern(b, pattern + 1, name);
		}
	}
}

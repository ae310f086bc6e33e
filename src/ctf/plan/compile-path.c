/*
 * compile-path: the integers that the paths of lengths and selectors name.
 *
 * TSDL searches a name from the enclosing struct outward, then in earlier parts of the event and
 * packet.  CTF 2 names the start.  Both lead to nodes of the walk.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "ctf/plan/compile-parts.h"

/* The first names of absolute paths in TSDL (CTF 1.8.3, section 7.3.2). */
static const struct {
	size_t count;
	const char *names[3];
} root_paths[ROOT_COUNT] = {
	[ROOT_PACKET_HEADER] = { 3, { "trace", "packet", "header" } },
	[ROOT_PACKET_CONTEXT] = { 3, { "stream", "packet", "context" } },
	[ROOT_EVENT_HEADER] = { 3, { "stream", "event", "header" } },
	[ROOT_STREAM_EVENT_CONTEXT] = { 3, { "stream", "event", "context" } },
	[ROOT_EVENT_CONTEXT] = { 2, { "event", "context" } },
	[ROOT_FIELDS] = { 2, { "event", "fields" } },
};

/* The fields that a path leads to: one, or one in each option of a variant on the path. */
struct targets {
	struct node *at[PATH_TARGETS_MAX];
	size_t count;
};

static void add_target(struct compile *c, struct targets *targets, struct node *node)
{
	if (targets->count == PATH_TARGETS_MAX) {
		compile_fail(c, "a path leads to more than %d fields", PATH_TARGETS_MAX);
	}
	targets->at[targets->count++] = node;
}

/*
 * Follows the names of @path from @at on, starting at @node.  A variant is entered by all of its
 * options and an array by its current element; neither takes a name.
 */
static void follow(struct compile *c, struct node *node, const struct type_path *path, size_t at,
		   struct targets *targets);

/* The same, starting with the first @field_count members of a struct. */
static void follow_member(struct compile *c, struct node *node, size_t field_count,
			  const struct type_path *path, size_t at, struct targets *targets)
{
	assert(at < path->count);
	assert(field_count <= node->type->field_count);
	for (size_t i = 0; i < field_count; i++) {
		if (strcmp(node->type->fields[i].name, path->names[at]) == 0) {
			follow(c, &node->members[i], path, at + 1, targets);
			return;
		}
	}
}

static void follow(struct compile *c, struct node *node, const struct type_path *path, size_t at,
		   struct targets *targets)
{
	const struct type *type = node->type;

	if (!type) {
		return; /* not walked yet */
	}
	if (type->kind == TYPE_VARIANT && node->members) {
		for (size_t i = 0; i < type->field_count; i++) {
			follow(c, &node->members[i], path, at, targets);
		}
	} else if (at == path->count) {
		add_target(c, targets, node);
	} else if (type->kind == TYPE_STRUCT && node->members) {
		follow_member(c, node, type->field_count, path, at, targets);
	} else if ((type->kind == TYPE_ARRAY || type->kind == TYPE_SEQUENCE) && node->members) {
		follow(c, node->members, path, at, targets);
	}
}

static void follow_root(struct compile *c, enum root root, const struct type_path *path, size_t at,
			struct targets *targets)
{
	struct node *node = &c->roots[root];

	if (node->members && at < path->count) {
		follow_member(c, node, node->type->field_count, path, at, targets);
	}
}

static bool starts_at(const struct type_path *path, enum root root)
{
	for (size_t i = 0; i < root_paths[root].count; i++) {
		if (i >= path->count || strcmp(path->names[i], root_paths[root].names[i]) != 0) {
			return false;
		}
	}
	return true;
}

/* From the enclosing struct outward, then as an absolute path, then from the earlier roots. */
static void find_relative(struct compile *c, const struct type_path *path, struct targets *targets)
{
	const struct scope_frame *frame = c->frames;

	for (uint32_t up = path->up; frame && up > 0; up--) {
		frame = frame->outer;
	}
	for (; frame && targets->count == 0; frame = frame->outer) {
		follow_member(c, frame->node, frame->field_count, path, 0, targets);
	}
	for (int root = (int)c->root; root >= 0 && targets->count == 0; root--) {
		if (starts_at(path, (enum root)root)) {
			follow_root(c, (enum root)root, path, root_paths[root].count, targets);
		}
	}
	for (int root = (int)c->root - 1; root >= 0 && targets->count == 0; root--) {
		follow_root(c, (enum root)root, path, 0, targets);
	}
}

static const char *path_text(const struct type_path *path, char *text, size_t size)
{
	size_t len = 0;

	text[0] = '\0';
	for (size_t i = 0; i < path->count && len < size; i++) {
		len += (size_t)snprintf(text + len, size - len, "%s%s", i ? "." : "",
					path->names[i]);
	}
	return text;
}

/* Joins the integers that one path names, and all that share a group with them. */
static void join_groups(struct compile *c, const struct targets *targets)
{
	uint32_t group = 0;

	for (size_t i = 0; i < targets->count; i++) {
		uint32_t ordinal = targets->at[i]->ordinal;

		if (ordinal == UINT32_MAX) {
			if (targets->count > 1 && targets->at[i]->slot != targets->at[0]->slot) {
				compile_fail(
					c,
					"a path leads through a variant of the packet or the event "
					"header");
			}
			continue;
		}
		assert(ordinal < c->group_room);
		if (group == 0) {
			group = c->groups[ordinal] ? c->groups[ordinal] : ordinal + 1;
		}
		for (uint32_t k = 0; c->groups[ordinal] && k < c->ordinal; k++) {
			c->groups[k] = c->groups[k] == c->groups[ordinal] ? group : c->groups[k];
		}
		assert(group <= c->ordinal);
		c->groups[ordinal] = group;
	}
}

const struct node *compile_resolve(struct compile *c, const struct type_path *path,
				   const char *what)
{
	struct targets targets;
	char text[128];

	assert(path->count > 0);
	targets.count = 0;
	if (path->is_absolute && path->root <= c->root) {
		follow_root(c, path->root, path, 0, &targets);
	} else if (!path->is_absolute) {
		find_relative(c, path, &targets);
	}
	for (size_t i = 0; i < targets.count; i++) {
		const struct node *node = targets.at[i];

		if (!node->is_complete) {
			targets.count = 0;
		} else if (node->type->kind != TYPE_INT && node->type->kind != TYPE_ENUM) {
			compile_fail(c, "the %s \"%s\" is not an integer", what,
				     path_text(path, text, sizeof(text)));
		} else if (node->ordinal == UINT32_MAX && c->root > ROOT_EVENT_HEADER &&
			   c->roots[ROOT_EVENT_HEADER].members) {
			c->uses_event_header = true; /* or the packet's: both are rare */
		}
	}
	if (targets.count == 0) {
		compile_fail(c, "the %s \"%s\" is not a field before it", what,
			     path_text(path, text, sizeof(text)));
	}
	if (!c->emitting) {
		join_groups(c, &targets);
	}
	assert(!c->emitting || targets.at[0]->slot < c->slot_next);
	return targets.at[0];
}

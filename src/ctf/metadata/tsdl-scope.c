/*
 * tsdl-scope: the names of types and the scopes in which they are visible.
 */
#include "ctf/metadata/tsdl-parser.h"

#include <assert.h>
#include <string.h>

#include "base/limits.h"

static unsigned int bucket_of(const struct type_scope *scope, enum tag_kind tag, const char *name)
{
	uint32_t hash = 2166136261u + (uint32_t)tag; /* FNV-1a */

	for (; *name; name++) {
		hash = (hash ^ (unsigned char)*name) * 16777619u;
	}
	return hash % scope->bucket_count;
}

struct type_scope *tsdl_scope_push(struct tsdl *p)
{
	/* Inner scopes hold few names: one bucket is enough and saves memory. */
	unsigned int buckets = p->scope ? 1 : SCOPE_BUCKETS_ROOT;
	struct type_scope *scope;

	if (p->depth >= TYPE_DEPTH_MAX) {
		tsdl_fail(p, "types are nested deeper than %d", TYPE_DEPTH_MAX);
	}
	p->depth++;
	scope = arena_alloc(p->arena, sizeof(*scope) + buckets * sizeof(scope->symbols[0]));
	scope->bucket_count = buckets;
	scope->outer = p->scope;
	assert(scope->outer || p->depth == 1); /* only the root has none outside */
	p->scope = scope;
	return scope;
}

void tsdl_scope_pop(struct tsdl *p)
{
	assert(p->scope != p->root);
	assert(p->depth > 0);
	p->scope = p->scope->outer;
	p->depth--;
}

const struct type *tsdl_symbol(const struct tsdl *p, enum tag_kind tag, const char *name)
{
	for (const struct type_scope *scope = p->scope; scope; scope = scope->outer) {
		const struct type_symbol *symbol = scope->symbols[bucket_of(scope, tag, name)];

		for (; symbol; symbol = symbol->next) {
			if (symbol->tag == tag && strcmp(symbol->name, name) == 0) {
				return symbol->type;
			}
		}
	}
	return NULL;
}

void tsdl_symbol_add(struct tsdl *p, enum tag_kind tag, const char *name, const struct type *type)
{
	unsigned int bucket = bucket_of(p->scope, tag, name);
	struct type_symbol *symbol = p->scope->symbols[bucket];

	for (; symbol; symbol = symbol->next) {
		if (symbol->tag == tag && strcmp(symbol->name, name) == 0) {
			tsdl_fail(p, "the type \"%s\" is declared twice", name);
		}
	}
	assert(type);
	symbol = arena_alloc(p->arena, sizeof(*symbol));
	symbol->tag = tag;
	symbol->name = name;
	symbol->type = type;
	symbol->next = p->scope->symbols[bucket];
	p->scope->symbols[bucket] = symbol;
}

/*
 * beside: see beside.h.
 */
#include "engine/contract/beside.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctf/metadata/type.h"

#define USER   "ust"
#define KERNEL "kernel"

struct beside_of {
	struct beside is; /* first, so that whoever leaves is found by it */
	char *key;
	size_t users;
};

static void add_name(struct beside *beside, const char *name, size_t len)
{
	char *text = mem_printf("%.*s", (int)len, name);

	if (beside_names_get(&beside->known, text)) {
		free(text);
		return;
	}
	*vec_push(&beside->texts) = text;
	*beside_names_put(&beside->known, text, NULL) = true;
	beside->all.at = beside->texts.at;
	beside->all.count = beside->texts.count;
}

/* Only user programs have what is asked of their domain; nobody but the kernel lacks what is asked
 * of all others. */
static void note_domain(struct beside *beside, const char *text, size_t len)
{
	if (len == strlen(USER) && memcmp(text, USER, len) == 0) {
		beside->all.domain = USER;
	} else if (!beside->all.domain && len == strlen(KERNEL) && memcmp(text, KERNEL, len) == 0) {
		beside->all.domain = KERNEL;
	}
}

void beside_add(struct beside *beside, const struct metadata *types)
{
	const struct env_entry *domain = metadata_env(types, "domain");

	for (const struct event_class *class = types->events; class; class = class->next) {
		if (!beside_names_get(&beside->known, class->name)) {
			add_name(beside, class->name, strlen(class->name));
		}
	}
	if (domain && domain->text) {
		note_domain(beside, domain->text, strlen(domain->text));
	}
	assert(!beside->all.beside);
}

char *beside_text(const struct beside *beside)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)fprintf(out, "%s\n", beside->all.domain ? beside->all.domain : "");
	for (size_t i = 0; i < beside->texts.count; i++) {
		(void)fprintf(out, "%s\n", beside->texts.at[i]);
	}
	(void)fclose(out);
	return text;
}

void beside_take(struct beside *beside, const char *text)
{
	bool is_domain = true;

	for (const char *at = text, *end; at && (end = strchr(at, '\n')); at = end + 1) {
		size_t len = (size_t)(end - at);

		if (!is_domain) {
			add_name(beside, at, len);
		} else {
			note_domain(beside, at, len);
		}
		is_domain = false;
	}
}

void beside_fini(struct beside *beside)
{
	for (size_t i = 0; i < beside->texts.count; i++) {
		free((void *)beside->texts.at[i]);
	}
	vec_fini(&beside->texts);
	beside_names_fini(&beside->known);
	beside->all = (struct event_names){ 0 };
}

/* ---- sessions ---- */

struct beside *besides_join(struct besides *besides, const char *key)
{
	struct beside_of *of;

	for (size_t i = 0; i < besides->all.count; i++) {
		of = besides->all.at[i];
		if (strcmp(of->key, key) == 0) {
			of->users++;
			return &of->is;
		}
	}
	of = mem_alloc(sizeof(*of));
	of->key = mem_strdup(key);
	of->users = 1;
	*vec_push(&besides->all) = of;
	return &of->is;
}

void besides_leave(struct besides *besides, struct beside *beside)
{
	struct beside_of *of = (struct beside_of *)beside;
	size_t kept = 0;

	assert(of->users > 0);
	if (--of->users > 0) {
		return;
	}
	for (size_t i = 0; i < besides->all.count; i++) {
		if (besides->all.at[i] != of) {
			besides->all.at[kept++] = besides->all.at[i];
		}
	}
	assert(kept + 1 == besides->all.count);
	besides->all.count = kept;
	beside_fini(&of->is);
	free(of->key);
	free(of);
}

void besides_fini(struct besides *besides)
{
	assert(besides->all.count == 0);
	vec_fini(&besides->all);
}

/*
 * periods-labels: see periods.h; what ids are called, and the names of rows by that.
 *
 * A row is of ids.  When it is shown, they are called what the trace told last, up to the end of
 * the window.  So a name may come after the first use of its id, and the same row has the same
 * figures under any name.
 */
#include <stdio.h>
#include <string.h>

#include "analyses/periods/periods.h"

struct known {
	struct periods_node node; /* first: the list is of these */
	char *key;                /* "LABEL:ID", with the number of the label */
	char *name;
	int32_t via; /* the name is an id of this label; -1: it is the name */
};

/* ---- what is known ---- */

#define KNOWN_KEY_BYTES (ID_BYTES + 8)

static void put_key(char key[KNOWN_KEY_BYTES], unsigned int label, const char *id)
{
	(void)snprintf(key, KNOWN_KEY_BYTES, "%u:%s", label, id);
}

static struct known *find_known(const struct periods_trace *trace, const char *key)
{
	khint_t at = trace->known ? kh_get(known, trace->known, key) : 0;

	return !trace->known || at == kh_end(trace->known) ? NULL : kh_value(trace->known, at);
}

static void free_known(struct known *known)
{
	free(known->key);
	free(known->name);
	free(known);
}

static void remove_known(struct periods_trace *trace, struct known *known)
{
	kh_del(known, trace->known, kh_get(known, trace->known, known->key));
	periods_list_remove(&trace->known_list, &known->node);
	free_known(known);
}

/* Takes it, as what was told last. */
static void add_known(struct periods_trace *trace, struct known *known)
{
	int is_new;
	khint_t at;

	if (!trace->known) {
		trace->known = kh_init(known);
	}
	at = kh_put(known, trace->known, known->key, &is_new);
	assert(is_new > 0);
	kh_value(trace->known, at) = known;
	periods_list_add(&trace->known_list, &known->node);
}

void periods_labels_take(struct shard *shard, struct periods_trace *trace,
			 const struct ordered *ordered)
{
	const uint64_t *words = (const uint64_t *)(uintptr_t)ordered->words[NOTE_WORDS];
	const struct label_set *labels = &shard_periods(shard)->labels;
	const struct label_source *source = labels->sources.at[ordered->words[NOTE_WHICH]];
	char key[KNOWN_KEY_BYTES];
	struct known *known;

	put_key(key, source->label, (const char *)(words + LABEL_ID));
	known = find_known(trace, key);
	if (known) {
		remove_known(trace, known);
	} else if (trace->known_list.count >= LABELS_KNOWN_MAX) {
		shard_trace_row(shard, TOTALS)[FORGOTTEN]++;
		remove_known(trace, (struct known *)trace->known_list.first);
	}
	known = mem_alloc(sizeof(*known));
	known->key = mem_strdup(key);
	known->name = mem_strdup((const char *)(words + LABEL_TEXT));
	known->via = source->value.label;
	add_known(trace, known);
}

void periods_labels_forget(struct periods_trace *trace)
{
	while (trace->known_list.first) {
		remove_known(trace, (struct known *)trace->known_list.first);
	}
	if (trace->known) {
		kh_destroy(known, trace->known);
	}
}

/* ---- names of rows ---- */

/* What the id is called, or NULL.  A label is of earlier ones only, so this ends. */
static const char *name_of(const struct periods_trace *trace, unsigned int label, const char *id)
{
	char key[KNOWN_KEY_BYTES];
	const struct known *known;

	do {
		put_key(key, label, id);
		known = find_known(trace, key);
		if (!known || known->via < 0) {
			return known ? known->name : NULL;
		}
		assert(known->via < (int32_t)label);
		label = (unsigned int)known->via;
		id = known->name;
	} while (true);
}

/* A text that gets longer; from malloc(). */
static void append(char **text, const char *more, size_t len)
{
	char *longer = mem_printf("%s %.*s", *text, (int)len, more);

	free(*text);
	*text = longer;
}

static const struct period *period_of(const struct period_set *set, const char *name, size_t len)
{
	for (size_t i = 0; i < set->all.count; i++) {
		const struct period *period = set->all.at[i];

		if (strlen(period->name) == len && memcmp(period->name, name, len) == 0) {
			return period;
		}
	}
	return NULL;
}

/* Whether "WORD=" comes next. */
static bool is_next(const char *at, const char *word)
{
	size_t len = strlen(word);

	return strncmp(at, word, len) == 0 && at[len] == '=';
}

/* Where the item at @at ends: at what follows it, "WORD=". */
static size_t item_len(const char *at, const char *word)
{
	const char *next = word ? strchr(at, ' ') : NULL;

	while (next && !is_next(next + 1, word)) {
		next = strchr(next + 1, ' ');
	}
	return next ? (size_t)(next - at) : strlen(at);
}

/* Whether the items of a use are in the text: instance.by has those of labels only. */
static bool is_listed(const struct label_use *use, size_t table)
{
	return table != LONGEST || use->label >= 0;
}

/* What follows the items of a group in instance.by: the first key; NULL: nothing does. */
static const char *behind_items(const struct period *period)
{
	const struct period_side *begin = &period->steps[0];

	if (period->is_chain || period->links[0].key_count == 0) {
		return NULL;
	}
	return begin->after[0] == FIELD_CPU ? "$cpu" : begin->fields.names[begin->after[0]];
}

/* The length of item @i at @at: up to the nearest of what may follow, since any may be left out. */
static size_t len_of(const struct period_set *set, const struct period *period, size_t i,
		     size_t table, const char *at)
{
	size_t len = item_len(at, table == LONGEST ? behind_items(period) : NULL);

	while (++i < period->group_count) {
		const struct label_use *next = &period->groups[i];
		size_t upto =
			is_listed(next, table) ? item_len(at, period_group_name(set, next)) : len;

		len = upto < len ? upto : len;
	}
	return len;
}

/* Adds the items of a group, those of labels by their names; true: some had one. */
static bool add_items(char **text, const struct periods_trace *trace, const struct period_set *set,
		      const struct period *period, size_t table, const char *at)
{
	bool any = false;

	for (size_t i = 0; i < period->group_count; i++) {
		const struct label_use *use = &period->groups[i];
		const char *word = period_group_name(set, use), *name = NULL;
		size_t len;

		if (!is_listed(use, table) || !is_next(at, word)) {
			continue;
		}
		len = len_of(set, period, i, table, at);
		if (use->label >= 0) {
			char *id = mem_printf("%.*s", (int)(len - strlen(word) - 1),
					      at + strlen(word) + 1);

			name = name_of(trace, (unsigned int)use->label, id);
			free(id);
		}
		any |= name != NULL;
		append(text, name ? name : at, name ? strlen(name) : len);
		at += len + strspn(at + len, " ");
	}
	return any;
}

char *periods_label_of(const void *state, const struct period_set *periods, size_t table,
		       const char *name, const char *by)
{
	size_t len = strcspn(name, " ");
	const struct period *period = periods ? period_of(periods, name, len) : NULL;
	const char *at = table == LONGEST ? by : name + len + strspn(name + len, " ");
	char *text;

	if (!period || period->group_count == 0 || !at) {
		return NULL;
	}
	text = mem_strdup(period->name);
	if (!add_items(&text, state, periods, period, table, at)) {
		free(text);
		return NULL;
	}
	return text;
}

/* ---- checkpoints ---- */

static void codec_known(struct codec *codec, struct known *known)
{
	codec_text(codec, &known->key);
	codec_text(codec, &known->name);
	codec_i32(codec, &known->via);
}

/* Whether the key is "LABEL:ID", and the name of an earlier label or none. */
static bool is_sound(const struct checkpoint *checkpoint, const struct periods_trace *trace,
		     const struct known *known)
{
	size_t labels = checkpoint->periods ? checkpoint->periods->labels.all.count : 0;
	unsigned int label;
	int used = 0;

	return known->key && known->name && strlen(known->key) < KNOWN_KEY_BYTES &&
	       strlen(known->name) < LABEL_TEXT_BYTES_MAX &&
	       sscanf(known->key, "%2u:%n", &label, &used) == 1 && used > 0 && label < labels &&
	       known->via >= -1 && known->via < (int32_t)label && !find_known(trace, known->key);
}

void periods_labels_checkpoint(const struct checkpoint *checkpoint, struct periods_trace *trace)
{
	struct codec *codec = checkpoint->codec;
	struct periods_node *at = trace->known_list.first;
	size_t count = codec_count(codec, trace->known_list.count, 12);

	for (size_t i = 0; i < count && codec_check(codec, count <= LABELS_KNOWN_MAX); i++) {
		struct known *known = (struct known *)at;

		if (!codec_reads(codec)) {
			codec_known(codec, known);
			at = at->after;
			continue;
		}
		known = mem_alloc(sizeof(*known));
		codec_known(codec, known);
		if (!codec_check(codec, is_sound(checkpoint, trace, known))) {
			free_known(known);
			return;
		}
		add_known(trace, known);
	}
}

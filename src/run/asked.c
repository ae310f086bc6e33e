/*
 * asked: see asked.h.
 */
#include "run/asked.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"

enum asked_kind asked_kind_of(const char *name)
{
	static const struct {
		const char *name;
		enum asked_kind kind;
	} kinds[] = { { "model", ASKED_MEASURE },  { "label", ASKED_MEASURE },
		      { "period", ASKED_MEASURE }, { "ust-span", ASKED_MEASURE },
		      { "job", ASKED_MEASURE },    { "call", ASKED_MEASURE },
		      { "within", ASKED_MEASURE }, { "tid", ASKED_OF_WHOM },
		      { "pid", ASKED_OF_WHOM },    { "comm", ASKED_OF_WHOM },
		      { "thread", ASKED_OF_WHOM }, { "cpu", ASKED_OF_WHOM },
		      { "irq", ASKED_OF_WHOM } };

	for (size_t i = 0; i < ARRAY_COUNT(kinds); i++) {
		if (strcmp(kinds[i].name, name) == 0) {
			return kinds[i].kind;
		}
	}
	return ASKED_OTHER;
}

static bool is_unmeasured(const char *name)
{
	return asked_kind_of(name) == ASKED_OTHER;
}

static void put_names(const struct options *options, FILE *out)
{
	for (size_t i = 0; options->analyses[i]; i++) {
		(void)fprintf(out, "%s%s", i == 0 ? "" : ",", options->analyses[i]->name);
	}
}

char *asked_text(const struct options *options)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)fputs("-a ", out);
	put_names(options, out);
	options_put_given(options, is_unmeasured, out);
	(void)fclose(out);
	return text;
}

/* ---- into a capture ---- */

static void put_word(struct json *json, const char *name, const char *value)
{
	json_open(json, NULL, '{');
	json_text(json, "option", name);
	json_text(json, "value", value);
	json_close(json, '}');
}

static void put_asked(void *user, const char *name, const char *value)
{
	if (asked_kind_of(name) != ASKED_OTHER && value) {
		put_word(user, name, value);
	}
}

char *asked_json(const struct options *options)
{
	char *text = NULL, *list = NULL;
	struct json json;
	size_t size;
	FILE *out = open_memstream(&list, &size);

	put_names(options, out);
	(void)fclose(out);
	out = open_memstream(&text, &size);
	json_init(&json, out);
	put_word(&json, "analyses", list);
	options_each_given(options, put_asked, &json);
	json_end_line(&json);
	(void)fclose(out);
	text[strcspn(text, "\n")] = '\0';
	free(list);
	return text;
}

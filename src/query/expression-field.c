/*
 * expression-field: see expression-parser.h.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "query/expression-parser.h"

int expression_lacks(const struct parser *p, const char *what)
{
	return scan_expected(&p->scan, what);
}

int expression_word(struct parser *p, const char *what, char *word, size_t size)
{
	const struct scan before = p->scan;
	int r = scan_text(&p->scan, PATTERN_LETTERS, what, word, size);

	return r == 0 && (!word[0] || word[0] == PLAN_TEXT[0]) ? scan_expected(&before, what) : r;
}

/* Puts a text behind what is there; false: it has no room. */
static bool put(char field[PATTERN_WORD_BYTES], const char *text)
{
	size_t len = strlen(field), room = PATTERN_WORD_BYTES - len;

	return (size_t)snprintf(field + len, room, "%s", text) < room;
}

static int take_element(struct parser *p, char field[PATTERN_WORD_BYTES])
{
	struct scan_number number;
	char text[32] = "";
	int r;

	(void)scan_take(&p->scan, "[");
	r = scan_number(&p->scan, &number);
	if (r < 0 || number.is_real || number.real < 0 || number.real >= QUERY_ELEMENT_NONE ||
	    !scan_take(&p->scan, "]")) {
		return expression_lacks(p, "the number of an element and ]");
	}
	(void)snprintf(text, sizeof(text), "[%llu]", (unsigned long long)number.whole);
	return put(field, text) ? 0 : expression_lacks(p, "a shorter name before");
}

/* $tid, $pid, $cpu, and parts of texts, which one of the events has. */
static int take_made(struct parser *p, struct among among, char field[PATTERN_WORD_BYTES])
{
	const struct scan before = p->scan;
	char name[PATTERN_NAME_BYTES] = "";

	p->scan.at++;
	(void)scan_name(&p->scan, name, sizeof(name));
	scan_blanks(&p->scan);
	(void)snprintf(field, PATTERN_WORD_BYTES, "$%s", name);
	return strcmp(name, "tid") == 0 || strcmp(name, "pid") == 0 || strcmp(name, "cpu") == 0 ||
			       pattern_has_part(among.at, among.count, name)
		       ? 0
		       : scan_expected(&before, "$tid, $pid, $cpu, $ctx.NAME, $app.NAME, or what a "
						"condition before splits off");
}

static void note_renamed(struct expression *is, const char *field, const char *written)
{
	if (is->renamed_count < EXPRESSION_RENAMED_MAX &&
	    strcmp(expression_shown(is, field), field) == 0) {
		strcpy(is->renamed[is->renamed_count].meant, field);
		strcpy(is->renamed[is->renamed_count++].written, written);
	}
}

const char *expression_shown(const struct expression *expression, const char *field)
{
	for (size_t i = 0; i < expression->renamed_count; i++) {
		if (strcmp(expression->renamed[i].meant, field) == 0) {
			return expression->renamed[i].written;
		}
	}
	return field;
}

int expression_field(struct parser *p, const char *what, struct among among,
		     char field[PATTERN_WORD_BYTES])
{
	static const struct {
		const char *written, *meant;
		bool is_app; /* only letters, digits and _ follow in metadata of CTF 1.8 */
	} prefixes[] = { { "$ctx.", "context.", false },
			 { "$app.", "context._app_", true },
			 { "", "", false } };
	char name[PATTERN_WORD_BYTES], written[PATTERN_WORD_BYTES] = "";
	size_t i = 0, len;
	int r;

	while (!scan_take(&p->scan, prefixes[i].written)) {
		i++;
	}
	if (*p->scan.at == '$') {
		return take_made(p, among, field);
	}
	r = expression_word(p, what, name, sizeof(name));
	if (r == 0 && name[0] == '$') { /* it would be one that is made */
		return expression_lacks(p, "a name without $ before");
	}
	strcpy(written, prefixes[i].is_app ? prefixes[i].written : "");
	(void)(r == 0 && prefixes[i].is_app && put(written, name));
	for (char *at = name; r == 0 && prefixes[i].is_app && *at; at++) {
		*at = scan_is_letter(*at, "_") ? *at : '_';
	}
	strcpy(field, prefixes[i].meant);
	if (r == 0 && !put(field, name)) {
		return expression_lacks(p, "a shorter name before");
	}
	len = strlen(field);
	r = r == 0 && *p->scan.at == '[' ? take_element(p, field) : r;
	if (r == 0 && written[0] && put(written, field + len)) {
		note_renamed(p->is, field, written);
	}
	return r;
}

char *expression_text_global(const struct expression *is)
{
	char *text = mem_strdup(is->text);
	bool any = false;

	for (size_t i = is->event_count - 1; i-- > 0;) {
		const struct expression_link *link = &is->links[i < EXPRESSION_STEPS_MAX ? i : 0];

		if (i < EXPRESSION_STEPS_MAX && link->met && !link->is_global &&
		    keys_met_apart(link->met)) {
			size_t upto = (size_t)(link->at - is->text);
			char *longer = mem_printf("%.*sglobal %s", (int)upto, text, text + upto);

			free(text);
			text = longer;
			any = true;
		}
	}
	if (!any) {
		free(text);
		return NULL;
	}
	return text;
}

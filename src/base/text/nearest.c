/*
 * nearest: see nearest.h.
 */
#include "base/text/nearest.h"

#include <stdint.h>
#include <string.h>

#define WORD_BYTES_MAX 62 /* longer words are never suggested */

static unsigned int least(unsigned int a, unsigned int b, unsigned int c)
{
	unsigned int low = a < b ? a : b;

	return low < c ? low : c;
}

/* Levenshtein distance of short words. */
static unsigned int distance(const char *a, const char *b)
{
	unsigned int row[WORD_BYTES_MAX + 2];
	size_t len = strlen(b);

	if (len > WORD_BYTES_MAX) {
		return UINT32_MAX;
	}
	for (unsigned int i = 0; i <= len; i++) {
		row[i] = i;
	}
	for (unsigned int k = 0; a[k]; k++) {
		unsigned int corner = row[0];

		row[0] = k + 1;
		for (unsigned int i = 0; i < len; i++) {
			unsigned int above = row[i + 1];

			row[i + 1] = least(above + 1, row[i] + 1, corner + (a[k] != b[i]));
			corner = above;
		}
	}
	return row[len];
}

const char *nearest_word(const char *word, const char *const *words, unsigned int most)
{
	const char *found = NULL;
	unsigned int best = most < UINT32_MAX ? most + 1 : most;

	for (; *words; words++) {
		unsigned int d = distance(word, *words);

		if (d < best) {
			best = d;
			found = *words;
		}
	}
	return found;
}

#define CONTAINED_MIN 4 /* letters: shorter ones are in many names */

const char *nearest_event(const char *event, const char *const *events)
{
	const unsigned int most = (unsigned int)strlen(event) / 4 + 1;
	const char *found = NULL;

	for (size_t i = 0; events[i]; i++) {
		const char *behind = strchr(events[i], ':');

		if (behind && strcmp(behind + 1, event) == 0) {
			return events[i];
		}
		if (!found && strlen(event) >= CONTAINED_MIN && strstr(events[i], event)) {
			found = events[i];
		}
	}
	found = found ? found : nearest_word(event, events, most);
	for (size_t i = 0; !found && !strchr(event, ':') && events[i]; i++) {
		const char *behind = strchr(events[i], ':');

		found = behind && distance(event, behind + 1) <= most ? events[i] : NULL;
	}
	return found;
}

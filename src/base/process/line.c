/*
 * line: see line.h.
 */
#include "base/process/line.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define STEP 4096 /* bytes that are asked for at a time */

int line_next(struct line *line, FILE *in, size_t most)
{
	line->number++;
	line->text.count = 0;
	do {
		char *end;

		if (line->text.count > most) {
			return -EMSGSIZE;
		}
		vec_reserve_more(&line->text, STEP);
		end = line->text.at + line->text.count;
		if (!fgets(end, STEP, in)) {
			bool is_there = line->text.count > 0 && !ferror(in);

			line->number -= !is_there;
			return is_there;
		}
		line->text.count += strlen(end);
	} while (line->text.count > 0 && line->text.at[line->text.count - 1] != '\n');
	return 1;
}

void line_fini(struct line *line)
{
	vec_fini(&line->text);
}

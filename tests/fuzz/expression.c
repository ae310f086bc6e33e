/*
 * expression: hostile texts of --period, --job and the others (query/expression.h).
 *
 * The first byte says which option has the text.  What is valid is printed, and that is the same
 * tree.
 */
#include <stdlib.h>
#include <string.h>

#include "../unit/query/expression-print.h"
#include "base/mem.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text;

	if (size < 1 || size > 4096) {
		return 0;
	}
	text = mem_printf("%.*s", (int)(size - 1), (const char *)data + 1);
	(void)expression_print_check(text, (enum expression_form)(data[0] % FORMS));
	free(text);
	return 0;
}

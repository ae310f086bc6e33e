/*
 * shell: see shell.h.
 */
#include "base/shell.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/utf8.h"

static bool is_plain(const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789-_.,:/=+@%";

	return *word && word[strspn(word, plain)] == '\0';
}

static bool needs_escapes(const char *word)
{
	for (struct utf8_letter letter; *word; word += letter.bytes) {
		letter = utf8_letter_at(word);
		assert(letter.bytes > 0);
		if (!letter.is_plain) {
			return true;
		}
	}
	return false;
}

static size_t put_escaped(FILE *out, const char *word)
{
	size_t len = (size_t)fprintf(out, "$'");

	for (struct utf8_letter letter; *word; word += letter.bytes) {
		letter = utf8_letter_at(word);
		if (letter.is_plain && *word != '\'' && *word != '\\') {
			len += fwrite(word, 1, letter.bytes, out);
			continue;
		}
		for (size_t i = 0; i < letter.bytes; i++) {
			len += (size_t)fprintf(out, "\\%03o", (unsigned char)word[i]);
		}
	}
	(void)fputc('\'', out);
	return len + 1;
}

size_t shell_put(FILE *out, const char *word)
{
	size_t len = 2;

	if (is_plain(word)) {
		return fwrite(word, 1, strlen(word), out);
	}
	if (needs_escapes(word)) {
		return put_escaped(out, word);
	}
	(void)fputc('\'', out);
	for (; *word; word++) {
		len += (size_t)fprintf(out, *word == '\'' ? "'\\''" : "%c", *word);
	}
	(void)fputc('\'', out);
	return len;
}

char *shell_word(const char *word)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)shell_put(out, word);
	(void)fclose(out);
	return text;
}

char *shell_path(const char *path)
{
	char *plain = mem_printf("%s%s", path[0] == '-' ? "./" : "", path);
	char *word = shell_word(plain);

	free(plain);
	return word;
}

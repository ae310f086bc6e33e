/*
 * replay: runs a fuzz target over files, and over the files of directories.
 *
 * A file that ends in .pack holds many inputs, each behind its length in four bytes, most
 * significant byte first (corpus.py writes it).
 *
 * usage: TARGET FILE|DIRECTORY...
 */
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "fuzz.h"

static unsigned int inputs;

static void run_input(const uint8_t *bytes, size_t size)
{
	/* A copy exactly as large as the input, so that a sanitizer sees reads beyond it. */
	uint8_t *copy = mem_alloc(size + (size == 0));

	memcpy(copy, bytes, size);
	(void)LLVMFuzzerTestOneInput(copy, size);
	free(copy);
	inputs++;
}

static int run_pack(const char *path, const uint8_t *bytes, size_t size)
{
	size_t at = 0;

	while (size - at >= 4) {
		size_t len = (size_t)bytes[at] << 24 | (size_t)bytes[at + 1] << 16 |
			     (size_t)bytes[at + 2] << 8 | bytes[at + 3];

		at += 4;
		if (len > size - at) {
			break;
		}
		run_input(bytes + at, len);
		at += len;
	}
	if (at != size) {
		(void)fprintf(stderr, "%s: cut short at byte %zu\n", path, at);
		return -1;
	}
	return 0;
}

static bool is_pack(const char *path)
{
	const char *end = strrchr(path, '.');

	return end && strcmp(end, ".pack") == 0;
}

static int run_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	struct stat status;
	uint8_t *bytes;
	size_t size;
	int r = 0;

	if (!file || fstat(fileno(file), &status) < 0) {
		perror(path);
		return -1;
	}
	size = (size_t)status.st_size;
	bytes = mem_alloc(size + (size == 0));
	if (fread(bytes, 1, size, file) != size) {
		perror(path);
		return -1;
	}
	(void)fclose(file);
	if (is_pack(path)) {
		r = run_pack(path, bytes, size);
	} else {
		run_input(bytes, size);
	}
	free(bytes);
	return r;
}

static int visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static int run_path(const char *path)
{
	struct dirent **entries;
	int count = scandir(path, &entries, visible, alphasort);
	int r = 0;

	if (count < 0) {
		return run_file(path);
	}
	for (int i = 0; i < count; i++) {
		char *below = mem_printf("%s/%s", path, entries[i]->d_name);

		r |= run_file(below);
		free(below);
		free(entries[i]);
	}
	free(entries);
	return r;
}

int main(int argc, char **argv)
{
	int r = 0;

	for (int i = 1; i < argc; i++) {
		r |= run_path(argv[i]);
	}
	printf("%u inputs\n", inputs);
	return r || inputs == 0;
}

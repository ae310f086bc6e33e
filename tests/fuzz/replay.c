/*
 * replay: runs a fuzz target over files, and over the files of directories.
 *
 * usage: TARGET FILE|DIRECTORY...
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "fuzz.h"

static unsigned int inputs;

static int run_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	struct stat status;
	uint8_t *bytes;

	if (!file || fstat(fileno(file), &status) < 0) {
		perror(path);
		return -1;
	}
	/* Exactly as large as the input, so that a sanitizer sees reads beyond it. */
	bytes = malloc((size_t)status.st_size + (status.st_size == 0));
	if (!bytes || fread(bytes, 1, (size_t)status.st_size, file) != (size_t)status.st_size) {
		perror(path);
		return -1;
	}
	(void)fclose(file);
	(void)LLVMFuzzerTestOneInput(bytes, (size_t)status.st_size);
	free(bytes);
	inputs++;
	return 0;
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

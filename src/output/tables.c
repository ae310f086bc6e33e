/*
 * tables: see tables.h.
 */
#include "output/tables.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/process/foreign.h"
#include "csv/csv.h"

/* Where a table goes. */
struct table_place {
	struct output *output;
	const char *table; /* the one that is open; NULL: none is */
	int fd;
};

/* One table, to a file. */
static bool is_alone(const struct output *output)
{
	return output->tables[0];
}

int tables_open(struct output *output, struct err *err)
{
	struct stat status;

	assert(output->tables && !output->csv);
	output->csv = csv_new(is_alone(output) ? output->tables : NULL);
	if (is_alone(output)) {
		return -ENOENT;
	}
	assert(output->path); /* options.c sees to it */
	output->fd = -1;
	if (mkdir(output->path, 0777) == 0 ||
	    (errno == EEXIST && stat(output->path, &status) == 0 && S_ISDIR(status.st_mode))) {
		return 0;
	}
	return err_raise(err, errno ? -errno : -EEXIST, "cannot write to the directory %s: %s",
			 output->path, strerror(errno));
}

bool tables_take(struct output *output, const char *bytes, size_t len)
{
	return csv_take(output->csv, bytes, len);
}

static int open_file_of(struct table_place *place, const char *table)
{
	char *path = mem_printf("%s/%s.csv", place->output->path, table);
	int fd = strchr(table, '/') ? -EINVAL : foreign_create(path, O_TRUNC);

	free(path);
	if (fd < 0) {
		return -fd;
	}
	if (place->table && close(place->fd) < 0) {
		(void)close(fd);
		place->table = NULL;
		return errno;
	}
	place->fd = fd;
	place->table = table;
	return 0;
}

static int write_in_place(void *user, const char *table, const char *bytes, size_t len)
{
	struct table_place *place = user;
	struct output *output = place->output;
	bool has_written = false;
	int r = 0;

	if (!is_alone(output) && place->table != table) {
		r = open_file_of(place, table);
	}
	if (r == 0) {
		r = foreign_write(is_alone(output) ? output->fd : place->fd,
				  is_alone(output) && output->waits, bytes, len, &has_written);
	}
	output->has_written |= has_written;
	output->failure = output->failure ? output->failure : r;
	return r;
}

int tables_close(struct output *output, struct err *err)
{
	struct table_place place = { .output = output, .fd = -1 };
	int r = csv_end(output->csv, write_in_place, &place, err);

	if (place.table && close(place.fd) < 0 && r == 0) {
		r = err_raise(err, -errno, "closing %s: %s", output->path, strerror(errno));
	}
	csv_free(output->csv);
	output->csv = NULL;
	return r;
}

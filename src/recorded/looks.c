/*
 * looks: see looks.h.
 */
#include "recorded/looks.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/process/foreign.h"
#include "base/shell.h"
#include "tracedat/tracedat.h"

/* The first bytes of a file. */
struct head {
	uint8_t bytes[4096];
	size_t len;
};

static int read_first(const char *path, struct head *head, struct err *err)
{
	int fd = foreign_open(path, 0, err);
	ssize_t got;

	if (fd < 0) {
		return fd;
	}
	got = read(fd, head->bytes, sizeof(head->bytes));
	head->len = got > 0 ? (size_t)got : 0;
	(void)close(fd);
	return got < 0 ? err_raise(err, -errno, "%s: %s", path, strerror(errno)) : 0;
}

/* What each kind starts_as with, and what is said of it: FILE and DIR are the file and its
 * directory as words of a command. */
static const struct kind {
	const char *begin;
	size_t len;
	const char *says;
} kinds[] = {
#define BEGINS(bytes) bytes, sizeof(bytes) - 1
	{ BEGINS("PERFILE2"), "perf.data of `perf record`; `perf data convert -i FILE "
			      "--to-ctf=FILE.ctf` makes the trace FILE.ctf of it" },
	{ BEGINS("2ELIFREP"), "perf.data of a machine with the other byte order; `perf data "
			      "convert -i FILE --to-ctf=FILE.ctf` makes the trace FILE.ctf of it" },
	{ BEGINS("PERFFILE"), "perf.data of an old `perf record`; `perf data convert -i FILE "
			      "--to-ctf=FILE.ctf` makes the trace FILE.ctf of it" },
	{ BEGINS("\xC1\x1F\xFC\xC1"), "one stream of a trace, which is its directory: DIR" },
	{ BEGINS("\xC1\xFC\x1F\xC1"), "one stream of a trace, which is its directory: DIR" },
	{ BEGINS("\xC1\xF1\xDC\xC1"), "the index of a stream of a trace; give the trace's "
				      "directory, above DIR" },
	{ BEGINS("\x57\x1D\xD1\x75"), "the metadata of a trace, which is its directory: DIR" },
	{ BEGINS("\x75\xD1\x1D\x57"), "the metadata of a trace, which is its directory: DIR" },
	{ BEGINS("/* CTF 1."), "the metadata of a trace, which is its directory: DIR" },
	{ BEGINS("\x1E{"), "the metadata of a trace, which is its directory: DIR" },
	{ BEGINS("SQLite format 3"), "a database; if it is a store of sillage, `sillage history "
				     "FILE` shows what is in it" },
	{ BEGINS("sillage partials"), "of `sillage map`; `sillage merge FILE` goes on with it" },
	{ BEGINS("\x1F\x8B"), "compressed (gzip); unpack it first: `tar xf FILE`, or `gzip -dk "
			      "FILE` if it is no archive" },
	{ BEGINS("\xFD"
		 "7zXZ"),
	  "compressed (xz); unpack it first: `tar xf FILE`, or `xz -dk "
	  "FILE` if it is no archive" },
	{ BEGINS("BZh"), "compressed (bzip2); unpack it first: `tar xf FILE`, or `bzip2 -dk FILE` "
			 "if it is no archive" },
	{ BEGINS("PK\x03\x04"), "an archive (zip); unpack it first: `unzip FILE`" },
	{ BEGINS("\x7F"
		 "ELF"),
	  "a program, a library or a core dump" },
	{ BEGINS("\xD4\xC3\xB2\xA1"), "a capture of network packets (pcap)" },
	{ BEGINS("\x0A\x0D\x0D\x0A"), "a capture of network packets (pcapng)" },
	{ BEGINS("# tracer:"), "text of ftrace (`trace`), which says less than the events; "
			       "`trace-cmd extract -o trace.dat` makes a file that can be read" },
	{ BEGINS("cpus="), "text of `trace-cmd report`; give the trace.dat that it was made of" },
	{ BEGINS("TRACE:\n"), "text of systrace; record with trace-cmd, perf or LTTng" },
	{ BEGINS("<!DOCTYPE"), "a page (HTML)" },
	{ BEGINS("<html"), "a page (HTML)" },
#undef BEGINS
};

static bool starts_as(const struct head *head, const struct kind *kind)
{
	return head->len >= kind->len && memcmp(head->bytes, kind->begin, kind->len) == 0;
}

static bool has_text(const struct head *head, const char *text)
{
	return memmem(head->bytes, head->len, text, strlen(text)) != NULL;
}

/* A file of Perfetto is packets, each with the tag 0x0A and its length: @at is the next one. */
static bool pass_packet(const struct head *head, size_t *at)
{
	uint64_t len = 0;
	unsigned int shift = 0;
	uint8_t byte;

	if (*at + 1 >= head->len || head->bytes[(*at)++] != 0x0A) {
		return false;
	}
	do {
		byte = head->bytes[(*at)++];
		len |= (uint64_t)(byte & 0x7F) << shift;
		shift += 7;
	} while (byte & 0x80 && shift < 35 && *at < head->len);
	*at = len < head->len - *at ? *at + len : head->len;
	return len > 0 && !(byte & 0x80);
}

static bool is_perfetto(const struct head *head)
{
	size_t at = 0;

	/* Text is none, which may begin with an empty line. */
	return pass_packet(head, &at) && (at == head->len || pass_packet(head, &at)) &&
	       memchr(head->bytes, 0, head->len);
}

static bool is_plain_text(const struct head *head)
{
	size_t odd = 0;

	for (size_t i = 0; i < head->len; i++) {
		odd += head->bytes[i] < 0x20 && !isspace(head->bytes[i]);
	}
	return odd == 0;
}

static const char *json_says(const struct head *head)
{
	return has_text(head, "\"traceEvents\"") || has_text(head, "\"ph\":")
		       ? "events for Chrome's viewer (JSON); record with trace-cmd, perf or LTTng"
	       : has_text(head, "\"preamble\"")
		       ? "the metadata of a trace, which is its directory: DIR"
	       : has_text(head, "\"type\":")
		       ? "JSON; if sillage wrote it, `sillage compare FILE OTHER` takes it"
		       : "JSON";
}

static const char *says_of(const struct head *head)
{
	for (size_t i = 0; i < ARRAY_COUNT(kinds); i++) {
		if (starts_as(head, &kinds[i])) {
			return kinds[i].says;
		}
	}
	if (head->len == 0) {
		return "an empty file";
	}
	if (is_perfetto(head)) {
		return "a trace for the viewer of Perfetto, of which nothing makes what can be "
		       "read here; record with trace-cmd, perf or LTTng";
	}
	return head->bytes[0] == '{' || head->bytes[0] == '[' ? json_says(head)
	       : is_plain_text(head)                          ? "text"
							      : "data of a form that is not known";
}

static char *directory_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return !slash          ? mem_strdup(".")
	       : slash == path ? mem_strdup("/")
			       : mem_printf("%.*s", (int)(slash - path), path);
}

/* What is said, with FILE and DIR replaced. */
static char *with_names(const char *says, const char *path)
{
	char *dir = directory_of(path), *names[] = { shell_path(path), shell_path(dir) };
	static const char *const words[] = { "FILE", "DIR" };
	VEC(char) text = { 0 };

	while (*says) {
		size_t i = 0;

		while (i < ARRAY_COUNT(words) && strncmp(says, words[i], strlen(words[i])) != 0) {
			i++;
		}
		if (i < ARRAY_COUNT(words)) {
			vec_append(&text, names[i], strlen(names[i]));
			says += strlen(words[i]);
		} else {
			*vec_push(&text) = *says++;
		}
	}
	*vec_push(&text) = '\0';
	free(dir);
	free(names[0]);
	free(names[1]);
	return text.at;
}

bool looks_dat(const char *path)
{
	struct head head = { .len = 0 };
	struct err err;

	return read_first(path, &head, &err) == 0 && head.len >= TRACEDAT_MAGIC_BYTES &&
	       memcmp(head.bytes, TRACEDAT_MAGIC, TRACEDAT_MAGIC_BYTES) == 0;
}

int looks_refuse(const char *path, struct err *err)
{
	struct head head = { .len = 0 };
	int r = read_first(path, &head, err);
	char *text;

	if (r == 0) {
		text = with_names(says_of(&head), path);
		r = err_raise(
			err, -ENOTDIR,
			"%s: not a trace: a trace is a directory, or a trace.dat; it looks like %s",
			path, text);
		free(text);
	}
	return r;
}

/*
 * capture-write: see capture-write.h.
 */
#include "capture/capture-write.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/json.h"
#include "base/limits.h"
#include "base/process/child.h"
#include "base/process/remove.h"
#include "base/units.h"
#include "capture/capture-prune.h"
#include "ctf/packet-index.h"
#include "ctf/packet.h"
#include "output/plain-name.h"
#include "version.h"

struct capture_result capture_order_result(const struct capture_order *order)
{
	return (struct capture_result){ .number = order->number,
					.host = order->host,
					.session = order->session,
					.triggers = order->names,
					.begin = order->begin,
					.end = order->end,
					.path = order->path,
					.error = order->path ? NULL : order->err.text,
					.packets = order->packets,
					.bytes = order->bytes,
					.is_complete = order->is_complete,
					.extras = order->extras,
					.has_extras = order->has_extras };
}

void capture_order_free(struct capture_order *order)
{
	if (!order) {
		return;
	}
	for (size_t i = 0; i < order->traces.count; i++) {
		free(order->traces.at[i].path);
		history_stretch_fini(&order->traces.at[i].stretch);
	}
	vec_fini(&order->traces);
	free(order->host);
	free(order->session);
	free(order->triggers);
	free(order->job);
	free(order->names);
	free(order->found);
	free(order->path);
	free(order);
}

/* ---- names ---- */

static char *capture_name(const struct capture_order *order)
{
	time_t seconds = (time_t)(order->at / 1000000000);
	char *host = plain_name(order->host), *session = plain_name(order->session), *name;
	char when[32];
	struct tm tm;

	(void)gmtime_r(&seconds, &tm);
	(void)strftime(when, sizeof(when), "%Y%m%dT%H%M%S", &tm);
	name = mem_printf("%s-%s-%s.%03uZ", host, session, when,
			  (unsigned int)(order->at / 1000000 % 1000));
	free(host);
	free(session);
	return name;
}

static int make_dir(const char *path, struct err *err)
{
	if (mkdir(path, 0777) < 0 && errno != EEXIST) {
		return err_raise(err, -errno, "%s: %s", path, strerror(errno));
	}
	return 0;
}

#define SAME_NAME_MAX 10000 /* names that become the same plain name, of traces or of streams */

static bool exists(const char *dir, const char *name)
{
	char *path = mem_printf("%s/%s", dir, name);
	bool is_there = access(path, F_OK) == 0;

	free(path);
	return is_there;
}

/* A part of a trace's path.  "index" and "metadata" are what a trace before may have in it. */
static char *plain_part(const char *part)
{
	char *plain = plain_name(part), *other;

	if (strcmp(plain, "index") != 0 && strcmp(plain, "metadata") != 0) {
		return plain;
	}
	other = mem_printf("_%s", plain);
	free(plain);
	return other;
}

/* The path of a trace below its capture, with a @number if that is not 1; never empty. */
static char *plain_path(const char *path, unsigned int number)
{
	char *all = mem_strdup(path ? path : ""), *rest = all, *part, *plain, *longer;
	char *made = mem_strdup("");
	size_t depth = 0;

	while ((part = strsep(&rest, "/"))) {
		if (!part[0] || depth++ >= TRACE_DEPTH_MAX) {
			continue;
		}
		plain = plain_part(part);
		longer = mem_printf("%s/%s", made, plain);
		free(made);
		free(plain);
		made = longer;
	}
	longer = mem_printf(number > 1 ? "%s-%u" : "%s", made[0] ? made : "/trace", number);
	free(made);
	free(all);
	return longer;
}

/* Creates the directory of a trace, part by part; NULL with the reason. */
static char *make_trace_dir(const char *dir, const char *path, unsigned int number, struct err *err)
{
	char *plain = plain_path(path, number), *made = mem_printf("%s%s", dir, plain);
	int r = 0;

	for (char *at = made + strlen(dir) + 1; r == 0 && at; at = strchr(at + 1, '/')) {
		char *end = strchr(at + 1, '/');

		if (end) {
			*end = '\0';
		}
		r = make_dir(made, err);
		if (end) {
			*end = '/';
		}
	}
	free(plain);
	if (r < 0) {
		free(made);
		return NULL;
	}
	return made;
}

/* The same, with a number if another trace has this directory: different paths may become the same
 * plain one, and a session that was recreated while it was followed has two traces with the same
 * path.  Where a stream of another trace is in the way, it is a "trace". */
static char *own_trace_dir(const char *dir, const char *path, struct err *err)
{
	for (unsigned int i = 1; i < SAME_NAME_MAX; i++) {
		char *made = make_trace_dir(dir, path, i, err);

		if (!made && !path) {
			return NULL;
		}
		if (made && !exists(made, "metadata")) {
			return made;
		}
		if (!made) {
			path = NULL;
			i = 0;
		}
		free(made);
	}
	(void)err_raise(err, -EEXIST, "%s: too many traces of one name", dir);
	return NULL;
}

/* A name in the trace's directory that no file has. */
static char *own_stream_name(const char *dir, const char *stream)
{
	char *plain = plain_name(stream), *name = mem_strdup(plain);

	for (unsigned int i = 2; exists(dir, name) && i < SAME_NAME_MAX; i++) {
		free(name);
		name = mem_printf("%s-%u", plain, i);
	}
	free(plain);
	return name;
}

/* ---- files ---- */

struct file {
	FILE *out;
	char *path;
	int failure; /* errno */
};

static void file_open(struct file *file, char *path)
{
	file->path = path;
	file->failure = 0;
	file->out = fopen(path, "wxe");
	if (!file->out) {
		file->failure = errno;
	}
}

static void file_put(struct file *file, const void *bytes, size_t len)
{
	if (file->failure == 0 && len > 0 && fwrite(bytes, 1, len, file->out) != len) {
		file->failure = errno;
	}
}

/* A hole: what a packet's header claims and the peer did not give takes no disk. */
static void file_pad(struct file *file, uint64_t len)
{
	if (file->failure == 0 && len > 0 && fseeko(file->out, (off_t)len, SEEK_CUR) < 0) {
		file->failure = errno;
	}
}

/* A hole at the end is part of the file. */
static void file_end_at(struct file *file, uint64_t len)
{
	if (file->failure == 0 &&
	    (fflush(file->out) != 0 || ftruncate(fileno(file->out), (off_t)len) < 0)) {
		file->failure = errno;
	}
}

/* Waits until the file is on disk: what is renamed later must be whole even if the machine stops.
 */
static int file_close(struct file *file, struct err *err)
{
	int r = 0;

	if (file->out) {
		if (file->failure == 0 &&
		    (fflush(file->out) != 0 || fsync(fileno(file->out)) < 0)) {
			file->failure = errno;
		}
		if (fclose(file->out) != 0 && file->failure == 0) {
			file->failure = errno;
		}
	}
	if (file->failure != 0) {
		r = err_raise(err, -file->failure, "%s: %s", file->path, strerror(file->failure));
	}
	free(file->path);
	return r;
}

/* ---- streams ---- */

/* Figures of a trace for the description. */
struct written_stream {
	uint64_t begin, end, packets, bytes, streams, discarded, lost_packets;
	bool begins_again; /* packet numbers of a stream: what is missing there is unknown */
};

/* Adds the events and packets that are missing between two packets of a stream. */
static void count_missing(const struct retained *before, const struct retained *retained,
			  struct written_stream *written)
{
	const struct packet_info *a = &before->info, *b = &retained->info;

	if (packet_numbers_begin_again(a->seq_num, b->seq_num)) {
		written->begins_again = true;
		return;
	}
	if (a->discarded != UINT64_MAX && b->discarded != UINT64_MAX &&
	    b->discarded > a->discarded) {
		written->discarded += b->discarded - a->discarded;
	}
	if (a->seq_num != UINT64_MAX && b->seq_num != UINT64_MAX && b->seq_num > a->seq_num + 1) {
		written->lost_packets += b->seq_num - a->seq_num - 1;
	}
}

static void note_written(const struct retained *retained, struct written_stream *written)
{
	uint64_t end = retained->end == UINT64_MAX ? retained->begin : retained->end;

	written->begin = retained->begin < written->begin ? retained->begin : written->begin;
	written->end = end > written->end ? end : written->end;
	written->packets++;
}

static uint64_t or_zero(uint64_t value)
{
	return value == UINT64_MAX ? 0 : value;
}

static void put_packet(struct file *stream, struct file *index, const struct capture_trace *trace,
		       const struct retained *retained, uint64_t offset, uint64_t size)
{
	struct index_facts facts = { .offset = offset,
				     .packet_bits = size * 8,
				     .content_bits = retained->info.content_bits,
				     .begin = retained->info.has_begin ? retained->info.begin : 0,
				     .end = retained->info.has_end ? retained->info.end : 0,
				     .discarded = or_zero(retained->info.discarded),
				     .stream_id = retained->class_id,
				     .instance_id = or_zero(retained->info.instance_id),
				     .seq_num = or_zero(retained->info.seq_num) };
	uint8_t entry[INDEX_ENTRY_BYTES];
	const uint8_t *bytes;
	uint8_t *room = NULL, *rewritten = NULL;
	uint64_t room_size = 0;

	bytes = retained_bytes(retained, &room, &room_size);
	if (bytes && trace->rewrite) {
		rewritten = mem_alloc(retained->len + 1);
		bytes = trace->rewrite(trace->user, bytes, retained->len, rewritten) ? rewritten
										     : NULL;
	}
	if (bytes) {
		file_put(stream, bytes, (size_t)retained->len);
	} else {
		stream->failure = EIO; /* the history's own file cannot be read */
	}
	assert(size >= retained->len);
	file_pad(stream, size - retained->len);
	packet_index_put(entry, &facts);
	file_put(index, entry, sizeof(entry));
	free(rewritten);
	free(room);
}

/* Writes the packets of one stream, which are sorted by time. */
static int write_stream(const char *dir, const struct capture_trace *trace,
			const struct history_packet *packets, size_t count,
			struct written_stream *written, struct err *err)
{
	char *name = own_stream_name(dir, packets[0].stream);
	uint8_t header[INDEX_HEADER_BYTES];
	struct file stream, index;
	uint64_t offset = 0;
	int r, r_index;

	assert(count > 0);
	file_open(&stream, mem_printf("%s/%s", dir, name));
	file_open(&index, mem_printf("%s/index/%s.idx", dir, name));
	packet_index_put_header(header);
	file_put(&index, header, sizeof(header));
	for (size_t i = 0; i < count; i++) {
		const struct retained *retained = packets[i].retained;
		uint64_t size =
			retained->info.has_sizes ? retained->info.size_bits / 8 : retained->len;

		size = size < retained->len ? retained->len : size;
		if (trace->stop && atomic_load(trace->stop)) {
			stream.failure = EINTR;
			break;
		}
		put_packet(&stream, &index, trace, retained, offset, size);
		offset += size;
		written->bytes += retained->len;
		note_written(retained, written);
		if (i > 0) {
			assert(packets[i - 1].retained->begin <= retained->begin);
			count_missing(packets[i - 1].retained, retained, written);
		}
	}
	file_end_at(&stream, offset);
	written->streams++;
	r = file_close(&stream, err);
	r_index = file_close(&index, r < 0 ? &(struct err){ 0 } : err);
	free(name);
	return r < 0 ? r : r_index;
}

ORDER(by_stream_and_time, struct history_packet,
      UP_TEXT(stream) UP(retained->begin) UP(retained->info.seq_num) UP(retained->offset))

/* ---- traces ---- */

static int write_metadata(const char *dir, const struct history_stretch *stretch, struct err *err)
{
	struct file file;

	file_open(&file, mem_printf("%s/metadata", dir));
	file_put(&file, stretch->metadata.at, stretch->metadata.count);
	return file_close(&file, err);
}

static int write_streams(const char *dir, const struct capture_trace *trace,
			 struct written_stream *written, struct err *err)
{
	struct history_packet *packets = trace->stretch.packets.at;
	size_t count = trace->stretch.packets.count, first = 0;
	int r = 0;

	assert(count > 0);
	qsort(packets, count, sizeof(*packets), by_stream_and_time);
	for (size_t i = 1; r == 0 && i <= count; i++) {
		if (i == count || strcmp(packets[i].stream, packets[first].stream) != 0) {
			r = write_stream(dir, trace, packets + first, i - first, written, err);
			first = i;
		}
	}
	return r;
}

/* Whether it has the packets of the range that there were. */
static bool has_all(const struct capture_order *order, const struct history_stretch *stretch)
{
	return stretch->gone <= order->begin;
}

static int write_trace(struct capture_trace *trace, const char *unfinished, struct json *json,
		       struct capture_order *order, struct err *err)
{
	struct written_stream written = { .begin = UINT64_MAX };
	struct history_stretch *stretch = &trace->stretch;
	char *dir = own_trace_dir(unfinished, trace->path, err), *index;
	int r;

	if (!dir) {
		return -EIO;
	}
	index = mem_printf("%s/index", dir);
	r = make_dir(index, err);
	r = r < 0 ? r : write_metadata(dir, stretch, err);
	r = r < 0 ? r : write_streams(dir, trace, &written, err);
	json_open(json, NULL, '{');
	json_text(json, "path", dir + strlen(unfinished) + 1);
	json_u64(json, "begin", written.begin);
	json_u64(json, "end", written.end);
	json_u64(json, "streams", written.streams);
	json_u64(json, "packets", written.packets);
	json_u64(json, "bytes", written.bytes);
	json_u64(json, "discarded", written.discarded);
	json_u64(json, "lost_packets", written.lost_packets);
	json_bool(json, "has_all_kept", has_all(order, stretch));
	json_close(json, '}');
	order->packets += written.packets;
	order->bytes += written.bytes;
	order->is_complete &=
		written.discarded + written.lost_packets == 0 && !written.begins_again;
	free(index);
	free(dir);
	return r;
}

static int write_all(struct capture_order *order, const char *unfinished, struct err *err)
{
	struct file file;
	struct json json;
	int r = 0, r_file;

	file_open(&file, mem_printf("%s/%s", unfinished, CAPTURE_DESCRIPTION));
	if (file.failure != 0) {
		return file_close(&file, err);
	}
	json_init(&json, file.out);
	json_open(&json, NULL, '{');
	json_text(&json, "sillage", SILLAGE_VERSION);
	json_u64(&json, "json", JSON_FORM);
	json_text(&json, "host", order->host);
	json_text(&json, "session", order->session);
	json_u64(&json, "at", order->at);
	json_u64(&json, "begin", order->begin);
	json_u64(&json, "end", order->end);
	json_open(&json, "triggers", '[');
	json_raw(&json, order->triggers);
	json_close(&json, ']');
	if (order->job) {
		json_text(&json, "job", order->job);
	}
	if (order->asked) {
		json_text(&json, "asked", order->asked);
		json_open(&json, "measured", '[');
		json_raw(&json, order->measured);
		json_close(&json, ']');
	}
	json_open(&json, "traces", '[');
	for (size_t i = 0; r == 0 && i < order->traces.count; i++) {
		order->is_complete &= has_all(order, &order->traces.at[i].stretch);
		if (order->traces.at[i].stretch.packets.count > 0) {
			r = write_trace(&order->traces.at[i], unfinished, &json, order, err);
		}
	}
	json_close(&json, ']');
	json_bool(&json, "complete", order->is_complete);
	json_close(&json, '}');
	json_end_line(&json);
	if (ferror(file.out)) {
		file.failure = errno ? errno : EIO;
	}
	r_file = file_close(&file, r < 0 ? &(struct err){ 0 } : err);
	return r < 0 ? r : r_file;
}

/* ---- captures ---- */

/* Renames it to its final name, with a number if that name exists. */
static int give_name(struct capture_order *order, const char *dir, const char *unfinished,
		     struct err *err)
{
	char *name = capture_name(order);
	int r = -EEXIST;

	assert(!order->path);
	for (unsigned int i = 1; r == -EEXIST && i < 10000; i++) {
		char *path = i == 1 ? mem_printf("%s/%s", dir, name)
				    : mem_printf("%s/%s-%u", dir, name, i);

		r = renameat2(AT_FDCWD, unfinished, AT_FDCWD, path, RENAME_NOREPLACE) < 0 ? -errno
											  : 0;
		/* The file system may not support RENAME_NOREPLACE. */
		if (r == -EINVAL && access(path, F_OK) < 0) {
			r = rename(unfinished, path) < 0 ? -errno : 0;
		}
		if (r == 0) {
			order->path = path;
		} else {
			free(path);
		}
	}
	if (r < 0) {
		(void)err_raise(err, r, "%s/%s: %s", dir, name, strerror(-r));
	}
	free(name);
	return r;
}

int capture_write(struct capture_order *order, const char *dir, struct err *err)
{
	char *unfinished = mem_printf("%s/%s%ld-%" PRIu64, dir, CAPTURE_UNFINISHED, (long)getpid(),
				      order->number);
	int r = make_dir(dir, err);

	assert(order->number > 0);
	assert(order->begin <= order->end);
	order->is_complete = true;
	if (r == 0 && mkdir(unfinished, 0777) < 0) {
		r = err_raise(err, -errno, "%s: %s", unfinished, strerror(errno));
	}
	r = r < 0 ? r : write_all(order, unfinished, err);
	r = r < 0 ? r : give_name(order, dir, unfinished, err);
	if (r < 0) {
		remove_tree(unfinished);
	}
	assert((r == 0) == (order->path != NULL));
	free(unfinished);
	return r;
}

/* ---- what is written of a capture ---- */

bool capture_run(const char *dir, char *const argv[], uint64_t seconds, const char *made)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	struct stat file;
	sigset_t none;
	pid_t pid;
	int status = -1;

	(void)posix_spawn_file_actions_init(&actions);
	if (dir) {
		(void)posix_spawn_file_actions_addchdir_np(&actions, dir);
	}
	(void)posix_spawnattr_init(&attributes);
	(void)sigemptyset(&none);
	(void)posix_spawnattr_setsigmask(&attributes, &none);
	(void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	if (posix_spawn(&pid, "/proc/self/exe", &actions, &attributes, argv, environ) == 0 &&
	    !child_wait(pid, seconds * NS_PER_S, CHILD_LASTS, &status)) {
		child_kill(pid, false);
	}
	(void)posix_spawnattr_destroy(&attributes);
	(void)posix_spawn_file_actions_destroy(&actions);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
		return true;
	}
	if (stat(made, &file) == 0 && file.st_size == 0) {
		(void)unlink(made); /* the traces have nothing for it */
	}
	return false;
}

void capture_write_extras(struct capture_order *order)
{
	char *page = mem_printf("%s/report.html", order->path);
	char *file = mem_printf("%s/trace.perfetto", order->path);
	char name[] = "sillage", report[] = "report", export[] = "export", quiet[] = "-q",
	     format[] = "-fhtml", to[] = "-o", discover[] = "--discover";
	char *jobs = order->extras & CAPTURE_JOBS ? discover : NULL;
	char *reports[] = { name, report, quiet, format, to, page, order->path, jobs, NULL };
	char *exports[] = { name, export, quiet, to, file, order->path, NULL };
	char *spans = mem_printf("%s/report.txt", order->path), analyze[] = "analyze";
	char *texts[] = { name, analyze, quiet, to, spans, order->path, NULL };

	if ((order->extras & CAPTURE_REPORT) && order->has_kernel &&
	    capture_run(NULL, reports, CAPTURE_EXTRA_SECONDS_MAX, page)) {
		order->has_extras |= CAPTURE_REPORT;
	}
	if ((order->extras & CAPTURE_REPORT) && !order->has_kernel && order->has_spans &&
	    capture_run(NULL, texts, CAPTURE_EXTRA_SECONDS_MAX, spans)) {
		order->has_extras |= CAPTURE_SPANS;
	}
	free(spans);
	if ((order->extras & CAPTURE_PERFETTO) &&
	    capture_run(NULL, exports, CAPTURE_EXTRA_SECONDS_MAX, file)) {
		order->has_extras |= CAPTURE_PERFETTO;
	}
	free(page);
	free(file);
}

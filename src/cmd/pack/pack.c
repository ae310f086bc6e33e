/*
 * pack: a trace, or a range of one, with its report, as one file that others can read.
 *
 *     TRACE ── taken ──► capture ── analyze, index ──► pack_write() ──► FILE
 *                          └ in a directory of this run, names replaced (anonymous/anonymous.h)
 */
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/process/foreign.h"
#include "base/process/scratch.h"
#include "base/shell.h"
#include "cmd/cmd.h"
#include "cmd/pack/taken.h"
#include "index/index.h"
#include "output/sink.h"
#include "output/whole.h"
#include "pack/pack.h"
#include "run/captured.h"
#include "run/say.h"

struct packing {
	const struct options *options;
	struct recorded_paths paths;
	VEC(struct taken) taken; /* of the paths */
	struct anonymous *anonymous;
	struct capture_order *order;
	char *triggers, *asked, *measured; /* of the capture that is packed; NULL: it is none */
	struct err err;
};

/* ---- the key ---- */

static bool parse_key(const char *text, uint8_t key[ANONYMOUS_KEY_BYTES])
{
	for (size_t i = 0; i < ANONYMOUS_KEY_BYTES; i++) {
		char byte[3] = { text[2 * i], text[2 * i] ? text[2 * i + 1] : '\0', '\0' };

		if (!isxdigit((unsigned char)byte[0]) || !isxdigit((unsigned char)byte[1])) {
			return false;
		}
		key[i] = (uint8_t)strtoul(byte, NULL, 16);
	}
	return strspn(text + 2 * ANONYMOUS_KEY_BYTES, " \n") ==
	       strlen(text + 2 * ANONYMOUS_KEY_BYTES);
}

static int read_key(const char *path, uint8_t key[ANONYMOUS_KEY_BYTES], struct err *err)
{
	size_t len;
	char *text = foreign_text(path, LINE_BYTES_MAX, &len);
	int r = text && parse_key(text, key)
			? 0
			: err_raise(err, -EINVAL,
				    "%s: no key: it has 32 hexadecimal digits, and is made where "
				    "the file is not there",
				    path);

	free(text);
	return r;
}

/* A key that stays, for archives with the same pseudonyms. */
static int keep_key(const char *path, const uint8_t key[ANONYMOUS_KEY_BYTES], struct err *err)
{
	int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600), r = 0;
	char text[2 * ANONYMOUS_KEY_BYTES + 2];

	if (fd < 0) {
		return err_raise(err, -errno, "%s: %s", path, strerror(errno));
	}
	for (size_t i = 0; i < ANONYMOUS_KEY_BYTES; i++) {
		(void)snprintf(text + 2 * i, 4, "%02x\n", key[i]);
	}
	errno = EIO; /* of a write that is short */
	if (write(fd, text, sizeof(text) - 1) != (ssize_t)sizeof(text) - 1) {
		r = err_raise(err, -errno, "%s: %s", path, strerror(errno));
	}
	if (close(fd) < 0 && r == 0) {
		r = err_raise(err, -errno, "%s: %s", path, strerror(errno));
	}
	if (r < 0) { /* a part of one would be taken for a wrong key */
		(void)unlink(path);
	}
	explicit_bzero(text, sizeof(text));
	return r;
}

static int make_anonymous(struct packing *packing)
{
	const char *path = packing->options->key;
	uint8_t key[ANONYMOUS_KEY_BYTES];
	int r;

	if (!packing->options->anonymous) {
		return 0;
	}
	if (path && access(path, F_OK) == 0) {
		r = read_key(path, key, &packing->err);
	} else {
		r = anonymous_key(key, &packing->err);
		r = r < 0 || !path ? r : keep_key(path, key, &packing->err);
	}
	if (r == 0) {
		packing->anonymous = anonymous_new(key);
	}
	explicit_bzero(key, sizeof(key));
	return r;
}

/* ---- the capture ---- */

static char *name_or_pseudonym(const struct packing *packing, const char *name)
{
	return packing->anonymous ? anonymous_copy(packing->anonymous, name ? name : "")
				  : mem_strdup(name ? name : "");
}

/* The trace's path in its session; NULL: it is not known. */
static char *path_in_session(const struct packing *packing, const struct recorded_path *path)
{
	const char *arg = packing->options->args[0], *rest = path->name;
	char *place = recorded_session_place(path->name), *copy;

	if (strncmp(rest, arg, strlen(arg)) == 0 && rest[strlen(arg)]) {
		rest += strlen(arg);
	} else {
		rest = place && strcmp(place, ".") != 0 ? path->name + strlen(place)
		       : place                          ? path->name
							: "";
	}
	free(place);
	rest += strspn(rest, "/");
	copy = !*rest               ? NULL
	       : packing->anonymous ? anonymous_path(packing->anonymous, rest)
				    : mem_strdup(rest);
	return copy;
}

static void note_identity(struct packing *packing, const struct recorded_path *path,
			  const struct metadata *types)
{
	struct trace_identity identity = { 0 };
	const struct env_entry *domain = metadata_env(types, "domain");

	run_identify(&identity, types, path);
	packing->order->has_kernel |= domain && domain->text && strcmp(domain->text, "kernel") == 0;
	if (!packing->order->host) {
		packing->order->host = name_or_pseudonym(packing, identity.host ?: "host");
		packing->order->session = name_or_pseudonym(packing, identity.session ?: "trace");
	}
	output_trace_fini(&identity);
}

static int pack_trace(struct packing *packing, const struct recorded_path *path)
{
	struct capture_trace *trace = vec_push(&packing->order->traces);
	struct taken *taken = vec_push(&packing->taken);
	uint64_t begin, end;
	int r;

	*trace = (struct capture_trace){ .stop = &run_stop };
	memset(taken, 0, sizeof(*taken));
	r = run_range(packing->options, path, &begin, &end, &packing->err);
	r = r < 0 ? r
		  : taken_open(path, begin, end, packing->anonymous, taken, trace, &packing->err);
	if (r < 0) {
		return err_note(&packing->err, r, "%s", path->name);
	}
	trace->path = path_in_session(packing, path);
	note_identity(packing, path, metadata_stream_types(taken->trace.metadata));
	packing->order->begin = packing->order->begin < begin ? packing->order->begin : begin;
	packing->order->end = packing->order->end > end ? packing->order->end : end;
	if (taken->left_out > 0) {
		say("%s: %" PRIu64 " packets that are cut off are left out", path->name,
		    taken->left_out);
	}
	return 0;
}

/* The range is what there is, where it has no limit. */
static int end_range(struct packing *packing)
{
	struct capture_order *order = packing->order;
	uint64_t first = UINT64_MAX, last = 0;
	size_t packets = 0;

	for (size_t i = 0; i < packing->taken.count; i++) {
		const struct taken *taken = &packing->taken.at[i];

		first = taken->first < first ? taken->first : first;
		last = taken->last > last ? taken->last : last;
		packets += order->traces.at[i].stretch.packets.count;
	}
	if (packets == 0) {
		return err_raise(&packing->err, -ENODATA, "%s: no packet of it is in this range",
				 packing->options->args[0]);
	}
	if (first > last) {
		first = last = 0;
	}
	order->begin = order->begin == 0 || order->begin == UINT64_MAX ? first : order->begin;
	order->end = order->end == UINT64_MAX ? last : order->end;
	order->end = order->end < order->begin ? order->begin : order->end;
	order->at = order->begin;
	return 0;
}

/* The objects of an array, commas between. */
static char *inner_text(struct json_object *capture, const char *key)
{
	struct json_object *array;
	const char *text;

	if (!json_object_object_get_ex(capture, key, &array) ||
	    !json_object_is_type(array, json_type_array)) {
		return NULL;
	}
	text = json_object_to_json_string_ext(array, JSON_C_TO_STRING_PLAIN);
	return mem_printf("%.*s", (int)strlen(text) - 2, text + 1);
}

/* What a capture says of itself; without names nothing: its triggers and patterns name threads. */
static void keep_description(struct packing *packing)
{
	struct err err;
	struct json_object *capture =
		packing->anonymous ? NULL : captured_open(packing->options->args[0], &err);

	if (capture) {
		packing->triggers = inner_text(capture, "triggers");
		packing->order->job = mem_strdup_if(captured_text(capture, "job"));
		packing->measured = inner_text(capture, "measured");
		packing->asked = mem_strdup_if(captured_text(capture, "asked"));
	}
	if (packing->asked && packing->measured) {
		packing->order->asked = packing->asked;
		packing->order->measured = packing->measured;
	}
	packing->order->triggers = mem_strdup(packing->triggers ?: "");
	(void)json_object_put(capture);
}

static int make_order(struct packing *packing)
{
	struct capture_order *order = packing->order = mem_alloc(sizeof(*order));
	int r = 0;

	order->number = 1;
	order->begin = UINT64_MAX;
	order->names = mem_strdup("");
	keep_description(packing);
	/* Those that are opened later do not move them: the capture has their rewriters. */
	vec_reserve(&packing->taken, packing->paths.at.count);
	for (size_t i = 0; r == 0 && i < packing->paths.at.count; i++) {
		r = pack_trace(packing, &packing->paths.at.at[i]);
	}
	return r < 0 ? r : end_range(packing);
}

/* ---- what is made of it ---- */

static bool has_index(const struct packing *packing)
{
	bool has = false;

	for (size_t i = 0; i < packing->paths.at.count && !has; i++) {
		struct index *index = NULL;
		char *name = NULL;
		struct err why;

		has = index_open(&packing->paths.at.at[i], &index, &name, &why) == 0;
		index_close(has ? index : NULL);
		free(name);
	}
	return has;
}

/* It is asked as a user would, beside the capture, so that no path of this run is in it. */
static void add_figures(const struct packing *packing, const char *dir, char *form, char *name)
{
	const char *at = strrchr(packing->order->path, '/') + 1;
	char *made = mem_printf("%s/%s", packing->order->path, name);
	char *to = made + (at - packing->order->path), *what = mem_strdup(at);
	char program[] = "sillage", analyze[] = "analyze", quiet[] = "-q", all[] = "-aall",
	     out[] = "-o";
	char *argv[] = { program, analyze, quiet, all, form, out, to, what, NULL };

	if (!run_stop && !capture_run(dir, argv, PACK_REPORT_SECONDS_MAX, made) && !run_stop &&
	    packing->options->verbosity >= 0) {
		say("%s could not be made", name);
	}
	free(what);
	free(made);
}

static void add_what_is_made(const struct packing *packing, const char *dir)
{
	char program[] = "sillage", index[] = "index", quiet[] = "-q", beside[] = "--beside",
	     text[] = "-ftext", json[] = "-fjson", text_name[] = "report.txt",
	     json_name[] = "report.json";
	char *argv[] = { program, index, quiet, beside, packing->order->path, NULL };

	add_figures(packing, dir, text, text_name);
	add_figures(packing, dir, json, json_name);
	pack_date(packing->order->path);
	if (has_index(packing) && !run_stop) {
		(void)capture_run(NULL, argv, PACK_REPORT_SECONDS_MAX, packing->order->path);
	}
}

static int write_pack(struct packing *packing)
{
	const char *path = packing->options->output, *name;
	int fd, r;
	FILE *file = whole_file(path, &fd, &packing->err);

	if (!file) {
		return -EIO;
	}
	name = strrchr(packing->order->path, '/');
	assert(name);
	r = run_stop ? err_raise(&packing->err, -EINTR, "interrupted")
		     : pack_write(packing->order->path, name + 1, file, &packing->err);
	return whole_close(file, fd, path, r, &packing->err);
}

static int make_pack(struct packing *packing)
{
	struct scratch *scratch = scratch_new(&packing->err);
	int r;

	if (!scratch) {
		return -EIO;
	}
	r = make_anonymous(packing);
	r = r < 0 ? r
		  : run_find(packing->options, packing->options->args[0], &packing->paths,
			     &packing->err);
	r = r < 0 ? r : make_order(packing);
	r = r < 0 || !run_stop ? r : err_raise(&packing->err, -EINTR, "interrupted");
	r = r < 0 ? r : capture_write(packing->order, scratch_dir(scratch), &packing->err);
	if (r == 0) {
		add_what_is_made(packing, scratch_dir(scratch));
		r = write_pack(packing);
	}
	scratch_free(scratch);
	return r;
}

static void say_packed(const struct packing *packing)
{
	const struct capture_order *order = packing->order;
	char text[2][UNITS_TEXT_MAX], *path = shell_path(packing->options->output);
	struct stat status = { 0 };

	(void)stat(packing->options->output, &status);
	say("%s: %" PRIu64 " packets (%s) of %zu trace%s in %s%s; sillage analyze %s reads it",
	    packing->options->args[0], order->packets, units_bytes(text[0], order->bytes),
	    order->traces.count, order->traces.count == 1 ? "" : "s",
	    units_bytes(text[1], (uint64_t)status.st_size),
	    packing->anonymous ? ", without names" : "", path);
	free(path);
}

static int run(const struct options *options)
{
	struct packing packing = { .options = options };
	int r;

	if (!options->output || strcmp(options->output, "-") == 0) {
		say("pack needs -o FILE, the archive to write");
		return EXIT_USAGE;
	}
	run_stop_on_signals();
	r = make_pack(&packing);
	if (r < 0 && !run_signal_status()) {
		say("%s", packing.err.text);
	} else if (r == 0 && options->verbosity >= 0) {
		say_packed(&packing);
	}
	capture_order_free(packing.order);
	VEC_EACH(&packing.taken, taken) {
		taken_fini(taken);
	}
	vec_fini(&packing.taken);
	recorded_paths_fini(&packing.paths);
	anonymous_free(packing.anonymous);
	free(packing.triggers);
	free(packing.asked);
	free(packing.measured);
	return r == 0 ? EXIT_DONE : run_signal_status() ? run_signal_status() : EXIT_FAILED;
}

const struct command cmd_pack = {
	.name = "pack",
	.args = "TRACE",
	.summary = "one archive of a trace, or a range of it, to hand over",
	.examples = "  sillage pack CAPTURE -o capture.tar.zst\n"
		    "  sillage pack TRACE --begin 12:00:03 --end 12:00:05 -o two.tar.zst\n"
		    "  sillage pack TRACE --anonymous -o nameless.tar.zst\n",
	.options = FOR_PACK,
	.args_min = 1,
	.args_max = 1,
	.run = run,
};

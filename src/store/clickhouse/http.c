/*
 * http: see http.h.
 */
#include "store/clickhouse/http.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/check.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/now.h"
#include "base/units.h"
#include "store/clickhouse/curl-library.h"

#define SAID_BYTES_MAX 400
#define STATUS_OK      200

struct transfer {
	struct http *http;
	CURL *easy;
	const struct http_request *request; /* NULL: it is free */
	char error[CURL_ERROR_SIZE];
	char said[SAID_BYTES_MAX]; /* what the server gave as its reason */
	size_t said_len;
	long exception; /* the server's code of an error, which a status may not show; 0: none */
	int failure;    /* of on_data() */
	struct err why;
};

struct http {
	const struct clickhouse_url *url;
	const atomic_bool *stop;
	CURLM *multi;
	struct curl_slist *headers;
	char *with_database, *without;
	uint64_t heard; /* monotonic ns: when the server last said something */
	struct transfer transfers[HTTP_PARALLEL];
};

/* ---- one transfer ---- */

static size_t on_body(char *data, size_t size, size_t count, void *arg)
{
	const struct curl_library *curl = curl_library();
	struct transfer *transfer = arg;
	size_t len = size * count;
	long status = 0;

	assert_hot(transfer->request);
	transfer->http->heard = now_monotonic_ns();
	(void)curl->easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
	if (status == STATUS_OK && transfer->request->on_data) {
		transfer->failure = transfer->request->on_data(transfer->request->user, data, len,
							       &transfer->why);
		return transfer->failure < 0 ? 0 : len;
	}
	for (size_t i = 0; i < len && transfer->said_len < SAID_BYTES_MAX - 1; i++) {
		transfer->said[transfer->said_len++] = data[i] ? data[i] : '?';
	}
	return len;
}

/* A proxy may answer in the server's place, and a server ends statements after their status. */
static size_t on_header(char *line, size_t size, size_t count, void *arg)
{
	static const char name[] = "X-ClickHouse-Exception-Code:";
	struct transfer *transfer = arg;
	size_t len = size * count;
	char code[16] = "";

	assert_hot(transfer->request);
	if (len > strlen(name) && strncasecmp(line, name, strlen(name)) == 0) {
		(void)snprintf(code, sizeof(code), "%.*s", (int)(len - strlen(name)),
			       line + strlen(name));
		transfer->exception = strtol(code, NULL, 10);
	}
	return len;
}

static void set_up(struct http *http, CURL *easy)
{
	const struct curl_library *curl = curl_library();
	const struct clickhouse_url *url = http->url;
	uint64_t seconds = (url->timeout_ns + NS_PER_S - 1) / NS_PER_S;

	(void)curl->easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
#if LIBCURL_VERSION_NUM >= 0x075700
	/* Its thread that resolves names is not waited for. */
	(void)curl->easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
#endif
	(void)curl->easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	(void)curl->easy_setopt(easy, CURLOPT_POST, 1L);
	(void)curl->easy_setopt(easy, CURLOPT_HTTPHEADER, http->headers);
	(void)curl->easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
	(void)curl->easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
	/* Not that of the environment: it would get user and password. */
	(void)curl->easy_setopt(easy, CURLOPT_PROXY, url->proxy ? url->proxy : "");
	/* What is silent for so long is away. */
	(void)curl->easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
	(void)curl->easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, (long)seconds);
	(void)curl->easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
				(long)(url->timeout_ns / NS_PER_MS + 1));
	if (url->user) {
		(void)curl->easy_setopt(easy, CURLOPT_USERNAME, url->user);
		(void)curl->easy_setopt(easy, CURLOPT_PASSWORD, url->password ? url->password : "");
	}
	if (url->ca) {
		(void)curl->easy_setopt(easy, CURLOPT_CAINFO, url->ca);
	}
}

struct http *http_new(const struct clickhouse_url *url, const atomic_bool *stop)
{
	const struct curl_library *curl = curl_library();
	struct http *http = mem_alloc(sizeof(*http));

	(void)curl->global_init(CURL_GLOBAL_DEFAULT);
	http->url = url;
	http->stop = stop;
	http->multi = curl->multi_init();
	http->headers = curl->slist_append(NULL, "Expect:");
	/* The status is that of the whole answer; what the server does meanwhile shows that it
	 * lives. */
	http->without =
		mem_printf("%s?wait_end_of_query=1&send_progress_in_http_headers=1", url->address);
	http->with_database = mem_printf("%s&database=%s", http->without, url->database);
	for (size_t i = 0; i < HTTP_PARALLEL; i++) {
		http->transfers[i].http = http;
		http->transfers[i].easy = curl->easy_init();
		set_up(http, http->transfers[i].easy);
	}
	return http;
}

void http_free(struct http *http)
{
	const struct curl_library *curl = curl_library();
	if (!http) {
		return;
	}
	for (size_t i = 0; i < HTTP_PARALLEL; i++) {
		curl->easy_cleanup(http->transfers[i].easy);
	}
	(void)curl->multi_cleanup(http->multi);
	curl->slist_free_all(http->headers);
	curl->global_cleanup();
	free(http->with_database);
	free(http->without);
	free(http);
}

const char *http_name(const struct http *http)
{
	return http->url->shown;
}

static void begin(struct http *http, struct transfer *transfer, const struct http_request *request)
{
	const struct curl_library *curl = curl_library();
	CURL *easy = transfer->easy;

	assert(!transfer->request);
	transfer->request = request;
	transfer->said_len = 0;
	transfer->exception = 0;
	transfer->failure = 0;
	transfer->error[0] = '\0';
	(void)curl->easy_setopt(easy, CURLOPT_URL,
				request->has_no_database ? http->without : http->with_database);
	(void)curl->easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer->error);
	(void)curl->easy_setopt(easy, CURLOPT_WRITEDATA, transfer);
	(void)curl->easy_setopt(easy, CURLOPT_HEADERDATA, transfer);
	(void)curl->easy_setopt(easy, CURLOPT_PRIVATE, transfer);
	(void)curl->easy_setopt(easy, CURLOPT_POSTFIELDS, request->body);
	(void)curl->easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->len);
	(void)curl->multi_add_handle(http->multi, easy);
}

/* Old servers give "Code: 193, e.displayText() = DB::Exception: Wrong ..., e.what() = ...". */
static const char *reason_of(struct transfer *transfer)
{
	char *begin_of, *end_of;

	assert(transfer->said_len < SAID_BYTES_MAX);
	transfer->said[transfer->said_len] = '\0';
	begin_of = strstr(transfer->said, "DB::Exception: ");
	begin_of = begin_of ? begin_of + strlen("DB::Exception: ") : transfer->said;
	end_of = strstr(begin_of, ", e.what()");
	if (end_of) {
		*end_of = '\0';
	}
	return begin_of;
}

/* The server's own codes of errors, "Code: 27, ...": what a statement says cannot be taken.  Its
 * statuses differ by version, and proxies have some of their own. */
static bool refuses_for_good(long code)
{
	static const int codes[] = {
		6,   /* CANNOT_PARSE_TEXT */
		7,   /* INCORRECT_NUMBER_OF_COLUMNS */
		16,  /* NO_SUCH_COLUMN_IN_TABLE */
		25,  /* CANNOT_PARSE_ESCAPE_SEQUENCE */
		26,  /* CANNOT_PARSE_QUOTED_STRING */
		27,  /* CANNOT_PARSE_INPUT_ASSERTION_FAILED */
		38,  /* CANNOT_PARSE_DATE */
		41,  /* CANNOT_PARSE_DATETIME */
		47,  /* UNKNOWN_IDENTIFIER */
		53,  /* TYPE_MISMATCH */
		62,  /* SYNTAX_ERROR */
		70,  /* CANNOT_CONVERT_TYPE */
		72,  /* CANNOT_PARSE_NUMBER */
		117, /* INCORRECT_DATA */
		130, /* CANNOT_READ_ARRAY_FROM_TEXT */
		349, /* CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN */
		376, /* CANNOT_PARSE_UUID */
	};
	for (size_t i = 0; i < ARRAY_COUNT(codes); i++) {
		if (codes[i] == code) {
			return true;
		}
	}
	return false;
}

static long code_of(const struct transfer *transfer)
{
	return transfer->exception || strncmp(transfer->said, "Code: ", 6) != 0
		       ? transfer->exception
		       : strtol(transfer->said + 6, NULL, 10);
}

/* In spite of its status: what changes something is answered with nothing. */
static bool has_failed(const struct transfer *transfer)
{
	return transfer->exception != 0 || transfer->said_len > 0;
}

static int end(struct http *http, struct transfer *transfer, CURLcode code, struct err *err)
{
	const struct curl_library *curl = curl_library();
	const char *name = http->url->shown;
	long status = 0;

	assert(transfer->request);
	(void)curl->easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
	(void)curl->multi_remove_handle(http->multi, transfer->easy);
	transfer->request = NULL;
	if (transfer->failure < 0) {
		return err_raise(err, transfer->failure, "%s: %s", name, transfer->why.text);
	}
	if (code != CURLE_OK) {
		return err_raise(err, -EIO, "%s: %s", name,
				 transfer->error[0] ? transfer->error : curl->easy_strerror(code));
	}
	if (status == 401 || status == 403) {
		const char *reason = reason_of(transfer);

		return err_raise(err, -EACCES, "%s: HTTP status %ld%s%s", name, status,
				 *reason ? ": " : "", reason);
	}
	if (status != STATUS_OK || has_failed(transfer)) {
		const char *reason = reason_of(transfer);
		int r = refuses_for_good(code_of(transfer))               ? -EBADMSG
			: status == 502 || status == 503 || status == 504 ? -EIO
									  : -EREMOTEIO;

		return err_raise(err, r, "%s: HTTP status %ld%s%s", name, status,
				 *reason ? ": " : ", and an error", reason);
	}
	return 0;
}

/* ---- all of them ---- */

/* Takes what has ended.  The first failure counts. */
static int reap(struct http *http, size_t *running, int r, struct err *err)
{
	const struct curl_library *curl = curl_library();
	CURLMsg *message;
	struct err why;
	int left;

	while ((message = curl->multi_info_read(http->multi, &left))) {
		struct transfer *transfer = NULL;
		CURLcode code = message->data.result;
		int failure;

		(void)curl->easy_getinfo(message->easy_handle, CURLINFO_PRIVATE,
					 (char **)&transfer);
		failure = end(http, transfer, code, &why);
		if (failure < 0 && r == 0) {
			r = failure;
			*err = why;
		}
		assert(*running > 0);
		(*running)--;
	}
	return r;
}

static void give_up(struct http *http)
{
	const struct curl_library *curl = curl_library();
	for (size_t i = 0; i < HTTP_PARALLEL; i++) {
		if (http->transfers[i].request) {
			(void)curl->multi_remove_handle(http->multi, http->transfers[i].easy);
			http->transfers[i].request = NULL;
		}
	}
}

int http_run(struct http *http, const struct http_request *requests, size_t count, struct err *err)
{
	const struct curl_library *curl = curl_library();
	size_t next = 0, running = 0;
	int r = 0;

	http->heard = now_monotonic_ns();
	while (r == 0 && (next < count || running > 0)) {
		int active;

		for (size_t i = 0; i < HTTP_PARALLEL && next < count; i++) {
			if (!http->transfers[i].request) {
				begin(http, &http->transfers[i], &requests[next++]);
				running++;
			}
		}
		(void)curl->multi_perform(http->multi, &active);
		r = reap(http, &running, r, err);
		if (r == 0 && active > 0 && (size_t)active == running) {
			(void)curl->multi_poll(http->multi, NULL, 0, HTTP_POLL_MS, NULL);
		}
		if (r == 0 && running > 0 &&
		    (now_must_end() ||
		     (http->stop && (atomic_load(http->stop) || now_must_hang_up(http->heard))))) {
			r = err_raise(err, -EINTR, "%s: interrupted", http->url->shown);
		}
	}
	give_up(http);
	return r;
}

/* ---- short answers ---- */

struct answer {
	VEC(char) text;
};

static int on_answer(void *user, const char *data, size_t len, struct err *err)
{
	struct answer *answer = user;

	if (answer->text.count + len > HTTP_ANSWER_BYTES_MAX) {
		return err_raise(err, -EREMOTEIO, "an answer is too long");
	}
	vec_append(&answer->text, data, len);
	return 0;
}

int http_ask(struct http *http, const char *statement, bool has_no_database, char **ret,
	     struct err *err)
{
	struct answer answer = { 0 };
	struct http_request request = { .body = statement,
					.len = strlen(statement),
					.has_no_database = has_no_database,
					.on_data = on_answer,
					.user = &answer };
	int r = http_run(http, &request, 1, err);

	/* An answer that was cut: who goes from line to line looks behind each end of one. */
	if (answer.text.count > 0 && answer.text.at[answer.text.count - 1] != '\n') {
		*vec_push(&answer.text) = '\n';
	}
	*vec_push(&answer.text) = '\0';
	if (r < 0) {
		vec_fini(&answer.text);
		return r;
	}
	*ret = answer.text.at;
	return 0;
}

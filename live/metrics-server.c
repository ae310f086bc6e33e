/*
 * metrics-server: see metrics-server.h.
 */
#include "live/metrics-server.h"

#include <assert.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <stdlib.h>
#include <string.h>

#include "base/account.h"
#include "base/limits.h"
#include "base/mem.h"
#include "live/metrics/metrics-accept.h"
#include "live/metrics/metrics.h"
#include "server/server.h"

struct metrics_server {
	struct server *server;
	const struct metrics *metrics;
	struct account *account; /* has answers until they are sent */
	size_t held;             /* bytes of them */
	bool is_closed; /* it ends with the last of them: libevent keeps them for a while */
};

static void free_bytes(const void *bytes, size_t len, void *arg)
{
	struct metrics_server *server = arg;

	assert(server->held >= len);
	server->held -= len;
	account_give(server->account, ACCOUNT_OUTPUTS, len);
	free((void *)(uintptr_t)bytes);
	if (server->is_closed && server->held == 0) {
		free(server);
	}
}

/* One always has room: without others that are not read, everybody gets an answer. */
static bool has_room(const struct metrics_server *server, size_t len)
{
	return server->held == 0 ||
	       account_may_last_part(server->account, ACCOUNT_OUTPUTS, METRICS_PENDING_PART, len);
}

static void send_metrics(struct metrics_server *server, struct evhttp_request *request)
{
	static const char *const types[] = {
		[METRICS_TEXT] = "text/plain; version=0.0.4; charset=utf-8",
		[METRICS_OPEN] = "application/openmetrics-text; version=1.0.0; charset=utf-8",
		[METRICS_PROTOBUF] =
			("application/vnd.google.protobuf; "
			 "proto=io.prometheus.client.MetricFamily; encoding=delimited"),
	};
	enum metrics_form form = metrics_accept(
		evhttp_find_header(evhttp_request_get_input_headers(request), "Accept"));
	struct evbuffer *body = evbuffer_new();
	size_t len;
	char *bytes = form == METRICS_PROTOBUF
			      ? metrics_protobuf(server->metrics, &len)
			      : metrics_text(server->metrics, form == METRICS_OPEN, &len);

	if (!has_room(server, len)) {
		free(bytes);
		evbuffer_free(body);
		server_refuse(request, HTTP_SERVUNAVAIL, "other answers wait to be read");
		return;
	}
	account_take(server->account, ACCOUNT_OUTPUTS, len);
	server->held += len;
	if (evbuffer_add_reference(body, bytes, len, free_bytes, server) < 0) {
		free_bytes(bytes, len, server);
	}
	(void)evhttp_add_header(evhttp_request_get_output_headers(request), "Content-Type",
				types[form]);
	evhttp_send_reply(request, HTTP_OK, "OK", body);
	evbuffer_free(body);
}

static void on_request(struct evhttp_request *request, void *arg)
{
	const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(request);
	const char *path = uri ? evhttp_uri_get_path(uri) : NULL;

	if (path && strcmp(path, "/metrics") == 0) {
		send_metrics(arg, request);
	} else {
		server_refuse(request, HTTP_NOTFOUND, "only /metrics exists");
	}
}

struct metrics_server *metrics_server_new(struct event_base *base, const char *address,
					  struct access *access, const struct metrics *metrics,
					  struct account *account, struct err *err)
{
	struct metrics_server *server = mem_alloc(sizeof(*server));
	const struct server_config config = {
		.name = "--metrics",
		.address = address,
		.on_request = on_request,
		.user = server,
		.access = access,
		.reach = SERVER_IS_OPEN,
	};

	server->metrics = metrics;
	server->account = account;
	server->server = server_new(base, &config, err);
	if (!server->server) {
		metrics_server_free(server);
		return NULL;
	}
	return server;
}

void metrics_server_free(struct metrics_server *server)
{
	if (server) {
		server_free(server->server);
		server->is_closed = true;
		if (server->held == 0) {
			free(server);
		}
	}
}

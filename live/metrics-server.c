/*
 * metrics-server: see metrics-server.h.
 */
#include "live/metrics-server.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "live/metrics/metrics-accept.h"
#include "live/metrics/metrics.h"
#include "relay/url.h"

struct metrics_server {
	struct evhttp *http;
	const struct metrics *metrics;
};

static void free_bytes(const void *bytes, size_t len, void *arg)
{
	(void)len;
	(void)arg;
	free((void *)(uintptr_t)bytes);
}

static void on_metrics(struct evhttp_request *request, void *arg)
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
	const struct metrics_server *server = arg;
	size_t len;
	char *bytes = form == METRICS_PROTOBUF
			      ? metrics_protobuf(server->metrics, &len)
			      : metrics_text(server->metrics, form == METRICS_OPEN, &len);

	if (evbuffer_add_reference(body, bytes, len, free_bytes, NULL) < 0) {
		free(bytes);
	}
	(void)evhttp_add_header(evhttp_request_get_output_headers(request), "Content-Type",
				types[form]);
	evhttp_send_reply(request, HTTP_OK, "OK", body);
	evbuffer_free(body);
}

static void on_other(struct evhttp_request *request, void *arg)
{
	(void)arg;
	evhttp_send_error(request, HTTP_NOTFOUND, "only /metrics exists");
}

struct metrics_server *metrics_server_new(struct event_base *base, const char *address,
					  const struct metrics *metrics, struct err *err)
{
	struct metrics_server *server;
	char host[URL_HOST_BYTES];
	uint16_t port = 0;

	if (url_split_listen("--metrics", address, host, &port, err) < 0) {
		return NULL;
	}
	server = mem_alloc(sizeof(*server));
	server->metrics = metrics;
	server->http = evhttp_new(base);
	evhttp_set_allowed_methods(server->http, EVHTTP_REQ_GET | EVHTTP_REQ_HEAD);
	evhttp_set_max_headers_size(server->http, METRICS_HEADERS_MAX);
	evhttp_set_max_body_size(server->http, 0);
	evhttp_set_timeout(server->http, METRICS_TIMEOUT_S);
	evhttp_set_gencb(server->http, on_other, NULL);
	(void)evhttp_set_cb(server->http, "/metrics", on_metrics, server);
	if (evhttp_bind_socket(server->http, host, port) < 0) {
		(void)err_raise(err, -errno, "--metrics: cannot listen on %s port %u: %s", host,
				port, strerror(errno));
		metrics_server_free(server);
		return NULL;
	}
	return server;
}

void metrics_server_free(struct metrics_server *server)
{
	if (server) {
		evhttp_free(server->http);
		free(server);
	}
}

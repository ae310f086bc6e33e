/*
 * serve: see serve.h.
 */
#include "serve/serve.h"

#include <assert.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "server/server.h"
#include "version.h"

/* Nothing runs, and nothing is loaded: neither a page nor a reply has anything but text. */
#define POLICY "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

struct serve_reply {
	struct serve *serve;
	struct evhttp_request *request;
	struct workers_one *work;
};

struct serve {
	struct serve_config config;
	struct server *server;
	struct workers *workers;
	size_t held;    /* bytes of replies that are not sent yet */
	bool is_closed; /* it ends with the last of them: libevent keeps them for a while */
};

/* ---- replies ---- */

static void send_whole(struct evhttp_request *request, int status, const char *type,
		       const char *text)
{
	struct evbuffer *body = evbuffer_new();

	(void)evbuffer_add(body, text, strlen(text));
	server_add_headers(request, type, POLICY);
	evhttp_send_reply(request, status, NULL, body);
	evbuffer_free(body);
}

static void send_error(struct evhttp_request *request, int status, const char *why)
{
	char *text = api_error(status, why);

	if (status == HTTP_SERVUNAVAIL) {
		(void)evhttp_add_header(evhttp_request_get_output_headers(request), "Retry-After",
					"1");
	}
	send_whole(request, status, "application/json", text);
	free(text);
}

static void free_reply(const void *bytes, size_t len, void *arg)
{
	struct serve *serve = arg;

	assert(serve->held >= len);
	serve->held -= len;
	free((void *)(uintptr_t)bytes);
	if (serve->is_closed && serve->held == 0) {
		free(serve);
	}
}

static void on_computed(void *user, int status, char *text, size_t len)
{
	struct serve_reply *reply = user;
	struct serve *serve = reply->serve;
	struct evhttp_request *request = reply->request;
	struct evbuffer *body;

	free(reply);
	server_waited(serve->server, request);
	/* One always has room: without others that are not read, everybody gets a reply. */
	if (serve->held > 0 && serve->held + len > SERVE_PENDING_MAX) {
		free(text);
		send_error(request, HTTP_SERVUNAVAIL, "other replies wait to be read");
		return;
	}
	body = evbuffer_new();
	serve->held += len;
	if (evbuffer_add_reference(body, text, len, free_reply, serve) < 0) {
		free_reply(text, len, serve);
	}
	server_add_headers(request, "application/json", POLICY);
	evhttp_send_reply(request, status, NULL, body);
	evbuffer_free(body);
}

/* The connection is about to be freed, and the request with it. */
static void on_gone(struct evhttp_connection *connection, void *arg)
{
	struct serve_reply *reply = arg;

	workers_drop(reply->work);
	free(reply);
}

static void compute(struct serve *serve, struct evhttp_request *request, const char *text)
{
	struct api_request parsed;
	struct serve_reply *reply;
	struct workers_one *work = NULL;
	struct err err;
	int r = api_parse(text, serve->config.source_count, &parsed, &err);

	api_request_fini(&parsed);
	if (r < 0) {
		send_error(request, r == -ENOENT ? HTTP_NOTFOUND : HTTP_BADREQUEST, err.text);
		return;
	}
	reply = mem_alloc(sizeof(*reply));
	work = workers_begin(serve->workers, text, on_computed, reply);
	if (!work) {
		free(reply);
		send_error(request, HTTP_SERVUNAVAIL, "too many requests wait");
		return;
	}
	*reply = (struct serve_reply){ .serve = serve, .request = request, .work = work };
	server_wait(serve->server, request, on_gone, reply);
}

/* ---- the page ---- */

/* As text of HTML. */
static void put_html(FILE *out, const char *text)
{
	for (const unsigned char *at = (const unsigned char *)text; *at;) {
		size_t len = *at < 0x80 ? 1 : utf8_length(at);

		if (len == 0) {
			(void)fputs(UTF8_REPLACEMENT, out);
			at++;
		} else if (len == 1 && strchr("<>&\"'", *at)) {
			(void)fprintf(out, "&#%d;", *at++);
		} else {
			(void)fwrite(at, 1, len, out);
			at += len;
		}
	}
}

/* Those that need a source alone. */
static void put_links(FILE *out, const struct serve_source *source, size_t number)
{
	static const enum api_what whats[] = { API_TABLES, API_EXPLAIN, API_EVENTS, API_HOSTS,
					       API_MARKS };

	for (size_t i = 0; i < ARRAY_COUNT(whats); i++) {
		const char *name = api_what_name(whats[i]);

		if (api_can(source->kind, whats[i])) {
			(void)fprintf(out, " <a href=\"%s%s?source=%zu\">%s</a>", API_PLACE, name,
				      number, name);
		}
	}
}

static void send_page(const struct serve *serve, struct evhttp_request *request)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (!out) {
		mem_lacks("a text in memory");
	}
	(void)fputs("<!DOCTYPE html>\n<html lang=\"en\"><meta charset=\"utf-8\">"
		    "<meta name=\"viewport\" content=\"width=device-width\">"
		    "<title>sillage</title>\n<h1>sillage " SILLAGE_VERSION
		    "</h1>\n<ol start=\"0\">\n",
		    out);
	for (size_t i = 0; i < serve->config.source_count; i++) {
		const struct serve_source *source = &serve->config.sources[i];

		(void)fprintf(out, "<li>%s ", api_kind_name(source->kind));
		put_html(out, source->name);
		(void)fputs(":", out);
		put_links(out, source, i);
		(void)fputs("\n", out);
	}
	(void)fputs("</ol>\n<p><a href=\"" API_PLACE "sources\">sources</a> <a href=\"" API_PLACE
		    "schema\">schema</a>\n</html>\n",
		    out);
	(void)fclose(out);
	send_whole(request, HTTP_OK, "text/html; charset=utf-8", text);
	free(text);
}

/* ---- the server ---- */

static void on_request(struct evhttp_request *request, void *arg)
{
	struct serve *serve = arg;
	const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(request);
	const char *path = uri ? evhttp_uri_get_path(uri) : NULL;
	const char *query = uri ? evhttp_uri_get_query(uri) : NULL;

	if (path && strcmp(path, "/") == 0) {
		send_page(serve, request);
	} else if (path && strcmp(path, API_PLACE "schema") == 0) {
		send_whole(request, HTTP_OK, "application/schema+json", (const char *)serve_schema);
	} else if (path && strncmp(path, API_PLACE, strlen(API_PLACE)) == 0) {
		char *text = mem_printf("%s%s%s", path, query ? "?" : "", query ? query : "");

		compute(serve, request, text);
		free(text);
	} else {
		send_error(request, HTTP_NOTFOUND, "there is nothing here; the page is /");
	}
}

struct serve *serve_new(struct event_base *base, const struct serve_config *config, struct err *err)
{
	struct serve *serve = mem_alloc(sizeof(*serve));
	const struct server_config http = {
		.name = config->option,
		.address = config->address,
		.any_port = true,
		.on_request = on_request,
		.user = serve,
		.access = config->access,
		.reach = config->is_insecure ? SERVER_IS_OPEN : SERVER_STAYS,
	};

	serve->config = *config;
	serve->workers = workers_new(base, &config->workers);
	serve->server = server_new(base, &http, err);
	if (!serve->server) {
		serve_free(serve);
		return NULL;
	}
	return serve;
}

void serve_free(struct serve *serve)
{
	if (!serve) {
		return;
	}
	server_free(serve->server); /* closes all connections: what they wait for is dropped */
	workers_free(serve->workers);
	serve->is_closed = true;
	if (serve->held == 0) {
		free(serve);
	}
}

unsigned int serve_port(const struct serve *serve)
{
	return server_port(serve->server);
}

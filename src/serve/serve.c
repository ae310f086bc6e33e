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
#include "base/page/page.h"
#include "server/server.h"
#include "version.h"

#define POLICY_END "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
/* Nothing runs, and nothing is loaded: a reply has nothing but text. */
#define POLICY "default-src 'none'; " POLICY_END
/* Only what this server has, and nothing written into the page runs. */
#define PAGE_POLICY                                                                                \
	"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "            \
	"img-src data:; " POLICY_END

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

static void serve_text(struct evhttp_request *request, int status, const char *type,
		       const char *policy, const char *text)
{
	struct evbuffer *body = evbuffer_new();

	(void)evbuffer_add(body, text, strlen(text));
	server_add_headers(request, type, policy);
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
	serve_text(request, status, "application/json", POLICY, text);
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

/* What does not change while it runs. */
static void send_page(const struct serve *serve, struct evhttp_request *request)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (!out) {
		mem_lacks("a text in memory");
	}
	page_begin(serve_page, out);
	(void)fputs("{\"version\":\"" SILLAGE_VERSION "\",\"analyses\":", out);
	page_put(serve->config.analyses, strlen(serve->config.analyses), out);
	(void)fputs("}", out);
	page_end(serve_page, out);
	(void)fclose(out);
	serve_text(request, HTTP_OK, "text/html; charset=utf-8", PAGE_POLICY, text);
	free(text);
}

static bool send_file(struct evhttp_request *request, const char *path)
{
	static const struct {
		const char *path, *type;
		const unsigned char *text;
	} files[] = {
		{ "/app.js", "text/javascript; charset=utf-8", serve_script },
		{ "/app.css", "text/css; charset=utf-8", serve_style },
		{ API_PLACE "schema", "application/schema+json", serve_schema },
	};

	for (size_t i = 0; i < ARRAY_COUNT(files); i++) {
		if (strcmp(path, files[i].path) == 0) {
			serve_text(request, HTTP_OK, files[i].type, PAGE_POLICY,
				   (const char *)files[i].text);
			return true;
		}
	}
	return false;
}

/* ---- the server ---- */

/* Pages of other sites cannot read replies, but could have them computed.  Browsers say who asks;
 * programs do not. */
static bool is_of_another_site(struct evhttp_request *request)
{
	const char *site =
		evhttp_find_header(evhttp_request_get_input_headers(request), "Sec-Fetch-Site");

	return site && strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0;
}

static void on_request(struct evhttp_request *request, void *arg)
{
	struct serve *serve = arg;
	const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(request);
	const char *path = uri ? evhttp_uri_get_path(uri) : NULL;
	const char *query = uri ? evhttp_uri_get_query(uri) : NULL;

	if (path && strncmp(path, API_PLACE, strlen(API_PLACE)) == 0 &&
	    is_of_another_site(request)) {
		send_error(request, 403, "a page of another site has asked");
	} else if (path && strcmp(path, "/") == 0) {
		send_page(serve, request);
	} else if (path && send_file(request, path)) {
		return;
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

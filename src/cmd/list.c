/*
 * list: the sessions that relays serve.
 */
#include <string.h>

#include "base/json.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "live/loop.h"
#include "run/say.h"
#include "text/text-table.h"

struct session_listing {
	bool is_json;
	size_t count;
};

static void print_json(const struct url *url, const struct loop_listed *session)
{
	struct json json;

	json_begin_object(&json, stdout, "session");
	json_version(&json);
	json_text(&json, "relay", url->host);
	json_text(&json, "host", session->host);
	json_text(&json, "session", session->name);
	json_u64(&json, "live_timer_ns", session->live_timer_us * 1000);
	json_u64(&json, "streams", session->streams);
	json_u64(&json, "viewers", session->clients);
	json_end_object(&json);
}

/* Names are whole, however long: users copy them. */
static void print_text(const char *text, int width)
{
	bool has_room = strlen(text) < (size_t)width;

	text_put(stdout, text, has_room ? width : -1);
	(void)fputs(has_room ? "" : " ", stdout);
}

static void on_session(void *user, const struct url *url, const struct loop_listed *session)
{
	struct session_listing *listing = user;
	char timer[UNITS_TEXT_MAX];

	if (listing->is_json) {
		print_json(url, session);
	} else {
		if (listing->count == 0) {
			(void)printf("%-20s %-30s %8s  %-10s %s\n", "HOST", "SESSION", "STREAMS",
				     "LIVE TIMER", "VIEWER");
		}
		print_text(session->host, 21);
		print_text(session->name, 31);
		(void)printf("%8u  %-10s %s\n", session->streams,
			     session->live_timer_us ? units_ns(timer, session->live_timer_us * 1000)
						    : "not live",
			     session->clients ? "attached" : "none");
	}
	listing->count++;
}

static unsigned int port_of(const struct url *url)
{
	return url->port ? url->port : URL_PORT_LIVE;
}

static void say_quiet(const struct url *url)
{
	say("%s:%u does not answer; waiting", url->host, port_of(url));
}

static int run(const struct options *options)
{
	struct session_listing listing = { .is_json = strcmp(options->format, "json") == 0 };
	int status = EXIT_DONE;

	for (size_t i = 0; options->args[i]; i++) {
		size_t before = listing.count;
		struct url url;
		struct err err;

		if (url_parse(options->args[i], &url, &err) < 0) {
			say("%s", err.text);
			return EXIT_USAGE;
		}
		if (loop_list(&url, on_session, options->verbosity >= 0 ? say_quiet : NULL, NULL,
			      &listing, &err) < 0) {
			say("%s", err.text);
			status = EXIT_FAILED;
		} else if (listing.count == before && options->verbosity >= 0) {
			say("connected to %s:%u, no sessions%s", url.host, port_of(&url),
			    url.is_exact ? " of this name" : "");
		}
		url_fini(&url);
	}
	return status;
}

const struct command cmd_list = {
	.name = "list",
	.args = "URL...",
	.summary = "the sessions that relays serve",
	.examples = "  sillage list net://localhost\n"
		    "  sillage list -f json net://relay1 net://relay2:5400\n",
	.options = FOR_LIST,
	.args_min = 1,
	.run = run,
};

/*
 * url: which sessions a URL names.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "relay/url.h"
#include "suites.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

static const struct {
	const char *url, *host, *session;
	bool matches;
} patterns[] = {
	{ "net://relay", "web1", "any", true },
	{ "net://relay/", "web1", "any", true },
	{ "net://relay/host/web1", "web1", "any", true },
	{ "net://relay/host/web1", "web2", "any", false },
	{ "net://relay/host/web1/prod", "web1", "prod", true },
	{ "net://relay/host/web1/prod", "web1", "prod2", false },
	{ "net://relay/host/web1/prod", "web10", "prod", false },
	{ "net://relay/host/web*/prod", "web10", "prod", true },
	{ "net://relay/host/*/p?od", "x", "prod", true },
	{ "net://relay/host/*/p?od", "x", "pod", false },
	{ "net://relay/host/web[12]/*", "web2", "a/b", true },
	{ "net://relay/host/web[12]/*", "web3", "a", false },
	/* without a pattern a name means itself */
	{ "net://relay/host/web1/a\\b", "web1", "a\\b", true },
};

START_TEST(matches_patterns)
{
	struct url url;
	struct err err;

	ck_assert_int_eq(url_parse(patterns[_i].url, &url, &err), 0);
	ck_assert_msg(url_matches(&url, patterns[_i].host, patterns[_i].session) ==
			      patterns[_i].matches,
		      "%s: %s/%s", patterns[_i].url, patterns[_i].host, patterns[_i].session);
	url_fini(&url);
}
END_TEST

static const struct {
	const char *url, *host;
	int family;
	unsigned int port, second_port;
} relays[] = {
	{ "net://a", "a", AF_UNSPEC, 0, 0 },
	{ "tcp://a:1", "a", AF_UNSPEC, 1, 0 },
	{ "net4://a:1:65535", "a", AF_INET, 1, 65535 },
	{ "net6://[::1]:5/host/x", "::1", AF_INET6, 5, 0 },
};

START_TEST(names_relays)
{
	struct url url;
	struct err err;

	ck_assert_int_eq(url_parse(relays[_i].url, &url, &err), 0);
	ck_assert_str_eq(url.host, relays[_i].host);
	ck_assert_int_eq(url.family, relays[_i].family);
	ck_assert_uint_eq(url.port, relays[_i].port);
	ck_assert_uint_eq(url.second_port, relays[_i].second_port);
	url_fini(&url);
}
END_TEST

static const char *const wrong[] = {
	"net://[::1",    "net://a:0",     "net://a:65536",   "net://a:1:2:3",
	"net://a/host/", "net://a/other", "net://a/host//s", "net://a:port",
};

START_TEST(refuses_wrong_ones)
{
	struct url url;
	struct err err;

	ck_assert_msg(url_parse(wrong[_i], &url, &err) == -EINVAL, "%s", wrong[_i]);
	ck_assert_ptr_nonnull(strstr(err.text, wrong[_i]));
}
END_TEST

/* What is recorded or played goes to one session, whose names are in the URL or beside it. */
static const struct {
	const char *url, *session, *target;
	const char *is_session, *is_target; /* NULL: the default */
	bool is_wrong;
} places[] = {
	{ "net://a", NULL, NULL, NULL, NULL, false },
	{ "net://a/", "s", "h", "s", "h", false },
	{ "net://a:1:2/s", NULL, NULL, "s", NULL, false },
	{ "net://a/s", "s", "h", "s", "h", false },
	{ "net://a/host", NULL, NULL, "host", NULL, false },
	{ "net://a/host/h/s", NULL, NULL, "s", "h", false },
	{ "net://a/host/h", "s", NULL, "s", "h", false },
	{ "net://a/s", "t", NULL, NULL, NULL, true },
	{ "net://a/host/h/s", NULL, "i", NULL, NULL, true },
	{ "net://a/s*", NULL, NULL, NULL, NULL, true },
	{ "net://a/s/t", NULL, NULL, NULL, NULL, true },
	{ "net://a/host/", NULL, NULL, NULL, NULL, true },
	{ "a/s", NULL, NULL, NULL, NULL, true },
};

static void is_text(const char *text, const char *wanted)
{
	ck_assert_msg(text == wanted || (text && wanted && strcmp(text, wanted) == 0), "%s, not %s",
		      text, wanted);
}

START_TEST(names_sessions)
{
	struct url url;
	struct err err;
	int r = url_parse_to(places[_i].url, places[_i].session, places[_i].target, &url, &err);

	ck_assert_msg((r < 0) == places[_i].is_wrong, "%s", places[_i].url);
	if (r == 0) {
		is_text(url.session, places[_i].is_session);
		is_text(url.target, places[_i].is_target);
		url_fini(&url);
	}
}
END_TEST

Suite *suite_url(void)
{
	Suite *suite = suite_create("url");
	TCase *tcase = tcase_create("url");

	tcase_add_loop_test(tcase, matches_patterns, 0, COUNT(patterns));
	tcase_add_loop_test(tcase, names_relays, 0, COUNT(relays));
	tcase_add_loop_test(tcase, refuses_wrong_ones, 0, COUNT(wrong));
	tcase_add_loop_test(tcase, names_sessions, 0, COUNT(places));
	suite_add_tcase(suite, tcase);
	return suite;
}

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

Suite *suite_url(void)
{
	Suite *suite = suite_create("url");
	TCase *tcase = tcase_create("url");

	tcase_add_loop_test(tcase, matches_patterns, 0, COUNT(patterns));
	tcase_add_loop_test(tcase, names_relays, 0, COUNT(relays));
	tcase_add_loop_test(tcase, refuses_wrong_ones, 0, COUNT(wrong));
	suite_add_tcase(suite, tcase);
	return suite;
}

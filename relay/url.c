/*
 * url: see url.h.
 */
#include "relay/url.h"

#include <assert.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"

static const struct {
	const char *prefix;
	int family;
} schemes[] = {
	{ "net://", AF_UNSPEC },
	{ "net4://", AF_INET },
	{ "net6://", AF_INET6 },
	{ "tcp://", AF_UNSPEC },
};

static char *copy_until(const char *from, const char *to)
{
	char *text;

	assert(from <= to);
	text = mem_alloc((size_t)(to - from) + 1);
	memcpy(text, from, (size_t)(to - from));
	return text;
}

static int parse_port(const char *text, const char **ret_past, uint16_t *ret_port)
{
	char *past;
	unsigned long port = strtoul(text, &past, 10);

	if (past == text || port == 0 || port > 65535) {
		return -EINVAL;
	}
	*ret_past = past;
	*ret_port = (uint16_t)port;
	return 0;
}

/* Parses HOST or [HOST], then up to two ports. */
static int parse_authority(const char *at, const char **ret_past, struct url *url)
{
	const char *end;

	if (*at == '[') {
		end = strchr(at, ']');
		if (!end) {
			return -EINVAL;
		}
		url->host = copy_until(at + 1, end);
		end++;
	} else {
		end = at + strcspn(at, ":/");
		url->host = copy_until(at, end);
	}
	if (!url->host[0]) {
		return -EINVAL;
	}
	if (*end == ':' && parse_port(end + 1, &end, &url->port) < 0) {
		return -EINVAL;
	}
	if (*end == ':' && parse_port(end + 1, &end, &url->second_port) < 0) {
		return -EINVAL;
	}
	*ret_past = end;
	return *end == '/' || *end == '\0' ? 0 : -EINVAL;
}

static int parse_path(const char *at, struct url *url)
{
	static const char host[] = "/host/";
	const char *slash;

	if (*at == '\0' || strcmp(at, "/") == 0) {
		return 0;
	}
	if (strncmp(at, host, sizeof(host) - 1) != 0) {
		return -EINVAL;
	}
	at += sizeof(host) - 1;
	slash = strchr(at, '/');
	if (!slash) {
		url->target = mem_strdup(at);
		return *at ? 0 : -EINVAL;
	}
	url->target = copy_until(at, slash);
	url->session = slash[1] ? mem_strdup(slash + 1) : NULL;
	return url->target[0] ? 0 : -EINVAL;
}

/* The session alone, as LTTng's own URLs of relays have it. */
static int parse_session(const char *at, struct url *url)
{
	if (*at != '/' || strncmp(at, "/host/", strlen("/host/")) == 0 || at[1] == '\0') {
		return parse_path(at, url);
	}
	url->session = mem_strdup(at + 1);
	return strchr(at + 1, '/') ? -EINVAL : 0;
}

static bool is_pattern(const char *text)
{
	return strpbrk(text, "*?[") != NULL;
}

static int parse_with(const char *text, int (*path)(const char *at, struct url *url),
		      struct url *ret_url)
{
	struct url url = { .text = mem_strdup(text) };
	const char *at = NULL;

	for (size_t i = 0; i < ARRAY_COUNT(schemes); i++) {
		size_t len = strlen(schemes[i].prefix);

		if (strncmp(text, schemes[i].prefix, len) == 0) {
			at = text + len;
			url.family = schemes[i].family;
		}
	}
	if (!at || parse_authority(at, &at, &url) < 0 || path(at, &url) < 0) {
		url_fini(&url);
		return -EINVAL;
	}
	url.is_exact =
		url.target && url.session && !is_pattern(url.target) && !is_pattern(url.session);
	*ret_url = url;
	return 0;
}

int url_parse(const char *text, struct url *ret_url, struct err *err)
{
	if (parse_with(text, parse_path, ret_url) == 0) {
		return 0;
	}
	return err_raise(err, -EINVAL,
			 access(text, F_OK) == 0
				 ? "\"%s\" is a file, not a URL; `sillage analyze`, "
				   "`report` and `top` read traces"
				 : "\"%s\" is not net://HOST[:PORT][/host/TARGET/SESSION]",
			 text);
}

/* A name that is given beside the URL, too. */
static int take_name(char **name, const char *given, const char *what, struct err *err)
{
	if (*name && is_pattern(*name)) {
		return err_raise(err, -EINVAL, "the %s is a pattern: \"%s\"", what, *name);
	}
	if (*name && given && strcmp(*name, given) != 0) {
		return err_raise(err, -EINVAL, "the %s has two names: \"%s\" and \"%s\"", what,
				 *name, given);
	}
	*name = !*name && given ? mem_strdup(given) : *name;
	return 0;
}

int url_parse_to(const char *text, const char *session, const char *target, struct url *ret_url,
		 struct err *err)
{
	struct url url;
	int r = parse_with(text, parse_session, &url);

	if (r < 0) {
		return err_raise(err, r, "\"%s\" is not net://HOST[:CONTROL[:DATA]][/SESSION]",
				 text);
	}
	r = take_name(&url.session, session, "session", err);
	r = r < 0 ? r : take_name(&url.target, target, "host", err);
	if (r < 0) {
		url_fini(&url);
		return r;
	}
	*ret_url = url;
	return 0;
}

void url_fini(struct url *url)
{
	free(url->text);
	free(url->host);
	free(url->target);
	free(url->session);
	memset(url, 0, sizeof(*url));
}

bool url_is_one(const char *text)
{
	for (size_t i = 0; i < ARRAY_COUNT(schemes); i++) {
		if (strncmp(text, schemes[i].prefix, strlen(schemes[i].prefix)) == 0) {
			return true;
		}
	}
	return false;
}

bool url_matches(const struct url *url, const char *host, const char *session)
{
	if (url->is_exact) {
		assert(url->target);
		assert(url->session);
		return strcmp(url->target, host) == 0 && strcmp(url->session, session) == 0;
	}
	return (!url->target || fnmatch(url->target, host, 0) == 0) &&
	       (!url->session || fnmatch(url->session, session, 0) == 0);
}

/*
 * address: see address.h.
 */
#include "server/address.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/process/lookup.h"

#define ADDRESS_TRIES 8 /* of ports that are free on the first address */

int address_parse_any(const char *option, const char *text, struct address *ret, struct err *err)
{
	const char *colon = strrchr(text, ':'), *host = text;
	size_t len = colon ? (size_t)(colon - text) : 0;
	char *past;
	unsigned long port = colon ? strtoul(colon + 1, &past, 10) : 0;

	if (!colon || colon[1] < '0' || colon[1] > '9' || *past || port > UINT16_MAX ||
	    len >= sizeof(ret->host)) {
		return err_raise(err, -EINVAL, "%s: \"%s\" is not [HOST]:PORT", option, text);
	}
	if (len >= 2 && host[0] == '[' && host[len - 1] == ']') {
		host++;
		len -= 2;
	}
	*ret = (struct address){ .port = (uint16_t)port };
	memcpy(ret->host, host, len);
	return 0;
}

int address_parse(const char *option, const char *text, struct address *ret, struct err *err)
{
	int r = address_parse_any(option, text, ret, err);

	return r == 0 && ret->port == 0
		       ? err_raise(err, -EINVAL, "%s: \"%s\" is not [HOST]:PORT", option, text)
		       : r;
}

/* ---- what is listened on ---- */

static bool is_loopback(const struct sockaddr *address)
{
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)(const void *)address;
	const struct sockaddr_in *four = (const struct sockaddr_in *)(const void *)address;

	if (address->sa_family == AF_INET6) {
		return IN6_IS_ADDR_LOOPBACK(&six->sin6_addr) ||
		       (IN6_IS_ADDR_V4MAPPED(&six->sin6_addr) && six->sin6_addr.s6_addr[12] == 127);
	}
	return address->sa_family == AF_INET && ntohl(four->sin_addr.s_addr) >> 24 == 127;
}

static int listen_on(const struct addrinfo *address)
{
	int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int on = 1, off = 0, why;

	if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
	    (address->ai_family != AF_INET6 ||
	     setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) == 0) &&
	    bind(fd, address->ai_addr, address->ai_addrlen) == 0 &&
	    listen(fd, SERVER_BACKLOG) == 0) {
		return fd;
	}
	why = errno;
	if (fd >= 0) {
		(void)close(fd);
	}
	return -why;
}

static bool is_earlier(const struct addrinfo *first, const struct addrinfo *address)
{
	for (; first != address; first = first->ai_next) {
		if (first->ai_addrlen == address->ai_addrlen &&
		    memcmp(first->ai_addr, address->ai_addr, address->ai_addrlen) == 0) {
			return true;
		}
	}
	return false;
}

static int say_why_not(const char *option, const struct addrinfo *address, uint16_t port, int why,
		       struct err *err)
{
	char text[NI_MAXHOST] = "?";

	(void)getnameinfo(address->ai_addr, address->ai_addrlen, text, sizeof(text), NULL, 0,
			  NI_NUMERICHOST);
	return err_raise(err, why, "%s: cannot listen on %s port %u: %s", option, text, port,
			 strerror(-why));
}

static bool is_absent(int why)
{
	return why == -EADDRNOTAVAIL || why == -EAFNOSUPPORT;
}

static void set_port(struct sockaddr *address, uint16_t port)
{
	if (address->sa_family == AF_INET6) {
		((struct sockaddr_in6 *)(void *)address)->sin6_port = htons(port);
	} else if (address->sa_family == AF_INET) {
		((struct sockaddr_in *)(void *)address)->sin_port = htons(port);
	}
}

static uint16_t bound_port(int fd)
{
	struct sockaddr_storage found = { 0 };
	socklen_t len = sizeof(found);

	(void)getsockname(fd, (struct sockaddr *)&found, &len);
	return ntohs(found.ss_family == AF_INET6
			     ? ((struct sockaddr_in6 *)(void *)&found)->sin6_port
			     : ((struct sockaddr_in *)(void *)&found)->sin_port);
}

/* Of the addresses of one name, those that this host has not are of no account: it may be without
 * IPv6.  One that another program has is not: who asks for the name would get to that one. */
static int listen_on_all(const char *option, const struct addrinfo *found,
			 struct address_sockets *ret, struct err *err)
{
	int r = 0;

	for (const struct addrinfo *at = found; at; at = at->ai_next) {
		int fd;

		set_port(at->ai_addr, ret->port);
		if (is_earlier(found, at) || ret->count == ADDRESS_SOCKETS_MAX) {
			continue;
		}
		fd = listen_on(at);
		if (fd >= 0) {
			ret->fds[ret->count++] = fd;
			ret->port = bound_port(fd);
			set_port(at->ai_addr, ret->port);
		} else if (r == 0 || is_absent(r)) {
			r = say_why_not(option, at, ret->port, fd, err);
		}
	}
	if (ret->count > 0 && is_absent(r)) {
		r = 0;
	}
	while (r < 0 && ret->count > 0) {
		(void)close(ret->fds[--ret->count]);
	}
	return r;
}

/* A port that is free on one address may not be on the next. */
static int listen_somewhere(const char *option, const struct addrinfo *found, uint16_t port,
			    struct address_sockets *ret, struct err *err)
{
	int r = -EADDRINUSE;

	for (int tries = 0; r == -EADDRINUSE && tries < (port ? 1 : ADDRESS_TRIES); tries++) {
		ret->port = port;
		r = listen_on_all(option, found, ret, err);
	}
	return r;
}

int address_listen(const char *option, const struct address *address, bool loopback_only,
		   struct address_sockets *ret, struct err *err)
{
	const char *host = address->host[0] ? address->host : NULL;
	struct addrinfo *found;
	int r = lookup_wait(host, address->port, AF_UNSPEC, &found);

	*ret = (struct address_sockets){ .is_loopback = true };
	if (r != 0) {
		return err_raise(err, -EINVAL, "%s: cannot listen on %s port %u: %s", option,
				 host ? host : "loopback", address->port,
				 r == EAI_SYSTEM ? strerror(errno) : gai_strerror(r));
	}
	for (const struct addrinfo *at = found; at; at = at->ai_next) {
		ret->is_loopback &= is_loopback(at->ai_addr);
	}
	if (loopback_only && !ret->is_loopback) {
		r = err_raise(err, -EPERM,
			      "%s: others than this host can connect to %s: that needs "
			      "--server-config with users, or --insecure",
			      option, address->host);
	} else {
		r = listen_somewhere(option, found, address->port, ret, err);
	}
	freeaddrinfo(found);
	assert((r == 0) == (ret->count > 0));
	return r;
}

/* ---- who is asked for ---- */

/* Numbers of a request's Host lead nowhere else: they need no list. */
static bool is_loopback_number(const char *host, bool has_brackets)
{
	struct in6_addr six;
	struct in_addr four;

	if (has_brackets) {
		return inet_pton(AF_INET6, host, &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
	}
	return inet_pton(AF_INET, host, &four) == 1 && ntohl(four.s_addr) >> 24 == 127;
}

bool address_is_asked_for(const struct address *address, const char *asked)
{
	bool has_brackets = asked && asked[0] == '[';
	const char *begin = has_brackets ? asked + 1 : asked;
	size_t len = asked ? strcspn(begin, has_brackets ? "]" : ":") : 0;
	char host[ADDRESS_HOST_BYTES];
	const char *past;

	if (len == 0 || len >= sizeof(host) || (has_brackets && begin[len] != ']')) {
		return false;
	}
	memcpy(host, begin, len);
	host[len] = '\0';
	past = begin + len + has_brackets;
	if (*past == ':') {
		past += 1 + strspn(past + 1, "0123456789");
	}
	return *past == '\0' &&
	       (is_loopback_number(host, has_brackets) || strcasecmp(host, "localhost") == 0 ||
		(address->host[0] && strcasecmp(host, address->host) == 0));
}

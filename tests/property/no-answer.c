/*
 * no-answer: preloaded into sillage, a resolver whose servers never answer.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>
#include <stdbool.h>
#include <unistd.h>

static bool is_number(const char *host)
{
	struct in6_addr room;

	return !host || inet_pton(AF_INET, host, &room) == 1 ||
	       inet_pton(AF_INET6, host, &room) == 1;
}

int getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
		struct addrinfo **ret)
{
	int (*next)(const char *, const char *, const struct addrinfo *, struct addrinfo **);

	*(void **)&next = dlsym(RTLD_NEXT, "getaddrinfo");
	while (!is_number(host) && !(hints && (hints->ai_flags & AI_NUMERICHOST))) {
		(void)pause();
	}
	return next(host, service, hints, ret);
}

/*
 * never: preloaded into sillage, what never answers.
 *
 * A resolver that gets no answer, but for numbers.  SILLAGE_NEVER=fsync: a disk that does not
 * write. SILLAGE_NEVER=COMMAND: that command of sillage stops at its start, as SIGSTOP does.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_asked_for(const char *what)
{
	const char *asked = getenv("SILLAGE_NEVER");

	return asked && strcmp(asked, what) == 0;
}

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

int fsync(int fd)
{
	int (*next)(int);

	*(void **)&next = dlsym(RTLD_NEXT, "fsync");
	while (is_asked_for("fsync")) {
		(void)pause();
	}
	return next(fd);
}

/* The C library gives it what it gives main(). */
__attribute__((constructor)) static void begin(int argc, char **argv)
{
	if (argc > 1 && is_asked_for(argv[1])) {
		(void)raise(SIGSTOP);
	}
}

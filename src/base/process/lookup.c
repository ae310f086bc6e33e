/*
 * lookup: see lookup.h.
 */
#include "base/process/lookup.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/now.h"
#include "base/process/thread.h"

struct lookup {
	atomic_int owners; /* the caller and the thread: the last one frees */
	char *host, port[8];
	struct addrinfo hints;
	int fd;        /* eventfd: readable when the lookup is done */
	int code, why; /* errno */
	struct addrinfo *found;
};

static void release(struct lookup *lookup)
{
	int owners = atomic_fetch_sub(&lookup->owners, 1);

	assert(owners == 1 || owners == 2);
	if (owners > 1) {
		return;
	}
	if (lookup->found) {
		freeaddrinfo(lookup->found);
	}
	(void)close(lookup->fd);
	free(lookup->host);
	free(lookup);
}

static void look_up(struct lookup *lookup)
{
	const uint64_t one = 1;

	lookup->code = getaddrinfo(lookup->host, lookup->port, &lookup->hints, &lookup->found);
	lookup->why = errno;
	(void)!write(lookup->fd, &one, sizeof(one));
}

static void *work(void *arg)
{
	look_up(arg);
	release(arg);
	return NULL;
}

static bool is_numeric(const char *host)
{
	const struct addrinfo hints = { .ai_flags = AI_NUMERICHOST };
	struct addrinfo *found = NULL;

	if (getaddrinfo(host, NULL, &hints, &found) != 0) {
		return false;
	}
	freeaddrinfo(found);
	return true;
}

struct lookup *lookup_start(const char *host, uint16_t port, int family)
{
	struct lookup *lookup = mem_alloc(sizeof(*lookup));
	const uint64_t one = 1;
	pthread_t thread;

	atomic_init(&lookup->owners, 1);
	lookup->host = mem_strdup_if(host);
	(void)snprintf(lookup->port, sizeof(lookup->port), "%u", port);
	lookup->hints = (struct addrinfo){ .ai_family = family,
					   .ai_socktype = SOCK_STREAM,
					   .ai_flags = AI_NUMERICSERV };
	lookup->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (!host || is_numeric(host)) {
		look_up(lookup);
		return lookup;
	}
	atomic_store(&lookup->owners, 2);
	if (thread_start(&thread, work, lookup) == 0) {
		(void)pthread_detach(thread);
		return lookup;
	}
	atomic_store(&lookup->owners, 1);
	lookup->code = EAI_AGAIN;
	(void)!write(lookup->fd, &one, sizeof(one));
	return lookup;
}

int lookup_fd(const struct lookup *lookup)
{
	return lookup->fd;
}

int lookup_take(struct lookup *lookup, struct addrinfo **ret)
{
	uint64_t count;

	(void)!read(lookup->fd, &count, sizeof(count)); /* orders us after the thread's writes */
	assert(lookup->code == 0 || !lookup->found);
	*ret = lookup->found;
	lookup->found = NULL;
	errno = lookup->why;
	return lookup->code;
}

void lookup_free(struct lookup *lookup)
{
	if (lookup) {
		release(lookup);
	}
}

int lookup_wait(const char *host, uint16_t port, int family, struct addrinfo **ret)
{
	struct lookup *lookup = lookup_start(host, port, family);
	struct pollfd done = { .fd = lookup->fd, .events = POLLIN };
	int code = EAI_INTR, why;

	*ret = NULL;
	while (poll(&done, 1, WAIT_POLL_MS) <= 0 && !now_is_leaving()) {
	}
	if (done.revents != 0) {
		code = lookup_take(lookup, ret);
	}
	why = errno;
	lookup_free(lookup);
	errno = why;
	return code;
}

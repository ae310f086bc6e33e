/*
 * resolve: see resolve.h.
 */
#include "live/session/resolve.h"

#include <assert.h>
#include <event2/event.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/process/thread.h"

struct resolve {
	atomic_int owners; /* the loop and the thread: the last one frees */
	char *host, port[8];
	int family;
	int fd; /* eventfd: readable when the lookup is done */
	struct event *event;
	resolve_fn *done;
	void *user;
	int code;
	struct addrinfo *found;
};

static void release(struct resolve *resolve)
{
	int owners = atomic_fetch_sub(&resolve->owners, 1);

	assert(owners == 1 || owners == 2);
	if (owners > 1) {
		return;
	}
	if (resolve->found) {
		freeaddrinfo(resolve->found);
	}
	(void)close(resolve->fd);
	free(resolve->host);
	free(resolve);
}

static int look_up(struct resolve *resolve, int flags)
{
	struct addrinfo hints = { .ai_family = resolve->family,
				  .ai_socktype = SOCK_STREAM,
				  .ai_flags = flags };

	return getaddrinfo(resolve->host, resolve->port, &hints, &resolve->found);
}

static void *work(void *arg)
{
	struct resolve *resolve = arg;
	uint64_t one = 1;

	resolve->code = look_up(resolve, 0);
	(void)!write(resolve->fd, &one, sizeof(one));
	release(resolve);
	return NULL;
}

static void on_done(evutil_socket_t fd, short what, void *arg)
{
	struct resolve *resolve = arg;
	struct addrinfo *found;
	uint64_t count;

	(void)!read((int)fd, &count, sizeof(count)); /* orders us after the thread's writes */
	assert(resolve->code == 0 || !resolve->found);
	found = resolve->found;
	resolve->found = NULL;
	event_free(resolve->event);
	resolve->done(resolve->user, resolve->code, found);
	release(resolve);
}

struct resolve *resolve_start(struct event_base *base, const char *host, uint16_t port, int family,
			      resolve_fn *done, void *user)
{
	struct resolve *resolve = mem_alloc(sizeof(*resolve));
	uint64_t one = 1;
	pthread_t thread;

	atomic_init(&resolve->owners, 1);
	resolve->host = mem_strdup(host);
	(void)snprintf(resolve->port, sizeof(resolve->port), "%u", port);
	resolve->family = family;
	resolve->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	resolve->done = done;
	resolve->user = user;
	resolve->event = event_new(base, resolve->fd, EV_READ, on_done, resolve);
	(void)event_add(resolve->event, NULL);
	resolve->code = look_up(resolve, AI_NUMERICHOST);
	if (resolve->code == EAI_NONAME) {
		atomic_store(&resolve->owners, 2);
		if (thread_start(&thread, work, resolve) == 0) {
			(void)pthread_detach(thread);
			return resolve;
		}
		atomic_store(&resolve->owners, 1);
		resolve->code = EAI_AGAIN;
	}
	(void)!write(resolve->fd, &one, sizeof(one));
	return resolve;
}

void resolve_cancel(struct resolve *resolve)
{
	if (resolve) {
		event_free(resolve->event);
		release(resolve);
	}
}

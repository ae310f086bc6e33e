/*
 * control: see control.h.
 */
#include "live/control.h"

#include <assert.h>
#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "output/notice.h"
#include "output/sink.h"
#include "server/listener.h"

struct control_client {
	struct control *control;
	struct bufferevent *buffer;
	VEC(uint64_t) awaited; /* numbers of the captures it waits for */
	bool has_asked;
};

struct control {
	struct event_base *base;
	struct listener *listener;
	char *path;
	control_capture_fn *capture;
	void *user;
	VEC(struct control_client *) clients;
};

/* ---- clients ---- */

static void free_client(struct control_client *client)
{
	bufferevent_free(client->buffer);
	vec_fini(&client->awaited);
	free(client);
}

static void drop_client(struct control_client *client)
{
	struct control *control = client->control;
	size_t left = 0;

	for (size_t i = 0; i < control->clients.count; i++) {
		if (control->clients.at[i] != client) {
			control->clients.at[left++] = control->clients.at[i];
		}
	}
	assert(left + 1 == control->clients.count);
	control->clients.count = left;
	free_client(client);
}

/* Called when all output was sent: ends the connection after the last line. */
static void on_written(struct bufferevent *buffer, void *arg)
{
	struct control_client *client = arg;

	if (client->has_asked && client->awaited.count == 0 &&
	    evbuffer_get_length(bufferevent_get_output(buffer)) == 0) {
		drop_client(client);
	}
}

static void refuse(struct control_client *client, const char *message)
{
	char *line = NULL;
	size_t len = 0;
	struct json json;

	json_begin_object(&json, open_memstream(&line, &len), "error");
	json_text(&json, "message", message);
	json_end_object(&json);
	(void)fclose(json.out);
	(void)bufferevent_write(client->buffer, line, len);
	free(line);
}

static void on_line(struct bufferevent *buffer, void *arg)
{
	struct control_client *client = arg;
	struct control *control = client->control;
	struct evbuffer *input = bufferevent_get_input(buffer);
	uint64_t numbers[CONTROL_CAPTURES_MAX];
	char *line = evbuffer_readln(input, NULL, EVBUFFER_EOL_LF);
	size_t count;

	if (!line && evbuffer_get_length(input) <= CONTROL_LINE_MAX) {
		return;
	}
	(void)bufferevent_disable(buffer, EV_READ);
	client->has_asked = true;
	if (!line || strcmp(line, "capture") != 0) {
		refuse(client, "expected the line \"capture\"");
	} else {
		count = control->capture(control->user, numbers, CONTROL_CAPTURES_MAX);
		assert(count <= CONTROL_CAPTURES_MAX);
		vec_append(&client->awaited, numbers, count);
		if (count == 0) {
			refuse(client, "there is nothing to capture: no session is followed");
		}
	}
	free(line);
}

static void on_end(struct bufferevent *buffer, short what, void *arg)
{
	drop_client(arg);
}

static void on_client(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *address,
		      int len, void *arg)
{
	struct control *control = arg;
	struct control_client *client;

	if (control->clients.count >= CONTROL_CLIENTS_MAX) {
		(void)close((int)fd);
		return;
	}
	client = mem_alloc(sizeof(*client));
	client->control = control;
	client->buffer = bufferevent_socket_new(control->base, fd, BEV_OPT_CLOSE_ON_FREE);
	*vec_push(&control->clients) = client;
	assert(control->clients.count <= CONTROL_CLIENTS_MAX);
	bufferevent_setcb(client->buffer, on_line, on_written, on_end, client);
	(void)bufferevent_enable(client->buffer, EV_READ | EV_WRITE);
}

static void on_capture(struct output *output, const struct capture_result *capture)
{
	struct control *control = output->state;
	char *line = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&line, &len);

	json_capture(out, capture);
	(void)fclose(out);
	VEC_EACH_OF(&control->clients, client) {
		for (size_t k = 0; k < client->awaited.count; k++) {
			if (client->awaited.at[k] == capture->number) {
				client->awaited.at[k] = client->awaited.at[--client->awaited.count];
				(void)bufferevent_write(client->buffer, line, len);
				break;
			}
		}
	}
	free(line);
}

const struct sink sink_control = {
	.name = "control",
	.capture = on_capture,
};

/* ---- the socket ---- */

static int fill_address(struct sockaddr_un *address, const char *path, struct err *err)
{
	memset(address, 0, sizeof(*address));
	address->sun_family = AF_UNIX;
	if (strlen(path) >= sizeof(address->sun_path)) {
		return err_raise(err, -ENAMETOOLONG, "%s: a socket's path has at most %zu bytes",
				 path, sizeof(address->sun_path) - 1);
	}
	memcpy(address->sun_path, path, strlen(path) + 1);
	return 0;
}

static int connect_to(const struct sockaddr_un *address)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int r = 0;

	if (fd < 0) {
		return -errno;
	}
	if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) < 0) {
		r = -errno;
		(void)close(fd);
	}
	return r < 0 ? r : fd;
}

/* Removes a socket whose process no longer exists. */
static void remove_stale(const struct sockaddr_un *address)
{
	struct stat found;
	int fd;

	if (lstat(address->sun_path, &found) < 0 || !S_ISSOCK(found.st_mode)) {
		return;
	}
	fd = connect_to(address);
	if (fd == -ECONNREFUSED) {
		(void)unlink(address->sun_path);
	} else if (fd >= 0) {
		(void)close(fd);
	}
}

/* On Linux the socket file gets the mode that the descriptor has when it is bound. */
static int listen_at(const struct sockaddr_un *address, struct err *err)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	remove_stale(address);
	if (fd < 0 || fchmod(fd, 0600) < 0 ||
	    bind(fd, (const struct sockaddr *)address, sizeof(*address)) < 0 ||
	    listen(fd, CONTROL_CLIENTS_MAX) < 0) {
		(void)err_raise(err, -errno, "%s: %s", address->sun_path, strerror(errno));
		if (fd >= 0) {
			(void)close(fd);
		}
		return -EIO;
	}
	return fd;
}

struct control *control_new(struct event_base *base, const char *path, control_capture_fn *capture,
			    void *user, struct err *err)
{
	struct control *control;
	struct sockaddr_un address;
	int fd = fill_address(&address, path, err);

	fd = fd < 0 ? fd : listen_at(&address, err);
	if (fd < 0) {
		return NULL;
	}
	control = mem_alloc(sizeof(*control));
	control->base = base;
	control->path = mem_strdup(path);
	control->capture = capture;
	control->user = user;
	control->listener = listener_new(base, fd, "--control", on_client, control);
	return control;
}

/* The event loop has ended: pending output is sent as far as that is possible without waiting. */
void control_free(struct control *control)
{
	if (!control) {
		return;
	}
	VEC_EACH_OF(&control->clients, client) {
		struct evbuffer *output = bufferevent_get_output(client->buffer);

		(void)evbuffer_unfreeze(output, 1);
		(void)evbuffer_write(output, bufferevent_getfd(client->buffer));
		free_client(client);
	}
	vec_fini(&control->clients);
	listener_free(control->listener);
	(void)unlink(control->path);
	free(control->path);
	free(control);
}

int control_ask(const char *path, struct err *err)
{
	static const char request[] = "capture\n";
	struct sockaddr_un address;
	int fd = fill_address(&address, path, err);

	if (fd < 0) {
		return fd;
	}
	fd = connect_to(&address);
	if (fd < 0) {
		return err_raise(err, fd, "%s: %s", path, strerror(-fd));
	}
	if (write(fd, request, strlen(request)) != (ssize_t)strlen(request)) {
		(void)err_raise(err, -EIO, "%s: %s", path, strerror(errno));
		(void)close(fd);
		return -EIO;
	}
	return fd;
}

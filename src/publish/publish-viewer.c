/*
 * publish-viewer: waits until somebody watches the session.
 */
#include <unistd.h>

#include "publish/publish-state.h"
#include "relay/viewer.h"

#define VIEWER_WAIT_US 150000 /* viewers poll at least every 50 ms */

static int ask_viewer(struct publish *publish, int fd, struct viewer *viewer,
		      enum viewer_command until, struct viewer_reply *reply)
{
	int r = talk_send(publish, fd, viewer->out.at, viewer->out.count);

	viewer->out.count = 0;
	while (r >= 0) {
		size_t len;
		uint8_t *into = viewer_want(viewer, &len);
		ssize_t got = talk_receive(publish, fd, into, len);

		if (got < 0) {
			return err_note(publish->err, (int)got, "the relay's live port");
		}
		r = viewer_fed(viewer, (size_t)got, reply, publish->err);
		if (r > 0 && reply->command == until) {
			return 0;
		}
	}
	return r;
}

static bool is_watched(const struct publish *publish, const struct viewer_reply *reply)
{
	for (uint32_t i = 0; i < reply->count; i++) {
		if (reply->sessions[i].id == publish->session_id &&
		    reply->sessions[i].clients > 0) {
			return true;
		}
	}
	return false;
}

int publish_wait_viewer(struct publish *publish, const atomic_bool *stop)
{
	const struct url *url = publish->relay;
	uint16_t control = url->port ? url->port : CONTROL_PORT;
	struct viewer_reply reply = { 0 };
	struct viewer viewer;
	int fd = talk_connect(publish, (uint16_t)(control + 2));
	int r = fd < 0 ? fd : 0;

	viewer_init(&viewer);
	if (r == 0) {
		viewer_connect(&viewer);
	}
	while (r == 0 && !*stop) {
		viewer_list_sessions(&viewer);
		r = ask_viewer(publish, fd, &viewer, VIEWER_LIST_SESSIONS, &reply);
		if (r == 0 && is_watched(publish, &reply)) {
			/* It may have attached before the streams existed: lets it find them. */
			(void)usleep(VIEWER_WAIT_US);
			break;
		}
		(void)usleep(20000);
	}
	viewer_fini(&viewer);
	if (fd >= 0) {
		(void)close(fd);
	}
	return r;
}

/*
 * record-relay: see record-relay.h.
 */
#include "cmd/record/record-relay.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "publish/publish.h"

/* As `watch` bounds LTTng's (setup/commands.c). */
#define FILE_BYTES ((uint64_t)16 << 20)
#define FILE_COUNT 4

#define STREAM_CLASS 0 /* of all CPUs */

struct record_relay {
	struct publish *publish;
	uint32_t cpus;
	const uint8_t *uuid;
	uint64_t given; /* events */
	int failure;    /* 0, or why nothing is sent any more: -errno, and err */
	bool is_told;   /* that */
	struct err err; /* of publish */
};

static void note_end(struct record_relay *to, int r)
{
	to->failure = to->failure < 0 ? to->failure : r;
}

/* Once. */
static int tell_end(struct record_relay *to, struct err *err)
{
	if (to->failure == 0 || to->is_told) {
		return 0;
	}
	to->is_told = true;
	return err_raise(err, to->failure, "%s", to->err.text);
}

static int make_session(struct record_relay *to, const struct record_relay_config *config)
{
	const struct publish_config session = {
		.relay = config->relay,
		.session = config->session,
		.host = config->host,
		.path = "kernel",
		.live_timer_ns = config->live_timer_ns,
		.file_bytes = config->is_bounded ? FILE_BYTES : 0,
		.file_count = config->is_bounded ? FILE_COUNT : 0,
	};
	int r = publish_open(&session, &to->publish, &to->err);

	for (uint32_t cpu = 0; r == 0 && cpu < to->cpus; cpu++) {
		char *name = mem_printf("channel0_%u", cpu);

		r = publish_add_stream(to->publish, name);
		free(name);
	}
	return r < 0 ? r : publish_streams(to->publish);
}

int record_relay_new(const struct record_relay_config *config, struct record_relay **ret,
		     struct err *err)
{
	struct record_relay *to = mem_alloc(sizeof(*to));
	int r;

	to->cpus = config->cpus;
	to->uuid = config->uuid;
	note_end(to, make_session(to, config));
	r = tell_end(to, err);
	if (r < 0) {
		record_relay_free(to);
		to = NULL;
	}
	*ret = to;
	return r;
}

void record_relay_free(struct record_relay *to)
{
	if (to) {
		publish_free(to->publish);
		free(to);
	}
}

int record_relay_metadata(void *user, const char *text, size_t len, struct err *err)
{
	struct record_relay *to = user;

	if (to->failure == 0) {
		note_end(to, publish_metadata(to->publish, text, len, to->uuid, false));
	}
	return 0;
}

int record_relay_packet(void *user, const struct convert_packet *from, struct err *err)
{
	struct record_relay *to = user;
	const struct publish_packet packet = {
		.bytes = from->bytes,
		.len = from->len,
		.content_bits = from->content_bits,
		.begin = from->begin,
		.end = from->end,
		.discarded = from->discarded,
		.class_id = STREAM_CLASS,
		.instance_id = from->cpu,
		.seq_num = from->seq,
		.events = from->events,
	};

	assert(from->cpu < to->cpus);
	to->given += from->events;
	if (to->failure == 0) {
		note_end(to, publish_packet(to->publish, from->cpu, &packet));
	}
	return 0;
}

int record_relay_beacons(void *user, uint64_t time, struct err *err)
{
	struct record_relay *to = user;

	for (uint32_t cpu = 0; to->failure == 0 && cpu < to->cpus; cpu++) {
		note_end(to, publish_beacon(to->publish, cpu, time, STREAM_CLASS));
	}
	return tell_end(to, err);
}

int record_relay_close(struct record_relay *to, struct err *err)
{
	if (to->failure == 0) {
		note_end(to, publish_close(to->publish));
	}
	return tell_end(to, err);
}

struct record_relay_account record_relay_account(struct record_relay *to)
{
	const struct publish_account account = publish_account(to->publish);

	assert(account.events <= to->given);
	return (struct record_relay_account){ .given = to->given,
					      .taken = account.events,
					      .packets = account.packets,
					      .bytes = account.bytes };
}

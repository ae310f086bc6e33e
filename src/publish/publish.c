/*
 * publish: see publish.h.
 */
#include "publish/publish-state.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/units.h"

/* What a relay stores of a name.  It makes a file name of the session's, with the time behind it.
 */
#define RELAY_HOST_MAX    63
#define RELAY_SESSION_MAX 200

/* A name that the relay accepts, since it makes a directory of it: not empty, at most @most bytes,
 * no slash, no leading dot, no control characters. */
static char *relay_name(const char *wanted, int most)
{
	char *name = mem_printf("%.*s", most, wanted);

	assert(wanted[0]);
	for (char *at = name; *at; at++) {
		if (*at == '/' || (at == name && *at == '.') || (unsigned char)*at < ' ' ||
		    *at == 0x7F) {
			*at = '_';
		}
	}
	return name;
}

static int connect_both(struct publish *publish)
{
	const struct url *url = publish->relay;
	uint16_t control = url->port ? url->port : CONTROL_PORT;
	uint16_t data = url->second_port ? url->second_port : (uint16_t)(control + 1);

	publish->control = talk_connect(publish, control);
	if (publish->control < 0) {
		return publish->control;
	}
	publish->data = talk_connect(publish, data);
	if (publish->data < 0 && url->second_port == 0) {
		(void)err_note(
			publish->err, publish->data,
			"port %u answers, the one behind it for data does not (is it the relay's "
			"live port? --to takes that of control, %u)",
			control, CONTROL_PORT);
	}
	return publish->data < 0 ? publish->data : 0;
}

int publish_open(const struct publish_config *config, struct publish **ret, struct err *err)
{
	struct publish *publish = mem_alloc(sizeof(*publish));
	int r;

	publish->relay = config->relay;
	publish->session = relay_name(config->session, RELAY_SESSION_MAX);
	publish->host = relay_name(config->host, RELAY_HOST_MAX);
	publish->path = mem_strdup(config->path);
	publish->number = config->number;
	publish->live_timer_ns = config->live_timer_ns;
	publish->file_bytes = config->file_bytes;
	publish->file_count = config->file_count;
	publish->silence_ns = config->silence_ns ? config->silence_ns : RELAY_SILENCE_S * NS_PER_S;
	publish->is_ctf2 = config->is_ctf2;
	publish->control = publish->data = -1;
	publish->err = err;
	r = connect_both(publish);
	r = r < 0 ? r : session_open(publish);
	if (r < 0) {
		publish_free(publish);
		publish = NULL;
	}
	*ret = publish;
	return r;
}

void publish_free(struct publish *publish)
{
	if (!publish) {
		return;
	}
	(void)(publish->data >= 0 && close(publish->data));
	(void)(publish->control >= 0 && close(publish->control));
	producer_message_fini(&publish->message);
	vec_fini(&publish->streams);
	free(publish->session);
	free(publish->host);
	free(publish->path);
	free(publish);
}

int publish_metadata(struct publish *publish, const char *text, size_t len, const uint8_t uuid[16],
		     bool is_be)
{
	struct producer_message packets = { 0 };
	int r;

	if (publish->minor >= 15 && publish->is_ctf2) { /* its metadata has no packets */
		producer_send_metadata(&publish->message, publish->metadata_handle,
				       (const uint8_t *)text, len);
	} else {
		producer_wrap_metadata(&packets, text, len, uuid, is_be);
		producer_send_metadata(&publish->message, publish->metadata_handle,
				       packets.bytes.at, packets.bytes.count);
	}
	r = talk_send_message(publish); /* the relay sends no reply */
	producer_message_fini(&packets);
	return r;
}

int publish_packet(struct publish *publish, size_t number, const struct publish_packet *packet)
{
	struct publish_stream *stream = &publish->streams.at[number];
	uint8_t header[PRODUCER_DATA_HEADER_BYTES];
	const struct publish_awaited what = { 1, packet->len, packet->events };
	struct producer_index index = {
		.stream = stream->handle,
		.net_seq_num = stream->sent,
		.packet_bits = packet->len * 8,
		.content_bits = packet->content_bits,
		.begin = packet->begin,
		.end = packet->end,
		.discarded = packet->discarded,
		.class_id = packet->class_id,
		.instance_id = packet->instance_id,
		.packet_seq_num = packet->seq_num == UINT64_MAX ? stream->sent : packet->seq_num,
	};
	int r;

	assert(number < publish->streams.count && packet->len <= PACKET_BYTES_MAX);
	producer_data_header(header, stream->handle, stream->sent, (uint32_t)packet->len);
	r = talk_send(publish, publish->data, header, sizeof(header));
	r = r < 0 ? r : talk_send(publish, publish->data, packet->bytes, packet->len);
	if (r < 0) {
		return r;
	}
	stream->sent++;
	stream->last_seq_num = index.packet_seq_num;
	stream->beacon = packet->end;
	producer_send_index(&publish->message, &index);
	return talk_send_awaited(publish, &what);
}

int publish_beacon(struct publish *publish, size_t number, uint64_t cycles, uint64_t class_id)
{
	struct publish_stream *stream = &publish->streams.at[number];

	assert(number < publish->streams.count);
	if (stream->sent == 0 || cycles <= stream->beacon) {
		return 0;
	}
	stream->beacon = cycles;
	producer_send_beacon(&publish->message, stream->handle, stream->sent - 1, cycles, class_id);
	return talk_send_awaited(publish, &(struct publish_awaited){ 0 });
}

struct publish_account publish_account(struct publish *publish)
{
	talk_read_rest(publish);
	return publish->account;
}

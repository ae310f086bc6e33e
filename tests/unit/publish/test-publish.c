/*
 * publish: a relay that says nothing, and one that goes away.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/process/thread.h"
#include "base/units.h"
#include "publish/publish.h"
#include "relay/producer.h"
#include "suites.h"

#define EVENTS  5 /* of each packet */
#define PACKETS 200
#define PATIENT (60 * NS_PER_S)

/* A relay on loopback that replies to so many indexes, then ends its side of the control
 * connection. */
static struct relay {
	int control, data; /* they listen */
	struct url url;
	unsigned int indexes; /* left */
	pthread_t thread;
} relay;

static int listen_on(uint16_t *port)
{
	struct sockaddr_in place = { .sin_family = AF_INET,
				     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(place);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_int_eq(bind(fd, (struct sockaddr *)&place, len), 0);
	ck_assert_int_eq(listen(fd, 4), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&place, &len), 0);
	*port = ntohs(place.sin_port);
	return fd;
}

static void set_up(void)
{
	struct err err;

	ck_assert_int_eq(url_parse("net://127.0.0.1", &relay.url, &err), 0);
	relay.control = listen_on(&relay.url.port);
	relay.data = listen_on(&relay.url.second_port);
}

static void tear_down(void)
{
	(void)close(relay.control);
	(void)close(relay.data);
	url_fini(&relay.url);
}

/* Bytes of the reply; 0: none. */
static size_t reply_to(uint32_t command, uint8_t reply[32])
{
	struct wire_out out = { .at = reply };

	memset(reply, 0, 32);
	switch (command) {
	case PRODUCER_VERSION:
		wire_put_u32(&out, PRODUCER_MAJOR);
		wire_put_u32(&out, 13);
		return PRODUCER_REPLY_VERSION;
	case PRODUCER_CREATE_SESSION:
	case PRODUCER_ADD_STREAM:
		wire_put_u64(&out, 1);
		wire_put_u32(&out, PRODUCER_OK);
		return command == PRODUCER_ADD_STREAM ? PRODUCER_REPLY_STREAM
						      : PRODUCER_REPLY_SESSION;
	case PRODUCER_SEND_METADATA:
		return 0;
	default:
		wire_put_u32(&out, PRODUCER_OK);
		return PRODUCER_REPLY_CODE;
	}
}

static void *serve(void *arg)
{
	int fd = accept(relay.control, NULL, NULL);
	uint8_t header[24], payload[8192], reply[32];
	size_t len;

	while (recv(fd, header, sizeof(header), MSG_WAITALL) == sizeof(header)) {
		len = wire_get_u64(header + 8);
		if (len > 0 && recv(fd, payload, len, MSG_WAITALL) != (ssize_t)len) {
			break;
		}
		if (wire_get_u32(header + 16) == PRODUCER_SEND_INDEX && relay.indexes-- == 0) {
			break;
		}
		len = reply_to(wire_get_u32(header + 16), reply);
		(void)!send(fd, reply, len, MSG_NOSIGNAL);
	}
	(void)shutdown(fd, SHUT_WR); /* what it has said arrives */
	while (recv(fd, payload, sizeof(payload), 0) > 0) {
	}
	(void)close(fd);
	return NULL;
}

static struct publish_config config_of(uint64_t silence_ns)
{
	return (struct publish_config){ .relay = &relay.url,
					.session = "s",
					.host = "h",
					.path = "kernel",
					.live_timer_ns = NS_PER_S,
					.silence_ns = silence_ns };
}

START_TEST(gives_up_a_silent_relay)
{
	const struct publish_config config = config_of(20 * NS_PER_MS);
	struct publish *publish;
	struct err err;

	ck_assert_int_eq(publish_open(&config, &publish, &err), -ETIMEDOUT);
	ck_assert_ptr_null(publish);
	ck_assert_str_eq(err.text, "the relay has not answered for 20.0 ms");
}
END_TEST

static const unsigned int taken[] = { 0, 3, 64, 65, 150 };

START_TEST(knows_what_a_relay_had)
{
	static const uint8_t uuid[16], bytes[64];
	const struct publish_config config = config_of(PATIENT);
	struct publish_packet packet = { .bytes = bytes,
					 .len = sizeof(bytes),
					 .content_bits = 512,
					 .seq_num = UINT64_MAX,
					 .events = EVENTS };
	struct publish_account account;
	struct publish *publish;
	struct err err;
	int r = 0;

	relay.indexes = taken[_i];
	ck_assert_int_eq(thread_start(&relay.thread, serve, NULL), 0);
	ck_assert_int_eq(publish_open(&config, &publish, &err), 0);
	ck_assert_int_eq(publish_add_stream(publish, "channel0_0"), 0);
	ck_assert_int_eq(publish_streams(publish), 0);
	ck_assert_int_eq(publish_metadata(publish, "trace", 5, uuid, false), 0);
	for (size_t i = 0; i < PACKETS && r == 0; i++) {
		packet.end = i + 1;
		r = publish_packet(publish, 0, &packet);
	}
	r = r < 0 ? r : publish_close(publish);
	ck_assert_int_eq(r, -EIO);
	account = publish_account(publish);
	ck_assert_uint_eq(account.packets, taken[_i]);
	ck_assert_uint_eq(account.bytes, taken[_i] * sizeof(bytes));
	ck_assert_uint_eq(account.events, taken[_i] * EVENTS);
	publish_free(publish);
	thread_join(relay.thread, NULL);
}
END_TEST

Suite *suite_publish(void)
{
	Suite *suite = suite_create("publish");
	TCase *tcase = tcase_create("publish");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, gives_up_a_silent_relay);
	tcase_add_loop_test(tcase, knows_what_a_relay_had, 0, sizeof(taken) / sizeof(*taken));
	suite_add_tcase(suite, tcase);
	return suite;
}

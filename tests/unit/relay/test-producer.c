/*
 * producer: the message that opens a session, by the minor version that both sides speak.
 */
#include <string.h>

#include "relay/producer.h"
#include "suites.h"

enum { HEADER = 24, FIXED = 59 };

/* @format: 0, the message has none. */
static const struct {
	uint32_t minor;
	bool is_ctf2;
	uint32_t format;
} sessions[] = {
	{ 11, false, 0 }, { 13, true, 0 }, { 14, false, 0 }, { 15, false, 1 }, { 15, true, 2 },
};

START_TEST(says_the_format)
{
	struct producer_session session = { .name = "one",
					    .host = "host",
					    .live_timer_us = 1000,
					    .minor = sessions[_i].minor,
					    .is_ctf2 = sessions[_i].is_ctf2 };
	size_t extra = sessions[_i].format ? 4 : 0;
	struct producer_message m = { 0 };

	producer_create_session(&m, &session);
	ck_assert_uint_eq(m.bytes.count,
			  HEADER + FIXED + extra + sizeof("one") + sizeof("host") + 1);
	ck_assert_uint_eq(wire_get_u64(m.bytes.at + 8), m.bytes.count - HEADER);
	if (extra) {
		ck_assert_uint_eq(wire_get_u32(m.bytes.at + HEADER + FIXED), sessions[_i].format);
	}
	ck_assert_str_eq((const char *)m.bytes.at + HEADER + FIXED + extra, "one");
	producer_message_fini(&m);
}
END_TEST

Suite *suite_producer(void)
{
	Suite *suite = suite_create("producer");
	TCase *tcase = tcase_create("producer");

	tcase_add_loop_test(tcase, says_the_format, 0, 5);
	suite_add_tcase(suite, tcase);
	return suite;
}

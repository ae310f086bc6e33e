/*
 * text: UTF-16 and UTF-32 to UTF-8.
 */
#include <string.h>

#include "ctf/metadata/text.h"
#include "suites.h"

#define BYTES(text) (const uint8_t *)(text), sizeof(text) - 1

static const struct {
	enum encoding encoding;
	const uint8_t *bytes;
	size_t len;
	const char *wanted;
} texts[] = {
	{ UTF_16LE, BYTES(""), "" },
	{ UTF_16LE, BYTES("h\0i\0"), "hi" },
	{ UTF_16BE, BYTES("\0h\0i"), "hi" },
	{ UTF_32LE, BYTES("h\0\0\0i\0\0\0"), "hi" },
	{ UTF_32BE, BYTES("\0\0\0h\0\0\0i"), "hi" },
	{ UTF_16LE, BYTES("h\0i"), "h" },            /* half a unit */
	{ UTF_16LE, BYTES("h\0\0\0i\0"), "h" },      /* up to U+0000 */
	{ UTF_16BE, BYTES("\x00\xE9"), "\xC3\xA9" }, /* two bytes */
	{ UTF_16BE, BYTES("\x20\xAC"), "\xE2\x82\xAC" },
	{ UTF_16BE, BYTES("\xD8\x3D\xDE\x00"), "\xF0\x9F\x98\x80" }, /* a pair: U+1F600 */
	{ UTF_32BE, BYTES("\x00\x01\xF6\x00"), "\xF0\x9F\x98\x80" },
	{ UTF_16BE, BYTES("\xD8\x3D\0x"), "\xEF\xBF\xBDx" }, /* half a pair */
	{ UTF_16BE, BYTES("\xDE\x00\0x"), "\xEF\xBF\xBDx" }, /* the other half */
	{ UTF_16BE, BYTES("\xD8\x3D"), "\xEF\xBF\xBD" },
	{ UTF_32BE, BYTES("\x00\x11\x00\x00"), "\xEF\xBF\xBD" }, /* beyond Unicode */
	{ UTF_32LE, BYTES("\x00\xD8\x00\x00"), "\xEF\xBF\xBD" }, /* a surrogate */
};

START_TEST(converts)
{
	uint8_t out[64];
	size_t len = text_to_utf8(texts[_i].encoding, texts[_i].bytes, texts[_i].len, out);

	ck_assert_uint_eq(len, strlen(texts[_i].wanted));
	ck_assert_int_eq(memcmp(out, texts[_i].wanted, len), 0);
	ck_assert_uint_le(len, TEXT_UTF8_BYTES_MAX(texts[_i].len));
}
END_TEST

Suite *suite_text(void)
{
	Suite *suite = suite_create("text");
	TCase *tcase = tcase_create("text");

	tcase_add_loop_test(tcase, converts, 0, (int)(sizeof(texts) / sizeof(texts[0])));
	suite_add_tcase(suite, tcase);
	return suite;
}

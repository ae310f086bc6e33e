/*
 * text: one loop over code units; each code is checked, then written as UTF-8.
 */
#include "ctf/metadata/text.h"

#include "base/check.h"

#define REPLACEMENT 0xFFFDu

static uint32_t load_unit(enum encoding encoding, const uint8_t *at)
{
	switch (encoding) {
	case UTF_16LE:
		return (uint32_t)(at[0] | at[1] << 8);
	case UTF_16BE:
		return (uint32_t)(at[0] << 8 | at[1]);
	case UTF_32LE:
		return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
		       (uint32_t)at[3] << 24;
	case UTF_32BE:
		return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 |
		       (uint32_t)at[3];
	case UTF_8:
		break;
	}
	return at[0];
}

static size_t put_utf8(uint32_t code, uint8_t *out)
{
	assert_hot(code <= 0x10FFFF);
	if (code < 0x80) {
		out[0] = (uint8_t)code;
		return 1;
	}
	if (code < 0x800) {
		out[0] = (uint8_t)(0xC0 | code >> 6);
		out[1] = (uint8_t)(0x80 | (code & 63));
		return 2;
	}
	if (code < 0x10000) {
		out[0] = (uint8_t)(0xE0 | code >> 12);
		out[1] = (uint8_t)(0x80 | (code >> 6 & 63));
		out[2] = (uint8_t)(0x80 | (code & 63));
		return 3;
	}
	out[0] = (uint8_t)(0xF0 | code >> 18);
	out[1] = (uint8_t)(0x80 | (code >> 12 & 63));
	out[2] = (uint8_t)(0x80 | (code >> 6 & 63));
	out[3] = (uint8_t)(0x80 | (code & 63));
	return 4;
}

size_t text_to_utf8(enum encoding encoding, const uint8_t *bytes, size_t len, uint8_t *out)
{
	unsigned int unit = type_encoding_unit(encoding);
	size_t written = 0;

	assert_hot(encoding != UTF_8); /* it could grow beyond the room */
	for (size_t at = 0; len - at >= unit; at += unit) {
		uint32_t code = load_unit(encoding, bytes + at);

		if (code == 0) {
			break;
		}
		if (unit == 2 && code >= 0xD800 && code < 0xDC00 && len - at >= 4) {
			uint32_t low = load_unit(encoding, bytes + at + 2);

			if (low >= 0xDC00 && low < 0xE000) {
				code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
				at += 2;
			}
		}
		if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) {
			code = REPLACEMENT;
		}
		written += put_utf8(code, out + written);
	}
	assert_hot(written <= TEXT_UTF8_BYTES_MAX(len));
	return written;
}

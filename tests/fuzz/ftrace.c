/*
 * ftrace: a hostile format and a hostile sub-buffer, as a file of another machine has them: a byte
 * of byte order and word size, two with the length of the format's text, the text, the sub-buffer.
 */
#include <stdlib.h>

#include "ftrace/convert.h"
#include "fuzz.h"

static uint64_t events; /* in packets */

static int take_text(void *user, const char *text, size_t len, struct err *err)
{
	return 0;
}

static int take_packet(void *user, const struct convert_packet *packet, struct err *err)
{
	events += packet->events;
	if (packet->len * 8 < packet->content_bits || packet->end < packet->begin) {
		abort();
	}
	return 0;
}

/* Converts the sub-buffer by the format, and looks at the account. */
static void convert_all(const struct ftrace_format *format, const struct ftrace_layout *layout,
			const uint8_t *bytes, size_t len)
{
	const struct convert_setup setup = { .clock_name = "monotonic",
					     .clock_frequency = 1000000000,
					     .machine = CONVERT_X86_64,
					     .cpus = 1,
					     .packet_bytes = 8192 };
	const struct convert_sink sink = { .metadata = take_text, .packet = take_packet };
	struct convert_account account;
	struct err err;
	struct convert *convert = convert_new(&setup, &sink, &err);

	events = 0;
	convert_layout(convert, layout);
	if (convert_format(convert, format, &err) == 0 && convert_start(convert, &err) == 0) {
		(void)convert_page(convert, 0, bytes, len, &err);
		if (convert_finish(convert, UINT64_MAX, &err) < 0) {
			abort();
		}
		convert_account(convert, 0, &account);
		if (account.written + account.unwanted + account.bad + account.too_large !=
			    account.read ||
		    events != account.written + account.derived) {
			abort();
		}
	}
	convert_free(convert);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ftrace_layout layout = { .bytes = 4096, .commit_at = 8 };
	/* Roles come with the name of the system. */
	static const char *const systems[] = { "sched", "raw_syscalls", "task", "other" };
	struct ftrace_format *format;
	struct err err;
	size_t len;

	if (size < 3) {
		return 0;
	}
	layout.is_big = data[0] & 1;
	layout.commit_size = data[0] & 2 ? 4 : 8;
	layout.data_at = 8 + layout.commit_size;
	len = (size_t)data[1] << 8 | data[2];
	len = len < size - 3 ? len : size - 3;
	if (ftrace_format_parse((const char *)data + 3, len, systems[data[0] >> 2 & 3], &format,
				&err) < 0) {
		if (!err.text[0]) {
			abort();
		}
		return 0;
	}
	convert_all(format, &layout, data + 3 + len, size - 3 - len);
	ftrace_format_free(format);
	return 0;
}

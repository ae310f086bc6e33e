/*
 * symbols-events: what LTTng-UST tells of images: its state dump, its lttng_ust_lib since 2.10, and
 * lttng_ust_dl where liblttng-ust-dl.so is preloaded; "soinfo" was before 2.9.
 */
#include "base/limits.h"
#include "base/mem.h"
#include "symbols/symbols.h"

enum { BASE, MEMSZ, PATH, BUILD_ID, CRC, LINK, SIZE, SOPATH, VPID };
#define FIELDS                                                                                     \
	{                                                                                          \
		"baddr", "memsz", "@path", "@build_id", "crc", "@filename", "size", "@sopath",     \
			"context.vpid"                                                             \
	}

enum { SAYS = SYMBOLS_ID }; /* ... or SYMBOLS_LINK */

/* Each may have what others have, too: its fields say that. */
#define EVENTS(X)                                                                                  \
	X("lttng_ust_statedump:bin_info", SYMBOLS_DUMPED)                                          \
	X("lttng_ust_statedump:soinfo", SYMBOLS_DUMPED)                                            \
	X("lttng_ust_statedump:build_id", SAYS)                                                    \
	X("lttng_ust_statedump:debug_link", SAYS)                                                  \
	X("lttng_ust_lib:load", SYMBOLS_LOADED)                                                    \
	X("lttng_ust_lib:unload", SYMBOLS_UNLOADED)                                                \
	X("lttng_ust_lib:build_id", SAYS)                                                          \
	X("lttng_ust_lib:debug_link", SAYS)                                                        \
	X("lttng_ust_dl:dlopen", SYMBOLS_LOADED)                                                   \
	X("lttng_ust_dl:dlmopen", SYMBOLS_LOADED)                                                  \
	X("lttng_ust_dl:dlclose", SYMBOLS_UNLOADED)                                                \
	X("lttng_ust_dl:build_id", SAYS)                                                           \
	X("lttng_ust_dl:debug_link", SAYS)

#define REQUEST(event_, kind_) { .event = event_, .fields = FIELDS },
#define KIND(event_, kind_)    kind_,

const struct plan_request symbols_requests[] = { EVENTS(REQUEST) };
static const uint8_t kinds[] = { EVENTS(KIND) };
const size_t symbols_request_count = ARRAY_COUNT(symbols_requests);

static bool has_field(uint16_t present, unsigned int field)
{
	return present >> field & 1;
}

/* Takes a text or bytes of the event. */
static bool take_image_bytes(struct symbols_event *event, uint16_t present,
			     const struct value *values, unsigned int field)
{
	if (!has_field(present, field) || values[field].len > SYMBOLS_TEXT_MAX) {
		return false;
	}
	event->bytes = values[field].bytes;
	event->len = values[field].len;
	return true;
}

static bool read_mapping(struct symbols_event *event, uint16_t present, const struct value *values)
{
	unsigned int size = has_field(present, MEMSZ) ? MEMSZ : SIZE;

	event->number = values[size].u;
	return has_field(present, size) &&
	       take_image_bytes(event, present, values, has_field(present, PATH) ? PATH : SOPATH);
}

static bool read_identity(struct symbols_event *event, uint16_t present, const struct value *values)
{
	if (has_field(present, BUILD_ID)) {
		return take_image_bytes(event, present, values, BUILD_ID);
	}
	event->says = SYMBOLS_LINK;
	event->number = values[CRC].u;
	return has_field(present, CRC) && take_image_bytes(event, present, values, LINK);
}

bool symbols_read(size_t request, uint16_t present, const struct value *values, uint64_t ts,
		  struct symbols_event *ret)
{
	*ret = (struct symbols_event){ .says = kinds[request], .ts = ts };
	if (!has_field(present, BASE)) {
		return false;
	}
	ret->place.base = values[BASE].u;
	ret->place.pid = has_field(present, VPID) ? values[VPID].i : 0;
	return ret->says == SYMBOLS_UNLOADED ||
	       (ret->says == SAYS ? read_identity(ret, present, values)
				  : read_mapping(ret, present, values));
}

void symbols_take(struct symbols *symbols, const struct symbols_event *event)
{
	const struct symbols_mapping mapping = { .place = event->place,
						 .ts = event->ts,
						 .size = event->number,
						 .was_before = event->says == SYMBOLS_DUMPED,
						 .path = (const char *)event->bytes,
						 .path_len = event->len };

	if (event->says == SYMBOLS_UNLOADED) {
		symbols_unmap(symbols, event->place, event->ts);
	} else if (event->says == SYMBOLS_INODE) {
		symbols_inode(symbols, event->place, event->number);
	} else if (event->says == SYMBOLS_ID) {
		symbols_build_id(symbols, event->place, event->bytes, event->len);
	} else if (event->says == SYMBOLS_LINK) {
		symbols_debug_link(symbols, event->place, (const char *)event->bytes, event->len,
				   (uint32_t)event->number);
	} else {
		symbols_map(symbols, &mapping);
	}
}

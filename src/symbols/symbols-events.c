/*
 * symbols-events: what LTTng-UST tells of images: its state dump, its lttng_ust_lib since 2.10, and
 * lttng_ust_dl where liblttng-ust-dl.so is preloaded; "soinfo" was before 2.9.
 */
#include <string.h>

#include "base/mem.h"
#include "symbols/symbols.h"

enum { BASE, MEMSZ, PATH, BUILD_ID, CRC, LINK, SIZE, SOPATH, VPID };
#define FIELDS                                                                                     \
	{                                                                                          \
		"baddr", "memsz", "@path", "@build_id", "crc", "@filename", "size", "@sopath",     \
			"context.vpid"                                                             \
	}

enum image_event { DUMPED, LOADED, UNLOADED, SAYS };

/* Each may have what others have, too: its fields say that. */
#define EVENTS(X)                                                                                  \
	X("lttng_ust_statedump:bin_info", DUMPED)                                                  \
	X("lttng_ust_statedump:soinfo", DUMPED)                                                    \
	X("lttng_ust_statedump:build_id", SAYS)                                                    \
	X("lttng_ust_statedump:debug_link", SAYS)                                                  \
	X("lttng_ust_lib:load", LOADED)                                                            \
	X("lttng_ust_lib:unload", UNLOADED)                                                        \
	X("lttng_ust_lib:build_id", SAYS)                                                          \
	X("lttng_ust_lib:debug_link", SAYS)                                                        \
	X("lttng_ust_dl:dlopen", LOADED)                                                           \
	X("lttng_ust_dl:dlmopen", LOADED)                                                          \
	X("lttng_ust_dl:dlclose", UNLOADED)                                                        \
	X("lttng_ust_dl:build_id", SAYS)                                                           \
	X("lttng_ust_dl:debug_link", SAYS)

#define REQUEST(event_, kind_) { .event = event_, .fields = FIELDS },
#define KIND(event_, kind_)    kind_,

const struct plan_request symbols_requests[] = { EVENTS(REQUEST) };
static const uint8_t kinds[] = { EVENTS(KIND) };
const size_t symbols_request_count = ARRAY_COUNT(symbols_requests);

static bool has_field(const struct plan_binding *binding, unsigned int field)
{
	return binding->present >> field & 1;
}

static void take_mapping(struct symbols *symbols, struct symbols_mapping *mapping,
			 const struct plan_binding *binding, const struct value *values)
{
	unsigned int size = has_field(binding, MEMSZ) ? MEMSZ : SIZE;
	unsigned int path = has_field(binding, PATH) ? PATH : SOPATH;

	if (has_field(binding, size) && has_field(binding, path)) {
		mapping->size = values[size].u;
		mapping->path = (const char *)values[path].bytes;
		mapping->path_len = values[path].len;
		symbols_map(symbols, mapping);
	}
}

void symbols_take(struct symbols *symbols, size_t request, const struct plan_binding *binding,
		  const struct value *values, uint64_t ts)
{
	enum image_event kind = (enum image_event)kinds[request];
	struct symbols_mapping mapping = { .ts = ts, .was_before = kind == DUMPED };

	if (!has_field(binding, BASE)) {
		return;
	}
	mapping.place.base = values[BASE].u;
	mapping.place.pid = has_field(binding, VPID) ? values[VPID].i : 0;
	if (kind == DUMPED || kind == LOADED) {
		take_mapping(symbols, &mapping, binding, values);
	} else if (kind == UNLOADED) {
		symbols_unmap(symbols, mapping.place, ts);
	} else if (has_field(binding, BUILD_ID)) {
		symbols_build_id(symbols, mapping.place, values[BUILD_ID].bytes,
				 values[BUILD_ID].len);
	} else if (has_field(binding, LINK) && has_field(binding, CRC)) {
		symbols_debug_link(symbols, mapping.place, (const char *)values[LINK].bytes,
				   values[LINK].len, (uint32_t)values[CRC].u);
	}
}

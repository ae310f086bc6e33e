/*
 * place: which container or service a thread is of, as recorders say it.
 */
#include <string.h>

#include "engine/contract/handler.h"
#include "engine/worker/records.h"
#include "engine/worker/worker-state.h"

/* Without a value: "", and what says that there is none. */
static struct value text_or_none(const struct trace_event *event, unsigned int field)
{
	const struct value *text = event_text(event, field);
	struct value none = { .len = 0 };

	return text && !(text->len >= 1 && text->bytes[0] == '-' &&
			 (text->len == 1 || text->bytes[1] == '\0'))
		       ? *text
		       : none;
}

/* A recorder says which container or service a thread is of. */
void worker_on_place(struct worker *worker, void *state, const struct trace_event *event,
		     uint32_t user)
{
	enum { NAME, TID, PID_NS, VPID, KIND };
	static const char service[] = "service";
	const struct value name = text_or_none(event, NAME), kind = text_or_none(event, KIND);
	uint64_t words[PLACE_WORDS] = { PLACE_NONE };
	size_t kind_len = strnlen((const char *)kind.bytes, kind.len);
	int32_t tid = (int32_t)event_i64(event, TID, 0);
	bool is_service = kind_len == strlen(service) && memcmp(kind.bytes, service, kind_len) == 0;
	struct record *record;

	if (tid <= 0) {
		return;
	}
	if (name.len > 0) {
		hash_brief((char *)(words + 1), CONTAINER_NAME_BYTES, name.bytes, name.len);
		words[0] = record_place_number(kind.bytes, kind_len, record_place_name(words));
	}
	record = worker_add(worker, worker_group_of(worker, tid), event->ts, RECORD_PLACE);
	record->arg64 = worker_numbers(worker, words, PLACE_WORDS);
	record->arg32 = (int32_t)event_u64(event, PID_NS, 0);
	record->arg16 = (event_i64(event, VPID, 0) == 1 ? RECORD_ENTERS : 0) |
			(kind_len > 0 && name.len > 0 && !is_service ? RECORD_NAMES : 0);
}

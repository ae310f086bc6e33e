/*
 * wake-source: see wake-source.h.
 */
#include "kernel/wake-source.h"

#include "ctf/plan/plan.h"

struct wake_source wake_source_among(const bool has[WAKE_EVENTS])
{
	struct wake_source source = {
		.kinds = { [WAKE_WAKEUP] = WAKE_CONFIRMS, [WAKE_WAKEUP_NEW] = WAKE_NEW },
		.has_wakeup = has[WAKE_WAKEUP],
	};
	enum wake_event event = has[WAKE_TTWU]     ? WAKE_TTWU
				: has[WAKE_WAKING] ? WAKE_WAKING
						   : WAKE_WAKEUP;

	source.kinds[event] = WAKE_SOURCE;
	return source;
}

struct wake_source wake_source_of(const struct plan *plan)
{
#define NAME(name, ...) name,
	static const char *const names[] = { WAKE_EVENTS_OF(NAME, 0) };
	bool has[WAKE_EVENTS];

	for (unsigned int i = 0; i < WAKE_EVENTS; i++) {
		has[i] = plan_has_event(plan, names[i]);
	}
	return wake_source_among(has);
}

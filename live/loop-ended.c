/*
 * loop-ended: sessions that have ended, while their relay lists them still: they, or others that
 * have their ids.
 */
#include <assert.h>
#include <string.h>

#include "base/hash.h"
#include "base/now.h"
#include "live/loop-state.h"

#define AGAIN_NS_MIN (NS_PER_S / 2)
#define AGAIN_NS_MAX (64 * NS_PER_S)

static uint64_t hash_name(const struct viewer_session *listed)
{
	return hash_text(hash_text(0, listed->host), listed->name);
}

static struct relay_ended *look_up_ended(const struct relay *relay,
					 const struct viewer_session *listed)
{
	for (size_t i = 0; i < relay->ended.count; i++) {
		if (relay->ended.at[i].id == listed->id &&
		    relay->ended.at[i].name == hash_name(listed)) {
			return &relay->ended.at[i];
		}
	}
	return NULL;
}

bool loop_is_again(const struct relay *relay, const struct viewer_session *listed)
{
	return look_up_ended(relay, listed) != NULL;
}

/*
 * It has ended, and may be listed still.  Relays do not list a session that is read to its end, so
 * this may be another one that has its id: it is attached to again, and its traces tell.  A relay
 * that does list it is asked less and less.
 */
static void plan_next_look(struct relay *relay, const struct session *session, bool is_news)
{
	const struct viewer_session *listed = session_listed(session);
	struct relay_ended *ended = look_up_ended(relay, listed);

	if (!ended) {
		ended = vec_push(&relay->ended);
		*ended = (struct relay_ended){ .id = listed->id, .name = hash_name(listed) };
	}
	ended->is_known = session_is_read(session);
	ended->retry_ns = is_news || ended->retry_ns == 0 ? AGAIN_NS_MIN : ended->retry_ns * 2;
	ended->retry_ns = ended->retry_ns > AGAIN_NS_MAX ? AGAIN_NS_MAX : ended->retry_ns;
	assert(ended->retry_ns >= AGAIN_NS_MIN);
	ended->retry_at = session_state(session) == SESSION_ENDED && listed->live_timer_us > 0
				  ? now_monotonic_ns() + ended->retry_ns
				  : UINT64_MAX;
}

void loop_note_ended(struct relay *relay, const struct session *session)
{
	const struct viewer_session *listed = session_listed(session);
	size_t count;
	const uint8_t *uuids = session_read_uuids(session, &count);

	for (size_t i = 0; i < count; i++) {
		struct relay_read *read = vec_push(&relay->read);

		read->name = hash_name(listed);
		memcpy(read->uuid, uuids + 16 * i, 16);
	}
	if (relay->state == RELAY_UP) {
		plan_next_look(relay, session, count > 0);
	} else { /* its relay is gone already, and another one may give the id to another session */
		relay->read_before = relay->read.count;
	}
}

bool loop_has_ended(const struct relay *relay, const struct viewer_session *listed)
{
	struct relay_ended *ended = look_up_ended(relay, listed);

	if (!ended || ended->retry_at > now_monotonic_ns()) {
		return ended != NULL;
	}
	if (!ended->is_known) {
		ended->retry_at = UINT64_MAX;
		if (relay->loop->config->verbosity >= 0) {
			loop_say(relay->loop,
				 "%s/%s is listed still, and not attached to again: its traces do "
				 "not tell whether it is the one that ended",
				 listed->host, listed->name);
		}
	}
	return !ended->is_known;
}

void loop_prune_ended(struct relay *relay, const struct viewer_reply *reply)
{
	size_t left = 0;

	for (size_t i = 0; i < relay->ended.count; i++) {
		struct relay_ended ended = relay->ended.at[i];
		bool is_listed = false;

		for (uint32_t k = 0; k < reply->count; k++) {
			is_listed |= reply->sessions[k].id == ended.id &&
				     hash_name(&reply->sessions[k]) == ended.name;
		}
		if (is_listed) {
			relay->ended.at[left++] = ended;
		}
	}
	relay->ended.count = left;
}

bool loop_was_read(void *user, const struct session *session, const uint8_t *uuid)
{
	const struct relay *relay = loop_relay_of(user, session);
	size_t count = !relay                      ? 0
		       : session_is_again(session) ? relay->read.count
						   : relay->read_before;

	for (size_t i = 0; i < count; i++) {
		const struct relay_read *read = &relay->read.at[i];

		if (read->name == hash_name(session_listed(session)) &&
		    (!uuid || memcmp(read->uuid, uuid, 16) == 0)) {
			return true;
		}
	}
	return false;
}

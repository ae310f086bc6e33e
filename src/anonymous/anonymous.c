/*
 * anonymous: see anonymous.h; keys, words and bytes.
 */
#include "anonymous/anonymous.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "anonymous/anonymous-parts.h"
#include "base/hash.h"
#include "base/mem.h"

/* Between words; none has to be escaped in metadata. */
#define SEPARATORS "/:[]()=, "
/* Names of traces are in small letters, as a rule: no pseudonym contains one by chance. */
#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
/* Where all short words of those are taken. */
#define LETTERS_MORE LETTERS "abcdefghijklmnopqrstuvwxyz0189_+"
#define TRIES        64   /* of the first, then ... */
#define TRIES_MORE   4096 /* ... of the second; then two words become one */
/* Distinct short words that are kept apart: a trace with more has names that are made of numbers,
 * and room for them. */
#define SHORT_MAX (4u << 20)

struct word {
	char text[ANONYMOUS_SHORT];
};

HASH_MAP(words_by_hash, struct word)
HASH_MAP(taken_words, bool)

struct anonymous {
	uint8_t key[ANONYMOUS_KEY_BYTES];
	struct words_by_hash words; /* short ones, by their hash */
	struct taken_words taken;   /* pseudonyms that they have, by theirs */
	uint8_t *room;              /* for what is hashed */
	size_t room_bytes;
};

int anonymous_key(uint8_t key[ANONYMOUS_KEY_BYTES], struct err *err)
{
	if (getrandom(key, ANONYMOUS_KEY_BYTES, 0) != ANONYMOUS_KEY_BYTES) {
		return err_raise(err, -EIO, "getrandom: %s", strerror(errno));
	}
	return 0;
}

struct anonymous *anonymous_new(const uint8_t key[ANONYMOUS_KEY_BYTES])
{
	struct anonymous *anonymous = mem_alloc(sizeof(*anonymous));

	memcpy(anonymous->key, key, ANONYMOUS_KEY_BYTES);
	return anonymous;
}

void anonymous_free(struct anonymous *anonymous)
{
	if (anonymous) {
		words_by_hash_fini(&anonymous->words);
		taken_words_fini(&anonymous->taken);
		free(anonymous->room);
		explicit_bzero(anonymous->key, sizeof(anonymous->key));
		free(anonymous);
	}
}

/* ---- pseudonyms ---- */

/* Of what a hash is: a word in another role has another one. */
enum role { AS_WORD, AS_BYTES, AS_TAKEN, AS_MORE };

/* The hash of @len bytes in a role; different ones for each @turn. */
static uint64_t hash_of(struct anonymous *anonymous, enum role role, uint32_t turn,
			const void *bytes, size_t len)
{
	uint8_t *room = anonymous->room;

	if (len + 5 > anonymous->room_bytes) {
		anonymous->room_bytes = 2 * (len + 5);
		room = anonymous->room = mem_realloc(room, anonymous->room_bytes);
	}
	room[0] = (uint8_t)role;
	memcpy(room + 1, &turn, sizeof(turn));
	memcpy(room + 5, bytes, len);
	return anonymous_hash(anonymous->key, room, len + 5);
}

/* One of the pseudonyms of what has @len bytes; @to is none of these.  They are hashed once,
 * however many there are: more of a long one comes from that hash and a count. */
static void make_pseudonym(struct anonymous *anonymous, enum role role, uint32_t try,
			   const void *bytes, size_t len, char *to)
{
	const char *letters = try < TRIES ? LETTERS : LETTERS_MORE;
	unsigned int bits = role == AS_BYTES ? 8 : try < TRIES ? 5 : 6;
	uint64_t more[2] = { hash_of(anonymous, role, try, bytes, len), 0 }, hash = more[0];

	for (size_t i = 0, left = 64; i < len; i++, left -= bits) {
		if (left < bits) {
			more[1]++;
			hash = hash_of(anonymous, AS_MORE, 0, more, sizeof(more));
			left = 64;
		}
		to[i] = role == AS_BYTES ? (char)hash : letters[hash & ((1u << bits) - 1)];
		hash >>= bits;
	}
}

/* The same of a short one: no other has it, and it is not its own. */
static void make_apart(struct anonymous *anonymous, enum role role, const void *bytes, size_t len,
		       char *to)
{
	uint64_t hash = hash_of(anonymous, role, UINT32_MAX, bytes, len), taken;
	struct word *known = words_by_hash_get(&anonymous->words, hash), word = { "" };
	bool is_new = false;

	assert(len <= ANONYMOUS_SHORT);
	for (uint32_t try = 0; !known && !is_new && try < TRIES_MORE; try++) {
		make_pseudonym(anonymous, role, try, bytes, len, word.text);
		taken = hash_of(anonymous, AS_TAKEN, (uint32_t)role, word.text, len);
		is_new = memcmp(word.text, bytes, len) != 0 &&
			 !taken_words_get(&anonymous->taken, taken);
		if (is_new) {
			*taken_words_put(&anonymous->taken, taken, NULL) = true;
		}
	}
	if (!known) {
		*words_by_hash_put(&anonymous->words, hash, NULL) = word;
		known = &word;
	}
	memcpy(to, known->text, len);
}

static void replace_word(struct anonymous *anonymous, enum role role, const void *bytes, size_t len,
			 char *to)
{
	char *made;

	if (len <= ANONYMOUS_SHORT && anonymous->words.used < SHORT_MAX) {
		make_apart(anonymous, role, bytes, len, to);
		return;
	}
	made = mem_alloc(len);
	make_pseudonym(anonymous, role, 0, bytes, len, made);
	memcpy(to, made, len);
	free(made);
}

/* ---- words ---- */

/* Words that analyses know: kinds of files in a state dump, of places of a process, parts of paths
 * that are no names. */
static bool stays(const char *word, size_t len)
{
	static const char *const words[] = { "pipe", "socket", "anon_inode", "service",
					     "-",    ".",      ".." };

	for (size_t i = 0; i < ARRAY_COUNT(words); i++) {
		if (strlen(words[i]) == len && memcmp(words[i], word, len) == 0) {
			return true;
		}
	}
	return false;
}

void anonymous_text(struct anonymous *anonymous, const char *text, size_t len, char *to)
{
	for (size_t at = 0, end; at < len; at = end) {
		end = at;
		while (end < len && !(text[end] && strchr(SEPARATORS, text[end]))) {
			end++;
		}
		if (end == at) {
			to[at] = text[at];
			end++;
		} else if (stays(text + at, end - at)) {
			memmove(to + at, text + at, end - at);
		} else {
			replace_word(anonymous, AS_WORD, text + at, end - at, to + at);
		}
	}
}

void anonymous_bytes(struct anonymous *anonymous, const uint8_t *bytes, size_t len, uint8_t *to)
{
	bool is_zero = true;

	for (size_t i = 0; i < len && is_zero; i++) {
		is_zero = bytes[i] == 0;
	}
	if (is_zero) {
		memset(to, 0, len);
	} else {
		replace_word(anonymous, AS_BYTES, bytes, len, (char *)to);
	}
}

char *anonymous_copy(struct anonymous *anonymous, const char *text)
{
	char *copy = mem_strdup(text);

	anonymous_text(anonymous, text, strlen(text), copy);
	return copy;
}

char *anonymous_stream(struct anonymous *anonymous, const char *name)
{
	const char *cpu = strrchr(name, '_');
	size_t len = cpu && cpu[1] && strspn(cpu + 1, "0123456789") == strlen(cpu + 1)
			     ? (size_t)(cpu - name)
			     : strlen(name);
	char *copy = mem_strdup(name);

	anonymous_text(anonymous, name, len, copy);
	return copy;
}

/* kernel, ust/uid/1000/64-bit, ust/pid/... */
static bool is_part_of_lttng(const char *part, size_t len)
{
	static const char *const parts[] = { "kernel", "ust", "uid", "pid", "64-bit", "32-bit" };

	for (size_t i = 0; i < ARRAY_COUNT(parts); i++) {
		if (strlen(parts[i]) == len && memcmp(parts[i], part, len) == 0) {
			return true;
		}
	}
	return strspn(part, "0123456789") >= len;
}

char *anonymous_path(struct anonymous *anonymous, const char *path)
{
	char *copy = mem_strdup(path);

	for (size_t at = 0, len; copy[at]; at += len + (copy[at + len] == '/')) {
		len = strcspn(copy + at, "/");
		if (!is_part_of_lttng(copy + at, len)) {
			anonymous_text(anonymous, path + at, len, copy + at);
		}
	}
	return copy;
}

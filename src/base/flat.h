/*
 * flat: values of fixed width one behind the other, in little endian order, as bytes.
 *
 * Whoever reads takes what there is: behind the end all is 0, and the reader says so once, when it
 * is asked (flat_in.is_short).
 */
#ifndef SILLAGE_BASE_FLAT_H
#define SILLAGE_BASE_FLAT_H

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"

struct flat_out {
	VEC(uint8_t) bytes;
};

static inline void flat_put(struct flat_out *out, const void *bytes, size_t len)
{
	vec_append(&out->bytes, (const uint8_t *)bytes, len);
}

static inline void flat_put_u8(struct flat_out *out, uint8_t value)
{
	*vec_push(&out->bytes) = value;
}

static inline void flat_put_u16(struct flat_out *out, uint16_t value)
{
	value = htole16(value);
	flat_put(out, &value, sizeof(value));
}

static inline void flat_put_u32(struct flat_out *out, uint32_t value)
{
	value = htole32(value);
	flat_put(out, &value, sizeof(value));
}

static inline void flat_put_u64(struct flat_out *out, uint64_t value)
{
	value = htole64(value);
	flat_put(out, &value, sizeof(value));
}

/* NULL is as an empty one. */
static inline void flat_put_text(struct flat_out *out, const char *text)
{
	size_t len = text ? strlen(text) : 0;

	flat_put_u32(out, (uint32_t)len);
	flat_put(out, text, len);
}

struct flat_in {
	const uint8_t *at;
	size_t left;
	bool is_short; /* more was asked for than there is */
};

/* The next @len bytes; NULL if there are not so many. */
static inline const uint8_t *flat_get(struct flat_in *in, size_t len)
{
	const uint8_t *bytes = in->at;

	if (len > in->left) {
		in->is_short = true;
		in->left = 0;
		return NULL;
	}
	in->at += len;
	in->left -= len;
	return bytes;
}

static inline uint8_t flat_get_u8(struct flat_in *in)
{
	const uint8_t *bytes = flat_get(in, 1);

	return bytes ? *bytes : 0;
}

static inline uint16_t flat_get_u16(struct flat_in *in)
{
	uint16_t value = 0;
	const uint8_t *bytes = flat_get(in, sizeof(value));

	if (bytes) {
		memcpy(&value, bytes, sizeof(value));
	}
	return le16toh(value);
}

static inline uint32_t flat_get_u32(struct flat_in *in)
{
	uint32_t value = 0;
	const uint8_t *bytes = flat_get(in, sizeof(value));

	if (bytes) {
		memcpy(&value, bytes, sizeof(value));
	}
	return le32toh(value);
}

static inline uint64_t flat_get_u64(struct flat_in *in)
{
	uint64_t value = 0;
	const uint8_t *bytes = flat_get(in, sizeof(value));

	if (bytes) {
		memcpy(&value, bytes, sizeof(value));
	}
	return le64toh(value);
}

/* How many of something follow, each of which takes @each bytes at least: never more than there
 * can be, so that memory may be taken for them. */
static inline uint32_t flat_get_count(struct flat_in *in, size_t each)
{
	uint32_t count = flat_get_u32(in);

	if (count > in->left / each) {
		in->is_short = true;
		in->left = 0;
		return 0;
	}
	return count;
}

/* To be freed; NULL if it is empty, or has a zero inside. */
static inline char *flat_get_text(struct flat_in *in)
{
	uint32_t len = flat_get_count(in, 1);
	const uint8_t *bytes = flat_get(in, len);
	char *text;

	if (!bytes || len == 0 || memchr(bytes, 0, len)) {
		return NULL;
	}
	text = mem_alloc((size_t)len + 1);
	memcpy(text, bytes, len);
	return text;
}

/*
 * Either way: the same function writes a value, or reads it, so that both cannot differ.  What is
 * read may be anybody's bytes: flat_check() looks at it.
 *
 *     flat_u64(flat, &disk->depth);
 *     flat_check(flat, disk->depth <= DEPTH_MAX);
 */
struct flat {
	struct flat_out *out; /* NULL: it is read */
	struct flat_in *in;
	bool is_wrong; /* what was read cannot be */
};

static inline bool flat_reads(const struct flat *flat)
{
	return flat->out == NULL;
}

/* Whether it can go on; of what is written, always. */
static inline bool flat_check(struct flat *flat, bool is_right)
{
	flat->is_wrong |= flat_reads(flat) && (!is_right || flat->in->is_short);
	return !flat->is_wrong;
}

static inline void flat_bytes(struct flat *flat, void *bytes, size_t len)
{
	const uint8_t *from;

	if (flat->out) {
		flat_put(flat->out, bytes, len);
		return;
	}
	from = flat_get(flat->in, len);
	if (from) {
		memcpy(bytes, from, len);
	} else {
		memset(bytes, 0, len);
	}
}

static inline void flat_u8(struct flat *flat, uint8_t *value)
{
	flat_bytes(flat, value, 1);
}

static inline void flat_bool(struct flat *flat, bool *value)
{
	uint8_t byte = flat->out && *value;

	flat_u8(flat, &byte);
	*value = byte != 0;
}

static inline void flat_u16(struct flat *flat, uint16_t *value)
{
	if (flat->out) {
		flat_put_u16(flat->out, *value);
	} else {
		*value = flat_get_u16(flat->in);
	}
}

static inline void flat_u32(struct flat *flat, uint32_t *value)
{
	if (flat->out) {
		flat_put_u32(flat->out, *value);
	} else {
		*value = flat_get_u32(flat->in);
	}
}

static inline void flat_i32(struct flat *flat, int32_t *value)
{
	uint32_t bits = (uint32_t)*value;

	flat_u32(flat, &bits);
	*value = (int32_t)bits;
}

static inline void flat_u64(struct flat *flat, uint64_t *value)
{
	if (flat->out) {
		flat_put_u64(flat->out, *value);
	} else {
		*value = flat_get_u64(flat->in);
	}
}

static inline void flat_i64(struct flat *flat, int64_t *value)
{
	uint64_t bits = (uint64_t)*value;

	flat_u64(flat, &bits);
	*value = (int64_t)bits;
}

/* How many of something follow, each of @each bytes at least. */
static inline size_t flat_count(struct flat *flat, size_t count, size_t each)
{
	if (flat->out) {
		flat_put_u32(flat->out, (uint32_t)count);
		return count;
	}
	return flat_get_count(flat->in, each);
}

/* A text of the heap, or NULL, which is as an empty one. */
static inline void flat_text(struct flat *flat, char **text)
{
	if (flat->out) {
		flat_put_text(flat->out, *text);
	} else {
		free(*text);
		*text = flat_get_text(flat->in);
	}
}

#endif

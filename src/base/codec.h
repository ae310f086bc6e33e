/*
 * flat: values of fixed width one behind the other, in little endian order, as bytes.
 *
 * The same function writes a value or reads it, so that both cannot differ:
 *
 *     flat_u64(flat, &disk->depth);
 *     flat_check(flat, disk->depth <= DEPTH_MAX);
 *
 * What is read may be anybody's bytes: flat_check() looks at it.  Behind the end all is 0, and
 * is_wrong says so once, when it is asked.
 */
#ifndef SILLAGE_BASE_CODEC_H
#define SILLAGE_BASE_CODEC_H

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"

struct flat_out {
	VEC(uint8_t) bytes;
};

struct flat {
	struct flat_out *out; /* NULL: it is read, from ... */
	const uint8_t *at;    /* ... here */
	size_t left;
	bool is_wrong; /* what was read cannot be, or is not all there */
};

static inline bool flat_reads(const struct flat *flat)
{
	return flat->out == NULL;
}

/* Whether it can go on; of what is written, always. */
static inline bool flat_check(struct flat *flat, bool is_right)
{
	flat->is_wrong |= flat_reads(flat) && !is_right;
	return !flat->is_wrong;
}

/* The next @len bytes of what is read; NULL if there are not so many. */
static inline const uint8_t *flat_next(struct flat *flat, size_t len)
{
	const uint8_t *bytes = flat->at;

	if (len > flat->left) {
		flat->is_wrong = true;
		flat->left = 0;
		return NULL;
	}
	flat->at += len;
	flat->left -= len;
	return bytes;
}

static inline void flat_bytes(struct flat *flat, void *bytes, size_t len)
{
	const uint8_t *from;

	if (flat->out) {
		vec_append(&flat->out->bytes, (const uint8_t *)bytes, len);
		return;
	}
	from = flat_next(flat, len);
	if (from) {
		memcpy(bytes, from, len);
	} else {
		memset(bytes, 0, len);
	}
}

static inline void flat_u8(struct flat *flat, uint8_t *value)
{
	flat_bytes(flat, value, sizeof(*value));
}

static inline void flat_u16(struct flat *flat, uint16_t *value)
{
	uint16_t bits = htole16(*value);

	flat_bytes(flat, &bits, sizeof(bits));
	*value = le16toh(bits);
}

static inline void flat_u32(struct flat *flat, uint32_t *value)
{
	uint32_t bits = htole32(*value);

	flat_bytes(flat, &bits, sizeof(bits));
	*value = le32toh(bits);
}

static inline void flat_u64(struct flat *flat, uint64_t *value)
{
	uint64_t bits = htole64(*value);

	flat_bytes(flat, &bits, sizeof(bits));
	*value = le64toh(bits);
}

static inline void flat_i32(struct flat *flat, int32_t *value)
{
	uint32_t bits = (uint32_t)*value;

	flat_u32(flat, &bits);
	*value = (int32_t)bits;
}

static inline void flat_i64(struct flat *flat, int64_t *value)
{
	uint64_t bits = (uint64_t)*value;

	flat_u64(flat, &bits);
	*value = (int64_t)bits;
}

static inline void flat_bool(struct flat *flat, bool *value)
{
	uint8_t byte = flat->out && *value;

	flat_u8(flat, &byte);
	*value = byte != 0;
}

/* How many of something follow, each of @each bytes at least: never more than there can be, so that
 * memory may be taken for them. */
static inline size_t flat_count(struct flat *flat, size_t count, size_t each)
{
	uint32_t bits = (uint32_t)count;

	flat_u32(flat, &bits);
	return flat_check(flat, bits <= flat->left / each) ? bits : 0;
}

/* The element @i of an array: one that is read is made, zeroed, behind those before. */
#define flat_at(flat, v, i)                                                                        \
	(flat_reads(flat) ? memset(vec_push(v), 0, sizeof(*(v)->at)) : (void *)&(v)->at[i])

/* Writes a text; NULL is as an empty one. */
static inline void flat_put_text(struct flat *flat, const char *text)
{
	size_t len = flat_count(flat, text ? strlen(text) : 0, 1);

	if (text) {
		vec_append(&flat->out->bytes, (const uint8_t *)text, len);
	}
}

/* The same either way: what is read is of the heap, or NULL; what was there is freed. */
static inline void flat_text(struct flat *flat, char **text)
{
	const uint8_t *bytes;
	size_t len;

	if (flat->out) {
		flat_put_text(flat, *text);
		return;
	}
	free(*text);
	*text = NULL;
	len = flat_count(flat, 0, 1);
	bytes = flat_next(flat, len);
	if (bytes && len > 0 && flat_check(flat, !memchr(bytes, 0, len))) {
		*text = mem_alloc(len + 1);
		memcpy(*text, bytes, len);
	}
}

#endif

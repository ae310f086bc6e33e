/*
 * flat: values of fixed width one behind the other, in little endian order, as bytes.
 *
 * The same function writes a value or reads it, so that both cannot differ:
 *
 *     codec_u64(flat, &disk->depth);
 *     codec_check(flat, disk->depth <= DEPTH_MAX);
 *
 * What is read may be anybody's bytes: codec_check() looks at it.  Behind the end all is 0, and
 * is_wrong says so once, when it is asked.
 */
#ifndef SILLAGE_BASE_CODEC_H
#define SILLAGE_BASE_CODEC_H

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"

struct codec_out {
	VEC(uint8_t) bytes;
};

struct codec {
	struct codec_out *out; /* NULL: it is read, from ... */
	const uint8_t *at;     /* ... here */
	size_t left;
	bool is_wrong; /* what was read cannot be, or is not all there */
};

static inline bool codec_reads(const struct codec *codec)
{
	return codec->out == NULL;
}

/* Whether it can go on; of what is written, always. */
static inline bool codec_check(struct codec *codec, bool is_right)
{
	codec->is_wrong |= codec_reads(codec) && !is_right;
	return !codec->is_wrong;
}

/* The next @len bytes of what is read; NULL if there are not so many. */
static inline const uint8_t *codec_next(struct codec *codec, size_t len)
{
	const uint8_t *bytes = codec->at;

	if (len > codec->left) {
		codec->is_wrong = true;
		codec->left = 0;
		return NULL;
	}
	codec->at += len;
	codec->left -= len;
	return bytes;
}

static inline void codec_bytes(struct codec *codec, void *bytes, size_t len)
{
	const uint8_t *from;

	if (codec->out) {
		vec_append(&codec->out->bytes, (const uint8_t *)bytes, len);
		return;
	}
	from = codec_next(codec, len);
	if (from) {
		memcpy(bytes, from, len);
	} else {
		memset(bytes, 0, len);
	}
}

static inline void codec_u8(struct codec *codec, uint8_t *value)
{
	codec_bytes(codec, value, sizeof(*value));
}

static inline void codec_u16(struct codec *codec, uint16_t *value)
{
	uint16_t bits = htole16(*value);

	codec_bytes(codec, &bits, sizeof(bits));
	*value = le16toh(bits);
}

static inline void codec_u32(struct codec *codec, uint32_t *value)
{
	uint32_t bits = htole32(*value);

	codec_bytes(codec, &bits, sizeof(bits));
	*value = le32toh(bits);
}

static inline void codec_u64(struct codec *codec, uint64_t *value)
{
	uint64_t bits = htole64(*value);

	codec_bytes(codec, &bits, sizeof(bits));
	*value = le64toh(bits);
}

static inline void codec_i32(struct codec *codec, int32_t *value)
{
	uint32_t bits = (uint32_t)*value;

	codec_u32(codec, &bits);
	*value = (int32_t)bits;
}

static inline void codec_i64(struct codec *codec, int64_t *value)
{
	uint64_t bits = (uint64_t)*value;

	codec_u64(codec, &bits);
	*value = (int64_t)bits;
}

static inline void codec_bool(struct codec *codec, bool *value)
{
	uint8_t byte = codec->out && *value;

	codec_u8(codec, &byte);
	*value = byte != 0;
}

/* How many of something follow, each of @each bytes at least: never more than there can be, so that
 * memory may be taken for them. */
static inline size_t codec_count(struct codec *codec, size_t count, size_t each)
{
	uint32_t bits = (uint32_t)count;

	codec_u32(codec, &bits);
	return codec_check(codec, bits <= codec->left / each) ? bits : 0;
}

/* The element @i of an array: one that is read is made, zeroed, behind those before. */
#define codec_at(codec, v, i)                                                                      \
	(codec_reads(codec) ? memset(vec_push(v), 0, sizeof(*(v)->at)) : (void *)&(v)->at[i])

/* Writes a text; NULL is as an empty one. */
static inline void codec_put_text(struct codec *codec, const char *text)
{
	size_t len = codec_count(codec, text ? strlen(text) : 0, 1);

	if (text) {
		vec_append(&codec->out->bytes, (const uint8_t *)text, len);
	}
}

/* The same either way: what is read is of the heap, or NULL; what was there is freed. */
static inline void codec_text(struct codec *codec, char **text)
{
	const uint8_t *bytes;
	size_t len;

	if (codec->out) {
		codec_put_text(codec, *text);
		return;
	}
	free(*text);
	*text = NULL;
	len = codec_count(codec, 0, 1);
	bytes = codec_next(codec, len);
	if (bytes && len > 0 && codec_check(codec, !memchr(bytes, 0, len))) {
		*text = mem_alloc(len + 1);
		memcpy(*text, bytes, len);
	}
}

#endif

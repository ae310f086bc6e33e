/*
 * codec: values of fixed width as bytes, little endian, without padding.
 *
 * The same function writes a value or reads it, so that the two cannot differ:
 *
 *     codec_each(codec, &disk->depth, &disk->since);
 *     codec_check(codec, disk->depth <= DEPTH_MAX);
 *
 * Bytes that are read are untrusted, so each value needs a codec_check() for what the program
 * assumes about it.  Beyond the end every value is 0.  `is_wrong` records both kinds of fault; the
 * caller looks at it once, at the end.
 */
#pragma once

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"

struct codec_out {
	VEC(uint8_t) bytes;
};

struct codec {
	struct codec_out *out; /* where it writes; NULL: it reads */
	const uint8_t *at;     /* reading: the next byte, borrowed */
	size_t left;           /* reading: bytes from there on */
	bool is_wrong;         /* reading: a value is impossible, or bytes are missing */
};

static inline bool codec_reads(const struct codec *codec)
{
	return codec->out == NULL;
}

/* Reading: records a fault unless @is_right.  False after any fault; writing never has one. */
static inline bool codec_check(struct codec *codec, bool is_right)
{
	if (codec_reads(codec) && !is_right) {
		codec->is_wrong = true;
	}
	return !codec->is_wrong;
}

/* The next @len bytes that are read, borrowed; NULL: fewer are left. */
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

/* A finite number of a size of at most @most. */
static inline void codec_real(struct codec *codec, double *value, double most)
{
	uint64_t bits;

	memcpy(&bits, value, sizeof(bits));
	codec_u64(codec, &bits);
	memcpy(value, &bits, sizeof(bits));
	if (!codec_check(codec, *value >= -most && *value <= most)) {
		*value = 0;
	}
}

/* The value at a pointer, in the form of its type. */
#define codec_one(codec, at)                                                                       \
	_Generic((at), uint64_t * : codec_u64, int64_t * : codec_i64, uint32_t * : codec_u32,      \
		 int32_t * : codec_i32, uint16_t * : codec_u16, uint8_t * : codec_u8,              \
		 bool * : codec_bool)(codec, at)

/* The same of up to eight pointers. */
#define codec_each(...)                                                                            \
	CODEC_PICK(__VA_ARGS__, CODEC_8, CODEC_7, CODEC_6, CODEC_5, CODEC_4, CODEC_3, CODEC_2,     \
		   codec_one, )                                                                    \
	(__VA_ARGS__)
#define CODEC_PICK(codec, a, b, c, d, e, f, g, h, name, ...) name

#define CODEC_2(c, at, ...) (codec_one(c, at), codec_one(c, __VA_ARGS__))
#define CODEC_3(c, at, ...) (codec_one(c, at), CODEC_2(c, __VA_ARGS__))
#define CODEC_4(c, at, ...) (codec_one(c, at), CODEC_3(c, __VA_ARGS__))
#define CODEC_5(c, at, ...) (codec_one(c, at), CODEC_4(c, __VA_ARGS__))
#define CODEC_6(c, at, ...) (codec_one(c, at), CODEC_5(c, __VA_ARGS__))
#define CODEC_7(c, at, ...) (codec_one(c, at), CODEC_6(c, __VA_ARGS__))
#define CODEC_8(c, at, ...) (codec_one(c, at), CODEC_7(c, __VA_ARGS__))

/* How many elements follow, of at least @each bytes.  Reading: never more than the bytes that are
 * left can hold, so the caller may allocate for all of them. */
static inline size_t codec_count(struct codec *codec, size_t count, size_t each)
{
	uint32_t bits = (uint32_t)count;

	codec_u32(codec, &bits);
	return codec_check(codec, bits <= codec->left / each) ? bits : 0;
}

/* The element @i of an array; reading adds it, zeroed. */
#define codec_at(codec, v, i)                                                                      \
	(codec_reads(codec) ? memset(vec_push(v), 0, sizeof(*(v)->at)) : (void *)&(v)->at[i])

/* Writes a text; NULL is written as an empty one. */
static inline void codec_put_text(struct codec *codec, const char *text)
{
	size_t len = codec_count(codec, text ? strlen(text) : 0, 1);

	if (text) {
		vec_append(&codec->out->bytes, (const uint8_t *)text, len);
	}
}

/* Writes a text, or reads it into the heap in place of the one that was there; "" is read as NULL.
 */
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

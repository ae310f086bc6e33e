/*
 * codec: values of fixed width as bytes, little endian, without padding.
 *
 * The same function writes a value or reads it, so that the two cannot differ:
 *
 *     codec_u64(codec, &disk->depth);
 *     codec_check(codec, disk->depth <= DEPTH_MAX);
 *
 * Bytes that are read are untrusted, so each value needs a codec_check() for what the program
 * assumes about it.  Beyond the end every value is 0.  `is_wrong` records both kinds of fault; the
 * caller looks at it once, at the end.
 *
 * A struct of many values may have a table of its members instead: codec_fields().
 */
#ifndef SILLAGE_BASE_CODEC_H
#define SILLAGE_BASE_CODEC_H

#include <assert.h>
#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
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
	codec->is_wrong |= codec_reads(codec) && !is_right;
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

/* A member of a struct; the last of a table is all zero. */
struct codec_field {
	uint16_t at;
	uint8_t form; /* its bytes, or CODEC_BOOL */
};
#define CODEC_BOOL 255

#define CODEC_MEMBER(type, member) (((type *)NULL)->member)
#define CODEC_FIELD(type, member)                                                                  \
	{                                                                                          \
		offsetof(type, member), _Generic(CODEC_MEMBER(type, member), bool                  \
						 : CODEC_BOOL, default                             \
						 : sizeof(CODEC_MEMBER(type, member)))             \
	}

static inline void codec_field(struct codec *codec, uint8_t form, void *value)
{
	switch (form) {
	case 1:
		codec_u8(codec, value);
		break;
	case 2:
		codec_u16(codec, value);
		break;
	case 4:
		codec_u32(codec, value);
		break;
	case 8:
		codec_u64(codec, value);
		break;
	default:
		assert(form == CODEC_BOOL);
		codec_bool(codec, value);
		break;
	}
}

/* Writes or reads the members of @object that a table names. */
static inline void codec_fields(struct codec *codec, const struct codec_field *fields, void *object)
{
	for (; fields->form != 0; fields++) {
		codec_field(codec, fields->form, (uint8_t *)object + fields->at);
	}
}

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

#endif

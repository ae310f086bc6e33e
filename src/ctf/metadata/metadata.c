/*
 * metadata: removes the packet headers of a metadata stream and feeds the text to the parser of
 * the language in which it starts.
 */
#include "ctf/metadata/metadata.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/account.h"
#include "base/limits.h"
#include "base/mem.h"
#include "ctf/metadata/ctf2.h"
#include "ctf/metadata/tsdl.h"

/* A metadata packet's header (CTF 1.8.3, 7.1), packed, in the trace's byte order. */
#define HEADER_BYTES       37
#define HEADER_AT_CONTENT  24
#define HEADER_AT_PACKET   28
#define HEADER_AT_COMPRESS 32
#define HEADER_AT_ENCRYPT  33
#define HEADER_AT_MAJOR    35
#define HEADER_AT_MINOR    36
#define METADATA_MAGIC     0x75D11D57u

#define TEXT_KEPT_BYTES ((size_t)16384)

struct metadata_stream {
	struct arena arena;
	struct metadata_notes notes; /* in the arena */
	struct tsdl *tsdl;           /* CTF 1.8 ... */
	struct ctf2 *ctf2;           /* ... or CTF 2; both NULL before the first text */
	VEC(char) raw;               /* not yet unpacked */
	VEC(char) text;              /* not yet parsed */
	VEC(char) all;               /* all text, if keeps_text */
	bool keeps_text;
	size_t total; /* bytes fed so far */
	size_t held;  /* bytes of raw, text and all that the account has */
	uint64_t packets;
};

struct metadata_stream *metadata_stream_new(void)
{
	struct metadata_stream *stream = mem_alloc(sizeof(*stream));

	stream->arena.max = METADATA_ARENA_BYTES_MAX;
	stream->notes.arena = &stream->arena;
	return stream;
}

void metadata_stream_count(struct metadata_stream *stream, struct account *account)
{
	assert(stream->total == 0);
	stream->arena.account = account;
}

/* What is left of large arrays is one declaration, at most. */
static void shrink(char **at, size_t count, size_t *room)
{
	if (*room > TEXT_KEPT_BYTES && count < *room / 4) {
		*room = count + 1;
		*at = mem_realloc(*at, *room);
	}
}

static void count_text(struct metadata_stream *stream)
{
	struct account *account = stream->arena.account;

	shrink(&stream->raw.at, stream->raw.count, &stream->raw.room);
	shrink(&stream->text.at, stream->text.count, &stream->text.room);
	account_give(account, ACCOUNT_METADATA, stream->held);
	stream->held = stream->raw.room + stream->text.room + stream->all.room;
	account_take(account, ACCOUNT_METADATA, stream->held);
}

/* Whether the arrays may take @len bytes more: twice the room that they have, at most. */
static bool text_may_grow(const struct metadata_stream *stream, size_t len)
{
	size_t more = len;

	more += stream->raw.count + len > stream->raw.room ? stream->raw.room + len : 0;
	more += stream->text.count + len > stream->text.room ? stream->text.room + len : 0;
	return account_may_last(stream->arena.account, more);
}

void metadata_stream_free(struct metadata_stream *stream)
{
	if (!stream) {
		return;
	}
	ctf2_free(stream->ctf2);
	account_give(stream->arena.account, ACCOUNT_METADATA, stream->held);
	arena_fini(&stream->arena);
	vec_fini(&stream->raw);
	vec_fini(&stream->text);
	vec_fini(&stream->all);
	free(stream);
}

static uint32_t load_u32(const char *at, bool is_be)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return is_be == (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) ? value : __builtin_bswap32(value);
}

/* Whether @raw starts with the magic number, and in which byte order. */
static bool has_magic(const char *raw, bool *ret_be)
{
	*ret_be = load_u32(raw, true) == METADATA_MAGIC;
	return *ret_be || load_u32(raw, false) == METADATA_MAGIC;
}

static int check_header(const struct metadata_stream *stream, const char *raw, bool is_be,
			struct err *err)
{
	uint32_t content = load_u32(raw + HEADER_AT_CONTENT, is_be);
	uint32_t packet = load_u32(raw + HEADER_AT_PACKET, is_be);
	unsigned long long number = stream->packets;

	if (raw[HEADER_AT_COMPRESS] || raw[HEADER_AT_ENCRYPT]) {
		return err_raise(err, -EINVAL, "metadata packet %llu is compressed or encrypted",
				 number);
	}
	if (!(raw[HEADER_AT_MAJOR] == 1 && raw[HEADER_AT_MINOR] == 8) &&
	    !(raw[HEADER_AT_MAJOR] == 2 && raw[HEADER_AT_MINOR] == 0)) {
		return err_raise(err, -EINVAL,
				 "metadata packet %llu has CTF version %d.%d; this program "
				 "reads 1.8 and 2.0",
				 number, raw[HEADER_AT_MAJOR], raw[HEADER_AT_MINOR]);
	}
	if (content < HEADER_BYTES * 8 || content % 8 || packet % 8 || packet < content) {
		return err_raise(err, -EINVAL,
				 "metadata packet %llu has impossible sizes: content "
				 "%u bits, packet %u bits",
				 number, content, packet);
	}
	return 0;
}

static void add_text(struct metadata_stream *stream, const char *text, size_t len)
{
	vec_append(&stream->text, text, len);
	if (stream->keeps_text) {
		vec_append(&stream->all, text, len);
	}
}

/* Moves plain text up to the next packet, or up to bytes that may start a magic number. */
static bool unpack_text(struct metadata_stream *stream, size_t *at)
{
	const char *raw = stream->raw.at + *at;
	size_t len = stream->raw.count - *at;
	size_t text = 0;
	bool is_be;

	/* Both magic numbers start with a letter; their second byte never occurs in text. */
	while (text < len && !(len - text >= 4 && has_magic(raw + text, &is_be))) {
		if (len - text < 4 && (raw[text] == 'W' || raw[text] == 'u')) {
			break;
		}
		text++;
	}
	assert(text <= len);
	add_text(stream, raw, text);
	*at += text;
	return text > 0;
}

/*
 * Moves the text of one packet, or the text before the next packet, from raw to text.
 * 1: moved some; 0: needs more bytes.
 */
static int unpack_one(struct metadata_stream *stream, size_t *at, struct err *err)
{
	const char *raw = stream->raw.at + *at;
	size_t len = stream->raw.count - *at;
	uint32_t packet_bytes;
	bool is_be;
	int r;

	if (len < 4 || !has_magic(raw, &is_be)) {
		return unpack_text(stream, at);
	}
	if (len < HEADER_BYTES) {
		return 0;
	}
	r = check_header(stream, raw, is_be, err);
	if (r < 0) {
		return r;
	}
	packet_bytes = load_u32(raw + HEADER_AT_PACKET, is_be) / 8;
	assert(packet_bytes >= HEADER_BYTES); /* check_header() refuses others */
	if (len < packet_bytes) {
		return 0;
	}
	add_text(stream, raw + HEADER_BYTES,
		 load_u32(raw + HEADER_AT_CONTENT, is_be) / 8 - HEADER_BYTES);
	*at += packet_bytes;
	stream->packets++;
	return 1;
}

/* Fragments of CTF 2 start with a record separator; some writers omit the first one. */
static int choose_language(struct metadata_stream *stream, struct err *err)
{
	assert(stream->text.count > 0);
	if (stream->text.at[0] == '\x1E' || stream->text.at[0] == '{') {
		stream->ctf2 = ctf2_new(&stream->arena, &stream->notes);
	} else {
		stream->tsdl = tsdl_new(&stream->arena, &stream->notes);
	}
	if (!stream->ctf2 && !stream->tsdl) {
		return err_raise(err, -ENOMEM, "out of memory before the metadata's first line");
	}
	return 0;
}

static int parse_text(struct metadata_stream *stream, struct err *err)
{
	size_t used = stream->text.count;
	int r = stream->ctf2 || stream->tsdl ? 0 : choose_language(stream, err);

	if (r == 0 && stream->ctf2) {
		r = ctf2_feed(stream->ctf2, stream->text.at, stream->text.count, err);
	} else if (r == 0) {
		r = tsdl_feed(stream->tsdl, stream->text.at, stream->text.count, &used, err);
	}
	if (r < 0) {
		return r;
	}
	assert(!stream->ctf2 || !stream->tsdl);
	assert(used <= stream->text.count);
	if (used > 0) {
		memmove(stream->text.at, stream->text.at + used, stream->text.count - used);
		stream->text.count -= used;
	}
	return 0;
}

int metadata_stream_feed(struct metadata_stream *stream, const void *bytes, size_t len,
			 struct err *err)
{
	size_t at = 0;
	int r;

	assert(stream->total <= METADATA_BYTES_MAX);
	if (len > METADATA_BYTES_MAX - stream->total) {
		return err_raise(err, -E2BIG, "more than %zu bytes of metadata",
				 METADATA_BYTES_MAX);
	}
	if (!text_may_grow(stream, len)) {
		return err_raise(err, -ENOMEM, "its metadata does not fit into --max-memory");
	}
	stream->total += len;
	vec_append(&stream->raw, bytes, len);
	while (at < stream->raw.count) { /* there may be none, and no array */
		r = unpack_one(stream, &at, err);
		if (r < 0) {
			return r;
		}
		if (r == 0) {
			break;
		}
	}
	assert(at <= stream->raw.count);
	if (at > 0) {
		memmove(stream->raw.at, stream->raw.at + at, stream->raw.count - at);
		stream->raw.count -= at;
	}
	r = stream->text.count > 0 ? parse_text(stream, err) : 0;
	count_text(stream);
	return r;
}

void metadata_stream_keep_text(struct metadata_stream *stream)
{
	stream->keeps_text = true;
}

const char *metadata_stream_text(const struct metadata_stream *stream, size_t *ret_len)
{
	*ret_len = stream->all.count;
	return stream->all.at ? stream->all.at : "";
}

int metadata_stream_end(const struct metadata_stream *stream, struct err *err)
{
	size_t blank = 0;

	if (stream->raw.count > 0) {
		return err_raise(err, -EINVAL, "metadata ends inside packet %llu",
				 (unsigned long long)stream->packets);
	}
	if (stream->ctf2 && ctf2_is_inside(stream->ctf2)) {
		return err_raise(err, -EINVAL, "metadata ends inside a fragment");
	}
	while (blank < stream->text.count &&
	       (isspace((unsigned char)stream->text.at[blank]) || !stream->text.at[blank])) {
		blank++;
	}
	if (blank < stream->text.count && stream->text.at[blank] != '/') {
		return err_raise(err, -EINVAL,
				 "metadata ends inside a declaration that starts "
				 "\"%.*s\"",
				 stream->text.count - blank < 40 ? (int)(stream->text.count - blank)
								 : 40,
				 stream->text.at + blank);
	}
	return 0;
}

/* Takes the text of a packet that is cut, as far as it goes. */
static int take_cut(struct metadata_stream *stream, struct err *err)
{
	size_t len = stream->raw.count, at = 0;
	bool is_be;

	if (len < 4 || !has_magic(stream->raw.at, &is_be)) {
		add_text(stream, stream->raw.at, len);
	} else if (len > HEADER_BYTES) {
		size_t content = load_u32(stream->raw.at + HEADER_AT_CONTENT, is_be) / 8;

		at = HEADER_BYTES;
		add_text(stream, stream->raw.at + at, (content < len ? content : len) - at);
	}
	stream->raw.count = 0;
	return stream->text.count > 0 ? parse_text(stream, err) : 0;
}

int metadata_stream_finish(struct metadata_stream *stream, struct err *err)
{
	struct err cut;
	int r = metadata_stream_end(stream, &cut);

	if (r == 0) {
		return 0;
	}
	r = stream->raw.count > 0 ? take_cut(stream, err) : 0;
	if (r == 0 && !metadata_stream_types(stream)->has_trace) {
		r = err_raise(err, -EINVAL, "%s", cut.text);
	} else if (r == 0) {
		metadata_note(&stream->notes, "%s; what is declared before is read", cut.text);
	}
	return r;
}

bool metadata_stream_ends_packet(const struct metadata_stream *stream)
{
	return stream->packets > 0 && stream->raw.count == 0;
}

const struct metadata *metadata_stream_types(const struct metadata_stream *stream)
{
	static const struct metadata none;

	if (stream->ctf2) {
		return ctf2_metadata(stream->ctf2);
	}
	return stream->tsdl ? tsdl_metadata(stream->tsdl) : &none;
}

struct arena *metadata_stream_arena(struct metadata_stream *stream)
{
	return &stream->arena;
}

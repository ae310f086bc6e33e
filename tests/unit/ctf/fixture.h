/*
 * fixture: metadata text to a plan and a decoder, for the tests of this folder.
 */
#pragma once

#include <check.h>
#include <string.h>

#include "base/mem.h"
#include "ctf/decoder.h"
#include "ctf/metadata/metadata.h"
#include "ctf/packet.h"

#define FIXTURE_TRACE "/* CTF 1.8 */ trace { major = 1; minor = 8; byte_order = le; };\n"
#define FIXTURE_TYPES                                                                              \
	"typealias integer { size = 3; align = 1; } := u3;\n"                                      \
	"typealias integer { size = 8; align = 8; } := u8;\n"                                      \
	"typealias integer { size = 16; align = 8; } := u16;\n"                                    \
	"typealias integer { size = 32; align = 8; } := u32;\n"                                    \
	"typealias integer { size = 32; align = 8; signed = true; } := s32;\n"                     \
	"typealias integer { size = 32; align = 32; } := a32;\n"                                   \
	"typealias integer { size = 64; align = 8; } := u64;\n"                                    \
	"typealias integer { size = 8; align = 8; encoding = UTF8; } := text;\n"

struct fixture {
	struct metadata_stream *stream;
	struct plan_builder *builder;
	struct plan *plan;
	struct decoder *d;
};

/* Feeds @text and builds a plan; must succeed. */
static inline void fixture_grow(struct fixture *f, const char *text)
{
	struct err err = { "" };

	plan_unref(f->plan);
	ck_assert_msg(metadata_stream_feed(f->stream, text, strlen(text), &err) == 0, "%s",
		      err.text);
	ck_assert_msg(plan_build(f->builder, metadata_stream_types(f->stream), &f->plan, &err) == 0,
		      "%s", err.text);
	plan_check(f->plan);
}

static inline void fixture_init(struct fixture *f, const char *text,
				const struct plan_request *requests, size_t request_count)
{
	f->stream = metadata_stream_new();
	f->builder =
		plan_builder_new(metadata_stream_arena(f->stream), requests, request_count, false);
	f->plan = NULL;
	f->d = mem_alloc(sizeof(*f->d));
	fixture_grow(f, text);
}

static inline void fixture_fini(struct fixture *f)
{
	plan_unref(f->plan);
	plan_builder_free(f->builder);
	metadata_stream_free(f->stream);
	decoder_free(f->d);
}

/* Makes the decoder ready for the events of @packet. */
static inline void fixture_start(struct fixture *f, const void *packet, size_t bytes)
{
	struct packet_info info = { 0 };
	struct err err = { "" };

	ck_assert_msg(packet_info_read(f->d, f->plan, packet, bytes, bytes, &info, &err) == 0, "%s",
		      err.text);
	decoder_start(f->d, f->plan, &info, packet, bytes);
}

/*
 * convert-class: the metadata, in the form in which lttng-modules has it.
 */
#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "ftrace/convert-state.h"

static void say_text(struct convert *convert, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void say_text(struct convert *convert, const char *fmt, ...)
{
	char *text;
	va_list args;

	va_start(args, fmt);
	if (vasprintf(&text, fmt, args) < 0) {
		mem_lacks("memory");
	}
	va_end(args);
	vec_append(&convert->text, text, strlen(text));
	free(text);
}

/* ---- classes ---- */

struct convert_class *class_begin(struct convert *convert, const char *name)
{
	struct convert_class *class = mem_alloc(sizeof(*class));

	class->name = mem_strdup(name);
	class->id = (uint32_t)convert->classes.count;
	*vec_push(&convert->classes) = class;
	say_text(convert,
		 "event {\n\tname = \"%s\";\n\tid = %u;\n\tstream_id = 0;\n\tfields := struct {\n",
		 name, class->id);
	return class;
}

void class_end(struct convert *convert)
{
	say_text(convert, "\t};\n};\n\n");
}

static void add_integer(struct convert *convert, const struct class_member *member,
			const char *encoding)
{
	say_text(convert,
		 "\t\tinteger { size = %u; align = 8; signed = %d; encoding = %s; base = %u; } _%s",
		 member->bytes * 8, member->is_signed, encoding, member->base, member->name);
}

void class_add(struct convert *convert, const struct class_member *member)
{
	switch (member->kind) {
	case MEMBER_INTEGER:
		add_integer(convert, member, "none");
		say_text(convert, ";\n");
		break;
	case MEMBER_CHARS:
		add_integer(convert, member, "UTF8");
		say_text(convert, "[%u];\n", member->count);
		break;
	case MEMBER_STRING:
		say_text(convert, "\t\tstring _%s;\n", member->name);
		break;
	case MEMBER_ARRAY:
		add_integer(convert, member, "none");
		say_text(convert, "[%u];\n", member->count);
		break;
	case MEMBER_SEQUENCE:
		say_text(convert,
			 "\t\tinteger { size = 32; align = 8; signed = 0; encoding = none; base = "
			 "10; "
			 "} __%s_length;\n",
			 member->name);
		add_integer(convert, member, "none");
		say_text(convert, "[ __%s_length ];\n", member->name);
		break;
	}
}

struct class_member class_member_of(const char *name, const char *type)
{
	struct class_member member = { .name = name, .bytes = 1, .base = 10 };

	if (strcmp(type, "str") == 0) {
		member.kind = MEMBER_STRING;
	} else if (*type == 'c') {
		member.kind = MEMBER_CHARS;
		member.count = (uint32_t)strtoul(type + 1, NULL, 10);
	} else {
		assert((*type == 's' || *type == 'u') && isdigit((unsigned char)type[1]));
		member.kind = MEMBER_INTEGER;
		member.is_signed = *type == 's';
		member.bytes = (uint8_t)(type[1] - '0');
		member.base = type[2] == 'x' ? 16 : type[2] == 'o' ? 8 : 10;
	}
	return member;
}

uint32_t convert_class(struct convert *convert, const char *name, const char *members)
{
	struct convert_class *class = class_begin(convert, name);
	char *copy = mem_strdup(members), *rest = copy, *word;

	while ((word = strsep(&rest, " "))) {
		char *type = strchr(word, ':');
		struct class_member member;

		if (type) {
			*type++ = '\0';
			member = class_member_of(word, type);
			class_add(convert, &member);
		}
	}
	class_end(convert);
	free(copy);
	return class->id;
}

/* ---- what comes before ---- */

static void add_uuid(struct convert *convert, const uint8_t *uuid)
{
	for (unsigned int i = 0; i < CONVERT_UUID_BYTES; i++) {
		say_text(convert, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
			 uuid[i]);
	}
}

/* A text in quotes, whatever it has. */
static void add_quoted(struct convert *convert, const char *text)
{
	*vec_push(&convert->text) = '"';
	for (; *text; text++) {
		if (*text == '\n') {
			say_text(convert, "\\n");
		} else if (!iscntrl((unsigned char)*text)) {
			say_text(convert, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
		}
	}
	*vec_push(&convert->text) = '"';
}

static void add_env(struct convert *convert)
{
	say_text(convert, "env {\n\tdomain = \"kernel\";\n\ttracer_name = \"%s\";\n",
		 CONVERT_TRACER);
	for (size_t i = 0; i < convert->setup.env_count; i++) {
		const struct convert_env *one = &convert->setup.env[i];

		say_text(convert, "\t%s = ", one->name);
		if (one->text) {
			add_quoted(convert, one->text);
		} else {
			say_text(convert, "%" PRId64, one->number);
		}
		say_text(convert, ";\n");
	}
	say_text(convert, "};\n\n");
}

static void add_clock(struct convert *convert)
{
	const struct convert_setup *setup = &convert->setup;

	say_text(convert, "clock {\n\tname = \"%s\";\n", setup->clock_name);
	if (setup->clock_uuid) {
		say_text(convert, "\tuuid = ");
		add_quoted(convert, setup->clock_uuid);
		say_text(convert, ";\n");
	}
	say_text(convert,
		 "\tdescription = \"%s clock\";\n\tfreq = %" PRIu64
		 "; /* Frequency, in Hz */\n\t/* clock value offset from Epoch is: offset * "
		 "(1/freq) */\n\toffset = %" PRId64 ";\n};\n\n",
		 setup->clock_name, setup->clock_frequency, setup->clock_offset);
	for (unsigned int i = 0; i < 3; i++) {
		static const unsigned int bits[] = { 27, 32, 64 };

		say_text(convert,
			 "typealias integer {\n\tsize = %u; align = %u; signed = false;\n\tmap = "
			 "clock.%s.value;\n} := uint%u_clock_%s_t;\n\n",
			 bits[i], bits[i] == 27 ? 1 : 8, setup->clock_name, bits[i],
			 setup->clock_name);
	}
}

static const char types_text[] =
	"/* CTF 1.8 */\n\n"
	"typealias integer { size = 8; align = 8; signed = false; } := uint8_t;\n"
	"typealias integer { size = 16; align = 8; signed = false; } := uint16_t;\n"
	"typealias integer { size = 32; align = 8; signed = false; } := uint32_t;\n"
	"typealias integer { size = 64; align = 8; signed = false; } := uint64_t;\n"
	"typealias integer { size = 64; align = 8; signed = false; } := unsigned long;\n"
	"typealias integer { size = 5; align = 1; signed = false; } := uint5_t;\n"
	"typealias integer { size = 27; align = 1; signed = false; } := uint27_t;\n\n";

static const char trace_text[] = "\";\n\tbyte_order = le;\n"
				 "\tpacket.header := struct {\n"
				 "\t\tuint32_t magic;\n"
				 "\t\tuint8_t  uuid[16];\n"
				 "\t\tuint32_t stream_id;\n"
				 "\t\tuint64_t stream_instance_id;\n"
				 "\t};\n};\n\n";

static void add_stream_class(struct convert *convert)
{
	const char *clock = convert->setup.clock_name;

	say_text(convert,
		 "struct packet_context {\n"
		 "\tuint64_clock_%s_t timestamp_begin;\n"
		 "\tuint64_clock_%s_t timestamp_end;\n"
		 "\tuint64_t content_size;\n"
		 "\tuint64_t packet_size;\n"
		 "\tuint64_t packet_seq_num;\n"
		 "\tunsigned long events_discarded;\n"
		 "\tuint32_t cpu_id;\n"
		 "};\n\n",
		 clock, clock);
	say_text(convert,
		 "struct event_header_large {\n"
		 "\tenum : uint16_t { compact = 0 ... 65534, extended = 65535 } id;\n"
		 "\tvariant <id> {\n"
		 "\t\tstruct {\n\t\t\tuint32_clock_%s_t timestamp;\n\t\t} compact;\n"
		 "\t\tstruct {\n\t\t\tuint32_t id;\n\t\t\tuint64_clock_%s_t timestamp;\n"
		 "\t\t} extended;\n\t} v;\n} align(8);\n\n",
		 clock, clock);
	say_text(convert, "stream {\n\tid = 0;\n"
			  "\tevent.header := struct event_header_large;\n"
			  "\tpacket.context := struct packet_context;\n};\n\n");
}

void class_preamble(struct convert *convert)
{
	say_text(convert, "%strace {\n\tmajor = 1;\n\tminor = 8;\n\tuuid = \"", types_text);
	add_uuid(convert, convert->setup.uuid);
	say_text(convert, "%s", trace_text);
	add_env(convert);
	add_clock(convert);
	add_stream_class(convert);
}

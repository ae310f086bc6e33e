/*
 * tsdl: the blocks of TSDL metadata: trace, env, clock, stream, event, callsite.
 */
#include "ctf/metadata/tsdl.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "ctf/metadata/tsdl-parser.h"

/* ---- failure and tokens ---- */

void tsdl_fail(struct tsdl *p, const char *fmt, ...)
{
	const struct token *token = &p->lex.token;
	char what[256];
	va_list args;

	assert(p->arena->fail == &p->fail); /* tsdl_feed() is waiting */
	va_start(args, fmt);
	(void)vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	(void)err_raise(p->err, -EINVAL, "metadata line %u: %s, at \"%.*s\"", token->line, what,
			token->len < 40 ? (int)token->len : 40, token->text);
	longjmp(p->fail, EINVAL);
}

bool tsdl_accept(struct tsdl *p, int punct)
{
	if (p->lex.token.kind != TOKEN_PUNCT || p->lex.token.punct != punct) {
		return false;
	}
	lex_next(&p->lex);
	return true;
}

bool tsdl_accept_word(struct tsdl *p, const char *word)
{
	if (!lex_token_is(&p->lex.token, word)) {
		return false;
	}
	lex_next(&p->lex);
	return true;
}

void tsdl_expect(struct tsdl *p, int punct)
{
	if (tsdl_accept(p, punct)) {
		return;
	}
	if (punct == PUNCT_ASSIGN_TYPE) {
		tsdl_fail(p, "expected \":=\"");
	}
	tsdl_fail(p, "expected \"%c\"", punct);
}

char *tsdl_ident(struct tsdl *p)
{
	char *ident;

	if (p->lex.token.kind != TOKEN_IDENT) {
		tsdl_fail(p, "expected a name");
	}
	ident = arena_strndup(p->arena, p->lex.token.text, p->lex.token.len);
	lex_next(&p->lex);
	return ident;
}

char *tsdl_string(struct tsdl *p)
{
	const struct token *token = &p->lex.token;
	char *text;
	size_t len = 0;

	if (token->kind != TOKEN_STRING) {
		tsdl_fail(p, "expected a string");
	}
	text = arena_alloc(p->arena, token->len + 1);
	for (const char *at = token->text, *end = at + token->len; at < end;) {
		char c = *at++;

		text[len++] = c == '\\' && at < end ? lex_unescape(&at, end) : c;
	}
	assert(len <= token->len);
	lex_next(&p->lex);
	return text;
}

static bool is_sign(const struct token *token)
{
	return token->kind == TOKEN_PUNCT && (token->punct == '-' || token->punct == '+');
}

bool tsdl_is_constant(const struct tsdl *p)
{
	const struct token *token = &p->lex.token;

	return token->kind == TOKEN_NUMBER || token->kind == TOKEN_CHAR || is_sign(token);
}

uint64_t tsdl_constant(struct tsdl *p)
{
	bool is_negative = false;
	uint64_t number;

	while (is_sign(&p->lex.token)) {
		is_negative ^= p->lex.token.punct == '-';
		lex_next(&p->lex);
	}
	if (p->lex.token.kind != TOKEN_NUMBER && p->lex.token.kind != TOKEN_CHAR) {
		tsdl_fail(p, "expected a number");
	}
	number = p->lex.token.number;
	lex_next(&p->lex);
	return is_negative ? 0 - number : number;
}

/* Whether the token may be part of a value such as `clock.monotonic.value`, `-3` or `'x'`. */
static bool is_in_value(const struct token *token)
{
	if (token->kind == TOKEN_IDENT || token->kind == TOKEN_NUMBER ||
	    token->kind == TOKEN_CHAR) {
		return true;
	}
	return is_sign(token) ||
	       (token->kind == TOKEN_PUNCT && (token->punct == '.' || token->punct == PUNCT_ARROW));
}

char *tsdl_value_text(struct tsdl *p)
{
	char text[256];
	size_t len = 0;

	if (p->lex.token.kind == TOKEN_STRING) {
		return tsdl_string(p);
	}
	while (is_in_value(&p->lex.token)) {
		const struct token *token = &p->lex.token;
		bool is_arrow = token->kind == TOKEN_PUNCT && token->punct == PUNCT_ARROW;
		size_t more = is_arrow ? 1 : token->len;

		if (len + more >= sizeof(text)) {
			tsdl_fail(p, "a value longer than %zu bytes", sizeof(text) - 1);
		}
		memcpy(text + len, is_arrow ? "." : token->text, more);
		len += more;
		lex_next(&p->lex);
	}
	if (len == 0) {
		tsdl_fail(p, "expected a value");
	}
	return arena_strndup(p->arena, text, len);
}

/* ---- blocks ---- */

static const struct type *struct_value(struct tsdl *p, const char *what)
{
	const struct type *type = tsdl_type_specifier(p);

	if (type->kind != TYPE_STRUCT) {
		tsdl_fail(p, "%s must be a struct", what);
	}
	return type;
}

typedef void attribute_fn(struct tsdl *p, void *block, const char *name, bool is_type);

/* `{ name = value; name := type; typealias ...; }`: each attribute goes to @set. */
static void parse_block(struct tsdl *p, attribute_fn *set, void *block)
{
	tsdl_expect(p, '{');
	(void)tsdl_scope_push(p);
	while (!tsdl_accept(p, '}')) {
		const char *name;
		bool is_type;

		if (tsdl_type_declaration(p)) {
			continue;
		}
		name = tsdl_value_text(p); /* "id", "packet.header", ... */
		is_type = tsdl_accept(p, PUNCT_ASSIGN_TYPE);
		if (!is_type) {
			tsdl_expect(p, '=');
		}
		set(p, block, name, is_type);
		tsdl_expect(p, ';');
	}
	tsdl_scope_pop(p);
	tsdl_expect(p, ';');
}

/* Reads the value of an attribute that has no use here. */
static void skip_attribute(struct tsdl *p, bool is_type)
{
	if (is_type) {
		(void)tsdl_type_specifier(p);
	} else {
		(void)tsdl_value_text(p);
	}
}

static void parse_uuid(struct tsdl *p, uint8_t uuid[16])
{
	const char *text = tsdl_string(p);

	if (!metadata_uuid_of(text, uuid)) {
		tsdl_fail(p, "\"%s\" is not a UUID", text);
	}
}

static void trace_byte_order(struct tsdl *p)
{
	const char *text = tsdl_value_text(p);

	if (!strcmp(text, "le")) {
		p->metadata.order = ORDER_LE;
	} else if (!strcmp(text, "be") || !strcmp(text, "network")) {
		p->metadata.order = ORDER_BE;
	} else {
		tsdl_fail(p, "byte_order must be le or be, not \"%s\"", text);
	}
}

static void set_trace(struct tsdl *p, void *block, const char *name, bool is_type)
{
	struct metadata *m = block;

	if (!strcmp(name, "packet.header") && is_type) {
		m->packet_header = struct_value(p, name);
	} else if (!strcmp(name, "byte_order")) {
		trace_byte_order(p);
	} else if (!strcmp(name, "uuid")) {
		parse_uuid(p, m->uuid);
		m->has_uuid = true;
	} else if (!strcmp(name, "major")) {
		m->major = (uint32_t)tsdl_constant(p);
	} else if (!strcmp(name, "minor")) {
		m->minor = (uint32_t)tsdl_constant(p);
	} else {
		skip_attribute(p, is_type);
	}
}

static void parse_trace(struct tsdl *p)
{
	struct metadata *m = &p->metadata;

	if (m->has_trace) {
		tsdl_fail(p, "a second trace block");
	}
	parse_block(p, set_trace, m);
	m->has_trace = true;
	if (m->order == ORDER_NATIVE) {
		tsdl_fail(p, "the trace block has no byte_order");
	}
	if (m->major != 1 || m->minor != 8) {
		tsdl_fail(p, "CTF version %u.%u; this program reads 1.8", m->major, m->minor);
	}
}

static void set_env(struct tsdl *p, void *block, const char *name, bool is_type)
{
	struct env_entry *entry = arena_alloc(p->arena, sizeof(*entry));

	if (is_type) {
		tsdl_fail(p, "the environment holds strings and integers only");
	}
	entry->name = name;
	if (p->lex.token.kind == TOKEN_STRING) {
		entry->text = tsdl_string(p);
	} else {
		entry->number = (int64_t)tsdl_constant(p);
	}
	entry->next = p->metadata.env;
	p->metadata.env = entry;
}

static void set_clock(struct tsdl *p, void *block, const char *name, bool is_type)
{
	struct clock_class *clock = block;

	if (!strcmp(name, "name")) {
		clock->name = tsdl_value_text(p);
	} else if (!strcmp(name, "freq")) {
		clock->freq = tsdl_constant(p);
		if (clock->freq == 0) {
			tsdl_fail(p, "a clock of 0 Hz");
		}
	} else if (!strcmp(name, "offset_s")) {
		clock->offset_s = (int64_t)tsdl_constant(p);
	} else if (!strcmp(name, "offset")) {
		clock->offset = (int64_t)tsdl_constant(p);
	} else if (!strcmp(name, "absolute")) {
		const char *text = tsdl_value_text(p);

		clock->is_absolute = strcmp(text, "true") == 0 || strcmp(text, "TRUE") == 0 ||
				     strcmp(text, "1") == 0;
	} else if (!strcmp(name, "uuid") && !is_type) {
		/* What is none tells nothing, and times do not need it. */
		clock->has_uuid = metadata_uuid_of(tsdl_value_text(p), clock->uuid);
	} else {
		skip_attribute(p, is_type); /* description, precision */
	}
}

static void parse_clock(struct tsdl *p)
{
	struct clock_class *clock = arena_alloc(p->arena, sizeof(*clock));

	clock->freq = 1000000000; /* CTF 1.8.3, section 8 */
	parse_block(p, set_clock, clock);
	if (!clock->name) {
		tsdl_fail(p, "a clock without a name");
	}
	if (metadata_clock(&p->metadata, clock->name)) {
		tsdl_fail(p, "the clock \"%s\" is declared twice", clock->name);
	}
	assert(clock->freq > 0); /* clock.h divides by it */
	clock->next = p->metadata.clocks;
	p->metadata.clocks = clock;
}

static void set_stream(struct tsdl *p, void *block, const char *name, bool is_type)
{
	struct stream_class *stream = block;

	if (!strcmp(name, "id")) {
		stream->id = tsdl_constant(p);
	} else if (!strcmp(name, "event.header") && is_type) {
		stream->event_header = struct_value(p, name);
	} else if (!strcmp(name, "event.context") && is_type) {
		stream->event_context = struct_value(p, name);
	} else if (!strcmp(name, "packet.context") && is_type) {
		stream->packet_context = struct_value(p, name);
	} else {
		skip_attribute(p, is_type);
	}
}

static void parse_stream(struct tsdl *p)
{
	struct stream_class *stream = arena_alloc(p->arena, sizeof(*stream));

	parse_block(p, set_stream, stream);
	if (metadata_stream(&p->metadata, stream->id)) {
		tsdl_fail(p, "the stream %llu is declared twice", (unsigned long long)stream->id);
	}
	stream->next = p->metadata.streams;
	p->metadata.streams = stream;
}

static void set_event(struct tsdl *p, void *block, const char *name, bool is_type)
{
	struct event_class *event = block;

	if (!strcmp(name, "name")) {
		event->name = tsdl_value_text(p);
	} else if (!strcmp(name, "id")) {
		event->id = tsdl_constant(p);
	} else if (!strcmp(name, "stream_id")) {
		event->stream_id = tsdl_constant(p);
		event->in_any_stream = false;
	} else if (!strcmp(name, "loglevel")) {
		event->loglevel = (int64_t)tsdl_constant(p);
	} else if (!strcmp(name, "context") && is_type) {
		event->context = struct_value(p, name);
	} else if (!strcmp(name, "fields") && is_type) {
		event->fields = struct_value(p, name);
	} else {
		skip_attribute(p, is_type);
	}
}

static void parse_event(struct tsdl *p)
{
	struct metadata *m = &p->metadata;
	struct event_class *event = arena_alloc(p->arena, sizeof(*event));

	if (m->event_count == EVENT_CLASSES_MAX) {
		tsdl_fail(p, "more than %d event classes", EVENT_CLASSES_MAX);
	}
	event->loglevel = -1;
	event->in_any_stream = true;
	parse_block(p, set_event, event);
	if (!event->name) {
		event->name = "";
	}
	metadata_add_event(m, event);
}

static void set_nothing(struct tsdl *p, void *block, const char *name, bool is_type)
{
	skip_attribute(p, is_type);
}

static void parse_declaration(struct tsdl *p)
{
	if (tsdl_accept(p, ';')) {
		return;
	}
	if (tsdl_type_declaration(p)) {
		return;
	}
	if (tsdl_accept_word(p, "trace")) {
		parse_trace(p);
	} else if (tsdl_accept_word(p, "env")) {
		parse_block(p, set_env, NULL);
	} else if (tsdl_accept_word(p, "clock")) {
		parse_clock(p);
	} else if (tsdl_accept_word(p, "stream")) {
		parse_stream(p);
	} else if (tsdl_accept_word(p, "event")) {
		parse_event(p);
	} else if (tsdl_accept_word(p, "callsite")) {
		parse_block(p, set_nothing, NULL);
	} else {
		tsdl_fail(p, "expected trace, env, clock, stream, event, callsite or a type");
	}
}

/* ---- lifecycle ---- */

struct tsdl *tsdl_new(struct arena *arena, struct metadata_notes *notes)
{
	struct tsdl *volatile p = NULL;
	jmp_buf fail;

	arena->fail = &fail;
	if (setjmp(fail) == 0) {
		p = arena_alloc(arena, sizeof(*p));
		p->arena = arena;
		p->metadata.notes = notes;
		p->line = 1;
		p->root = tsdl_scope_push(p);
		p->depth = 0;
	} else {
		p = NULL;
	}
	arena->fail = NULL;
	return p;
}

/* One declaration of @len bytes; the text around it is not read. */
static int feed_one(struct tsdl *p, const char *text, size_t len, struct err *err)
{
	int code;

	assert(len > 0 && text[len - 1] == ';');
	p->err = err;
	p->scope = p->root;
	p->depth = 0;
	err->text[0] = '\0';
	p->arena->fail = &p->fail;
	code = setjmp(p->fail);
	if (code == 0) {
		lex_init(&p->lex, text, len, p->line);
		do {
			parse_declaration(p);
		} while (p->lex.token.kind != TOKEN_END);
		assert(p->scope == p->root);
		assert(p->depth == 0);
	} else if (!err->text[0]) {
		(void)err_raise(err, -ENOMEM, "metadata line %u: out of memory (%zu bytes used)",
				p->line, p->arena->total);
		code = ENOMEM;
	}
	p->arena->fail = NULL;
	return -code;
}

int tsdl_feed(struct tsdl *tsdl, const char *text, size_t len, size_t *ret_used, struct err *err)
{
	size_t used = 0;

	if (tsdl->is_broken) {
		return err_raise(err, -EINVAL, "an earlier part of the metadata is wrong");
	}
	while (used < len) {
		size_t one = lex_declaration(&tsdl->scan, text + used, len - used);
		int r;

		if (one == 0) {
			break;
		}
		assert(one <= len - used);
		r = feed_one(tsdl, text + used, one, err);
		if (r < 0) {
			tsdl->is_broken = true;
			return r;
		}
		tsdl->line += lex_lines(text + used, text + used + one);
		used += one;
	}
	*ret_used = used;
	return 0;
}

const struct metadata *tsdl_metadata(const struct tsdl *tsdl)
{
	return &tsdl->metadata;
}

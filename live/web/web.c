/*
 * web: see web.h.
 */
#include "live/web/web.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "live/web/web-state.h"
#include "output/notice.h"
#include "output/sink.h"

static void free_item(struct web *web, size_t i)
{
	struct web_item *item = &web->items.at[i];

	assert(i < web->items.count);
	free(item->trace);
	free(item->text);
	memmove(item, item + 1, (web->items.count - i - 1) * sizeof(*item));
	web->items.count--;
}

/* Makes room: a window replaces that of its trace, and the oldest of too many items goes. */
static void make_room(struct web *web, const char *trace)
{
	size_t most = trace ? WEB_TRACES_MAX : WEB_NOTICES_MAX;
	size_t alike = 0, oldest = 0;

	for (size_t i = web->items.count; i-- > 0;) {
		const char *of = web->items.at[i].trace;

		if (trace && of && strcmp(of, trace) == 0) {
			web_server_misses(web->server, web->items.at[i].number);
			free_item(web, i);
			return;
		}
		if (!of == !trace) {
			alike++;
			oldest = i;
		}
	}
	if (alike >= most) {
		free_item(web, oldest);
	}
}

/* Takes @line, a JSON object and perhaps a newline; @trace is given for windows only. */
static void add(struct web *web, const char *event, const char *trace, char *line)
{
	struct web_item *item;

	make_room(web, trace);
	line[strcspn(line, "\n")] = '\0';
	item = vec_push(&web->items);
	*item = (struct web_item){
		.number = ++web->last,
		.trace = mem_strdup_if(trace),
		.text = mem_printf("event: %s\ndata: %s\n\n", event, line),
	};
	item->len = strlen(item->text);
	free(line);
	web_server_changed(web->server);
}

/* The first rows of each list.  Of CPUs there are more. */
static char *window_line(const struct trace_identity *trace, const struct report *report)
{
	struct report_table *tables = mem_alloc((report->table_count + 1) * sizeof(*tables));
	struct report shown = *report;
	struct output output = { .sink = &sink_json };
	char *line = NULL;
	size_t len;

	shown.tables = tables;
	for (size_t i = 0; i < report->table_count; i++) {
		size_t most = report->tables[i].table->scope == SCOPE_CPU ? WEB_CPUS : WEB_ROWS;

		tables[i] = report->tables[i];
		tables[i].row_count = tables[i].row_count < most ? tables[i].row_count : most;
	}
	output.out = open_memstream(&line, &len);
	sink_json.report(&output, trace, &shown);
	(void)fclose(output.out);
	free(tables);
	return line;
}

static void on_report(struct output *output, const struct trace_identity *trace,
		      const struct report *report)
{
	char *name;

	if (report->kind == REPORT_WINDOW) {
		name = output_trace_text(trace, true);
		add(output->state, "window", name, window_line(trace, report));
		free(name);
	}
}

static void on_attach(struct output *output, const struct trace_identity *trace, bool is_attach,
		      const char *reason)
{
	struct output json = { .sink = &sink_json };
	char *line = NULL;
	size_t len;

	json.out = open_memstream(&line, &len);
	sink_json.attach(&json, trace, is_attach, reason);
	(void)fclose(json.out);
	add(output->state, is_attach ? "attach" : "detach", NULL, line);
}

/* { "says": the values for people }, which the line of the trigger follows. */
static char *values_text(const struct trigger_event *event)
{
	char says[1024], *text = NULL;
	struct json json;
	size_t len;

	notice_trigger_text(event, says, sizeof(says));
	json_init(&json, open_memstream(&text, &len));
	json_open(&json, NULL, '{');
	json_text(&json, "says", says);
	json_close(&json, '}');
	json_flush(&json);
	(void)fclose(json.out);
	return text;
}

static void on_trigger(struct output *output, const struct trace_identity *trace,
		       const struct trigger_event *event)
{
	char *line = NULL, *values;
	size_t len;
	FILE *out = open_memstream(&line, &len);

	json_trigger(out, trace, event);
	(void)fclose(out);
	line[strcspn(line, "\n")] = '\0';
	values = values_text(event);
	add(output->state, "trigger", NULL,
	    mem_printf("%.*s,\"trigger\":%s}", (int)strcspn(values, "\n") - 1, values, line));
	free(values);
	free(line);
}

static void keep_report(struct web *web, uint64_t number, const char *capture)
{
	if (web->reports.count == WEB_REPORTS_MAX) {
		free(web->reports.at[0].path);
		memmove(web->reports.at, web->reports.at + 1,
			--web->reports.count * sizeof(*web->reports.at));
	}
	*vec_push(&web->reports) = (struct web_report){
		.number = number,
		.path = mem_printf("%s/report.html", capture),
	};
}

static void on_capture(struct output *output, const struct capture_result *capture)
{
	bool has_report = capture->path && (capture->has_extras & CAPTURE_REPORT);
	char *line = NULL, *wrapped;
	size_t len;
	FILE *out = open_memstream(&line, &len);

	if (has_report) {
		keep_report(output->state, capture->number, capture->path);
	}
	json_capture(out, capture);
	(void)fclose(out);
	line[strcspn(line, "\n")] = '\0';
	wrapped = mem_printf("{\"number\":%" PRIu64 ",\"has_report\":%s,\"capture\":%s}",
			     capture->number, has_report ? "true" : "false", line);
	free(line);
	add(output->state, "capture", NULL, wrapped);
}

const struct sink sink_web = {
	.name = "web",
	.sees_unprinted = true,
	.attach = on_attach,
	.report = on_report,
	.trigger = on_trigger,
	.capture = on_capture,
};

struct web *web_new(struct event_base *base, const struct web_config *config, struct err *err)
{
	struct web *web = mem_alloc(sizeof(*web));

	web->server = web_server_new(base, config, web, err);
	if (!web->server) {
		web_free(web);
		return NULL;
	}
	return web;
}

void web_free(struct web *web)
{
	if (!web) {
		return;
	}
	web_server_free(web->server);
	while (web->items.count > 0) {
		free_item(web, web->items.count - 1);
	}
	for (size_t i = 0; i < web->reports.count; i++) {
		free(web->reports.at[i].path);
	}
	vec_fini(&web->items);
	vec_fini(&web->reports);
	free(web);
}

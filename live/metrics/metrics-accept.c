/*
 * metrics-accept: see metrics-accept.h.
 */
#include "live/metrics/metrics-accept.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define PART_BYTES_MAX 256

/* The next part of @rest, up to @end, without blanks around it. */
static char *next_part(char **rest, const char *end)
{
	char *part = strsep(rest, end);
	size_t len;

	if (!part) {
		return NULL;
	}
	part += strspn(part, " \t");
	len = strlen(part);
	while (len > 0 && strchr(" \t", part[len - 1])) {
		part[--len] = '\0';
	}
	return part;
}

/* Of "proto = x": whether it is that. */
static bool is_value(const char *part, const char *name, const char *value)
{
	const char *at = part + strlen(name);

	if (strncasecmp(part, name, strlen(name)) != 0) {
		return false;
	}
	at += strspn(at, " \t");
	if (*at++ != '=') {
		return false;
	}
	at += strspn(at, " \t\"");
	return strncasecmp(at, value, strlen(value)) == 0 &&
	       strspn(at + strlen(value), "\"") == strlen(at + strlen(value));
}

/* What one element names; false: none of ours.  Changes @element. */
static bool read_element(char *element, enum metrics_form *ret_form, double *ret_q)
{
	char *type = next_part(&element, ";"), *part;
	bool has_proto = false, is_delimited = false;

	*ret_q = 1;
	while ((part = next_part(&element, ";"))) {
		has_proto |= is_value(part, "proto", "io.prometheus.client.MetricFamily");
		is_delimited |= is_value(part, "encoding", "delimited");
		if ((part[0] == 'q' || part[0] == 'Q') && part[1] == '=') {
			*ret_q = strtod(part + 2, NULL);
		}
	}
	if (strcasecmp(type, "application/vnd.google.protobuf") == 0) {
		*ret_form = METRICS_PROTOBUF;
		return has_proto && is_delimited;
	}
	*ret_form =
		strcasecmp(type, "application/openmetrics-text") == 0 ? METRICS_OPEN : METRICS_TEXT;
	return *ret_form == METRICS_OPEN || strcasecmp(type, "text/plain") == 0;
}

enum metrics_form metrics_accept(const char *accept)
{
	enum metrics_form best = METRICS_TEXT, form;
	double most = 0, q;

	for (const char *at = accept; at && *at; at += *at == ',') {
		char element[PART_BYTES_MAX];
		size_t len = strcspn(at, ",");

		if (len < sizeof(element)) {
			memcpy(element, at, len);
			element[len] = '\0';
			if (read_element(element, &form, &q) && q > most) {
				best = form;
				most = q;
			}
		}
		at += len;
	}
	return best;
}

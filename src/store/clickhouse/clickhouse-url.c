/*
 * clickhouse-url: see clickhouse-url.h.
 */
#include "store/clickhouse/clickhouse-url.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/process/child.h"
#include "base/process/foreign.h"
#include "base/units.h"
#include "store/clickhouse/curl-library.h"

#define PASSWORD_BYTES_MAX 256

/* ---- options ---- */

static int read_password(const char *path, struct clickhouse_url *url, struct err *err)
{
	char line[PASSWORD_BYTES_MAX] = "";
	FILE *in;
	int r = foreign_stream(path, &in, err);

	if (r < 0) {
		return err_note(err, r, "%s", url->shown);
	}
	if (!fgets(line, sizeof(line), in) && ferror(in)) {
		r = err_raise(err, -errno, "%s: %s: %s", url->shown, path, strerror(errno));
	}
	(void)fclose(in);
	if (r < 0) {
		return r;
	}
	line[strcspn(line, "\r\n")] = '\0';
	free(url->password);
	url->password = mem_strdup(line);
	return 0;
}

static int take_number(const char *name, const char *value, struct clickhouse_url *url,
		       struct err *err)
{
	const struct {
		const char *name;
		int (*parse)(const char *text, uint64_t *ret);
		uint64_t *to;
	} all[] = {
		{ "timeout", units_parse_duration, &url->timeout_ns },
		{ "every", units_parse_duration, &url->every_ns },
		{ "spool-size", units_parse_size, &url->spool_bytes },
	};

	for (size_t i = 0; i < ARRAY_COUNT(all); i++) {
		if (strcmp(all[i].name, name) == 0) {
			if (all[i].parse(value, all[i].to) < 0 || *all[i].to == 0) {
				return err_raise(err, -EINVAL, "%s: %s=%s: no %s", url->shown, name,
						 value, i < 2 ? "duration" : "size");
			}
			return 0;
		}
	}
	return err_raise(err, -EINVAL,
			 "%s: \"%s\" is no option of a store: https, ca, password-file, timeout, "
			 "every, spool, spool-size, proxy, cluster",
			 url->shown, name);
}

static void replace_text(char **text, const char *by)
{
	free(*text);
	*text = mem_strdup(by);
}

static bool is_name(const char *text)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789_";

	return *text && strlen(text) <= 64 && strspn(text, letters) == strlen(text);
}

static int take_option(char *option, struct clickhouse_url *url, struct err *err)
{
	char *equals = strchr(option, '=');
	const char *value = equals ? equals + 1 : NULL;

	if (equals) {
		*equals = '\0';
	}
	if (strcmp(option, "https") == 0 && !value) {
		url->is_https = true;
		return 0;
	}
	if (!value || !*value) {
		value = "";
	}
	if (strcmp(option, "ca") == 0 && *value) {
		replace_text(&url->ca, value);
	} else if (strcmp(option, "spool") == 0 && *value) {
		replace_text(&url->spool, value);
	} else if (strcmp(option, "proxy") == 0 && *value) {
		replace_text(&url->proxy, value);
	} else if (strcmp(option, "cluster") == 0 && is_name(value)) {
		replace_text(&url->cluster, value);
	} else if (strcmp(option, "password-file") == 0 && *value) {
		return read_password(value, url, err);
	} else {
		return take_number(option, value, url, err);
	}
	return 0;
}

static int take_options(const char *query, struct clickhouse_url *url, struct err *err)
{
	const struct curl_library *curl = curl_library();
	char *text = mem_strdup(query), *rest = text, *option;
	int r = 0;

	while (r == 0 && (option = strsep(&rest, "&"))) {
		char *plain = curl->easy_unescape(NULL, option, 0, NULL);

		if (!plain) {
			r = err_raise(err, -EINVAL, "%s: damaged options", url->shown);
		} else if (*plain) {
			r = take_option(plain, url, err);
		}
		curl->free(plain);
	}
	free(text);
	return r;
}

/* ---- parts ---- */

/* The caller frees it; NULL: there is none. */
static char *part_of(CURLU *parts, CURLUPart which, unsigned int flags)
{
	const struct curl_library *curl = curl_library();
	char *found = NULL, *copy;

	if (curl->url_get(parts, which, &found, flags) != CURLUE_OK) {
		return NULL;
	}
	copy = mem_strdup(found);
	curl->free(found);
	return copy;
}

static char *given_password; /* of the environment; NULL: none */

void clickhouse_url_take_password(void)
{
	char *value = child_take_variable("SILLAGE_STORE_PASSWORD");

	if (value) {
		free(given_password);
		given_password = value;
	}
}

const char *clickhouse_url_kept_password(void)
{
	return given_password;
}

static int take_parts(CURLU *parts, struct clickhouse_url *url, struct err *err)
{
	char *host = part_of(parts, CURLUPART_HOST, 0), *port = part_of(parts, CURLUPART_PORT, 0);
	char *path = part_of(parts, CURLUPART_PATH, 0), *query = part_of(parts, CURLUPART_QUERY, 0);
	int r = 0;

	url->database = mem_strdup(path && path[0] == '/' ? path + 1 : "");
	url->user = part_of(parts, CURLUPART_USER, CURLU_URLDECODE);
	url->password = part_of(parts, CURLUPART_PASSWORD, CURLU_URLDECODE);
	url->shown = mem_printf("clickhouse://%s%s%s/%s", host ? host : "", port ? ":" : "",
				port ? port : "", url->database);
	if (!url->password && given_password) {
		url->password = mem_strdup(given_password);
	}
	if (!host || !is_name(url->database)) {
		r = err_raise(err, -EINVAL,
			      "%s: is no store: clickhouse://[USER[:PASSWORD]@]HOST[:PORT]/DATABASE"
			      ", where DATABASE has letters, digits and _",
			      url->shown);
	}
	r = r < 0 || !query ? r : take_options(query, url, err);
	url->address = mem_printf("http%s://%s:%s/", url->is_https ? "s" : "", host ? host : "",
				  port            ? port
				  : url->is_https ? "8443"
						  : "8123");
	free(host);
	free(port);
	free(path);
	free(query);
	return r;
}

int clickhouse_url_parse(const char *text, struct clickhouse_url *ret, struct err *err)
{
	const struct curl_library *curl;
	CURLU *parts;
	int r = curl_library_load(err);

	if (r < 0) {
		return r;
	}
	curl = curl_library();
	parts = curl->url();
	*ret = (struct clickhouse_url){ .timeout_ns = 30 * NS_PER_S,
					.every_ns = NS_PER_S,
					.spool_bytes = (uint64_t)1 << 30 };
	if (curl->url_set(parts, CURLUPART_URL, text, CURLU_NON_SUPPORT_SCHEME) != CURLUE_OK) {
		/* It is not shown: it may have a password. */
		r = err_raise(err, -EINVAL,
			      "a damaged URL: clickhouse://[USER[:PASSWORD]@]HOST[:PORT]/DATABASE");
	} else {
		r = take_parts(parts, ret, err);
	}
	curl->url_cleanup(parts);
	if (r < 0) {
		clickhouse_url_fini(ret);
	}
	return r;
}

void clickhouse_url_fini(struct clickhouse_url *url)
{
	char *const all[] = { url->shown,    url->address, url->database, url->user,   url->ca,
			      url->password, url->spool,   url->proxy,    url->cluster };

	for (size_t i = 0; i < ARRAY_COUNT(all); i++) {
		free(all[i]);
	}
	*url = (struct clickhouse_url){ 0 };
}

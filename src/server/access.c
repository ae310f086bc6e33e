/*
 * access: see access.h.
 */
#include "server/access.h"

#include <assert.h>
#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/process/foreign.h"
#include "server/tls-library.h"
#include "settings/settings.h"

struct access_server {
	access_change_fn *on_change;
	void *user;
};

struct access {
	char *path;
	SSL_CTX *context;
	struct users *users;
	bool needs_users;
	struct access_server servers[ACCESS_SERVERS_MAX];
	size_t server_count;
};

/* What a file says. */
struct config_text {
	const char *path;
	char *certificate, *key; /* paths; NULL: not given */
	struct users_list *list;
};

/* ---- the file ---- */

/* NULL: only those can read and write it who may. */
static const char *fault_of(const struct stat *file)
{
	if (!S_ISREG(file->st_mode)) {
		return "is no file";
	}
	if (file->st_mode & (S_IRWXO | S_IWGRP)) {
		return "others can read or write it: chmod 600";
	}
	return file->st_uid == 0 || file->st_uid == geteuid() ? NULL : "it belongs to another user";
}

static FILE *open_private(const char *path, struct err *err)
{
	struct stat found;
	const char *why;
	FILE *file;

	if (foreign_file(path, &file, err) < 0) {
		return NULL;
	}
	why = fstat(fileno(file), &found) < 0 ? strerror(errno) : fault_of(&found);
	if (why) {
		(void)fclose(file);
		(void)err_raise(err, -EPERM, "%s: %s", path, why);
		return NULL;
	}
	return file;
}

static char *path_beside(const char *path, const char *name)
{
	const char *slash = strrchr(path, '/');

	return name[0] == '/' || !slash ? mem_strdup(name)
					: mem_printf("%.*s%s", (int)(slash + 1 - path), path, name);
}

static int take_setting(void *user, const char *section, const char *key, const char *value,
			struct err *err)
{
	struct config_text *text = user;
	bool is_top = section && !section[0];
	char **path = NULL;

	if (!key) {
		return section && !is_top && strcmp(section, "users") != 0
			       ? err_raise(err, -EINVAL, "expected [users], not [%s]", section)
			       : 0;
	}
	if (!is_top) {
		return users_list_add(text->list, key, value, err);
	}
	if (strcmp(key, "certificate") == 0) {
		path = &text->certificate;
	} else if (strcmp(key, "key") == 0) {
		path = &text->key;
	}
	if (!path || *path || !*value) {
		return err_raise(err, -EINVAL, "expected one `certificate`, one `key` or [users]");
	}
	*path = path_beside(text->path, value);
	return 0;
}

static int read_config(const char *path, struct config_text *text, struct err *err)
{
	FILE *file = open_private(path, err);
	int r;

	if (!file) {
		return -EPERM;
	}
	*text = (struct config_text){ .path = path, .list = users_list_new() };
	r = settings_read(file, path, take_setting, text, err);
	(void)fclose(file);
	if (r == 0 && (!text->certificate || !text->key)) {
		r = err_raise(err, -EINVAL, "%s: names no %s", path,
			      text->certificate ? "key" : "certificate");
	}
	return r;
}

static void config_text_fini(struct config_text *text)
{
	free(text->certificate);
	free(text->key);
	users_list_free(text->list);
}

/* ---- TLS ---- */

/* No terminal is asked for a passphrase. */
static int no_passphrase(char *into, int size, int is_for_writing, void *user)
{
	return 0;
}

static int tls_failed(const char *path, struct err *err)
{
	const struct tls_library *tls = tls_library();
	const char *why = tls->ERR_reason_error_string_(tls->ERR_peek_last_error_());

	tls->ERR_clear_error_();
	return err_raise(err, -EINVAL, "%s: %s", path, why ? why : "cannot be used");
}

/* Only a file is read: a FIFO would be waited for. */
static int check_certificate(const char *path, struct err *err)
{
	struct stat file;

	if (stat(path, &file) < 0) {
		return err_raise(err, -errno, "%s: %s", path, strerror(errno));
	}
	return S_ISREG(file.st_mode) ? 0 : err_raise(err, -EINVAL, "%s: is no file", path);
}

static int load_files(SSL_CTX *context, const struct config_text *text, struct err *err)
{
	const struct tls_library *tls = tls_library();
	FILE *key = open_private(text->key, err);

	if (!key) {
		return -EPERM;
	}
	(void)fclose(key);
	if (check_certificate(text->certificate, err) < 0) {
		return -EINVAL;
	}
	tls->ERR_clear_error_();
	if (tls->SSL_CTX_use_certificate_chain_file_(context, text->certificate) != 1) {
		return tls_failed(text->certificate, err);
	}
	if (tls->SSL_CTX_use_PrivateKey_file_(context, text->key, SSL_FILETYPE_PEM) != 1 ||
	    tls->SSL_CTX_check_private_key_(context) != 1) {
		return tls_failed(text->key, err);
	}
	return 0;
}

static SSL_CTX *context_of(const struct config_text *text, struct err *err)
{
	const struct tls_library *tls = tls_library();
	SSL_CTX *context = tls->SSL_CTX_new_(tls->TLS_server_method_());

	if (!context) {
		(void)tls_failed("TLS", err);
		return NULL;
	}
	(void)tls->SSL_CTX_ctrl_(context, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_2_VERSION, NULL);
	/* Sessions are in tickets, which clients keep. */
	(void)tls->SSL_CTX_ctrl_(context, SSL_CTRL_SET_SESS_CACHE_MODE, SSL_SESS_CACHE_OFF, NULL);
	(void)tls->SSL_CTX_set_options_(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
							 SSL_OP_CIPHER_SERVER_PREFERENCE);
	tls->SSL_CTX_set_default_passwd_cb_(context, no_passphrase);
	if (load_files(context, text, err) < 0) {
		tls->SSL_CTX_free_(context);
		return NULL;
	}
	return context;
}

struct bufferevent *access_connection(const struct access *access, struct event_base *base)
{
	const struct tls_library *tls = tls_library();
	SSL *ssl = tls->SSL_new_(access->context);
	struct bufferevent *made =
		ssl ? tls->bufferevent_openssl_socket_new_(base, -1, ssl, BUFFEREVENT_SSL_ACCEPTING,
							   BEV_OPT_CLOSE_ON_FREE)
		    : NULL;

	if (!made) {
		mem_exhausted(0); /* evhttp would go on without TLS */
	}
	tls->bufferevent_openssl_set_allow_dirty_shutdown_(made, 1);
	return made;
}

void access_write(struct bufferevent *connection, struct evbuffer *output)
{
	const struct tls_library *tls = tls_library();
	SSL *ssl = tls->bufferevent_openssl_get_ssl_(connection);
	size_t len;

	while (ssl && (len = evbuffer_get_contiguous_space(output)) > 0) {
		int taken =
			tls->SSL_write_(ssl, evbuffer_pullup(output, (ev_ssize_t)len), (int)len);

		if (taken <= 0 || evbuffer_drain(output, (size_t)taken) < 0) {
			break;
		}
	}
	tls->ERR_clear_error_();
}

/* ---- the whole ---- */

static void tell_servers(struct access *access, bool is_new)
{
	for (size_t i = 0; i < access->server_count; i++) {
		access->servers[i].on_change(access->servers[i].user, is_new);
	}
}

static void on_users(void *user)
{
	tell_servers(user, false);
}

int access_read_again(struct access *access, struct err *err)
{
	struct config_text text = { 0 };
	int r = read_config(access->path, &text, err);
	SSL_CTX *context = r == 0 ? context_of(&text, err) : NULL;

	if (context && access->needs_users && users_list_count(text.list) == 0) {
		(void)err_raise(err, -EPERM, "%s: there are no users, and others can connect",
				access->path);
		tls_library()->SSL_CTX_free_(context);
		context = NULL;
	}
	if (!context) {
		config_text_fini(&text);
		return -EINVAL;
	}
	if (access->context) { /* connections have references */
		tls_library()->SSL_CTX_free_(access->context);
	}
	access->context = context;
	users_set(access->users, text.list);
	text.list = NULL;
	config_text_fini(&text);
	tell_servers(access, true);
	return 0;
}

struct access *access_new(struct event_base *base, const char *path, struct err *err)
{
	struct access *access;

	if (tls_library_load(err) < 0) {
		return NULL;
	}
	access = mem_alloc(sizeof(*access));
	access->path = mem_strdup(path);
	access->users = users_new(base, on_users, access);
	if (access_read_again(access, err) < 0) {
		access_free(access);
		return NULL;
	}
	return access;
}

void access_free(struct access *access)
{
	if (!access) {
		return;
	}
	assert(access->server_count == 0);
	users_free(access->users);
	if (access->context) {
		tls_library()->SSL_CTX_free_(access->context);
	}
	free(access->path);
	free(access);
}

void access_add_server(struct access *access, access_change_fn *on_change, void *user)
{
	assert(access->server_count < ACCESS_SERVERS_MAX);
	access->servers[access->server_count++] = (struct access_server){ on_change, user };
}

void access_remove_server(struct access *access, const void *user)
{
	size_t i = 0;

	while (access->servers[i].user != user) {
		i++;
		assert(i < access->server_count);
	}
	access->servers[i] = access->servers[--access->server_count];
}

bool access_has_users(const struct access *access)
{
	return users_count(access->users) > 0;
}

void access_need_users(struct access *access)
{
	assert(access_has_users(access));
	access->needs_users = true;
}

struct users *access_users(const struct access *access)
{
	return access->users;
}

/*
 * users: see users.h.
 */
#include "server/users.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/now.h"
#include "base/process/thread.h"
#include "base/units.h"
#include "server/repeat.h"
#include "server/tls-library.h"

#define MAC_BYTES        32
#define CREDENTIAL_BYTES 384 /* name, colon and password; browsers have none so long */

struct listed_user {
	char *name, *hash;
};

struct users_list {
	VEC(struct listed_user) at;
};

enum credential_state {
	CREDENTIAL_NONE,
	CREDENTIAL_WAITS,
	CREDENTIAL_IS_CHECKED,
	CREDENTIAL_IS_WRONG,
	CREDENTIAL_IS_RIGHT
};

/* A name and a password that were tried. */
struct credential {
	enum credential_state state;
	unsigned char mac[MAC_BYTES]; /* of both */
	uint64_t at_ns;               /* monotonic: since then, or of the right: asked for last */
	size_t user;                  /* in the list; its count: nobody of this name */
	char *password;               /* until it is checked */
};

struct peer {
	char address[64];
	uint64_t next_ns; /* monotonic: it may try one more for free then */
};

struct users {
	struct users_list *list; /* the thread has copies of what it needs */
	unsigned char key[MAC_BYTES];
	struct peer peers[SERVER_PEERS_MAX];
	struct event *event;
	int fd; /* an eventfd: the thread has an answer */
	users_change_fn *on_change;
	void *user;
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t has_work;
	/* Behind the mutex. */
	struct credential credentials[SERVER_CREDENTIALS_MAX];
	bool ends, is_old; /* the answer that is on its way is of a list before */
};

/* ---- the list ---- */

/* 0 to 63; 64: it is none. */
static unsigned int crypt_digit(char letter)
{
	static const char digits[] =
		"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
	const char *found = letter ? strchr(digits, letter) : NULL;

	return found ? (unsigned int)(found - digits) : 64;
}

/* Of yescrypt "$y$jNR$": 2^(N+1) blocks of (R+1) * 128 bytes, with one pass over them. */
static bool is_bounded_yescrypt(const char *hash)
{
	unsigned int blocks, width;

	if (strncmp(hash, "$y$j", 4) != 0 || !hash[4] || !hash[5] || hash[6] != '$') {
		return false;
	}
	blocks = crypt_digit(hash[4]) + 1;
	width = crypt_digit(hash[5]) + 1;
	return blocks <= 32 && width <= 64 &&
	       ((uint64_t)width << blocks) * 128 <= SERVER_HASH_BYTES;
}

static bool is_bounded_sha512(const char *hash)
{
	unsigned int rounds = 0;
	char end = '$';

	if (strncmp(hash, "$6$", 3) != 0) {
		return false;
	}
	return strncmp(hash + 3, "rounds=", 7) != 0 ||
	       (sscanf(hash + 10, "%9u%c", &rounds, &end) == 2 && end == '$' &&
		rounds <= SERVER_HASH_ROUNDS);
}

struct users_list *users_list_new(void)
{
	return mem_alloc(sizeof(struct users_list));
}

void users_list_free(struct users_list *list)
{
	if (!list) {
		return;
	}
	for (size_t i = 0; i < list->at.count; i++) {
		free(list->at.at[i].name);
		free(list->at.at[i].hash);
	}
	vec_fini(&list->at);
	free(list);
}

size_t users_list_count(const struct users_list *list)
{
	return list->at.count;
}

static size_t find_user(const struct users_list *list, const char *name)
{
	size_t i = 0;

	while (i < list->at.count && strcmp(list->at.at[i].name, name) != 0) {
		i++;
	}
	return i;
}

int users_list_add(struct users_list *list, const char *name, const char *hash, struct err *err)
{
	if (!*name || strchr(name, ':') || strlen(name) >= CREDENTIAL_BYTES / 2) {
		return err_raise(err, -EINVAL, "\"%.20s\" is no name of a user", name);
	}
	if (find_user(list, name) < list->at.count) {
		return err_raise(err, -EINVAL, "%s is there twice", name);
	}
	if (!is_bounded_yescrypt(hash) && !is_bounded_sha512(hash)) {
		return err_raise(err, -EINVAL,
				 "%s: expected a hash of yescrypt ($y$, at most %d MiB) or of "
				 "SHA-512 ($6$, at most %d rounds), as mkpasswd(1) makes them",
				 name, SERVER_HASH_BYTES >> 20, SERVER_HASH_ROUNDS);
	}
	*vec_push(&list->at) = (struct listed_user){ mem_strdup(name), mem_strdup(hash) };
	return 0;
}

/* ---- the thread ---- */

static void forget_password(struct credential *credential)
{
	if (credential->password) {
		explicit_bzero(credential->password, strlen(credential->password));
		free(credential->password);
		credential->password = NULL;
	}
}

/* Whoever has no name here costs the same time. */
static bool is_right(const char *password, const char *hash, bool is_known)
{
	const struct tls_library *tls = tls_library();
	struct crypt_data *data = mem_alloc(sizeof(*data));
	const char *made = tls->crypt_r_(password, hash, data);
	size_t len = strlen(hash);
	bool is_same = made && made[0] != '*' && strlen(made) == len &&
		       tls->CRYPTO_memcmp_(made, hash, len) == 0;

	explicit_bzero(data, sizeof(*data));
	free(data);
	return is_same && is_known;
}

static struct credential *next_credential(struct users *users)
{
	struct credential *found = NULL;

	for (size_t i = 0; i < SERVER_CREDENTIALS_MAX; i++) {
		struct credential *credential = &users->credentials[i];

		if (credential->state == CREDENTIAL_WAITS &&
		    (!found || credential->at_ns < found->at_ns)) {
			found = credential;
		}
	}
	return found;
}

/* The mutex is held. */
static void check_credential(struct users *users, struct credential *credential)
{
	bool is_known = credential->user < users->list->at.count, is_one_of_us;
	char *hash = mem_strdup(users->list->at.at[is_known ? credential->user : 0].hash);
	const uint64_t one = 1;

	credential->state = CREDENTIAL_IS_CHECKED;
	users->is_old = false;
	(void)pthread_mutex_unlock(&users->mutex);
	is_one_of_us = is_right(credential->password, hash, is_known);
	free(hash);
	(void)pthread_mutex_lock(&users->mutex);
	assert(credential->state == CREDENTIAL_IS_CHECKED);
	forget_password(credential);
	credential->state = users->is_old  ? CREDENTIAL_NONE
			    : is_one_of_us ? CREDENTIAL_IS_RIGHT
					   : CREDENTIAL_IS_WRONG;
	credential->at_ns = now_monotonic_ns();
	if (write(users->fd, &one, sizeof(one)) < 0) {
		/* It is readable already. */
	}
}

static void *run(void *arg)
{
	struct users *users = arg;

	(void)pthread_mutex_lock(&users->mutex);
	while (!users->ends) {
		struct credential *credential = next_credential(users);

		if (credential) {
			check_credential(users, credential);
		} else {
			(void)pthread_cond_wait(&users->has_work, &users->mutex);
		}
	}
	(void)pthread_mutex_unlock(&users->mutex);
	return NULL;
}

/* ---- requests ---- */

/* "Basic BASE64" as NAME:PASSWORD.  False: it is nothing of that kind. */
static bool take_header(const char *header, char credential[CREDENTIAL_BYTES])
{
	unsigned char plain[CREDENTIAL_BYTES];
	size_t len;
	int count;

	if (!header || strncasecmp(header, "Basic ", 6) != 0) {
		return false;
	}
	header += 6 + strspn(header + 6, " ");
	len = strlen(header);
	if (len == 0 || len % 4 != 0 || len / 4 * 3 >= sizeof(plain)) {
		return false;
	}
	count = tls_library()->EVP_DecodeBlock_(plain, (const unsigned char *)header, (int)len);
	count -= count > 0 && header[len - 1] == '=';
	count -= count > 0 && header[len - 2] == '=';
	if (count <= 0 || memchr(plain, '\0', (size_t)count) ||
	    !memchr(plain, ':', (size_t)count)) {
		return false;
	}
	memcpy(credential, plain, (size_t)count);
	credential[count] = '\0';
	explicit_bzero(plain, sizeof(plain));
	return true;
}

/* Whether this peer may try one more: tries are spaced, and some may come at once. */
static bool may_try(struct users *users, const char *address)
{
	const uint64_t step = SERVER_TRY_S * NS_PER_S, now = now_monotonic_ns();
	struct peer *peer = &users->peers[0];

	for (size_t i = 0; i < SERVER_PEERS_MAX; i++) {
		if (strcmp(users->peers[i].address, address) == 0) {
			peer = &users->peers[i];
			break;
		}
		if (users->peers[i].next_ns < peer->next_ns) {
			peer = &users->peers[i];
		}
	}
	if (strcmp(peer->address, address) != 0) {
		(void)snprintf(peer->address, sizeof(peer->address), "%s", address);
		peer->next_ns = 0;
	}
	if (peer->next_ns < now) {
		peer->next_ns = now;
	}
	if (peer->next_ns - now > (SERVER_TRIES_BURST - 1) * step) {
		return false;
	}
	peer->next_ns += step;
	return true;
}

/* A place for one more: what is wrong goes before what is right, and the oldest first.  NULL: too
 * many wait. */
static struct credential *place_for_credential(struct users *users)
{
	struct credential *found = NULL;
	size_t waiting = 0;

	for (size_t i = 0; i < SERVER_CREDENTIALS_MAX; i++) {
		struct credential *credential = &users->credentials[i];

		if (credential->state == CREDENTIAL_WAITS ||
		    credential->state == CREDENTIAL_IS_CHECKED) {
			waiting++;
		} else if (!found || credential->state < found->state ||
			   (credential->state == found->state &&
			    credential->at_ns < found->at_ns)) {
			found = credential;
		}
	}
	return waiting < SERVER_TRIES_MAX ? found : NULL;
}

static struct credential *known_credential(struct users *users, const unsigned char mac[MAC_BYTES])
{
	for (size_t i = 0; i < SERVER_CREDENTIALS_MAX; i++) {
		struct credential *credential = &users->credentials[i];

		if (credential->state != CREDENTIAL_NONE &&
		    tls_library()->CRYPTO_memcmp_(credential->mac, mac, MAC_BYTES) == 0) {
			return credential;
		}
	}
	return NULL;
}

static enum users_answer take_credential(struct users *users, const unsigned char mac[MAC_BYTES],
					 const char *text, const char *address)
{
	char *name = mem_strdup(text), *colon = strchr(name, ':');
	struct credential *credential =
		may_try(users, address) ? place_for_credential(users) : NULL;

	if (credential) {
		*colon = '\0';
		*credential = (struct credential){ .state = CREDENTIAL_WAITS,
						   .at_ns = now_monotonic_ns(),
						   .user = find_user(users->list, name),
						   .password = mem_strdup(colon + 1) };
		memcpy(credential->mac, mac, MAC_BYTES);
		(void)pthread_cond_signal(&users->has_work);
	}
	explicit_bzero(name, strlen(text));
	free(name);
	return credential ? USERS_WAITS : USERS_REFUSED;
}

enum users_answer users_ask(struct users *users, const char *authorization, const char *peer,
			    const char **ret_name)
{
	const struct tls_library *tls = tls_library();
	unsigned char mac[MAC_BYTES];
	enum users_answer answer;
	char text[CREDENTIAL_BYTES];
	struct credential *credential;

	if (!take_header(authorization, text)) {
		return USERS_WRONG;
	}
	(void)tls->HMAC_(tls->EVP_sha256_(), users->key, sizeof(users->key),
			 (const unsigned char *)text, strlen(text), mac, NULL);
	(void)pthread_mutex_lock(&users->mutex);
	credential = known_credential(users, mac);
	if (!credential) {
		answer = take_credential(users, mac, text, peer);
	} else if (credential->state == CREDENTIAL_IS_RIGHT) {
		credential->at_ns = now_monotonic_ns();
		*ret_name = users->list->at.at[credential->user].name;
		answer = USERS_KNOWN;
	} else {
		answer = credential->state == CREDENTIAL_IS_WRONG ? USERS_WRONG : USERS_WAITS;
	}
	(void)pthread_mutex_unlock(&users->mutex);
	explicit_bzero(text, sizeof(text));
	if (answer == USERS_WRONG || answer == USERS_REFUSED) {
		repeat_say(NULL, "a user of %s is refused: %s", peer,
			   answer == USERS_WRONG ? "wrong name or password" : "too many tries");
	}
	return answer;
}

/* ---- the whole ---- */

static void on_hashed(evutil_socket_t fd, short what, void *arg)
{
	struct users *users = arg;
	uint64_t count;

	if (read(fd, &count, sizeof(count)) > 0) {
		users->on_change(users->user);
	}
}

struct users *users_new(struct event_base *base, users_change_fn *on_change, void *user)
{
	struct users *users = mem_alloc(sizeof(*users));

	users->list = users_list_new();
	users->on_change = on_change;
	users->user = user;
	users->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (tls_library()->RAND_bytes_(users->key, sizeof(users->key)) != 1 || users->fd < 0) {
		mem_lacks("random bytes or an eventfd");
	}
	(void)pthread_mutex_init(&users->mutex, NULL);
	(void)pthread_cond_init(&users->has_work, NULL);
	users->event = event_new(base, users->fd, EV_READ | EV_PERSIST, on_hashed, users);
	(void)event_add(users->event, NULL);
	if (thread_start(&users->thread, run, users) != 0) {
		mem_lacks("a thread");
	}
	return users;
}

size_t users_count(const struct users *users)
{
	return users_list_count(users->list);
}

void users_set(struct users *users, struct users_list *list)
{
	struct users_list *before = users->list;

	(void)pthread_mutex_lock(&users->mutex);
	for (size_t i = 0; i < SERVER_CREDENTIALS_MAX; i++) {
		if (users->credentials[i].state != CREDENTIAL_IS_CHECKED) {
			forget_password(&users->credentials[i]);
			users->credentials[i].state = CREDENTIAL_NONE;
		}
	}
	users->is_old = true;
	users->list = list;
	(void)pthread_mutex_unlock(&users->mutex);
	users_list_free(before);
}

void users_free(struct users *users)
{
	if (!users) {
		return;
	}
	(void)pthread_mutex_lock(&users->mutex);
	users->ends = true;
	(void)pthread_cond_signal(&users->has_work);
	(void)pthread_mutex_unlock(&users->mutex);
	thread_join(users->thread, NULL); /* at most one hash */
	for (size_t i = 0; i < SERVER_CREDENTIALS_MAX; i++) {
		forget_password(&users->credentials[i]);
	}
	event_free(users->event);
	(void)close(users->fd);
	(void)pthread_cond_destroy(&users->has_work);
	(void)pthread_mutex_destroy(&users->mutex);
	users_list_free(users->list);
	explicit_bzero(users, sizeof(*users));
	free(users);
}

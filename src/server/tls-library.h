/*
 * tls-library: OpenSSL, libevent's use of it, and crypt(3), loaded for a --server-config.
 *
 * Linked, they would cost each run their start, and few runs have one.
 */
#pragma once

#include <crypt.h>
#include <event2/bufferevent_ssl.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>

#include "base/err.h"

#define TLS_SSL_FUNCTIONS(X)                                                                       \
	X(SSL_CTX_check_private_key)                                                               \
	X(SSL_CTX_ctrl)                                                                            \
	X(SSL_CTX_free)                                                                            \
	X(SSL_CTX_new)                                                                             \
	X(SSL_CTX_set_default_passwd_cb)                                                           \
	X(SSL_CTX_set_options)                                                                     \
	X(SSL_CTX_use_PrivateKey_file)                                                             \
	X(SSL_CTX_use_certificate_chain_file)                                                      \
	X(SSL_new)                                                                                 \
	X(SSL_write)                                                                               \
	X(TLS_server_method)
#define TLS_CRYPTO_FUNCTIONS(X)                                                                    \
	X(CRYPTO_memcmp)                                                                           \
	X(ERR_clear_error)                                                                         \
	X(ERR_peek_last_error)                                                                     \
	X(ERR_reason_error_string)                                                                 \
	X(EVP_DecodeBlock)                                                                         \
	X(EVP_sha256)                                                                              \
	X(HMAC)                                                                                    \
	X(RAND_bytes)
#define TLS_EVENT_FUNCTIONS(X)                                                                     \
	X(bufferevent_openssl_get_ssl)                                                             \
	X(bufferevent_openssl_set_allow_dirty_shutdown)                                            \
	X(bufferevent_openssl_socket_new)
#define TLS_CRYPT_FUNCTIONS(X) X(crypt_r)
#define TLS_FUNCTIONS(X)                                                                           \
	TLS_SSL_FUNCTIONS(X)                                                                       \
	TLS_CRYPTO_FUNCTIONS(X)                                                                    \
	TLS_EVENT_FUNCTIONS(X)                                                                     \
	TLS_CRYPT_FUNCTIONS(X)

/* Each function by its name. */
struct tls_library {
#define X(name) typeof(name) *name##_;
	TLS_FUNCTIONS(X)
#undef X
};

/* The first thread only.  -ENOENT: one of them is not installed, or too old. */
int tls_library_load(struct err *err);

/* After tls_library_load(). */
const struct tls_library *tls_library(void);

/*
 * tls-library: see tls-library.h.
 */
#include "server/tls-library.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>

#include "base/process/library.h"
#include "base/vec.h"

#define TEXT(x)      #x
#define TEXT_OF(x)   TEXT(x)
#define SSL_VERSION_ TEXT_OF(OPENSSL_SHLIB_VERSION)

#define X(name) { #name, offsetof(struct tls_library, name##_) },
static const struct library_function of_ssl[] = { TLS_SSL_FUNCTIONS(X) };
static const struct library_function of_crypto[] = { TLS_CRYPTO_FUNCTIONS(X) };
static const struct library_function of_event[] = { TLS_EVENT_FUNCTIONS(X) };
static const struct library_function of_crypt[] = { TLS_CRYPT_FUNCTIONS(X) };
#undef X

static const struct {
	const char *file, *package; /* Debian's */
	const struct library_function *functions;
	size_t count;
} libraries[] = {
	{ "libcrypto.so." SSL_VERSION_, "libssl3", of_crypto, ARRAY_COUNT(of_crypto) },
	{ "libssl.so." SSL_VERSION_, "libssl3", of_ssl, ARRAY_COUNT(of_ssl) },
	{ "libevent_openssl-2.1.so.7", "libevent-openssl-2.1-7", of_event, ARRAY_COUNT(of_event) },
	{ "libcrypt.so.1", "libcrypt1", of_crypt, ARRAY_COUNT(of_crypt) },
};

static struct tls_library library;
static bool is_loaded;

int tls_library_load(struct err *err)
{
	for (size_t i = 0; i < ARRAY_COUNT(libraries) && !is_loaded; i++) {
		if (!library_load(libraries[i].file, libraries[i].functions, libraries[i].count,
				  &library)) {
			return err_raise(err, -ENOENT,
					 "TLS needs %s (package %s): it is not installed",
					 libraries[i].file, libraries[i].package);
		}
	}
	is_loaded = true;
	return 0;
}

const struct tls_library *tls_library(void)
{
	assert(is_loaded);
	return &library;
}

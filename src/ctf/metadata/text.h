/*
 * text: encodings other than UTF-8, which only CTF 2 has.
 */
#ifndef SILLAGE_CTF_METADATA_TEXT_H
#define SILLAGE_CTF_METADATA_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "ctf/metadata/type.h"

/* UTF-16 grows most: two bytes may take three. */
#define TEXT_UTF8_BYTES_MAX(bytes) ((bytes) / 2 * 3)

/*
 * Converts @len bytes, up to the first U+0000, and returns the bytes written to @out, which
 * has room for TEXT_UTF8_BYTES_MAX(@len).  What is not a character becomes U+FFFD.
 */
size_t text_to_utf8(enum encoding encoding, const uint8_t *bytes, size_t len, uint8_t *out);

#endif

/*
 * text: conversion to UTF-8 from the other encodings of CTF 2 (RFC 3629, RFC 2781).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "ctf/metadata/type.h"

/* UTF-16 grows most: two bytes may become three. */
#define TEXT_UTF8_BYTES_MAX(bytes) ((bytes) / 2 * 3)

/*
 * Converts @len bytes, up to the first U+0000, and returns the number of bytes written.  @out has
 * room for TEXT_UTF8_BYTES_MAX(@len).  A code that is no character becomes U+FFFD.  @encoding is
 * not UTF_8.
 */
size_t text_to_utf8(enum encoding encoding, const uint8_t *bytes, size_t len, uint8_t *out);

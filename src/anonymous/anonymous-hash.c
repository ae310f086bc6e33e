/*
 * anonymous-hash: the keyed hash; see anonymous-parts.h.
 */
#include <string.h>

#include "anonymous/anonymous-parts.h"

struct sip {
	uint64_t v[4];
};

static uint64_t rotated(uint64_t word, unsigned int bits)
{
	return word << bits | word >> (64 - bits);
}

static void sip_rounds(struct sip *sip, unsigned int count)
{
	uint64_t *v = sip->v;

	while (count-- > 0) {
		v[0] += v[1];
		v[2] += v[3];
		v[1] = rotated(v[1], 13) ^ v[0];
		v[3] = rotated(v[3], 16) ^ v[2];
		v[0] = rotated(v[0], 32);
		v[2] += v[1];
		v[0] += v[3];
		v[1] = rotated(v[1], 17) ^ v[2];
		v[3] = rotated(v[3], 21) ^ v[0];
		v[2] = rotated(v[2], 32);
	}
}

static void sip_word(struct sip *sip, uint64_t word)
{
	sip->v[3] ^= word;
	sip_rounds(sip, 2);
	sip->v[0] ^= word;
}

/* @len bytes, 8 at most, the first of them lowest. */
static uint64_t hashed_word(const uint8_t *bytes, size_t len)
{
	uint64_t word = 0;

	for (size_t i = 0; i < len; i++) {
		word |= (uint64_t)bytes[i] << 8 * i;
	}
	return word;
}

uint64_t anonymous_hash(const uint8_t key[ANONYMOUS_KEY_BYTES], const void *bytes, size_t len)
{
	static const char start[] = "uespemosmodnarodarenegylsetybdet"; /* of SipHash */
	uint64_t k[2] = { hashed_word(key, 8), hashed_word(key + 8, 8) };
	const uint8_t *at = bytes;
	struct sip sip;
	size_t left = len;

	for (unsigned int i = 0; i < 4; i++) {
		sip.v[i] = hashed_word((const uint8_t *)start + 8 * (size_t)i, 8) ^ k[i % 2];
	}
	for (; left >= 8; left -= 8, at += 8) {
		sip_word(&sip, hashed_word(at, 8));
	}
	sip_word(&sip, hashed_word(at, left) | (uint64_t)len << 56);
	sip.v[2] ^= 0xFF;
	sip_rounds(&sip, 4);
	return sip.v[0] ^ sip.v[1] ^ sip.v[2] ^ sip.v[3];
}

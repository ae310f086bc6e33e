/*
 * anonymous: the keyed hash, words that stay apart, and metadata of a hostile form.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "anonymous/anonymous-parts.h"
#include "suites.h"

static const uint8_t counted[ANONYMOUS_KEY_BYTES] = { 0, 1, 2,  3,  4,  5,  6,  7,
						      8, 9, 10, 11, 12, 13, 14, 15 };

/* The vectors of the authors: keys and texts are 0, 1, 2, ... */
START_TEST(the_hash_is_that_of_its_authors)
{
	static const struct {
		size_t len;
		uint64_t hash;
	} known[] = { { 0, 0x726fdb47dd0e0e31 },
		      { 1, 0x74f839c593dc67fd },
		      { 8, 0x93f5f5799a932462 },
		      { 15, 0xa129ca6149be45e5 } };
	uint8_t text[16];

	for (size_t i = 0; i < sizeof(text); i++) {
		text[i] = (uint8_t)i;
	}
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		ck_assert_uint_eq(anonymous_hash(counted, text, known[i].len), known[i].hash);
	}
}
END_TEST

static char *of(struct anonymous *anonymous, const char *text)
{
	return anonymous_copy(anonymous, text);
}

START_TEST(words_are_replaced_and_their_places_stay)
{
	struct anonymous *anonymous = anonymous_new(counted);
	char *path = of(anonymous, "/home/anna/run"), *word = of(anonymous, "run"),
	     *pipe = of(anonymous, "pipe:[1234]"), *stream = anonymous_stream(anonymous, "chan_17"),
	     *trace = anonymous_path(anonymous, "prod/ust/uid/1000/64-bit");
	uint8_t zeros[4] = { 0 }, address[4] = { 10, 0, 0, 1 }, other[4] = { 10, 0, 0, 2 };

	ck_assert_uint_eq(strlen(path), strlen("/home/anna/run"));
	ck_assert(path[0] == '/' && path[5] == '/' && path[10] == '/');
	ck_assert_str_eq(path + 11, word);
	ck_assert_str_ne(word, "run");
	ck_assert_uint_eq(strncmp(pipe, "pipe:[", 6), 0);
	ck_assert(pipe[10] == ']' && !strstr(pipe, "1234"));
	ck_assert_str_eq(stream + 4, "_17");
	ck_assert_uint_eq(strncmp(stream, "chan", 4) == 0, 0);
	ck_assert_str_eq(trace + 4, "/ust/uid/1000/64-bit");
	anonymous_bytes(anonymous, zeros, 4, zeros);
	anonymous_bytes(anonymous, address, 4, address);
	anonymous_bytes(anonymous, other, 4, other);
	ck_assert_uint_eq(memcmp(zeros, (uint8_t[4]){ 0 }, 4), 0);
	ck_assert_uint_ne(memcmp(address, other, 4), 0);
	free(path);
	free(word);
	free(pipe);
	free(stream);
	free(trace);
	anonymous_free(anonymous);
}
END_TEST

/* There are 32 letters, and then more. */
START_TEST(short_words_stay_apart)
{
	struct anonymous *anonymous = anonymous_new(counted);
	bool seen[256] = { false };
	char word[2] = "", made[2];

	for (char c = '0'; c <= 'm'; c++) {
		if (c != ':' && c != '=' && c != '[' && c != ']') {
			word[0] = c;
			anonymous_text(anonymous, word, 1, made);
			ck_assert(made[0] != c && !seen[(uint8_t)made[0]]);
			seen[(uint8_t)made[0]] = true;
			anonymous_text(anonymous, word, 1, made + 1);
			ck_assert(made[0] == made[1]);
		}
	}
	anonymous_free(anonymous);
}
END_TEST

/* A text of an event may be one word of a whole packet: no time that grows faster than it, and no
 * part of what is made comes again. */
START_TEST(a_long_word_takes_no_longer_than_its_bytes)
{
	enum { BYTES = 8 << 20, TURN = 3 << 20 };
	struct anonymous *anonymous = anonymous_new(counted);
	char *word = malloc(BYTES), *made = malloc(BYTES);

	memset(word, 'a', BYTES);
	anonymous_text(anonymous, word, BYTES, made);
	for (size_t at = 12; at + 64 <= BYTES; at += at) {
		ck_assert_uint_ne(memcmp(made, made + at, 32), 0);
	}
	ck_assert_uint_ne(memcmp(made, made + TURN, 32), 0);
	anonymous_bytes(anonymous, (uint8_t *)word, BYTES, (uint8_t *)made);
	ck_assert_uint_ne(memcmp(made, made + (8 << 17), 32), 0);
	free(word);
	free(made);
	anonymous_free(anonymous);
}
END_TEST

/* Texts that end anywhere: it is refused, or made, and nothing is read beyond. */
START_TEST(metadata_may_be_cut_anywhere)
{
	static const char tsdl[] = "/* CTF 1.8 */ env { hostname = \"a\\\"b\"; domain = 'x'; };"
				   " clock { uuid = \"zz\"; description = \"d // e\"; }; // end";
	static const char json[] =
		"\x1E{\"type\":\"trace-class\",\"environment\":{\"hostname\":\"abcdefg\"},"
		"\"attributes\":{\"lttng.org,2009\":{\"x\":\"abcdefg\"}}}\n"
		"\x1E{\"type\":\"clock-class\",\"uuid\":[1,\"a\",null,[],{}],\"origin\":{\"a\":1}}";
	struct anonymous *anonymous = anonymous_new(counted);
	struct err err;

	for (uint32_t major = 1; major <= 2; major++) {
		const char *text = major == 1 ? tsdl : json;

		for (size_t len = 0; len <= strlen(text); len++) {
			char *copy = malloc(len + 1), *made; /* without a zero behind it */
			size_t made_len;

			memcpy(copy, text, len);
			copy = realloc(copy, len ? len : 1);
			if (anonymous_metadata(anonymous, major, copy, len, &made, &made_len,
					       &err) == 0) {
				ck_assert_ptr_null(strstr(made, "abcdefg"));
				ck_assert_ptr_null(strstr(made, "d // e"));
				free(made);
			}
			free(copy);
		}
	}
	anonymous_free(anonymous);
}
END_TEST

Suite *suite_anonymous(void)
{
	Suite *suite = suite_create("anonymous");
	TCase *tcase = tcase_create("anonymous");

	tcase_add_test(tcase, the_hash_is_that_of_its_authors);
	tcase_add_test(tcase, words_are_replaced_and_their_places_stay);
	tcase_add_test(tcase, short_words_stay_apart);
	tcase_add_test(tcase, a_long_word_takes_no_longer_than_its_bytes);
	tcase_add_test(tcase, metadata_may_be_cut_anywhere);
	suite_add_tcase(suite, tcase);
	return suite;
}

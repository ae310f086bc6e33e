/*
 * vec: growing arrays, their orders, and the first elements of an array.
 *
 *     VEC(int) v = { 0 };
 *     *vec_push(&v) = 3;       at --> [ 3 |   |   |   |   ]
 *     v.at[0] == 3;                   count: 1, room: 5
 *     vec_fini(&v);
 *
 * All of them grow in one function, vec_grow_(): vec_reserve() to exactly what was asked for, the
 * others to twice the room, so that adding n elements one by one costs O(n).
 *
 * Pointers into an array are invalid after any call that may grow it.  New room is not zeroed.
 */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define VEC(type)                                                                                  \
	struct {                                                                                   \
		type *at;                                                                          \
		size_t count;                                                                      \
		size_t room;                                                                       \
	}

/* Adds an element; the result points to it. */
#define vec_push(v) vec_push_(v, VEC_DOUBLE)

/* Room for @total elements in all. */
#define vec_reserve(v, total) vec_room_(v, total, VEC_EXACT)

/* Room for @n more; cheap to call often. */
#define vec_reserve_more(v, n) vec_room_(v, (v)->count + (n), VEC_DOUBLE)

/*
 * The same for arrays whose elements of 32 or 64 bytes never straddle two cache lines.  An array
 * that is pushed to with one family is not pushed to with the other.
 */
#define vec_push_in_line(v)           vec_push_(v, VEC_LINES)
#define vec_reserve_in_line(v, total) vec_room_(v, total, VEC_LINES)

/* Adds @n elements from @from. */
#define vec_append(v, from, n)                                                                     \
	do {                                                                                       \
		size_t n_ = (n);                                                                   \
		vec_reserve_more(v, n_);                                                           \
		if (n_ > 0) {                                                                      \
			memcpy((v)->at + (v)->count, (from), n_ * sizeof(*(v)->at));               \
			(v)->count += n_;                                                          \
		}                                                                                  \
	} while (0)

#define ARRAY_COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define vec_fini(v) (free((v)->at), (v)->at = NULL, (v)->count = 0, (v)->room = 0)

/* The same, after free_one(element) of each, or fini_one(&element). */
#define vec_free_each(v, free_one)                                                                 \
	do {                                                                                       \
		for (size_t i_ = 0; i_ < (v)->count; i_++) {                                       \
			free_one((v)->at[i_]);                                                     \
		}                                                                                  \
		vec_fini(v);                                                                       \
	} while (0)
#define vec_fini_each(v, fini_one)                                                                 \
	do {                                                                                       \
		for (size_t i_ = 0; i_ < (v)->count; i_++) {                                       \
			fini_one(&(v)->at[i_]);                                                    \
		}                                                                                  \
		vec_fini(v);                                                                       \
	} while (0)

/*
 *     VEC_EACH(&v, one) {          one: pointer to each element
 *     VEC_EACH_OF(&v, one) {       one: each element, which is a pointer itself
 *
 * The array must not grow meanwhile.
 */
#define VEC_EACH(v, one)                                                                           \
	for (__typeof__((v)->at + 0) one = (v)->at; (size_t)(one - (v)->at) < (v)->count; one++)
#define VEC_EACH_OF(v, one)                                                                        \
	for (__typeof__(*(v)->at) one = NULL, *one##_in_ = (v)->at;                                \
	     (size_t)(one##_in_ - (v)->at) < (v)->count && (one = *one##_in_, true); one##_in_++)

/* ---- how they grow ---- */

enum vec_growth {
	VEC_EXACT,  /* to what was asked for */
	VEC_DOUBLE, /* to twice the room, or more if that was asked for */
	VEC_LINES,  /* the same, from the start of a cache line; costs a copy */
};

#define vec_room_(v, total, growth)                                                                \
	((total) > (v)->room ? vec_grow_((void **)&(v)->at, (v)->count, &(v)->room, (total),       \
					 sizeof(*(v)->at), growth)                                 \
			     : (void)0)

#define vec_push_(v, growth)                                                                       \
	(vec_room_(v, (v)->count + 1, growth), (v)->count++, &(v)->at[(v)->count - 1])

/* Gives the array of @count elements of @size bytes a room of at least @total, which is above the
 * room that it has. */
void vec_grow_(void **at, size_t count, size_t *room, size_t total, size_t size,
	       enum vec_growth growth);

/* One more, by doubling. */
static inline void vec_grow_slow_(void **at, size_t *room, size_t size)
{
	vec_grow_(at, *room, room, *room + 1, size, VEC_DOUBLE);
}

/* ---- orders ---- */

/*
 * Comparisons for qsort(), by keys of the elements:
 *
 *     ORDER(by_total, struct part, DOWN(total) UP(thread))
 *
 * defines by_total(): of two parts the one with the larger total is first, of equal ones that of
 * the lower thread.  A key is a number, or the number that a function has of an element.
 */
#define UP(key)   (a->key > b->key) - (a->key < b->key) ?:
#define DOWN(key) (a->key < b->key) - (a->key > b->key) ?:

/* Of a function, of texts, of arrays of bytes; and those that last longer first. */
#define UP_OF(number_of)   (number_of(a) > number_of(b)) - (number_of(a) < number_of(b)) ?:
#define DOWN_OF(number_of) (number_of(a) < number_of(b)) - (number_of(a) > number_of(b)) ?:
#define UP_TEXT(key)       strcmp(a->key, b->key) ?:
#define UP_BYTES(key)      memcmp(a->key, b->key, sizeof(a->key)) ?:
#define LONGER             (a->end - a->begin < b->end - b->begin) - (a->end - a->begin > b->end - b->begin) ?:

/* Elements are of the @type. */
#define ORDER(name, type, keys)                                                                    \
	static int name(const void *left, const void *right)                                       \
	{                                                                                          \
		const type *a = left, *b = right;                                                  \
                                                                                                   \
		return keys 0;                                                                     \
	}

/* Elements point to it. */
#define ORDER_POINTERS(name, type, keys)                                                           \
	static int name(const void *left, const void *right)                                       \
	{                                                                                          \
		const type *a = *(const type *const *)left, *b = *(const type *const *)right;      \
                                                                                                   \
		return keys 0;                                                                     \
	}

/* Elements are numbers. */
#define ORDER_VALUES(name, type)                                                                   \
	static int name(const void *left, const void *right)                                       \
	{                                                                                          \
		const type a = *(const type *)left, b = *(const type *)right;                      \
                                                                                                   \
		return (a > b) - (a < b);                                                          \
	}

/* Sorts a VEC() by such a comparison. */
#define vec_sort(v, order)                                                                         \
	((v)->count > 1 ? qsort((v)->at, (v)->count, sizeof(*(v)->at), order) : (void)0)

/* ---- the first elements ---- */

/*
 * VEC_SELECT(name, type, is_before) defines name(at, count, first): it moves the @first elements
 * that are before all others to the front of an array, in no order among themselves.
 * bool is_before(const type *, const type *) is a strict order; of equal elements any may come
 * first.  Time is in proportion to @count.
 */
#define VEC_SELECT(name, type, is_before)                                                          \
	static void name(type *at, size_t count, size_t first)                                     \
	{                                                                                          \
		size_t begin = 0, last = count - 1;                                                \
                                                                                                   \
		assert(first > 0 && first < count);                                                \
		while (begin < last) {                                                             \
			type pivot = at[begin + (last - begin) / 2];                               \
			size_t i = begin, k = last;                                                \
                                                                                                   \
			for (;;) {                                                                 \
				type swapped;                                                      \
                                                                                                   \
				while (is_before(&at[i], &pivot)) {                                \
					i++;                                                       \
				}                                                                  \
				while (is_before(&pivot, &at[k])) {                                \
					k--;                                                       \
				}                                                                  \
				if (i >= k) {                                                      \
					break;                                                     \
				}                                                                  \
				swapped = at[i];                                                   \
				at[i++] = at[k];                                                   \
				at[k--] = swapped;                                                 \
			}                                                                          \
			if (first <= k) {                                                          \
				last = k;                                                          \
			} else {                                                                   \
				begin = k + 1;                                                     \
			}                                                                          \
		}                                                                                  \
	}

/* ---- of an array in order ---- */

/*
 *     VEC_FIRST(first_behind, struct part, uint64_t, one->begin <= wanted)
 *
 * defines first_behind(at, count, wanted): the index of the first element for which the expression
 * does not hold; @count: it holds for all.  It holds for none behind that.
 */
#define VEC_FIRST(name, type, wanted_type, is_before)                                              \
	static size_t name(type const *at, size_t count, wanted_type wanted)                       \
	{                                                                                          \
		size_t low = 0, high = count;                                                      \
                                                                                                   \
		while (low < high) {                                                               \
			size_t middle = low + (high - low) / 2;                                    \
			type const *one = &at[middle];                                             \
                                                                                                   \
			if (is_before) {                                                           \
				low = middle + 1;                                                  \
			} else {                                                                   \
				high = middle;                                                     \
			}                                                                          \
		}                                                                                  \
		return low;                                                                        \
	}

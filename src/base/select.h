/*
 * select: the first elements of an array, in no order among themselves.
 *
 * SELECT_FIRST(name, type, is_before) defines name(at, count, first): it moves the @first elements
 * that are before all others to the front.  bool is_before(const type *, const type *) is a strict
 * order; of elements that are equal in it any may come first.  Time is in proportion to @count.
 */
#ifndef SILLAGE_BASE_SELECT_H
#define SILLAGE_BASE_SELECT_H

#include <assert.h>
#include <stddef.h>

#define SELECT_FIRST(name, type, is_before)                                                        \
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

#endif

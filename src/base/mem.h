/*
 * mem: heap allocation for sizes we chose ourselves, and growing arrays.
 *
 * Sizes that come from input are checked against limits.h before they get here,
 * so running out of memory is a fault of the machine, not of the input: these
 * functions print one line and abort rather than return NULL.
 */
#ifndef SILLAGE_BASE_MEM_H
#define SILLAGE_BASE_MEM_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

void *mem_alloc(size_t size);              /* zeroed */
void *mem_alloc_lines(size_t size);        /* from the begin of a line of cache on; not zeroed */
void *mem_realloc(void *old, size_t size); /* new bytes are not zeroed */
char *mem_strdup(const char *text);
char *mem_printf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * A growing array: VEC(int) v = { 0 }; *vec_push(&v) = 3; v.at[0]; v.count; vec_fini(&v).
 * Pointers into it die at the next push.
 */
#define VEC(type)                                                                                  \
	struct {                                                                                   \
		type *at;                                                                          \
		size_t count;                                                                      \
		size_t room;                                                                       \
	}

#define vec_push(v)                                                                                \
	(vec_grow_((void **)&(v)->at, (v)->count, &(v)->room, sizeof(*(v)->at)), (v)->count++,     \
	 &(v)->at[(v)->count - 1])

#define LINE_BYTES 64 /* of cache */

/*
 * The same for elements of 32 or 64 bytes of which none is to be in two lines of cache.  It costs a
 * copy where there are more and more.
 */
#define vec_push_in_line(v)                                                                        \
	((v)->count == (v)->room ? vec_reserve_lines_((void **)&(v)->at, (v)->count, &(v)->room,   \
						      (v)->count + 1, sizeof(*(v)->at))            \
				 : (void)0,                                                        \
	 (v)->count++, &(v)->at[(v)->count - 1])

/* Makes room for @total elements at once. */
#define vec_reserve(v, total)                                                                      \
	((total) > (v)->room ? (void)((v)->at = mem_realloc((v)->at, (total) * sizeof(*(v)->at)),  \
				      (v)->room = (total))                                         \
			     : (void)0)

/* Makes room for @n more, and as many again as there are: it may be asked for often. */
#define vec_reserve_more(v, n)                                                                     \
	((n) > (v)->room - (v)->count ? vec_reserve(v, (v)->count + (n) + (v)->room) : (void)0)

/* vec_reserve() for elements that are not to be in two lines of cache. */
#define vec_reserve_in_line(v, total)                                                              \
	((total) > (v)->room ? vec_reserve_lines_((void **)&(v)->at, (v)->count, &(v)->room,       \
						  (total), sizeof(*(v)->at))                       \
			     : (void)0)

/* Adds @n elements from @from. */
#define vec_append(v, from, n)                                                                     \
	do {                                                                                       \
		size_t n_ = (n);                                                                   \
		if (n_ > (v)->room - (v)->count) {                                                 \
			vec_reserve(v, n_ > (v)->room ? (v)->count + n_ : 2 * (v)->room);          \
		}                                                                                  \
		if (n_ > 0) {                                                                      \
			memcpy((v)->at + (v)->count, (from), n_ * sizeof(*(v)->at));               \
			(v)->count += n_;                                                          \
		}                                                                                  \
	} while (0)

#define vec_fini(v) (free((v)->at), (v)->at = NULL, (v)->count = 0, (v)->room = 0)

void vec_grow_slow_(void **at, size_t *room, size_t size);
void vec_reserve_lines_(void **at, size_t count, size_t *room, size_t total, size_t size);

static inline void vec_grow_(void **at, size_t count, size_t *room, size_t size)
{
	if (count == *room) {
		vec_grow_slow_(at, room, size);
	}
}

#endif

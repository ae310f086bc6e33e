/*
 * news: what readers of both databases say of windows that land in a store (reader-news.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct store_news_window {
	uint64_t level, begin, end;
	bool is_complete;
};

/* Windows of one trace that begin in [begin, end). */
struct store_news_range {
	uint32_t trace; /* as store_news_traces() has it */
	uint64_t level; /* 0: of any length */
	uint64_t begin, end;
};

typedef void store_news_fn(void *user, uint32_t trace, const struct store_news_window *window);

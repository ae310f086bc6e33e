/*
 * call-name: rows of system calls by name.
 */
#pragma once

#include "engine/contract/merge.h"
#include "kernel/syscall-names.h"

/* The key of the call that an event class belongs to (shard_indexed_row()). */
static inline struct row_key call_name_key(const struct shard *shard, uint32_t class_index)
{
	struct row_key key = { 0 };

	syscall_label(shard_event_name(shard, class_index), key.name, sizeof(key.name));
	return key;
}

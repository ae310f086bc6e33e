/*
 * fd-table: see fd-table.h.
 */
#include "analyses/files/fd-table.h"

#include <assert.h>
#include <string.h>

#include "base/hash.h"
#include "base/limits.h"
#include "base/mem.h"

/* ---- files ---- */

const char *fd_kind_name(enum fd_kind kind)
{
	static const char *const names[FD_KINDS] = {
		[FD_UNKNOWN] = "unknown", [FD_FILE] = "file",     [FD_INET] = "inet",
		[FD_UNIX] = "unix",       [FD_SOCKET] = "socket", [FD_PIPE] = "pipe",
		[FD_ANON] = "anon",
	};

	return names[kind];
}

struct fd_file *fd_file_new(enum fd_kind kind, const char *name)
{
	size_t len = strlen(name);
	struct fd_file *file = mem_alloc(sizeof(*file) + len + 1);

	file->refs = 1;
	file->kind = (uint8_t)kind;
	memcpy(file->name, name, len + 1);
	return file;
}

struct fd_file *fd_file_ref(struct fd_file *file)
{
	file->refs++;
	return file;
}

void fd_file_unref(struct fd_file *file)
{
	if (!file) {
		return;
	}
	assert(file->refs > 0);
	if (--file->refs == 0) {
		free(file);
	}
}

/* ---- tables ---- */

HASH_DECLARE(fd_entries, struct fd_entry)

struct fd_table {
	uint32_t threads; /* that are known, and have not ended */
	khash_t(fd_entries) * entries;
};

HASH_DECLARE(fd_tables_by_key, struct fd_table *)
HASH_DECLARE(fd_owners, uint64_t)

struct fd_tables {
	khash_t(fd_tables_by_key) * by_key;
	khash_t(fd_owners) * owners; /* keys by FD_KEY_ADDRESS() */
	size_t held;                 /* entries and tables */
	uint32_t dumps;              /* state dumps that have begun */
};

struct fd_tables *fd_tables_new(void)
{
	struct fd_tables *tables = mem_alloc(sizeof(*tables));

	tables->by_key = kh_init(fd_tables_by_key);
	tables->owners = kh_init(fd_owners);
	return tables;
}

static void empty_table(struct fd_tables *tables, struct fd_table *table)
{
	struct fd_entry entry;

	kh_foreach_value(table->entries, entry, fd_file_unref(entry.file));
	assert(tables->held >= kh_size(table->entries));
	tables->held -= kh_size(table->entries);
	kh_clear(fd_entries, table->entries);
}

static void table_free(struct fd_tables *tables, struct fd_table *table)
{
	empty_table(tables, table);
	kh_destroy(fd_entries, table->entries);
	free(table);
	tables->held--;
}

void fd_tables_free(struct fd_tables *tables)
{
	struct fd_table *table;

	if (!tables) {
		return;
	}
	kh_foreach_value(tables->by_key, table, table_free(tables, table));
	assert(tables->held == 0);
	kh_destroy(fd_tables_by_key, tables->by_key);
	kh_destroy(fd_owners, tables->owners);
	free(tables);
}

static struct fd_table *table_of(struct fd_tables *tables, uint64_t key)
{
	khint_t at = kh_get(fd_tables_by_key, tables->by_key, key);

	return at == kh_end(tables->by_key) ? NULL : kh_value(tables->by_key, at);
}

/* The table of the key, made if it is missing; NULL: there are too many, or the key is none. */
static struct fd_table *table_for(struct fd_tables *tables, uint64_t key)
{
	struct fd_table *table = table_of(tables, key);
	int is_new;
	khint_t at;

	if (table || key == FD_KEY_NONE || tables->held >= FDS_MAX) {
		return table;
	}
	table = mem_alloc(sizeof(*table));
	table->entries = kh_init(fd_entries);
	at = kh_put(fd_tables_by_key, tables->by_key, key, &is_new);
	kh_value(tables->by_key, at) = table;
	tables->held++;
	return table;
}

static void drop_table(struct fd_tables *tables, uint64_t key)
{
	khint_t at = kh_get(fd_tables_by_key, tables->by_key, key);

	if (at != kh_end(tables->by_key)) {
		table_free(tables, kh_value(tables->by_key, at));
		kh_del(fd_tables_by_key, tables->by_key, at);
	}
}

/* ---- descriptors ---- */

static struct fd_entry *entry_of(const struct fd_table *table, int32_t fd)
{
	khint_t at = table ? kh_get(fd_entries, table->entries, (uint32_t)fd) : 0;

	return table && at != kh_end(table->entries) ? &kh_value(table->entries, at) : NULL;
}

struct fd_entry *fd_find(struct fd_tables *tables, uint64_t key, int32_t fd)
{
	struct fd_entry *entry = entry_of(table_of(tables, key), fd);

	return entry && entry->file ? entry : NULL;
}

/* Replaces the entry by a copy of @entry, and takes over the reference to its file.  Both entries
 * may have the same file. */
static void put_entry(struct fd_tables *tables, struct fd_table *table, int32_t fd,
		      const struct fd_entry *entry)
{
	struct fd_entry *old = entry_of(table, fd);
	int is_new;
	khint_t at;

	if (old) {
		fd_file_unref(old->file);
		*old = *entry;
	} else if (tables->held < FDS_MAX && kh_size(table->entries) < FDS_OF_ONE_MAX) {
		at = kh_put(fd_entries, table->entries, (uint32_t)fd, &is_new);
		kh_value(table->entries, at) = *entry;
		tables->held++;
	} else {
		fd_file_unref(entry->file);
	}
}

void fd_put(struct fd_tables *tables, uint64_t key, int32_t fd, struct fd_file *file,
	    bool closes_on_exec)
{
	struct fd_table *table = table_for(tables, key);

	if (table) {
		put_entry(tables, table, fd,
			  &(struct fd_entry){ .file = file,
					      .dump = tables->dumps,
					      .closes_on_exec = closes_on_exec });
	} else {
		fd_file_unref(file);
	}
}

void fd_put_dumped(struct fd_tables *tables, uint64_t key, int32_t fd, struct fd_file *file,
		   bool closes_on_exec)
{
	khint_t owner = kh_get(fd_owners, tables->owners, key);
	const struct fd_entry *entry;

	key = owner == kh_end(tables->owners) ? key : kh_value(tables->owners, owner);
	entry = entry_of(table_of(tables, key), fd);
	if (entry && entry->dump == tables->dumps &&
	    !(entry->file && entry->file->kind == FD_UNKNOWN)) {
		fd_file_unref(file);
	} else {
		fd_put(tables, key, fd, file, closes_on_exec);
	}
}

void fd_close(struct fd_tables *tables, uint64_t key, int32_t fd)
{
	if (fd >= 0) {
		fd_put(tables, key, fd, NULL, false);
	}
}

void fd_close_range(struct fd_tables *tables, uint64_t key, uint32_t first, uint32_t last,
		    bool on_exec)
{
	struct fd_table *table = table_of(tables, key);

	for (khint_t i = 0; table && i != kh_end(table->entries); i++) {
		struct fd_entry *entry = &kh_value(table->entries, i);

		if (!kh_exist(table->entries, i) || kh_key(table->entries, i) < first ||
		    kh_key(table->entries, i) > last) {
			continue;
		}
		if (on_exec) {
			entry->closes_on_exec = true;
		} else {
			fd_file_unref(entry->file);
			*entry = (struct fd_entry){ .dump = tables->dumps };
		}
	}
}

/* ---- processes ---- */

void fd_exec(struct fd_tables *tables, uint64_t key)
{
	struct fd_table *table = table_of(tables, key);

	for (khint_t i = 0; table && i != kh_end(table->entries); i++) {
		struct fd_entry *entry = &kh_value(table->entries, i);

		if (kh_exist(table->entries, i) && entry->closes_on_exec) {
			fd_file_unref(entry->file);
			*entry = (struct fd_entry){ .dump = tables->dumps };
		}
	}
}

/* Copies entries that @to lacks. */
static void copy_missing(struct fd_tables *tables, struct fd_table *to, const struct fd_table *from)
{
	for (khint_t i = 0; i != kh_end(from->entries); i++) {
		struct fd_entry entry;

		if (!kh_exist(from->entries, i) || !kh_value(from->entries, i).file ||
		    entry_of(to, (int32_t)kh_key(from->entries, i))) {
			continue;
		}
		entry = kh_value(from->entries, i);
		entry.keyed = NULL;
		(void)fd_file_ref(entry.file);
		put_entry(tables, to, (int32_t)kh_key(from->entries, i), &entry);
	}
}

void fd_fork(struct fd_tables *tables, uint64_t parent, uint64_t child)
{
	const struct fd_table *from;
	struct fd_table *table = table_for(tables, child);

	if (!table) {
		return;
	}
	empty_table(tables, table); /* a process that had the pid ended unseen */
	table->threads = 1;
	from = table_of(tables, parent);
	if (from && from != table) {
		copy_missing(tables, table, from);
	}
}

void fd_join(struct fd_tables *tables, uint64_t former, uint64_t key)
{
	struct fd_table *table = table_for(tables, key);
	const struct fd_table *from = table_of(tables, former);

	if (table) {
		table->threads++;
	}
	if (table && from && from != table) {
		copy_missing(tables, table, from);
		drop_table(tables, former);
	}
}

void fd_leave(struct fd_tables *tables, uint64_t key)
{
	struct fd_table *table = table_of(tables, key);

	if (table && table->threads > 1) {
		table->threads--;
	} else {
		drop_table(tables, key);
	}
}

void fd_dump_begins(struct fd_tables *tables)
{
	tables->dumps++;
	kh_clear(fd_owners, tables->owners);
}

void fd_dump_owner(struct fd_tables *tables, uint64_t address, uint64_t key)
{
	uint64_t former = FD_KEY_ADDRESS(address);
	const struct fd_table *from = table_of(tables, former);
	struct fd_table *table;
	int is_new;
	khint_t at;

	if (kh_size(tables->owners) >= FDS_MAX) {
		return;
	}
	at = kh_put(fd_owners, tables->owners, former, &is_new);
	kh_value(tables->owners, at) = key;
	table = from ? table_for(tables, key) : NULL;
	if (table && from != table) {
		copy_missing(tables, table, from);
		drop_table(tables, former);
	}
}

/* ---- checkpoints ---- */

static void entry_codec(struct codec *codec, struct fd_entry *entry)
{
	bool is_open = entry->file != NULL;
	uint8_t kind = is_open ? entry->file->kind : FD_UNKNOWN;
	char *name = NULL;

	codec_each(codec, &entry->dump, &entry->closes_on_exec, &is_open);
	if (!is_open) {
		return;
	}
	codec_u8(codec, &kind);
	if (!codec_reads(codec)) {
		codec_put_text(codec, entry->file->name);
		return;
	}
	codec_text(codec, &name);
	if (codec_check(codec, kind < FD_KINDS)) {
		entry->file = fd_file_new((enum fd_kind)kind, name ? name : "");
	}
	free(name);
}

static void write_table(struct codec *codec, uint64_t key, struct fd_table *table)
{
	codec_each(codec, &key, &table->threads);
	(void)codec_count(codec, kh_size(table->entries), 10);
	for (khint_t i = 0; i != kh_end(table->entries); i++) {
		if (kh_exist(table->entries, i)) {
			uint32_t fd = kh_key(table->entries, i) & UINT32_MAX;

			codec_u32(codec, &fd);
			entry_codec(codec, &kh_value(table->entries, i));
		}
	}
}

static void read_table(struct codec *codec, struct fd_tables *tables)
{
	struct fd_table *table;
	uint64_t key = 0;
	size_t count;

	codec_u64(codec, &key);
	table = table_for(tables, key);
	if (!codec_check(codec, table && kh_size(table->entries) == 0)) {
		return;
	}
	codec_u32(codec, &table->threads);
	count = codec_count(codec, 0, 10);
	for (size_t i = 0; i < count && codec_check(codec, true); i++) {
		struct fd_entry entry = { 0 };
		uint32_t fd = 0;

		codec_u32(codec, &fd);
		entry_codec(codec, &entry);
		put_entry(tables, table, (int32_t)fd, &entry);
	}
}

void fd_tables_codec(struct codec *codec, struct fd_tables *tables)
{
	size_t count = codec_count(codec, kh_size(tables->by_key), 16);
	uint64_t key = 0, owner = 0;
	struct fd_table *table;
	khint_t at;
	int is_new;

	codec_u32(codec, &tables->dumps);
	if (codec_reads(codec)) {
		for (size_t i = 0; i < count && codec_check(codec, true); i++) {
			read_table(codec, tables);
		}
		count = codec_count(codec, 0, 16);
		for (size_t i = 0; i < count && codec_check(codec, count <= FDS_MAX); i++) {
			codec_each(codec, &owner, &key);
			at = kh_put(fd_owners, tables->owners, owner, &is_new);
			kh_value(tables->owners, at) = key;
		}
		return;
	}
	kh_foreach(tables->by_key, key, table, write_table(codec, key, table));
	(void)codec_count(codec, kh_size(tables->owners), 16);
	kh_foreach(tables->owners, owner, key, (codec_u64(codec, &owner), codec_u64(codec, &key)));
}

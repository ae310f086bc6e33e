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

HASH_MAP(fd_entries, struct fd_entry)

struct fd_table {
	uint32_t threads; /* that are known, and have not ended */
	struct fd_entries entries;
};

HASH_MAP(fd_tables_by_key, struct fd_table *)
HASH_MAP(fd_owners, uint64_t)

struct fd_tables {
	struct fd_tables_by_key by_key;
	struct fd_owners owners; /* keys by FD_KEY_ADDRESS() */
	size_t held;             /* entries and tables */
	uint64_t now;            /* ns */
	uint32_t dumps;          /* state dumps that have begun */
};

struct fd_tables *fd_tables_new(void)
{
	return mem_alloc(sizeof(struct fd_tables));
}

static void empty_table(struct fd_tables *tables, struct fd_table *table)
{
	HASH_EACH(fd_entries, &table->entries, one) {
		fd_file_unref(one->value.file);
		fd_file_unref(one->value.former);
	}
	assert(tables->held >= table->entries.used);
	tables->held -= table->entries.used;
	fd_entries_clear(&table->entries);
}

static void table_free(struct fd_tables *tables, struct fd_table *table)
{
	empty_table(tables, table);
	fd_entries_fini(&table->entries);
	free(table);
	tables->held--;
}

void fd_tables_free(struct fd_tables *tables)
{
	if (!tables) {
		return;
	}
	HASH_EACH(fd_tables_by_key, &tables->by_key, one) {
		table_free(tables, one->value);
	}
	assert(tables->held == 0);
	fd_tables_by_key_fini(&tables->by_key);
	fd_owners_fini(&tables->owners);
	free(tables);
}

static struct fd_table *table_of(struct fd_tables *tables, uint64_t key)
{
	struct fd_table **at = fd_tables_by_key_get(&tables->by_key, key);

	return at ? *at : NULL;
}

/* The table of the key, made if it is missing; NULL: there are too many, or the key is none. */
static struct fd_table *table_for(struct fd_tables *tables, uint64_t key)
{
	struct fd_table *table = table_of(tables, key);

	if (table || key == FD_KEY_NONE || tables->held >= FDS_MAX) {
		return table;
	}
	table = mem_alloc(sizeof(*table));
	*fd_tables_by_key_put(&tables->by_key, key, NULL) = table;
	tables->held++;
	return table;
}

static void drop_table(struct fd_tables *tables, uint64_t key)
{
	struct fd_table **at = fd_tables_by_key_get(&tables->by_key, key);

	if (at) {
		table_free(tables, *at);
		(void)fd_tables_by_key_drop(&tables->by_key, key);
	}
}

/* ---- descriptors ---- */

static struct fd_entry *entry_of(const struct fd_table *table, int32_t fd)
{
	return table ? fd_entries_get(&table->entries, (uint32_t)fd) : NULL;
}

struct fd_entry *fd_known(struct fd_tables *tables, uint64_t key, int32_t fd)
{
	return entry_of(table_of(tables, key), fd);
}

struct fd_entry *fd_find(struct fd_tables *tables, uint64_t key, int32_t fd)
{
	struct fd_entry *entry = fd_known(tables, key, fd);

	return entry && entry->file ? entry : NULL;
}

struct fd_file *fd_file_at(const struct fd_entry *entry, uint64_t ts)
{
	if (entry->since <= ts) {
		return entry->file;
	}
	return entry->former_since <= ts ? entry->former : NULL;
}

void fd_tables_at(struct fd_tables *tables, uint64_t ts)
{
	tables->now = ts;
}

/* The entry becomes a copy of @entry, which takes over what was there as the former file. */
static void replace_entry(struct fd_entry *old, const struct fd_entry *entry)
{
	struct fd_file *former = old->former;

	*old = (struct fd_entry){ .file = entry->file,
				  .former = old->file,
				  .since = entry->since,
				  .former_since = old->since,
				  .dump = entry->dump,
				  .closes_on_exec = entry->closes_on_exec };
	fd_file_unref(former);
}

/* Replaces the entry by @entry, and takes over the reference to its file.  Both entries may have
 * the same file. */
static void put_entry(struct fd_tables *tables, struct fd_table *table, int32_t fd,
		      const struct fd_entry *entry)
{
	struct fd_entry *old = entry_of(table, fd);

	if (old) {
		replace_entry(old, entry);
	} else if (tables->held < FDS_MAX && table->entries.used < FDS_OF_ONE_MAX) {
		*fd_entries_put(&table->entries, (uint32_t)fd, NULL) = *entry;
		tables->held++;
	} else {
		fd_file_unref(entry->file);
		fd_file_unref(entry->former);
	}
}

static void put_since(struct fd_tables *tables, uint64_t key, int32_t fd,
		      const struct fd_entry *entry)
{
	struct fd_table *table = table_for(tables, key);

	if (table) {
		put_entry(tables, table, fd, entry);
	} else {
		fd_file_unref(entry->file);
	}
}

void fd_put(struct fd_tables *tables, uint64_t key, int32_t fd, struct fd_file *file,
	    bool closes_on_exec)
{
	put_since(tables, key, fd,
		  &(struct fd_entry){ .file = file,
				      .since = tables->now,
				      .dump = tables->dumps,
				      .closes_on_exec = closes_on_exec });
}

void fd_put_known(struct fd_tables *tables, uint64_t key, int32_t fd, struct fd_file *file)
{
	put_since(tables, key, fd, &(struct fd_entry){ .file = file, .dump = tables->dumps });
}

/* A file of which no path is known has its kind in brackets as name. */
static bool is_unnamed(const struct fd_file *file)
{
	return file->kind == FD_FILE && file->name[0] == '(';
}

void fd_put_dumped(struct fd_tables *tables, uint64_t key, int32_t fd, struct fd_file *file,
		   bool closes_on_exec)
{
	uint64_t *owner = fd_owners_get(&tables->owners, key);
	const struct fd_entry *entry;

	key = owner ? *owner : key;
	entry = entry_of(table_of(tables, key), fd);
	if (entry && entry->dump == tables->dumps && entry->file && is_unnamed(entry->file)) {
		/* It was opened, and its name became known only now. */
		fd_put(tables, key, fd, file, entry->closes_on_exec);
	} else if (entry && entry->dump == tables->dumps &&
		   !(entry->file && entry->file->kind == FD_UNKNOWN)) {
		fd_file_unref(file);
	} else {
		put_since(tables, key, fd,
			  &(struct fd_entry){ .file = file,
					      .dump = tables->dumps,
					      .closes_on_exec = closes_on_exec });
	}
}

void fd_close(struct fd_tables *tables, uint64_t key, int32_t fd)
{
	if (fd >= 0) {
		fd_put(tables, key, fd, NULL, false);
	}
}

static void close_entry(const struct fd_tables *tables, struct fd_entry *entry)
{
	replace_entry(entry, &(struct fd_entry){ .since = tables->now, .dump = tables->dumps });
}

void fd_close_range(struct fd_tables *tables, uint64_t key, uint32_t first, uint32_t last,
		    bool on_exec)
{
	struct fd_table *table = table_of(tables, key);

	if (!table) {
		return;
	}
	HASH_EACH(fd_entries, &table->entries, one) {
		if (one->key < first || one->key > last || one->key > INT32_MAX) {
			continue; /* the working directory stays */
		}
		if (on_exec) {
			one->value.closes_on_exec = true;
		} else {
			close_entry(tables, &one->value);
		}
	}
}

/* ---- processes ---- */

void fd_exec(struct fd_tables *tables, uint64_t key)
{
	struct fd_table *table = table_of(tables, key);

	if (!table) {
		return;
	}
	HASH_EACH(fd_entries, &table->entries, one) {
		if (one->value.closes_on_exec) {
			close_entry(tables, &one->value);
		}
	}
}

/* Copies entries that @to lacks. */
static void copy_missing(struct fd_tables *tables, struct fd_table *to, const struct fd_table *from)
{
	HASH_EACH(fd_entries, &from->entries, one) {
		struct fd_entry entry;

		if (!one->value.file || entry_of(to, (int32_t)one->key)) {
			continue;
		}
		entry = (struct fd_entry){ .file = fd_file_ref(one->value.file),
					   .dump = one->value.dump,
					   .closes_on_exec = one->value.closes_on_exec };
		put_entry(tables, to, (int32_t)one->key, &entry);
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
	fd_owners_clear(&tables->owners);
}

void fd_dump_owner(struct fd_tables *tables, uint64_t address, uint64_t key)
{
	uint64_t former = FD_KEY_ADDRESS(address);
	const struct fd_table *from = table_of(tables, former);
	struct fd_table *table;

	if (tables->owners.used >= FDS_MAX) {
		return;
	}
	*fd_owners_put(&tables->owners, former, NULL) = key;
	table = from ? table_for(tables, key) : NULL;
	if (table && from != table) {
		copy_missing(tables, table, from);
		drop_table(tables, former);
	}
}

/* ---- checkpoints ---- */

#define ENTRY_BYTES 27 /* of one that is closed, with its number */

static void file_codec(struct codec *codec, struct fd_file **file)
{
	bool is_open = *file != NULL;
	uint8_t kind = is_open ? (*file)->kind : FD_UNKNOWN;
	char *name = NULL;

	codec_bool(codec, &is_open);
	if (!is_open) {
		return;
	}
	codec_u8(codec, &kind);
	if (!codec_reads(codec)) {
		codec_put_text(codec, (*file)->name);
		return;
	}
	codec_text(codec, &name);
	if (codec_check(codec, kind < FD_KINDS)) {
		*file = fd_file_new((enum fd_kind)kind, name ? name : "");
	}
	free(name);
}

static void entry_codec(struct codec *codec, struct fd_entry *entry)
{
	codec_each(codec, &entry->dump, &entry->closes_on_exec, &entry->since,
		   &entry->former_since);
	file_codec(codec, &entry->file);
	file_codec(codec, &entry->former);
}

static void write_table(struct codec *codec, uint64_t key, struct fd_table *table)
{
	codec_each(codec, &key, &table->threads);
	(void)codec_count(codec, table->entries.used, ENTRY_BYTES);
	HASH_EACH(fd_entries, &table->entries, one) {
		uint32_t fd = one->key & UINT32_MAX;

		codec_u32(codec, &fd);
		entry_codec(codec, &one->value);
	}
}

static void read_table(struct codec *codec, struct fd_tables *tables)
{
	struct fd_table *table;
	uint64_t key = 0;
	size_t count;

	codec_u64(codec, &key);
	table = table_for(tables, key);
	if (!table || table->entries.used > 0) {
		(void)codec_check(codec, false);
		return;
	}
	codec_u32(codec, &table->threads);
	count = codec_count(codec, 0, ENTRY_BYTES);
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
	size_t count = codec_count(codec, tables->by_key.used, 16);
	uint64_t key = 0, owner = 0;

	codec_each(codec, &tables->dumps, &tables->now);
	if (codec_reads(codec)) {
		for (size_t i = 0; i < count && codec_check(codec, true); i++) {
			read_table(codec, tables);
		}
		count = codec_count(codec, 0, 16);
		for (size_t i = 0; i < count && codec_check(codec, count <= FDS_MAX); i++) {
			codec_each(codec, &owner, &key);
			*fd_owners_put(&tables->owners, owner, NULL) = key;
		}
		return;
	}
	HASH_EACH(fd_tables_by_key, &tables->by_key, one) {
		write_table(codec, one->key, one->value);
	}
	(void)codec_count(codec, tables->owners.used, 16);
	HASH_EACH(fd_owners, &tables->owners, one) {
		codec_each(codec, &one->key, &one->value);
	}
}

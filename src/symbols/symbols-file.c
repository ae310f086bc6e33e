/*
 * symbols-file: see symbols-file.h.
 *
 * libelf and libdw read the file, and are loaded when the first one is wanted.
 */
#include "symbols/symbols-file.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/process/foreign.h"
#include "base/process/library.h"
#include "symbols/functions.h"

struct symbols_file {
	bool is_fixed;       /* addresses do not depend on where it is mapped */
	uint64_t first_page; /* of its first segment, in the file's own addresses */
	struct functions functions;
};

#ifdef HAVE_LIBDW

#include <elfutils/libdwelf.h>
#include <gelf.h>

struct elf_library {
	__typeof__(elf_version) *elf_version;
	__typeof__(elf_begin) *elf_begin;
	__typeof__(elf_end) *elf_end;
	__typeof__(elf_kind) *elf_kind;
	__typeof__(elf_nextscn) *elf_nextscn;
	__typeof__(elf_getscn) *elf_getscn;
	__typeof__(elf_getdata) *elf_getdata;
	__typeof__(elf_getphdrnum) *elf_getphdrnum;
	__typeof__(gelf_getehdr) *gelf_getehdr;
	__typeof__(gelf_getphdr) *gelf_getphdr;
	__typeof__(gelf_getshdr) *gelf_getshdr;
	__typeof__(gelf_getsym) *gelf_getsym;
};
#define ENTRY(name)                                                                                \
	{                                                                                          \
#name, offsetof(struct elf_library, name)                                          \
	}
static const struct library_function elf_functions[] = {
	ENTRY(elf_version),  ENTRY(elf_begin),    ENTRY(elf_end),      ENTRY(elf_kind),
	ENTRY(elf_nextscn),  ENTRY(elf_getscn),   ENTRY(elf_getdata),  ENTRY(elf_getphdrnum),
	ENTRY(gelf_getehdr), ENTRY(gelf_getphdr), ENTRY(gelf_getshdr), ENTRY(gelf_getsym),
};

struct dw_library {
	__typeof__(dwelf_elf_gnu_build_id) *build_id;
	__typeof__(dwelf_elf_gnu_debuglink) *debug_link;
};
static const struct library_function dw_functions[] = {
	{ "dwelf_elf_gnu_build_id", offsetof(struct dw_library, build_id) },
	{ "dwelf_elf_gnu_debuglink", offsetof(struct dw_library, debug_link) },
};

static struct elf_library elf;
static struct dw_library dw;

static bool elf_is_there;

static void try_to_load(void)
{
	elf_is_there =
		library_load("libelf.so.1", elf_functions, ARRAY_COUNT(elf_functions), &elf) &&
		library_load("libdw.so.1", dw_functions, ARRAY_COUNT(dw_functions), &dw) &&
		elf.elf_version(EV_CURRENT) != EV_NONE;
}

/* Traces are merged in several threads. */
static bool load_elf(void)
{
	static pthread_once_t tried = PTHREAD_ONCE_INIT;

	(void)pthread_once(&tried, try_to_load);
	return elf_is_there;
}

/* ---- one file ---- */

struct opened {
	int fd;
	Elf *elf;
	uint64_t inode;
};

static void close_elf(struct opened *opened)
{
	if (opened->elf) {
		(void)elf.elf_end(opened->elf);
	}
	if (opened->fd >= 0) {
		(void)close(opened->fd);
	}
}

/* It is read, not mapped: a file that gets shorter meanwhile must not end the program. */
static int open_elf(const char *path, struct opened *opened, struct err *err)
{
	struct stat info;

	*opened = (struct opened){ .fd = foreign_open(path, 0, err) };
	if (opened->fd < 0) {
		return opened->fd;
	}
	if (fstat(opened->fd, &info) < 0 || !S_ISREG(info.st_mode) ||
	    info.st_size > SYMBOLS_FILE_BYTES_MAX) {
		close_elf(opened);
		return err_raise(err, -EINVAL, "no regular file, or too large");
	}
	opened->inode = info.st_ino;
	opened->elf = elf.elf_begin(opened->fd, ELF_C_READ, NULL);
	if (!opened->elf || elf.elf_kind(opened->elf) != ELF_K_ELF) {
		close_elf(opened);
		return err_raise(err, -EINVAL, "no ELF file");
	}
	return 0;
}

static bool has_id(const struct opened *opened, const struct symbols_identity *identity)
{
	const void *id;
	ssize_t len = dw.build_id(opened->elf, &id);

	return len > 0 && (size_t)len == identity->id_len &&
	       memcmp(id, identity->id, identity->id_len) == 0;
}

/* Whether the file is the one that was traced. */
static bool is_traced_build(const struct opened *opened, const struct symbols_identity *identity)
{
	const char *link;
	GElf_Word crc;

	if (identity->inode != 0) {
		return opened->inode == identity->inode;
	}
	if (identity->id_len > 0) {
		return has_id(opened, identity);
	}
	link = identity->link ? dw.debug_link(opened->elf, &crc) : NULL;
	return link && crc == identity->crc && strcmp(link, identity->link) == 0;
}

/* ---- its functions ---- */

static Elf_Scn *symbol_table(Elf *from, GElf_Word type, GElf_Shdr *ret)
{
	Elf_Scn *section = NULL;

	while ((section = elf.elf_nextscn(from, section))) {
		if (elf.gelf_getshdr(section, ret) && ret->sh_type == type) {
			return section;
		}
	}
	return NULL;
}

static uint8_t symbol_rank(const GElf_Sym *symbol)
{
	return GELF_ST_BIND(symbol->st_info) == STB_GLOBAL ? 0
	       : GELF_ST_BIND(symbol->st_info) == STB_WEAK ? 1
							   : 2;
}

static void take_symbol(struct symbols_file *file, const GElf_Sym *symbol)
{
	int type = GELF_ST_TYPE(symbol->st_info);
	uint64_t end = symbol->st_value + symbol->st_size;

	if ((type == STT_FUNC || type == STT_GNU_IFUNC) && symbol->st_shndx != SHN_UNDEF &&
	    symbol->st_name > 0 && symbol->st_name < file->functions.names_len &&
	    end >= symbol->st_value) {
		*vec_push(&file->functions.at) = (struct function){ .begin = symbol->st_value,
								    .end = end,
								    .name = symbol->st_name,
								    .rank = symbol_rank(symbol) };
	}
}

static bool take_strings(struct symbols_file *file, Elf *from, GElf_Word link)
{
	Elf_Scn *section = elf.elf_getscn(from, link);
	Elf_Data *data = section ? elf.elf_getdata(section, NULL) : NULL;

	if (!data || !data->d_buf || data->d_size == 0 || data->d_size > SYMBOLS_NAMES_BYTES_MAX) {
		return false;
	}
	file->functions.names = mem_alloc(data->d_size + 1);
	file->functions.names_len = data->d_size;
	memcpy(file->functions.names, data->d_buf, data->d_size);
	return true;
}

/* Takes the functions of a table of symbols, unless it has none. */
static bool take_table(struct symbols_file *file, Elf *from, GElf_Word type)
{
	GElf_Shdr header;
	Elf_Scn *section = symbol_table(from, type, &header);
	Elf_Data *data = section ? elf.elf_getdata(section, NULL) : NULL;
	size_t count = data && header.sh_entsize > 0 ? data->d_size / header.sh_entsize : 0;
	GElf_Sym symbol;

	if (count == 0 || count > SYMBOLS_MAX || !take_strings(file, from, header.sh_link)) {
		return false;
	}
	for (size_t i = 0; i < count && elf.gelf_getsym(data, (int)i, &symbol); i++) {
		take_symbol(file, &symbol);
	}
	if (file->functions.at.count == 0) {
		functions_fini(&file->functions);
	}
	return file->functions.at.count > 0;
}

/* Where the file's own addresses begin. */
static void take_layout(struct symbols_file *file, Elf *from)
{
	GElf_Ehdr header;
	GElf_Phdr segment;
	size_t count = 0;

	file->is_fixed = elf.gelf_getehdr(from, &header) && header.e_type == ET_EXEC;
	(void)elf.elf_getphdrnum(from, &count);
	for (size_t i = 0; i < count; i++) {
		if (elf.gelf_getphdr(from, (int)i, &segment) && segment.p_type == PT_LOAD) {
			file->first_page = segment.p_vaddr & ~(uint64_t)(sysconf(_SC_PAGESIZE) - 1);
			return;
		}
	}
}

/* ---- debug files ---- */

/* Takes the functions of a debug file of the same build. */
static bool take_debug(struct symbols_file *file, char *path,
		       const struct symbols_identity *identity)
{
	struct opened debug;
	struct err err;
	bool took = false;

	if (open_elf(path, &debug, &err) == 0) {
		took = has_id(&debug, identity) && take_table(file, debug.elf, SHT_SYMTAB);
		if (took && file->first_page == UINT64_MAX) {
			take_layout(file, debug.elf);
		}
		close_elf(&debug);
	}
	free(path);
	return took;
}

static char *path_by_id(const struct symbols_identity *identity)
{
	char text[2 * SYMBOLS_ID_BYTES + 1];

	for (size_t i = 0; i < identity->id_len; i++) {
		(void)snprintf(text + 2 * i, 3, "%02x", identity->id[i]);
	}
	return mem_printf("/usr/lib/debug/.build-id/%.2s/%s.debug", text, text + 2);
}

static bool take_debug_files(struct symbols_file *file, const char *path,
			     const struct symbols_identity *identity, const char *link)
{
	const char *slash = strrchr(path, '/');
	int folder = slash ? (int)(slash - path) : 0;

	/* Without an id nothing tells that a debug file is of this build. */
	if (identity->id_len < 2) {
		return false;
	}
	if (take_debug(file, path_by_id(identity), identity)) {
		return true;
	}
	return link && !strchr(link, '/') &&
	       (take_debug(file, mem_printf("%.*s/%s", folder, path, link), identity) ||
		take_debug(file, mem_printf("%.*s/.debug/%s", folder, path, link), identity) ||
		take_debug(file, mem_printf("/usr/lib/debug%.*s/%s", folder, path, link),
			   identity));
}

/* Of a file that is known by its inode, for its debug file. */
static void take_own_id(const struct opened *opened, struct symbols_identity *is)
{
	const void *id;
	ssize_t len = is->inode != 0 ? dw.build_id(opened->elf, &id) : 0;

	if (len > 0 && len <= SYMBOLS_ID_BYTES) {
		memcpy(is->id, id, (size_t)len);
		is->id_len = (size_t)len;
	}
}

static int read_symbols(struct symbols_file *file, const char *path,
			const struct symbols_identity *identity, struct err *err)
{
	struct opened opened;
	const char *link = identity->link;
	struct symbols_identity is = *identity;
	GElf_Word unused;
	bool same;
	int r;

	if (!load_elf()) {
		return err_raise(err, -ENOENT, "libdw is not installed");
	}
	file->first_page = UINT64_MAX;
	if (identity->id_len == 0 && !identity->link && identity->inode == 0) {
		return err_raise(err, -EINVAL, "the trace has no build id of it");
	}
	r = open_elf(path, &opened, err);
	same = r == 0 && is_traced_build(&opened, identity);
	if (same) {
		take_layout(file, opened.elf);
		take_own_id(&opened, &is);
		link = link ? link : dw.debug_link(opened.elf, &unused);
	}
	if ((same && take_table(file, opened.elf, SHT_SYMTAB)) ||
	    take_debug_files(file, path, &is, link) ||
	    (same && take_table(file, opened.elf, SHT_DYNSYM))) {
		functions_sort(&file->functions);
	}
	if (r == 0) {
		close_elf(&opened);
	}
	if (file->functions.at.count > 0) {
		return 0;
	}
	return r < 0  ? r
	       : same ? err_raise(err, -ENOENT, "it has no symbols")
		      : err_raise(err, -ENOENT, "another build than the one that was traced");
}

#else

static int read_symbols(struct symbols_file *file, const char *path,
			const struct symbols_identity *identity, struct err *err)
{
	return err_raise(err, -ENOTSUP, "this sillage was built without libdw");
}

#endif

struct symbols_file *symbols_file_open(const char *path, const struct symbols_identity *identity,
				       struct err *err)
{
	struct symbols_file *file = mem_alloc(sizeof(*file));

	if (read_symbols(file, path, identity, err) < 0) {
		symbols_file_free(file);
		return NULL;
	}
	return file;
}

void symbols_file_free(struct symbols_file *file)
{
	if (file) {
		functions_fini(&file->functions);
		free(file);
	}
}

size_t symbols_file_bytes(const struct symbols_file *file)
{
	return functions_bytes(&file->functions);
}

const char *symbols_file_find(const struct symbols_file *file, uint64_t base, uint64_t address)
{
	return functions_find(&file->functions,
			      file->is_fixed ? address : address - base + file->first_page);
}

/*
 * symbols: functions of this program, as a trace of it would say where they are.
 */
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/codec.h"
#include "base/limits.h"
#include "base/mem.h"
#include "suites.h"
#include "symbols/kallsyms.h"
#include "symbols/symbols.h"

#define PID 7

/* Where this program is. */
struct self {
	char path[4096];
	uint64_t base, size;
	const uint8_t *id;
	size_t id_len;
};

static void take_note(struct self *self, const uint8_t *at, size_t len)
{
	const ElfW(Nhdr) *note = (const void *)at;

	while (len >= sizeof(*note) && note->n_type != NT_GNU_BUILD_ID) {
		size_t bytes = sizeof(*note) + ((note->n_namesz + 3u) & ~3u) +
			       ((note->n_descsz + 3u) & ~3u);

		if (bytes > len) {
			return;
		}
		at += bytes;
		len -= bytes;
		note = (const void *)at;
	}
	if (len >= sizeof(*note)) {
		self->id = at + sizeof(*note) + ((note->n_namesz + 3u) & ~3u);
		self->id_len = note->n_descsz;
	}
}

/* The first object is the program. */
static int look(struct dl_phdr_info *info, size_t size, void *self_)
{
	struct self *self = self_;

	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];

		if (part->p_type == PT_LOAD) {
			uint64_t end = info->dlpi_addr + part->p_vaddr + part->p_memsz;

			self->base = self->base ? self->base : info->dlpi_addr + part->p_vaddr;
			self->size = end - self->base;
		} else if (part->p_type == PT_NOTE && self->id_len == 0) {
			take_note(self, (const uint8_t *)(info->dlpi_addr + part->p_vaddr),
				  part->p_memsz);
		}
	}
	return 1;
}

static struct symbols *mapped(struct self *self, uint64_t ts)
{
	struct symbols *symbols = symbols_new();
	ssize_t len = readlink("/proc/self/exe", self->path, sizeof(self->path) - 1);
	struct symbols_mapping mapping = { .place = { .pid = PID }, .ts = ts };

	ck_assert_int_gt(len, 0);
	(void)dl_iterate_phdr(look, self);
	mapping.place.base = self->base;
	mapping.size = self->size;
	mapping.path = self->path;
	mapping.path_len = (size_t)len;
	symbols_map(symbols, &mapping);
	return symbols;
}

START_TEST(names_itself)
{
	struct self self = { .base = 0 };
	struct symbols *symbols = mapped(&self, 100);
	const struct symbols_place place = { PID, self.base };
	uint64_t address = (uint64_t)(uintptr_t)suite_symbols;
	const char *name;

	symbols_build_id(symbols, place, self.id, self.id_len);
	name = symbols_find(symbols, PID, 100, address + 1);
	if (self.id_len > 0 && name) { /* with libdw, and a linker that writes build ids */
		ck_assert_str_eq(name, "suite_symbols");
	}
	ck_assert_ptr_null(symbols_find(symbols, PID, 99, address));      /* before */
	ck_assert_ptr_null(symbols_find(symbols, PID + 1, 100, address)); /* another process */
	ck_assert_ptr_null(symbols_find(symbols, PID, 100, self.base + self.size));
	symbols_unmap(symbols, place, 200);
	ck_assert_ptr_eq(symbols_find(symbols, PID, 199, address + 1), name);
	ck_assert_ptr_null(symbols_find(symbols, PID, 200, address + 1)); /* gone */
	symbols_free(symbols);
}
END_TEST

static void map_at(struct symbols *symbols, int64_t pid, uint64_t base, const char *path)
{
	symbols_map(symbols, &(struct symbols_mapping){ .place = { pid, base },
							.ts = 100,
							.size = 0x1000,
							.path = path,
							.path_len = strlen(path) });
}

static bool why_has(const struct symbols *symbols, int64_t pid, uint64_t address, const char *text)
{
	return strstr(symbols_why(symbols, pid, 100, address), text);
}

/* Of more than there is room for, images of processes that were used longest ago are forgotten, and
 * that is said.  The order of use goes through files. */
START_TEST(forgets_what_was_used_longest_ago)
{
	struct symbols *symbols = symbols_new(), *read = symbols_new();
	struct codec_out out = { .bytes = { 0 } };
	struct codec codec = { .out = &out };
	int64_t most = SYMBOLS_IMAGES_MAX / 2;

	for (int64_t pid = 1; pid <= most; pid++) {
		map_at(symbols, pid, 0x1000, "/none/a");
		map_at(symbols, pid, 0x5000, "/none/b");
	}
	ck_assert(why_has(symbols, most + 1, 0x1000, "lttng enable-event"));
	ck_assert_ptr_null(symbols_find(symbols, 1, 100, 0x1000)); /* it is used */
	symbols_codec(&codec, symbols);
	codec = (struct codec){ .at = out.bytes.at, .left = out.bytes.count };
	symbols_codec(&codec, read);
	ck_assert(!codec.is_wrong && codec.left == 0);
	for (unsigned int i = 0; i < 2; i++) {
		struct symbols *of = i == 0 ? symbols : read;

		map_at(of, most + 1, 0x1000, "/none/a");
		ck_assert_ptr_null(symbols_find(of, 1, 100, 0x1000));
		ck_assert(why_has(of, 1, 0x1000, "/none/a: "));
		ck_assert_ptr_null(symbols_find(of, most + 1, 100, 0x1000));
		ck_assert(why_has(of, most + 1, 0x1000, "/none/a: "));
		ck_assert(why_has(of, 2, 0x1000, "are forgotten"));
		ck_assert(why_has(of, 3, 0x9000, "lttng enable-event"));
		symbols_free(of);
	}
	vec_fini(&out.bytes);
}
END_TEST

/* In one process what is there no longer goes first. */
START_TEST(makes_room_in_a_process)
{
	struct symbols *symbols = symbols_new();
	uint64_t base = 0;

	for (uint64_t i = 1; i <= SYMBOLS_IMAGES_OF_ONE_MAX; i++) {
		map_at(symbols, PID, i << 12, "/none/a");
	}
	base = UINT64_C(1) << 32;
	map_at(symbols, PID, base, "/none/b");
	ck_assert(why_has(symbols, PID, base, "too many images are mapped"));
	symbols_unmap(symbols, (struct symbols_place){ PID, 0x3000 }, 200);
	symbols_unmap(symbols, (struct symbols_place){ PID, 0x2000 }, 150);
	map_at(symbols, PID, base, "/none/b");
	ck_assert_ptr_null(symbols_find(symbols, PID, 100, base));
	ck_assert(why_has(symbols, PID, base, "/none/b: "));
	ck_assert_ptr_null(symbols_find(symbols, PID, 100, 0x3000));
	ck_assert(why_has(symbols, PID, 0x3000, "/none/a: "));
	ck_assert(why_has(symbols, PID, 0x2000, "too many images are mapped"));
	symbols_free(symbols);
}
END_TEST

/* What is known of images goes through a file, from which any bytes may come. */
START_TEST(goes_through_files)
{
	static const uint8_t id[20] = { 1, 2 };
	struct self self = { .base = 0 };
	struct symbols *symbols = mapped(&self, 100), *read;
	const struct symbols_place place = { PID, self.base };
	uint64_t address = (uint64_t)(uintptr_t)suite_symbols;
	struct codec_out out = { .bytes = { 0 } };
	struct codec codec = { .out = &out };
	const char *why;

	symbols_build_id(symbols, place, id, sizeof(id));
	symbols_unmap(symbols, place, 200);
	symbols_codec(&codec, symbols);
	for (size_t len = 0; len <= out.bytes.count; len++) {
		read = symbols_new();
		codec = (struct codec){ .at = out.bytes.at, .left = len };
		symbols_codec(&codec, read);
		ck_assert_int_eq(codec.is_wrong, len < out.bytes.count);
		if (len == out.bytes.count) {
			ck_assert_ptr_null(symbols_find(read, PID, 150, address));
			why = symbols_why(read, PID, 150, address);
			ck_assert_ptr_nonnull(strstr(why, self.path));
			ck_assert_ptr_null(strstr(symbols_why(read, PID, 200, address), self.path));
		}
		symbols_free(read);
	}
	vec_fini(&out.bytes);
	symbols_free(symbols);
}
END_TEST

struct heard {
	size_t count;
	char *last;
};

static void hear(void *user, const char *message)
{
	struct heard *heard = user;

	heard->count++;
	free(heard->last);
	heard->last = mem_strdup(message);
}

/* Another build, and none: it is said once, and no name is given. */
START_TEST(refuses_others)
{
	static const uint8_t other[20] = { 1 };
	struct self self = { .base = 0 };
	struct symbols *symbols = mapped(&self, 0);
	struct heard heard = { 0 };

	if (_i == 1) {
		symbols_build_id(symbols, (struct symbols_place){ PID, self.base }, other,
				 sizeof(other));
	}
	for (unsigned int i = 0; i < 3; i++) {
		ck_assert_ptr_null(
			symbols_find(symbols, PID, 1, (uint64_t)(uintptr_t)suite_symbols + i));
	}
	symbols_say_faults(symbols, hear, &heard);
	ck_assert_uint_eq(heard.count, 1);
	ck_assert_ptr_nonnull(strstr(heard.last, self.path));
	free(heard.last);
	symbols_free(symbols);
}
END_TEST

/* ---- the kernel's ---- */

static int read_list(const char *text, size_t len, struct functions *ret, struct err *err)
{
	char path[] = "kallsyms.XXXXXX";
	int fd = mkstemp(path), r;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, len), (ssize_t)len);
	(void)close(fd);
	r = kallsyms_read(path, ret, err);
	(void)unlink(path);
	return r;
}

static const char list[] = "ffffffff81000000 T _stext\n"
			   "ffffffff81000000 t local_alias\n"
			   "ffffffff81000010 t second\n"
			   "ffffffff81000040 D data\n"
			   "ffffffff81001020 W weak\n"
			   "ffffffffc0000000 t first_of_module\t[mod]\n"
			   "ffffffffc0000100 t last_of_module\t[mod]\n"
			   "ffffffffc0800000 T other\t[another]\n"
			   "0000000000000000 A per_cpu\n";

START_TEST(names_the_kernel)
{
	static const struct {
		uint64_t address;
		const char *name; /* NULL: none */
	} wanted[] = {
		{ 0xffffffff80ffffff, NULL },
		{ 0xffffffff81000000, "_stext" },
		{ 0xffffffff8100000f, "_stext" },
		{ 0xffffffff81000010, "second" },
		{ 0xffffffff8100003f, "second" },
		{ 0xffffffff81000040, NULL },   /* data */
		{ 0xffffffff81001fff, "weak" }, /* the last one up to the end of its page */
		{ 0xffffffff81002000, NULL },
		{ 0xffffffffc00000ff, "first_of_module" },
		{ 0xffffffffc0000fff, "last_of_module" },
		{ 0xffffffffc0001000, NULL }, /* between two modules */
		{ 0xffffffffc0800fff, "other" },
		{ 0xffffffffc0801000, NULL },
		{ 0, NULL },
	};
	struct functions functions = { .names_len = 0 };
	struct err err;

	ck_assert_int_eq(read_list(list, sizeof(list) - 1, &functions, &err), 0);
	for (size_t i = 0; i < ARRAY_COUNT(wanted); i++) {
		const char *name = functions_find(&functions, wanted[i].address);

		ck_assert((name != NULL) == (wanted[i].name != NULL));
		ck_assert(!name || strcmp(name, wanted[i].name) == 0);
	}
	functions_fini(&functions);
}
END_TEST

/* Any bytes may come, and a list that is hidden is no list of functions at 0. */
START_TEST(refuses_lists)
{
	static const struct {
		const char *text;
		int wanted;
		const char *said;
	} lists[] = {
		{ "0000000000000000 T _stext\n0000000000000000 t other\n", -EACCES,
		  "kptr_restrict" },
		{ "", -ENODATA, "no function" },
		{ "ffffffff81000000 D data\n", -ENODATA, "no function" },
		{ "ffffffff81000000 T good\nffffffff8100000g T bad\n", -EINVAL, "line 2" },
		{ "ffffffff81000000 T\n", -EINVAL, "line 1" },
		{ "ffffffff81000000 T \n", -EINVAL, "line 1" },
		{ "00ffffffff81000000 T long\n", -EINVAL, "line 1" },
		{ "\x7f"
		  "ELF\1\2\3",
		  -EINVAL, "line 1" },
	};
	struct functions functions = { .names_len = 0 };
	struct err err;

	for (size_t i = 0; i < ARRAY_COUNT(lists); i++) {
		ck_assert_int_eq(read_list(lists[i].text, strlen(lists[i].text), &functions, &err),
				 lists[i].wanted);
		ck_assert_ptr_nonnull(strstr(err.text, lists[i].said));
		functions_fini(&functions);
	}
	for (size_t i = 0; i < 8 * sizeof(list); i++) { /* each bit of it */
		char changed[sizeof(list)];

		memcpy(changed, list, sizeof(list));
		changed[i / 8] ^= (char)(1 << i % 8);
		(void)read_list(changed, sizeof(list) - 1, &functions, &err);
		(void)functions_find(&functions, 0xffffffff81000010);
		functions_fini(&functions);
	}
}
END_TEST

Suite *suite_symbols(void)
{
	Suite *suite = suite_create("symbols");
	TCase *tcase = tcase_create("symbols");

	tcase_add_test(tcase, names_itself);
	tcase_add_test(tcase, forgets_what_was_used_longest_ago);
	tcase_add_test(tcase, makes_room_in_a_process);
	tcase_add_test(tcase, goes_through_files);
	tcase_add_loop_test(tcase, refuses_others, 0, 2);
	tcase_add_test(tcase, names_the_kernel);
	tcase_add_test(tcase, refuses_lists);
	suite_add_tcase(suite, tcase);
	return suite;
}

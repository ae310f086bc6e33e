/*
 * symbols: functions of this program, as a trace of it would say where they are.
 */
#include <elf.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#include "base/codec.h"
#include "base/limits.h"
#include "suites.h"
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

/* Another build, and none: it is said once, and no name is given. */
START_TEST(refuses_others)
{
	static const uint8_t other[20] = { 1 };
	struct self self = { .base = 0 };
	struct symbols *symbols = mapped(&self, 0);
	size_t at = 0;

	if (_i == 1) {
		symbols_build_id(symbols, (struct symbols_place){ PID, self.base }, other,
				 sizeof(other));
	}
	for (unsigned int i = 0; i < 3; i++) {
		ck_assert_ptr_null(
			symbols_find(symbols, PID, 1, (uint64_t)(uintptr_t)suite_symbols + i));
	}
	ck_assert_ptr_nonnull(strstr(symbols_next_fault(symbols, &at), self.path));
	ck_assert_ptr_null(symbols_next_fault(symbols, &at));
	symbols_free(symbols);
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
	suite_add_tcase(suite, tcase);
	return suite;
}

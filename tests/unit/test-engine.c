/*
 * engine: what only shows when the world changes under it.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/guard.h"
#include "suites.h"

/* A mapped file that is cut: its pages are gone, and that is all that happens. */
START_TEST(survives_cut_file)
{
	const long page = sysconf(_SC_PAGESIZE);
	char path[] = "/tmp/sillage-unit-XXXXXX";
	int fd = mkstemp(path);
	volatile unsigned int caught = 0, read = 0;
	volatile const uint8_t *bytes;
	struct guard guard;

	ck_assert_int_ge(fd, 0);
	(void)unlink(path);
	ck_assert_int_eq(ftruncate(fd, 2 * page), 0);
	bytes = mmap(NULL, (size_t)(2 * page), PROT_READ, MAP_SHARED, fd, 0);
	ck_assert_ptr_ne((const void *)bytes, MAP_FAILED);
	for (unsigned int i = 0; i < 2; i++) {
		if (sigsetjmp(guard.jump, 0) == 0) {
			guard_enter(&guard, (const void *)bytes, (size_t)(2 * page));
			read += bytes[0] == 0;
			read += bytes[page] == 0; /* the second time, there is no such page */
		} else {
			caught++;
		}
		guard_leave();
		ck_assert_int_eq(ftruncate(fd, page), 0);
	}
	ck_assert_uint_eq(read, 3);
	ck_assert_uint_eq(caught, 1);
	(void)munmap((void *)bytes, (size_t)(2 * page));
	(void)close(fd);
}
END_TEST

Suite *suite_engine(void)
{
	Suite *suite = suite_create("engine");
	TCase *tcase = tcase_create("engine");

	tcase_add_test(tcase, survives_cut_file);
	suite_add_tcase(suite, tcase);
	return suite;
}

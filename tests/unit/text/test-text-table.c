/*
 * text-table: widths, cutting, what ends a line, and names that are hostile.
 */
#include <stdlib.h>
#include <string.h>

#include "suites.h"
#include "text/text-table.h"

static char *printed;
static size_t printed_size;

static FILE *begin(void)
{
	return open_memstream(&printed, &printed_size);
}

static void expect(FILE *out, const char *text)
{
	ck_assert_int_eq(fclose(out), 0);
	ck_assert_str_eq(printed, text);
	free(printed);
}

START_TEST(a_row_stands_below_its_titles)
{
	FILE *out = begin();
	struct text_table table = text_table_of(out, "  %s<8| RUN>8|  SINCE<5|  WHO RAN<", "NAME");

	text_head(&table);
	text_cell(&table, "a name that is cut");
	text_ns(&table, 1500);
	text_cell(&table, "12:00:00");
	text_cell(&table, "whoever it was");
	text_end(&table);
	text_cell(&table, "b");
	text_ns(&table, 0);
	text_end(&table);
	text_more(out, 5, 2);
	text_more(out, 2, 2);
	expect(out, "NAME            RUN  SINCE  WHO RAN\n"
		    "  a name t  1.50 us  12:00  whoever it was\n"
		    "  b               -\n"
		    "  ... and 3 more\n");
}
END_TEST

START_TEST(titles_stand_above_cells)
{
	FILE *out = begin();
	struct text_table table = text_table_of(out, "  #>4|  SHARE>7|  LAST<6");

	table.hangs = false;
	table.bold = "<b>";
	table.plain = "</b>";
	text_head(&table);
	text_count(&table, 12345);
	text_share(&table, 0.5, 1);
	text_cell(&table, "longer than it");
	text_end(&table);
	text_cell_format(&table, "%d", 2);
	text_share(&table, 1, 0);
	text_cell(&table, "abc");
	text_end(&table);
	expect(out, "<b>     #    SHARE  LAST</b>\n"
		    "  12,345   50.0 %  longer\n"
		    "     2    100 %  abc\n");
}
END_TEST

START_TEST(columns_of_another_place)
{
	static const struct text_column columns[] = { { "A", 3, 1, true }, { "B", 4, 0, false } };
	FILE *out = begin();
	struct text_table table = { .out = out, .columns = columns, .count = 2 };

	text_head(&table);
	text_cell(&table, "");
	text_cell(&table, "x");
	text_end(&table);
	expect(out, " A     B\n       x\n");
}
END_TEST

/* Whatever a name has, a terminal gets printable ASCII of the width. */
START_TEST(no_letter_commands_the_terminal)
{
	char name[] = { (char)(_i + 1), 'x', 0 };
	FILE *out = begin();
	struct text_table table = text_table_of(out, "A<4| B>4| C<");

	text_cell(&table, name);
	text_cell(&table, name);
	text_cell(&table, name);
	text_end(&table);
	text_line(out, name);
	ck_assert_int_eq(fclose(out), 0);
	ck_assert_uint_eq(strlen(printed), 4 + 5 + 3 + 1 + 2 + 1);
	for (const char *at = printed; *at; at++) {
		ck_assert(*at == '\n' || (*at >= 0x20 && *at < 0x7F));
	}
	ck_assert_uint_eq(strspn(printed, "\n"), 0);
	ck_assert_ptr_eq(strchr(printed, '\n'), printed + 12);
	free(printed);
}
END_TEST

Suite *suite_text_table(void)
{
	Suite *suite = suite_create("text-table");
	TCase *tcase = tcase_create("text-table");

	tcase_add_test(tcase, a_row_stands_below_its_titles);
	tcase_add_test(tcase, titles_stand_above_cells);
	tcase_add_test(tcase, columns_of_another_place);
	tcase_add_loop_test(tcase, no_letter_commands_the_terminal, 0, 255);
	suite_add_tcase(suite, tcase);
	return suite;
}

/*
 * kallsyms: see kallsyms.h.
 */
#include "symbols/kallsyms.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/process/foreign.h"
#include "base/process/line.h"

#define PAGE 4096

enum { RANK_GLOBAL, RANK_WEAK, RANK_LOCAL, RANK_NO_FUNCTION };

struct symbol {
	uint64_t address, module; /* module: a hash; 0: the kernel itself */
	uint32_t name;
	uint8_t rank;
};

struct kernel_list {
	VEC(struct symbol) symbols;
	VEC(char) names;
};

static uint8_t rank_of_kind(char kind)
{
	return kind == 'T'                  ? RANK_GLOBAL
	       : kind == 'W' || kind == 'w' ? RANK_WEAK
	       : kind == 't'                ? RANK_LOCAL
					    : RANK_NO_FUNCTION;
}

/* Takes "ADDRESS KIND NAME [MODULE]"; false: it is no such line. */
static bool take_symbol_line(struct kernel_list *list, const char *line)
{
	static const char blanks[] = " \t\n";
	size_t digits = strspn(line, "0123456789abcdefABCDEF"), name, rest;
	struct symbol symbol = { .name = (uint32_t)list->names.count };

	if (digits == 0 || digits > 16 || line[digits] != ' ' || !line[digits + 1] ||
	    line[digits + 2] != ' ') {
		return false;
	}
	name = digits + 3;
	rest = name + strcspn(line + name, blanks);
	if (rest == name) {
		return false;
	}
	symbol.address = strtoull(line, NULL, 16);
	symbol.rank = rank_of_kind(line[digits + 1]);
	vec_append(&list->names, line + name, rest - name);
	*vec_push(&list->names) = '\0';
	rest += strspn(line + rest, blanks);
	symbol.module = line[rest] == '[' ? hash_text(1, line + rest) : 0;
	*vec_push(&list->symbols) = symbol;
	return true;
}

static int take_lines(struct kernel_list *list, FILE *in, const char *path, struct err *err)
{
	struct line line = { .number = 0 };
	int r;

	while ((r = line_next(&line, in, SYMBOLS_TEXT_MAX)) > 0) {
		if (list->symbols.count >= SYMBOLS_MAX ||
		    list->names.count >= SYMBOLS_NAMES_BYTES_MAX) {
			r = err_raise(err, -E2BIG, "%s: has too many symbols", path);
			break;
		}
		if (!take_symbol_line(list, line.text.at)) {
			r = -EINVAL;
			break;
		}
	}
	if (r == 0 && ferror(in)) {
		r = err_raise(err, -EIO, "%s: %s", path, strerror(errno));
	} else if (r == -EINVAL || r == -EMSGSIZE) {
		r = err_raise(err, -EINVAL, "%s: line %" PRIu64 " is none of /proc/kallsyms", path,
			      line.number);
	}
	line_fini(&line);
	return r;
}

ORDER(by_place, struct symbol, UP(address) UP(rank) UP(name))

/* The end of what begins at symbol @at, whose next other address is that of @next. */
static uint64_t symbol_end(const struct kernel_list *list, size_t at, size_t next)
{
	const struct symbol *symbol = &list->symbols.at[at];
	uint64_t page = (symbol->address | (PAGE - 1)) + 1;
	uint64_t end = next < list->symbols.count ? list->symbols.at[next].address : UINT64_MAX;

	if (next < list->symbols.count && list->symbols.at[next].module == symbol->module) {
		return end;
	}
	return page > symbol->address && page < end ? page : end;
}

static void take_functions(struct kernel_list *list, struct functions *ret)
{
	vec_sort(&list->symbols, by_place);
	for (size_t at = 0, next; at < list->symbols.count; at = next) {
		const struct symbol *first = &list->symbols.at[at];

		for (next = at + 1;
		     next < list->symbols.count && list->symbols.at[next].address == first->address;
		     next++) {
		}
		if (first->rank < RANK_NO_FUNCTION) {
			*vec_push(&ret->at) = (struct function){ .begin = first->address,
								 .end = symbol_end(list, at, next),
								 .name = first->name };
		}
	}
}

/* All addresses are 0 for who may not see them. */
static bool is_hidden(const struct kernel_list *list)
{
	for (size_t i = 0; i < list->symbols.count; i++) {
		if (list->symbols.at[i].address != 0) {
			return false;
		}
	}
	return list->symbols.count > 0;
}

static int make_functions(struct kernel_list *list, const char *path, struct functions *ret,
			  struct err *err)
{
	if (is_hidden(list)) {
		return err_raise(err, -EACCES,
				 "%s: its addresses are hidden (sysctl kernel.kptr_restrict): read "
				 "it as root",
				 path);
	}
	take_functions(list, ret);
	if (ret->at.count == 0) {
		functions_fini(ret);
		return err_raise(err, -ENODATA, "%s: has no function", path);
	}
	ret->names = list->names.at;
	ret->names_len = list->names.count;
	list->names.at = NULL;
	return 0;
}

int kallsyms_read(const char *path, struct functions *ret, struct err *err)
{
	struct kernel_list list = { .symbols = { 0 } };
	FILE *in;
	int r = foreign_stream(path, &in, err);

	if (r < 0) {
		return r;
	}
	r = take_lines(&list, in, path, err);
	(void)fclose(in);
	r = r < 0 ? r : make_functions(&list, path, ret, err);
	vec_fini(&list.symbols);
	vec_fini(&list.names);
	return r;
}

/*
 * report-rivals: who had the CPU that a critical path waited for, as text.
 */
#include "deep/report/report-lines.h"

static void put_rest(struct text_table *table, const char *what, uint64_t ns)
{
	if (ns > 0) {
		text_cell(table, what);
		text_ns(table, ns);
		text_end(table);
	}
}

static void put_prio(struct text_table *table, const struct rival *rival)
{
	char text[UNITS_TEXT_MAX];

	text_cell(table, !rival->has_prio                     ? "?"
			 : rival->prio_min != rival->prio_max ? "varies"
							      : units_prio(text, rival->prio_min));
}

/* The threads of one name, as the first sentence names them. */
struct named_rival {
	struct rival sum; /* its thread: who had the CPU longest */
	const char *comm;
	size_t threads;
};

typedef VEC(struct named_rival) named_rivals;

ORDER(by_name_of_rival, struct named_rival, UP_TEXT(comm) DOWN(sum.total) UP(sum.thread))
ORDER(by_total, struct named_rival, DOWN(sum.total) UP(sum.thread))

static void add_rival(struct named_rival *to, const struct rival *from)
{
	struct rival *sum = &to->sum;

	to->threads++;
	sum->total += from->total;
	sum->longest = from->longest > sum->longest ? from->longest : sum->longest;
	sum->times += from->times;
	sum->inverted += from->inverted;
	sum->fair += from->fair;
	sum->unknown += from->unknown;
	sum->has_prio &= from->has_prio;
	sum->prio_min = from->prio_min < sum->prio_min ? from->prio_min : sum->prio_min;
	sum->prio_max = from->prio_max > sum->prio_max ? from->prio_max : sum->prio_max;
}

static void sum_by_name(const struct deep_report *report, named_rivals *ret)
{
	size_t kept = 0;

	VEC_EACH(&report->rivals.at, rival) {
		*vec_push(ret) = (struct named_rival){
			.sum = *rival,
			.comm = report->timeline->threads.at[rival->thread]->comm,
			.threads = 1
		};
	}
	vec_sort(ret, by_name_of_rival);
	for (size_t i = 0; i < ret->count; i++) {
		/* Names that are unknown are not one name. */
		if (kept > 0 && ret->at[i].comm[0] &&
		    strcmp(ret->at[i].comm, ret->at[kept - 1].comm) == 0) {
			add_rival(&ret->at[kept - 1], &ret->at[i].sum);
		} else {
			ret->at[kept++] = ret->at[i];
		}
	}
	ret->count = kept;
	vec_sort(ret, by_total);
}

static void put_named(struct text_table *table, const struct deep_report *report,
		      const struct named_rival *named)
{
	char text[REPORT_WHO_MAX];

	if (named->threads == 1) {
		report_put_who(table, report, named->sum.thread);
	} else {
		text_cell_format(table, "%s, %zu threads",
				 report_comm(text, report, named->sum.thread), named->threads);
	}
}

/* Whether the sums have waits of threads that the explained one waited for. */
static bool is_waited_for_by_others(const struct deep_report *report)
{
	VEC_EACH(&report->path.segments, segment) {
		if (segment->thread != report->thread &&
		    (segment->state == STATE_WAIT || segment->state == STATE_PREEMPTED)) {
			return true;
		}
	}
	return false;
}

void report_put_rivals(const struct deep_report *report, size_t most, FILE *out)
{
	struct text_table table = text_table_of(
		out,
		"  WHO HAD ITS CPU<24| ALL>8| LONGEST>8| TIMES>6| PRIO>10| INVERTED>8| UNKNOWN>8");
	const struct rivals *rivals = &report->rivals;
	named_rivals named = { 0 };
	size_t shown;

	if (rivals->at.count == 0 && rivals->idle_ns == 0) {
		return;
	}
	sum_by_name(report, &named);
	shown = deep_report_rows(named.count, most);
	text_head(&table);
	for (size_t i = 0; i < shown; i++) {
		const struct rival *rival = &named.at[i].sum;

		put_named(&table, report, &named.at[i]);
		text_ns(&table, rival->total);
		text_ns(&table, rival->longest);
		text_count(&table, rival->times);
		put_prio(&table, rival);
		text_ns(&table, rival->inverted - rival->fair);
		text_ns(&table, rival->unknown);
		text_end(&table);
	}
	text_more(out, named.count, shown);
	put_rest(&table, "nobody", rivals->idle_ns);
	put_rest(&table, "(by inherited priority)", rivals->inherited_ns);
	put_rest(&table, "(of unknown priority)", rivals->unknown_ns);
	if (is_waited_for_by_others(report)) {
		(void)fputs(
			"  while any thread of the critical path waited for a CPU, not only it\n",
			out);
	}
	vec_fini(&named);
}

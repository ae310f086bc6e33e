/*
 * report-inversions: the priority inversions of a report, as text.
 */
#include "deep/report/report-lines.h"

struct finding_list {
	VEC(struct finding) at;
};

/* Those of which only nice levels differ, or the others. */
static struct finding_list pick(const struct rivals *rivals, bool is_fair)
{
	struct finding_list list = { 0 };

	VEC_EACH(&rivals->findings, finding) {
		if (finding->is_fair == is_fair) {
			*vec_push(&list.at) = *finding;
		}
	}
	return list;
}

static void put_findings(const struct deep_report *report, const char *title,
			 const struct finding *findings, size_t count, size_t most, FILE *out)
{
	struct text_table table =
		text_table_of(out, "  %s<18| FOR>8|  SINCE<%d| KIND<9| DELAYS<10| WAIT IN<", title,
			      report_clock_width(report));
	size_t shown = deep_report_rows(count, most);

	if (count == 0) {
		return;
	}
	text_head(&table);
	for (size_t i = 0; i < shown; i++) {
		bool is_other = findings[i].kind == INVERSION_UNBOUNDED;
		const struct deep_call *call = findings[i].call;
		char text[REPORT_WHO_MAX];

		report_put_who(&table, report, findings[i].rival);
		text_ns(&table, findings[i].end - findings[i].begin);
		report_put_clock(&table, report, findings[i].begin);
		text_cell(&table, path_inversion_name(findings[i].kind));
		text_cell(&table, report_comm(text, report,
					      is_other ? findings[i].on_path : report->thread));
		text_cell(&table, call ? call->name : "-");
		text_end(&table);
	}
	text_more(out, count, shown);
}

/* Of ordinary threads, whose nice levels say how they share a CPU, not who may have it. */
static void put_shares(const struct finding_list *fair, FILE *out)
{
	uint64_t ns = 0;
	char text[2][UNITS_TEXT_MAX];

	VEC_EACH(&fair->at, finding) {
		ns += finding->end - finding->begin;
	}
	if (ns > 0) {
		(void)fprintf(out,
			      "  by nice levels alone, which is no inversion: %s in %s times\n",
			      units_ns(text[0], ns), units_count(text[1], fair->at.count));
	}
}

/* What may be work for somebody, or the next release: the trace does not say. */
static void put_apart(const struct deep_report *report, size_t most, FILE *out)
{
	const struct rivals *rivals = &report->rivals;
	uint64_t ns[INVERSIONS] = { 0 };
	char text[2][UNITS_TEXT_MAX];

	if (rivals->apart.count == 0) {
		return;
	}
	VEC_EACH(&rivals->apart, finding) {
		ns[finding->kind] += finding->end - finding->begin;
	}
	put_findings(report, "WAITS FOR EVENTS", rivals->apart.at, rivals->apart.count, most, out);
	(void)fprintf(out,
		      "  in all %s for events of less urgent threads, of that %s while these "
		      "waited\n",
		      units_ns(text[0], ns[INVERSION_DIRECT] + ns[INVERSION_UNBOUNDED]),
		      units_ns(text[1], ns[INVERSION_UNBOUNDED]));
	if (!report->jobs) {
		(void)fputs("  --job says which waits lie in an execution: there they count\n",
			    out);
	}
}

static void put_legend(FILE *out)
{
	text_wrapped(out, "  direct:",
		     "it waits for a less urgent thread; unbounded: of which a third one has the "
		     "CPU; dispatch: a less urgent one has not left the CPU yet",
		     80);
}

void report_put_inversions(const struct deep_report *report, size_t most, FILE *out)
{
	struct finding_list fair = pick(&report->rivals, true),
			    others = pick(&report->rivals, false);

	put_findings(report, "PRIORITY INVERSIONS", others.at.at, others.at.count, most, out);
	if (others.at.count > 0 && report->victims.count == 0) {
		put_legend(out);
	}
	put_shares(&fair, out);
	put_apart(report, most, out);
	vec_fini(&fair.at);
	vec_fini(&others.at);
}

void report_put_victims(const struct deep_report *report, size_t most, FILE *out)
{
	struct text_table table =
		text_table_of(out,
			      "  WHO WAS DELAYED<15| PRIO>10| WAITS>5| UNBOUND>7| DIRECT>7| "
			      "DISPATCH>8| LONGEST>7| SINCE<%d",
			      report_clock_width(report));
	size_t count = report->victims.count, shown = deep_report_rows(count, most);

	if (count == 0) {
		return;
	}
	(void)fputc('\n', out);
	text_head(&table);
	for (size_t i = 0; i < shown; i++) {
		const struct report_victim *victim = &report->victims.at[i];
		char prio[UNITS_TEXT_MAX];

		report_put_who(&table, report, victim->thread);
		text_cell(&table, units_prio(prio, victim->prio));
		text_count(&table, victim->times[INVERSION_UNBOUNDED]);
		text_ns(&table, victim->ns[INVERSION_UNBOUNDED]);
		text_ns(&table, victim->ns[INVERSION_DIRECT]);
		text_ns(&table, victim->ns[INVERSION_DISPATCH]);
		text_ns(&table, victim->longest.end - victim->longest.begin);
		report_put_clock(&table, report, victim->longest.begin);
		text_end(&table);
	}
	text_more(out, count, shown);
	put_legend(out);
}

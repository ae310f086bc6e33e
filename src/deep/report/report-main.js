/* ---- the page ---- */

/* What an inversion says, in lines. */
function inverted(row) {
	return [row.kind + ' inversion: ' + who(row.rival) + ' for ' + spent(row.ns) +
		(row.kind === 'unbounded' ? ', which keeps ' + who(row.on_path) + ' from running' : '')]
		.concat(row.call ? 'while it waits in ' + row.call + (row.futex ? ' 0x' + row.futex.toString(16) : '') : []);
}
function inversions(title, says, found, n) {
	if (!found.length) return;
	table(title, says, found, [['thread', (row) => who(row.rival), true],
		['for', (row) => spent(row.ns), false, (row) => row.ns], ['since', (row) => since(row.begin_ns), false, (row) => row.begin_ns],
		['kind', (row) => row.kind, true, (row) => row.kind],
		['keeps from running', (row) => row.kind === 'unbounded' ? who(row.on_path) : '', true],
		['while it waits in', (row) => (row.call || '') + (row.futex ? ' 0x' + row.futex.toString(16) : ''), true]],
	(row) => [row.begin_ns, row.ns, n, who(n) + ' was delayed', inverted(row)]);
}
/* A critical path, of the range or of an execution, and who was in its way. */
function explained(of, title, place) {
	const n = of.path.thread;
	table(title, 'Critical path: ' + count(of.path.segment_count) +
		' segments. A sleep that another thread ended is what that one did.',
	of.path.parts, [['thread', (row) => who(row.thread), true], ['all', (row) => spent(sum(row, states))],
		['run', (row) => spent(row.user_ns)], ['waited', (row) => spent(sum(row, ['wait', 'new']))],
		['preempted', (row) => spent(row.preempted_ns)], ['slept', (row) => spent(row.blocked_ns)]]);
	if (place) button('in the timeline', element('p', '', document.getElementById('body')), () => show(...place));
	table('Who had its CPU', of.rivals.length ? 'Click: where it had it longest.' : '', of.rivals, [['thread', (row) => who(row.thread), true],
		['all', (row) => spent(row.total_ns), false, (row) => row.total_ns], ['longest', (row) => spent(row.longest_ns), false, (row) => row.longest_ns],
		['times', (row) => row.times, false, (row) => row.times], 
		['inversion', (row) => spent(row.inversion_ns - row.fair_ns), false, (row) => row.inversion_ns - row.fair_ns],
		['priority unknown', (row) => spent(row.unknown_prio_ns)]],
	(row) => [row.longest_begin, row.longest_ns, row.thread, who(row.thread) + ' had the CPU that ' + who(n) + ' waited for',
		[count(row.times) + ' times, ' + spent(row.total_ns) + ' in all']]);
	inversions('Priority inversions', '', of.inversions.filter((row) => !row.fair_class), n);
	inversions('No inversions: nice levels', 'They say how ordinary threads share a CPU, not who may have it.',
		of.inversions.filter((row) => row.fair_class), n);
	inversions('No inversions: waits for an event', 'It waited for something that may be all it had to do then, such as its next ' +
		'release. In an execution (--job) such waits count.', of.apart, n);
}
function head() {
	const top = document.getElementById('head');
	top.textContent = '';
	document.title = report.trace + ' - sillage';
	document.getElementById('title').textContent = [report.trace, ...(report.joined || []).map((one) => one.trace)].join(' with ');
	if (sets.length > 1) {
		const line = element('p', '', top);
		line.className = 'controls';
		sets.forEach((set, i) => {
			button(set.label || set.report.trace, line, () => choose(i), set.why).setAttribute('aria-pressed', set === data);
		});
	}
	if (data.why) {
		element('p', 'The trace is too large to be explained as a whole (--max-memory). Of ' + sets.filter((set) => set.why).length +
			' ranges of it this was chosen because: ' + data.why, top);
	}
	if (report.is_cut) element('p', 'It is cut at its end: more does not fit into memory.', top);
	element('p', iso(0) + ', ' + spent(end) + ', ' + count(report.events) + ' events' +
		(report.gaps ? ', ' + report.gaps + ' gaps' : '') +
		(report.missing ? '; not recorded: ' + report.missing.map(m => m.event).join(', ') : ''), top);
	if (report.triggers) element('p', 'Captured because of ' + report.triggers, top);
	element('p', report.cpus.map((cpu) => 'CPU ' + cpu.cpu + ' ' + percent(cpu.busy_ns / end)).join('   ') +
		(report.cpus.length < data.cpus.length ? '   and ' + count(data.cpus.length - report.cpus.length) + ' less busy ones' : ''), top);
}
function threads() {
	const ns = (title, of) => [title, (row) => spent(of(row)), false, of];
	table('Who ran', report.threads.length < data.thread_count ? count(report.threads.length) + ' of ' + count(data.thread_count) + ' threads.' : '',
		report.threads, [['thread', (row) => who(row.thread), true], ns('run', (row) => row.run_ns),
			ns('in calls', (row) => row.syscall_ns || 0), ns('interrupts', (row) => sum(row, ['irq', 'softirq'])),
			ns('waited', (row) => sum(row, ['wait', 'new'])), ns('preempted', (row) => row.preempted_ns || 0), ns('slept', (row) => row.blocked_ns || 0)],
		(row) => [row.begin_ns, row.ns, row.thread, who(row.thread)]);
	if (report.changes) {
		table('What changed in who ran', 'Shares of the time before and after ' + since(report.changed_ns) + '.', report.changes,
			[['thread', (row) => who(row.thread), true], ['before', (row) => percent(row.before)],
				['after', (row) => percent(row.after)]]);
	}
	table('Who waited longest for a CPU', '', report.waits, [['thread', (row) => who(row.thread), true, (row) => who(row.thread)],
		['for', (row) => spent(row.ns), false, (row) => row.ns], ['since', (row) => since(row.begin_ns), false, (row) => row.begin_ns],
		['why', (row) => row.state, true, (row) => row.state],
		['woken by', (row) => who(row.waker), true], ['while', (row) => who(row.rival), true]],
	(row) => [row.begin_ns, row.ns, row.thread, who(row.thread) + ' waited for a CPU (' + row.state + ')',
		(row.rival === undefined ? [] : ['its CPU had ' + who(row.rival)]).concat(row.waker === undefined ? [] : ['woken by ' + who(row.waker)])]);
}
function victims() {
	table('Who was delayed by less urgent threads', 'Real-time threads; waits: those in which an unbounded inversion lies.', report.victims,
		[['thread', (row) => who(row.thread), true], ['priority', (row) => priority(row.prio), true], ['waits', (row) => row.unbounded_waits],
			['unbounded', (row) => spent(row.unbounded_ns)], ['direct', (row) => spent(row.direct_ns)],
			['dispatch', (row) => spent(row.dispatch_ns)], ['longest', (row) => spent(row.inversions[0].ns)],
			['since', (row) => since(row.inversions[0].begin_ns)]],
		(row) => [row.inversions[0].begin_ns, row.inversions[0].ns, row.thread, who(row.thread) + ' was delayed', inverted(row.inversions[0])]);
}
/* What threads execute again and again, each as an option that explains it. */
function jobsFound() {
	table('Jobs found', data.found.length ? 'What threads execute again and again. Of each, sillage report --job ... explains the worst executions.'
		: 'No thread executes the same again and again.', data.found,
	[['thread', (row) => who(row.thread), true, (row) => who(row.thread)], ['count', (row) => count(row.count), false, (row) => row.count],
		['period', (row) => spent(row.period_ns), false, (row) => row.period_ns], ['jitter', (row) => spent(row.jitter_ns), false, (row) => row.jitter_ns],
		['mean', (row) => spent(row.mean_ns), false, (row) => row.mean_ns], ['of its time', (row) => percent(row.coverage), false, (row) => row.coverage],
		['job', (row) => "--job '" + row.job + "'", true]]);
}
/* Draws all of what is shown, where the view is. */
function render() {
	document.getElementById('body').textContent = '';
	drawings = [];
	head();
	timeline();
	threads();
	if (report.victims && report.victims.length) victims();
	if (report.path) explained(report, 'Where the time of ' + who(report.path.thread) + ' went');
	if (report.links && report.links.length) {
		table('Who woke it, and was woken', 'Hops: wake-ups on the way to it.', report.links, [['thread', (row) => who(row.thread), true],
			['hops', (row) => row.hops], ['woke it', (row) => row.hops === 1 ? row.wakes : ''],
			['woken by it', (row) => row.hops === 1 ? row.woken : '']]);
	}
	if (data.found) jobsFound();
	if (report.resources) resources();
	if (report.jobs && report.jobs.count + report.jobs.open_count) executions(report.jobs);
}
function choose(i) {
	data = sets[i];
	report = data.report;
	end = report.length_ns;
	rows = makeRows();
	rowOf = new Map(rows.flatMap((row, i) => row.kind === 'thread' ? [[row.n, i]] : []));
	view = [0, end];
	picked = null;
	cursor = -1;
	found = new Set();
	render();
}
choose(0);
document.body.dataset.state = 'ready';

/* ---- where the time of a thread, a job or a range went ---- */

const spentStates = ['new', 'user', 'syscall', 'irq', 'softirq', 'wait', 'preempted', 'blocked', 'unknown'];
const jobModels = ['run-to-sleep', 'wake-to-sleep', 'periodic', 'timerfd', 'mq', 'signal', 'run', 'sleep'];
const STRIPS = 8, LANE = 18, ROWS_FIRST = 12;

/* A line each: who, the parts of its time, and all of it. */
function bars(into, rows, whole) {
	const box = element('div', '', into);
	box.className = 'who';
	for (const row of rows) {
		const all = sum(row, spentStates);
		element('span', threadText(row.thread), box).title = threadText(row.thread);
		const bar = element('div', '', box);
		bar.className = 'bar';
		bar.setAttribute('role', 'img');
		const parts = spentStates.filter((state) => row[state + '_ns'] > 0).map((state) => [state, row[state + '_ns']]);
		bar.setAttribute('aria-label', parts.map(([state, ns]) => state + ' ' + duration(ns)).join(', '));
		for (const [state, ns] of parts) {
			const one = element('i', '', bar);
			one.style.background = colours[state];
			one.style.flexGrow = ns / (whole || all);
			one.addEventListener('pointermove', (event) => hint(event, state + ': ' + duration(ns) + ', ' + percent(ns / all)));
			one.addEventListener('pointerleave', (event) => hint(event, ''));
		}
		if (whole && all < whole) element('i', '', bar).style.flexGrow = 1 - all / whole;
		element('span', duration(all), box);
	}
}
function part(into, title, says) {
	element('h2', title, into);
	if (says) element('p', says, into);
	const place = element('div', '', into);
	place.className = 'wide';
	return place;
}
function partTable(into, title, says, rows, columns, to) {
	if (!rows || !rows.length) return;
	tableIn(part(into, title, says), rows, columns, to && ((row) => [to(row)]), ROWS_FIRST);
}
/* The critical path: a lane for each thread, a piece for each of its segments. */
class Path extends Canvas {
	constructor(into, stage, path, about) {
		const totals = new Map();
		for (const one of path.segments) totals.set(one.tid, (totals.get(one.tid) || 0) + lengthOf(one.begin, one.end));
		const lanes = [...totals].sort((a, b) => b[1] - a[1]).slice(0, STRIPS).map(([tid]) => tid);
		super(into, stage, lanes.length * LANE + BOTTOM, about);
		this.lanes = lanes;
		this.names = new Map((path.parts || []).map((one) => [one.thread.tid, threadText(one.thread)]));
		this.pieces = path.segments.map((one) => ({ ...one, from: stage.since(one.begin), until: stage.since(one.end) }));
	}
	of(ns) { return this.pieces.find((one) => one.from <= ns && ns < one.until); }
	part(ns) { const one = this.of(ns); return one ? [one.from, one.until] : [0, 0]; }
	says(ns) {
		const one = this.of(ns);
		return one ? (this.names.get(one.tid) || one.tid) + ': ' + one.state + ', ' + duration(Math.round(one.until - one.from)) : 'not on the path';
	}
	paint(pen, width) {
		drawTimes(pen, this.stage, width, this.height);
		for (const one of this.pieces) {
			const lane = this.lanes.indexOf(one.tid);
			if (lane < 0) continue;
			pen.fillStyle = colours[one.state] || colours.unknown;
			pen.fillRect(this.x(one.from), lane * LANE + 2, Math.max(0.5, this.x(one.until) - this.x(one.from)), LANE - 4);
		}
		pen.fillStyle = ink('--fore');
		this.lanes.forEach((tid, lane) => pen.fillText(String(tid), 4, (lane + 0.5) * LANE, LEFT - 8));
	}
}
function pathPart(into, at, path) {
	if (!path || !path.segments || !path.segments.length) return;
	const place = part(into, 'Critical path', 'What ' + threadText(path.thread) + ' waited for, step by step: ' + count(path.segment_count) + ' segments of ' + plural(path.thread_count, 'thread') + '.');
	const begin = big(path.segments[0].begin), end = big(path.segments[path.segments.length - 1].end), actions = element('div', '', into);
	actions.className = 'tools';
	const stage = new Stage(begin, end, (picked) => {
		actions.textContent = '';
		if (!picked) return;
		const from = stage.time(picked[0]), until = stage.time(picked[1]);
		element('b', rangeText(from, until), actions);
		rangeTools(actions, at, from, until > from ? until : from + 1n);
	});
	stage.zoom = () => go(changed(at, { begin: String(stage.time(stage.picked[0])), end: String(stage.time(stage.picked[1])) }));
	if (path.segments.length < path.segment_count) element('p', 'The first ' + count(path.segments.length) + ' segments are drawn.', place);
	bars(place, path.parts, Number(end - begin));
	new Path(place, stage, path, 'critical path').draw();
	const before = at.resize;
	at.resize = () => { before(); stage.draw(); };
	key(coloured(['run', 'user', 'syscall', 'irq', 'softirq', 'wait', 'preempted', 'blocked', 'new', 'unknown'].filter((state) => path.segments.some((one) => one.state === state))), place);
}
/* Executions by how long they took: a bar for each part of the range. */
function histogram(into, rows, total) {
	const lengths = rows.map((row) => lengthOf(row.begin, row.end)).sort((a, b) => a - b), least = Math.max(1, lengths[0]), most = lengths[lengths.length - 1];
	const bins = Math.min(40, Math.max(1, lengths.length)), edge = (i) => least * (most / least) ** (i / bins), counts = new Array(bins).fill(0);
	for (const ns of lengths) counts[Math.min(bins - 1, most > least ? Math.floor(Math.log(Math.max(ns, 1) / least) / Math.log(most / least) * bins) : 0)]++;
	const place = part(into, 'How long executions took', rows.length < total ? 'The longest ' + count(rows.length) + ' of ' + count(total) + '; the scale is logarithmic.' : 'All ' + count(total) + '; the scale is logarithmic.');
	const canvas = element('canvas', '', place), highest = Math.max(...counts);
	canvas.setAttribute('role', 'img');
	canvas.setAttribute('aria-label', 'executions by duration: from ' + duration(least) + ' to ' + duration(most));
	canvas.addEventListener('pointermove', (event) => {
		const i = Math.floor((event.offsetX - LEFT) / (canvas.clientWidth - LEFT) * bins);
		hint(event, i < 0 || i >= bins ? '' : duration(Math.round(edge(i))) + ' to ' + duration(Math.round(edge(i + 1))) + ': ' + plural(counts[i], 'execution'));
	});
	canvas.addEventListener('pointerleave', (event) => hint(event, ''));
	return () => {
		const [pen, width] = fit(canvas, HIGH), step = (width - LEFT) / bins, bottom = HIGH - BOTTOM;
		counts.forEach((number, i) => {
			pen.fillStyle = ink('--one');
			const high = number ? Math.max(2, number / highest * (bottom - 8)) : 0;
			pen.fillRect(LEFT + i * step, bottom - high, Math.max(1, step - 1), high);
		});
		pen.fillStyle = ink('--soft');
		pen.fillText(count(highest), Math.max(2, LEFT - 8 - pen.measureText(count(highest)).width), 9);
		pen.fillText('0', LEFT - 14, bottom - 5);
		for (const i of [0, 0.25, 0.5, 0.75, 1]) {
			const text = duration(Math.round(edge(i * bins))), wide = pen.measureText(text).width;
			pen.fillText(text, Math.min(width - wide, Math.max(LEFT, LEFT + i * (width - LEFT) - wide / 2)), HIGH - BOTTOM / 2);
		}
	};
}
function timeColumns() {
	return [['begin (UTC)', (row) => clockText(big(row.begin)), false, (row) => Number(row.begin)], ['length', (row) => duration(lengthOf(row.begin, row.end)), false, (row) => lengthOf(row.begin, row.end)]];
}
function jobsPart(into, at, jobs) {
	const box = element('div', '', into);
	box.className = 'figures';
	for (const path of ['count', 'open_count', 'median_ns', 'p95_ns', 'p99_ns', 'max_ns', 'response_max_ns', 'jitter_ns', 'missed', 'outliers']) {
		if (jobs[path] === undefined || jobs[path] === null) continue;
		const one = element('div', '', box);
		element('span', titleOf(path), one);
		one.append(valueText(path, jobs[path]));
	}
	const there = (row) => address('explain', { ...same(at), begin: row.begin, end: row.end, thread: row.thread.tid });
	if (jobs.longest && jobs.longest.length) {
		const draw = histogram(into, jobs.longest, jobs.count), before = at.resize;
		at.resize = () => { before(); draw(); };
		draw();
	}
	partTable(into, 'Executions, the longest first', 'A row leads to what happened within it.', jobs.longest, [['thread', (row) => threadText(row.thread), true], ...timeColumns(),
		['late', (row) => duration(row.late_ns), false, (row) => row.late_ns || 0], ['response', (row) => duration(row.response_ns), false, (row) => row.response_ns || 0],
		...['user', 'syscall', 'wait', 'preempted', 'blocked'].map((state) => [state, (row) => row[state + '_ns'] ? duration(row[state + '_ns']) : '-', false, (row) => row[state + '_ns'] || 0])], there);
	for (const worst of (jobs.worst || []).slice(0, 3)) {
		element('h2', 'Execution of ' + duration(lengthOf(worst.begin, worst.end)) + ' at ' + clockText(big(worst.begin)), into);
		bars(into, [worst]);
		rivalsPart(into, at, worst);
	}
}
function rivalsPart(into, at, of) {
	partTable(into, 'Who had its CPU', 'While those on the path could run.', of.rivals, [['thread', (row) => threadText(row.thread), true], ['in all', (row) => duration(row.total_ns), false, (row) => row.total_ns],
		['times', (row) => count(row.times), false, (row) => row.times], ['longest', (row) => duration(row.longest_ns), false, (row) => row.longest_ns],
		['by inversion of priorities', (row) => row.inversion_ns ? duration(row.inversion_ns) : '-', false, (row) => row.inversion_ns],
		['of the same priority', (row) => row.same_level_ns ? duration(row.same_level_ns) : '-', false, (row) => row.same_level_ns]],
	(row) => address('explain', { ...same(at), thread: row.thread.tid }));
}
function reportPart(into, at, report, thread) {
	element('p', report.answer || 'There is no answer for this range: nothing waited, or too little was recorded.', into).className = 'answer';
	if (report.jobs) jobsPart(into, at, report.jobs);
	const mine = thread && (report.threads || []).find((one) => String(one.thread.tid) === String(thread) || one.thread.comm === thread);
	if (mine) {
		const place = part(into, 'Where its time went');
		bars(place, [mine]);
		key(coloured(spentStates.filter((state) => mine[state + '_ns'] > 0)), place);
	}
	pathPart(into, at, report.path);
	rivalsPart(into, at, report);
	const to = (row) => address('explain', { ...same(at), begin: row.begin, end: row.end, thread: (row.thread || row.on_path).tid });
	partTable(into, 'Inversions', 'One of a lower priority had the CPU that the path needed.', report.inversions, [['on the path', (row) => threadText(row.on_path), true], ['who had its CPU', (row) => row.rival ? threadText(row.rival) : '-', true],
		...timeColumns(), ['kind', (row) => row.kind, true], ['in', (row) => row.call || row.wait || '-', true]], to);
	partTable(into, 'Waits for a CPU, the longest first', '', report.waits, [['thread', (row) => threadText(row.thread), true], ['state', (row) => row.state, true], ...timeColumns(),
		['who ran', (row) => row.rival ? threadText(row.rival) : '-', true]], to);
	partTable(into, 'Threads', 'Where the time of each went.', report.threads, [['thread', (row) => threadText(row.thread), true], ['ran', (row) => duration(row.run_ns), false, (row) => row.run_ns || 0],
		...['user', 'syscall', 'wait', 'preempted', 'blocked'].map((state) => [state, (row) => row[state + '_ns'] ? duration(row[state + '_ns']) : '-', false, (row) => row[state + '_ns'] || 0])],
	(row) => address('explain', { ...same(at), thread: row.thread.tid }));
	if (mine || thread) partTable(into, 'Who it works with', 'Wake-ups between it and others.', report.links, [['thread', (row) => threadText(row.thread), true], ['steps away', (row) => String(row.hops)],
		['woke it', (row) => count(row.wakes), false, (row) => row.wakes], ['woken by it', (row) => count(row.woken), false, (row) => row.woken]], (row) => address('explain', { ...same(at), thread: row.thread.tid }));
}
views.explain = {
	title: 'Explain',
	async draw(into, at) {
		const { source, begin, end, thread, job, deadline, within } = at.params, tools = element('div', '', into), place = element('div', '', into);
		tools.className = 'tools';
		const form = fieldsForm(tools, at, [['thread', 'thread', 'a name or a tid'], ['job', 'its executions', 'run-to-sleep'], ['deadline', 'deadline', '5ms']], 'explain');
		const models = element('datalist', '', form);
		models.id = 'models';
		for (const model of jobModels) element('option', '', models).value = model;
		form.elements.job.setAttribute('list', 'models');
		const reply = await ask('explain', { source, begin, end, thread, job, deadline: job ? deadline : '', within, top: job ? 1000 : 50 }, at.stop.signal);
		/* A source begins with a packet, before its first event, and at that there is no state yet. */
		const first = reply.rows.map((row) => big(row.begin)).filter((one) => one !== null).sort((a, b) => (a < b ? -1 : 1))[0];
		if (first !== undefined && can(at.source, 'state')) link('state at its begin', address('state', { source, at: String(first + 1n), begin, end }), tools);
		if (can(at.source, 'events')) link('events of this range', address('events', { source, begin, end }), tools);
		for (const row of reply.rows) {
			if (reply.rows.length > 1) element('h2', traceName((reply.quality[row.trace] || {}).trace) || '', place);
			reportPart(place, at, row, thread);
		}
		if (!reply.rows.length) sayNothing(place, 'There is no report of this range.', 'Choose a longer range.');
		quality(place, reply);
	},
	command: (at) => command('report', [['begin', at.params.begin], ['end', at.params.end], ['thread', at.params.thread], ['job', at.params.job], ['deadline', at.params.job ? at.params.deadline : '']], sourceWord(at.source)),
};

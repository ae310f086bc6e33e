/* ---- timers, futexes and message queues ---- */

const KINDS = ['timers', 'futexes', 'queues'];
const NOUNS = ['timer', 'futex', 'queue'];
const SLOTS = 4;
/* By state, as data.report.resources.states has them: no two alike; cancelled, expired and full stand out. */
const resourceColours = { set: '#a9c4e4', expired: '#3876cf', cancelled: '#d64541', wait: '#e9c92b', wake: '#3f9b68',
	empty: '#c3c9d2', full: '#e07b1f', send: '#4fb3c8', receive: '#7a5fc0' };

/* What an interval says, in lines. */
function toldInterval(kind, one) {
	const of = report.resources, state = of.states[one.state], end = of.outcome_names[one.outcome].replace('_', ' ');
	const does = kind === 0 ? 'set by ' : '', by = kind === 0 ? 'woken by ' : one.outcome && end === 'moved' ? 'moved by ' : 'ended by ';
	const lines = [(state === 'wait' && one.who >= 0 ? who(one.who) + ' waits' : state) + (one.ns ? ' for ' + spent(one.ns) : '')];
	if (one.who >= 0 && state !== 'wait') lines.push(does + who(one.who));
	if (one.by >= 0) lines.push(by + who(one.by));
	if (end) lines.push('outcome: ' + end);
	if (one.senders !== undefined) {
		lines.push(count(one.senders) + ' senders and ' + count(one.receivers) + ' receivers inside calls' + (one.hasSlept ? '; it slept' : ''));
	}
	return lines;
}

/*
 * A row of intervals that may overlap: each is in the first slot that is free at its begin, and the
 * slots share the row's height.  It has the interface of Row; nothing in it is added up.
 */
class ResourceRow {
	constructor(raw) {
		const width = raw.kind === 2 ? 9 : 6, list = raw.intervals, all = list.length / width, ends = [];
		this.of = report.resources[KINDS[raw.kind]][raw.index];
		Object.assign(this, { kind: 'resource', type: raw.kind, index: raw.index, total: raw.count, beside: raw.beside,
			name: NOUNS[raw.kind] + ' ' + this.of.name, bin: 0, end, items: [], begins: new Float64Array(all), state: new Uint8Array(all),
			isSum: new Uint8Array(all), slot: new Uint8Array(all) });
		for (let i = 0, now = 0; i < all; i++) {
			const [since, ns, state, outcome, by, other, senders, receivers, hasSlept] = list.slice(i * width, (i + 1) * width);
			now += since;
			this.items.push({ begin: now, ns, state, outcome, who: by, by: other, senders, receivers, hasSlept });
			this.begins[i] = now;
			this.state[i] = state;
			let slot = ends.findIndex((until) => until <= now);
			if (slot < 0) slot = Math.min(ends.length, SLOTS - 1);
			this.slot[i] = slot;
			ends[slot] = Math.max(ends[slot] || 0, now + ns);
		}
		this.slots = Math.max(1, ends.length);
	}
	until(i) { return this.begins[i] + this.items[i].ns; }
	intervals() { return 1; }
	/* The interval at a time and a share of the row's height, or the nearest one: instants are narrow. */
	piece(at, share, reach) {
		const slot = share === undefined ? -1 : Math.min(this.slots - 1, Math.max(0, Math.floor(share * this.slots)));
		let best = -1, least = Infinity;
		for (let i = 0; i < this.begins.length && this.begins[i] <= at + (reach || 0); i++) {
			const away = Math.max(this.begins[i] - at, at - this.until(i), 0);
			if (away > (reach || 0) || !reach && at >= this.until(i) && this.items[i].ns) continue;
			/* The slot counts most, then how far away it is, then the shorter one. */
			const worth = (slot >= 0 && this.slot[i] !== slot ? 1e18 : 0) + away * 1e3 + this.items[i].ns / end;
			if (worth <= least) [best, least] = [i, worth];
		}
		return best;
	}
	after(i, at) {
		const next = i >= 0 ? i + 1 : this.begins.findIndex((begin) => begin >= at);
		return next < 0 || next >= this.begins.length ? this.begins.length - 1 : next;
	}
	text(i) { return [this.name, ...this.why(i), since(this.begins[i])]; }
	why(i) { return toldInterval(this.type, this.items[i]); }
	draw(context, top, high, x, view) {
		const each = high / this.slots;
		for (let i = 0; i < this.begins.length && this.begins[i] < view[1]; i++) {
			if (this.until(i) < view[0]) continue;
			const left = x(Math.max(this.begins[i], view[0])), right = x(Math.min(this.until(i), view[1]));
			context.fillStyle = resourceColours[report.resources.states[this.state[i]]];
			context.fillRect(left, top + this.slot[i] * each, Math.max(1, right - left), each);
		}
	}
}

/* Puts the rows of resources among those of threads, each below the thread that waited longest for
 * it, or that it woke most often; those of no thread last. */
function addResources(made) {
	for (const raw of (data.resources || []).slice().reverse()) {
		const at = raw.beside < 0 ? -1 : made.findIndex((row) => row.kind === 'thread' && row.n === raw.beside);
		made.splice(at < 0 ? made.length : at + 1, 0, new ResourceRow(raw));
	}
}
/* What the drawing leaves out. */
function resourcesNote(into) {
	const drawn = rows.filter((row) => row.kind === 'resource'), counts = report.resources.counts;
	const total = KINDS.reduce((all, kind) => all + counts[kind], 0);
	const all = drawn.reduce((sum, row) => sum + row.total, 0), shown = drawn.reduce((sum, row) => sum + row.begins.length, 0);
	const used = drawn.length && report.resources.states.filter((_, state) => drawn.some((row) => row.state.includes(state)));
	if (used) key(coloured(used, resourceColours), into);
	const note = element('p', '', into);
	note.id = 'resourcerows';
	note.textContent = (drawn.length < total ? count(drawn.length) + ' of ' + count(total) + ' timers, futexes and queues have a row. ' : '') +
		(shown < all ? 'Of ' + count(all) + ' intervals in these rows the ' + count(shown) + ' longest are drawn. Tables are exact.' : '');
}

/* ---- their tables ---- */

/* Where the longest interval of a resource is, as show() takes it. */
function longestOf(type, one, i) {
	if (one.ns === undefined) return null;
	const index = rows.findIndex((row) => row.kind === 'resource' && row.type === type && row.index === i);
	const interval = { ...one, who: one.who === undefined ? -1 : one.who, by: one.by === undefined ? -1 : one.by };
	return [one.begin_ns, one.ns, one.who, NOUNS[type] + ' ' + one.name, ['the longest: ' + toldInterval(type, interval)[0],
		...toldInterval(type, interval).slice(1)], index];
}
function mean(sum) { return sum.count ? sum.total_ns / sum.count : 0; }

/* Columns of a kind: [title, function from a resource to its number, how it is written]. */
const resourceColumns = [
	[['expired', (row) => row.expiries, count], ['period', (row) => mean(row.period), duration], ['shortest', (row) => row.period.min_ns || 0, duration],
		['longest', (row) => row.period.max_ns || 0, duration], ['late', (row) => row.late_mean_ns, duration], ['latest', (row) => row.late_max_ns, duration],
		['callback', (row) => mean(row.callback), duration], ['cancels', (row) => row.cancelled, count], ['wakes', (row) => row.woken, count]],
	[['calls', (row) => row.calls, count], ['waits', (row) => row.waits.count, count], ['time', (row) => row.waits.total_ns || 0, duration], ['longest', (row) => row.waits.max_ns || 0, duration],
		['woken', (row) => row.outcomes.done || 0, count], ['changed', (row) => row.outcomes.again || 0, count], ['timeouts', (row) => row.outcomes.timed_out || 0, count],
		['signals', (row) => row.outcomes.interrupted || 0, count], ['moved', (row) => row.moved_in, count], ['wakes', (row) => row.wake_calls, count]],
	[['sent', (row) => row.sent, count], ['received', (row) => row.received, count], ['depth', (row) => row.depth_max, count], ['empty', (row) => row.empty_waits.count, count],
		['time', (row) => row.empty_waits.total_ns || 0, duration], ['longest', (row) => row.empty_waits.max_ns || 0, duration], ['full', (row) => row.full_waits.count, count],
		['time', (row) => row.full_waits.total_ns || 0, duration], ['again', (row) => row.outcomes.again || 0, count], ['timeouts', (row) => row.outcomes.timed_out || 0, count]],
];
const resourceTitles = ['Timers', 'Futexes', 'Message queues'];

function resourceTable(type) {
	const of = report.resources, list = of[KINDS[type]], total = of.counts[KINDS[type]];
	if (!list) {
		section(resourceTitles[type], 'Not recorded.');
		return;
	}
	if (!list.length) {
		section(resourceTitles[type], 'None was used.');
		return;
	}
	const index = new Map(list.map((one, i) => [one, i]));
	table(resourceTitles[type], (list.length < total ? count(list.length) + ' of ' + count(total) + '. ' : '') + 'Click a title to sort, a row to see the longest interval.', list,
		[[NOUNS[type], (row) => row.name, true, (row) => row.name]].concat(resourceColumns[type].map(([title, value, write]) =>
			[title, (row) => value(row) === undefined ? '?' : write(value(row)), false, (row) => value(row) === undefined ? -Infinity : value(row)])),
		(row) => longestOf(type, row, index.get(row)));
}
/* Who waited for whom, of all of them. */
function pairs() {
	const all = KINDS.flatMap((kind, type) => (report.resources[kind] || []).flatMap((one, i) =>
		one.pairs.map((pair) => ({ ...pair, type, name: NOUNS[type] + ' ' + one.name, one, i }))));
	if (!all.length) return;
	const ns = (title, of) => [title, (row) => row.type ? spent(of(row)) : '', false, (row) => of(row) || 0];
	table('Who was woken by whom, or by what', 'The longest waits of each futex and queue, and the threads that each timer woke most often.',
		all.sort((a, b) => (b.total_ns || 0) - (a.total_ns || 0) || b.times - a.times),
		[['thread', (row) => who(row.who) || '?', true, (row) => who(row.who)],
			['waited for', (row) => row.type ? who(row.by) || '?' : 'a timer', true, (row) => row.type ? who(row.by) : ''],
			['by', (row) => row.name + (row.waited_for_room ? ', for room' : ''), true, (row) => row.name],
			['times', (row) => count(row.times), false, (row) => row.times], ns('time', (row) => row.total_ns), ns('longest', (row) => row.longest_ns)],
		(row) => longestOf(row.type, row.one, row.i));
}
function resources() {
	const of = report.resources;
	for (let type = 0; type < KINDS.length; type++) resourceTable(type);
	pairs();
	const into = element('div', '', document.getElementById('body'));
	for (const one of of.missing) element('p', 'Not recorded: ' + one.event + ': ' + one.means + '. To record it: ' + one.command, into);
	if (of.cut) element('p', count(of.cut) + ' calls are not counted: events are missing in them.', into);
	if (of.dropped.resources + of.dropped.rows) {
		element('p', 'Too many to keep: ' + count(of.dropped.resources) + ' events of further resources, ' + count(of.dropped.rows) + ' of further threads are not counted.', into);
	}
	if (of.dropped.intervals) element('p', 'Too many to keep: ' + count(of.dropped.intervals) + ' further intervals are counted, and not drawn.', into);
}

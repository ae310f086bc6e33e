/* ---- a source's time line ---- */

/* Traces of programs alone have neither CPUs nor wake-ups. */
function usualFigures(source) {
	return source.kind === 'store' || source.traces.some((trace) => trace.domain !== 'ust') ? 'cpu.busy,sched.wake.p99_ns' : 'count.events';
}
const WINDOWS = 240, PAGES = 6, TRACES_SHOWN = 8;

/* What a figure of a window is shown as: [title, the value of a row, text]. */
function figureOf(path) {
	const seconds = (row) => lengthOf(row.begin, row.end) / 1e9, value = (row) => row[path] === undefined || row[path] === null ? null : Number(row[path]);
	const rate = (row) => value(row) === null || seconds(row) <= 0 ? null : value(row) / seconds(row);
	if (path === 'cpu.busy') {
		return { title: 'CPU busy', most: 1, text: (one) => percent(one, 0), of: (row) => {
			const busy = row['cpu.busy_ns'], idle = row['cpu.idle_ns'];
			return busy === null || busy === undefined || !(busy + idle > 0) ? null : busy / (busy + idle);
		} };
	}
	const title = titleOf(path), last = path.split('.').pop();
	if (/(^|_)(p\d+|max|min|mean|stdev|oldest|longest|age)_ns$/.test(last)) return { title: title, of: value, text: (one) => duration(Math.round(one)) };
	if (/ns$/.test(last)) return { title: title + ', per second', of: rate, text: (one) => duration(Math.round(one)) + '/s' };
	if (/bytes$/.test(last)) return { title: title + ', per second', of: rate, text: (one) => bytes(one) + '/s' };
	if (/(in_flight|depth|_max|share)$/.test(last)) return { title, of: value, text: compact };
	return { title: title + ', per second', of: rate, text: (one) => compact(one) + '/s' };
}
function markText(row) {
	const says = row.says || {}, at = clockText(big(row.begin));
	if (row.kind === 'phase') return 'phase ' + (says.number ?? '') + (says.change && says.change.series ? ': ' + changeText(says.change) : '');
	if (row.kind === 'trigger') return 'trigger ' + (says.name || says.trigger || '') + ' at ' + at + (says.says ? ': ' + says.says : '');
	if (row.kind === 'capture') return 'capture from ' + at;
	return 'loss at ' + at + ': ' + (says.message || says.text || says.kind || brief(says));
}
/* Whether a row's window is of the chosen host's traces is the server's to say. */
function linesOf(reply, figure, stage) {
	const traces = new Map();
	for (const row of reply.rows) {
		const key = row.trace ?? 0;
		if (!traces.has(key)) traces.set(key, []);
		traces.get(key).push([stage.since(row.begin), stage.since(row.end), figure.of(row)]);
	}
	const all = [...traces].map(([trace, points]) => ({ name: traces.size > 1 ? traceName((reply.quality[trace] || {}).trace) : figure.title, points }));
	return all.slice(0, TRACES_SHOWN);
}
function unknownParts(reply, stage) {
	return reply.rows.filter((row) => Number(row['cpu.unknown_ns']) > 0).map((row) => [stage.since(row.begin), stage.since(row.end),
		row['cpu.unknown_ns'] / (row['cpu.busy_ns'] + row['cpu.idle_ns'] + row['cpu.unknown_ns'])]);
}
function chartOf(into, at, stage, reply, path, figures) {
	const figure = figureOf(path), place = element('div', '', into), title = element('h2', figure.title, place);
	place.className = 'chart';
	button('remove', title, () => go(changed(at, { figures: figures.filter((one) => one !== path).join(',') || 'none' })), 'remove this chart');
	const lines = linesOf(reply, figure, stage);
	if (!lines.some((line) => line.points.some((point) => point[2] !== null))) {
		return sayNothing(place, 'It is not known in this range: ' + (at.source.kind === 'store' ? 'the store has it of no window here.' : 'nothing of it was recorded here.'), 'Choose another figure, or a longer range.');
	}
	const unknown = path === 'cpu.busy' ? unknownParts(reply, stage) : [];
	const colours = lines.length > 1 ? lines.map((line, i) => [line.name, ink(inks[i % inks.length])]) : [];
	if (unknown.length) colours.push(['unknown: what ran is not known', ink('--unknown')]);
	if (colours.length) key(colours, place);
	new Chart(place, stage, figure.title + ' over time', lines, figure.text, figure.most, unknown);
	const more = element('details', '', place);
	element('summary', 'as a table', more);
	more.addEventListener('toggle', () => {
		if (!more.open || more.querySelector('table')) return;
		const inner = element('div', '', more);
		inner.className = 'wide';
		tableIn(inner, lines.flatMap((line) => line.points.map((point) => [line.name, ...point])), [['of', (row) => row[0], true],
			['begin (UTC)', (row) => clockText(stage.time(row[1]))], ['end', (row) => clockText(stage.time(row[2]))],
			[figure.title, (row) => row[3] === null ? 'unknown' : figure.text(row[3]), false, (row) => row[3] ?? -1]]);
	});
}
/* Choosing an analysis reads one window of it, to see which figures it has. */
function figureChooser(into, at, figures) {
	const tools = element('div', '', into), signal = at.stop.signal;
	tools.className = 'tools';
	const names = told.analyses.map(([name, says]) => [name, name + ': ' + says]);
	const where = element('span', '', tools);
	select(where, 'add a chart of', [['', 'an analysis ...'], ...names], '', async (name) => {
		where.querySelectorAll('.figure').forEach((one) => one.remove());
		const place = element('span', ' ...', where);
		place.className = 'figure';
		try {
			const { source, begin, end, host } = at.params, reply = await ask('tables', { source, begin, end, host, analyses: name, limit: 1 }, signal);
			const paths = reply.rows.flatMap((row) => Object.entries(flat(row))).filter(([path, value]) => path.startsWith(name + '.') && typeof value === 'number').map(([path]) => path);
			const known = [...new Set([...(name === 'cpu' ? ['cpu.busy'] : []), ...paths])];
			place.textContent = known.length ? ' ' : ' It has no figure here: it was not recorded, or not stored.';
			if (known.length) select(place, 'figure', [['', plural(known.length, 'figure') + ' ...'], ...known.map((path) => [path, figureOf(path).title])], '', (path) => go(changed(at, { figures: [...figures, path].join(',') })));
		} catch (error) {
			if (!signal.aborted) place.textContent = ' ' + error.message;
		}
	});
	if (at.source.kind === 'store') {
		const hosts = hostsOf(at.source);
		if (hosts.length > 1) select(tools, 'host', [['', 'all'], ...hosts.map((host) => [host, host])], at.params.host || '', (host) => go(changed(at, { host })));
	}
}
function markList(into, at, stage, marks) {
	const more = element('details', '', into), inner = element('div', '', more);
	more.prepend(element('summary', plural(marks.length, 'mark') + ' (phases, captures, triggers, losses) as a table'));
	inner.className = 'wide';
	tableIn(inner, marks, [['what', (mark) => mark.says, true], ['begin (UTC)', (mark) => clockText(stage.base + BigInt(Math.round(mark.from)))],
		['length', (mark) => longText(mark.until - mark.from)]],
	(mark) => mark.until > mark.from ? [changed(at, { begin: String(stage.time(mark.from)), end: String(stage.time(mark.until)) })] : null);
}
async function drawMarks(into, at, stage) {
	const { source, begin, end, host } = at.params;
	const reply = await askAll('marks', { source, begin, end, host }, at.stop.signal, 3);
	const marks = reply.rows.map((row) => ({ kind: row.kind, from: stage.since(row.begin), until: stage.since(row.end ?? row.begin), number: String((row.says || {}).number ?? ''), says: markText(row) }))
		.filter((mark) => mark.until >= 0 && mark.from <= stage.length);
	into.textContent = '';
	if (!marks.length) return element('p', 'No phase, capture, trigger or loss is marked in this range.', into);
	new Marks(into, stage, marks).draw();
	if (marks.some((mark) => mark.kind !== 'phase')) key(Object.entries({ capture: 'capture', trigger: 'trigger', loss: 'loss' }).filter(([kind]) => marks.some((mark) => mark.kind === kind)).map(([kind, name]) => [name, ink(markInks[kind])]), into);
	markList(into, at, stage, marks);
	return null;
}
views.time = {
	title: 'Time line',
	async draw(into, at) {
		const { source, host } = at.params, [begin, end] = at.range;
		if (begin === null || end === null) return sayNothing(into, 'It is not known when this source begins and ends.', 'Give begin and end in the address, or choose another source.');
		if (!host && hostsOf(at.source).length > TRACES_SHOWN) {
			sayNothing(into, 'This source has ' + count(hostsOf(at.source).length) + ' hosts: a time line shows one of them.', 'Choose it in the list of hosts.');
			if (can(at.source, 'hosts')) link('hosts', address('hosts', same(at)), into);
			return null;
		}
		const figures = [...new Set((at.params.figures || usualFigures(at.source)).split(',').filter((one) => one && one !== 'none'))];
		const interval = at.params.interval || intervalOf(Number(end - begin), WINDOWS);
		const paths = [...new Set(figures.flatMap((path) => path === 'cpu.busy' ? ['cpu.busy_ns', 'cpu.idle_ns', 'cpu.unknown_ns'] : [path]))];
		const analyses = at.source.kind === 'store' ? '' : [...new Set(figures.map((path) => path.split('.')[0]))].join(',') || 'cpu';
		const place = element('div', '', into), strip = element('div', 'Looking for phases ...', into), charts = element('div', '', into);
		const actions = element('div', '', into);
		actions.className = 'tools';
		actions.id = 'picked';
		const stage = new Stage(begin, end, (picked) => {
			actions.textContent = '';
			if (!picked) return element('p', 'Drag over a chart to choose a range; a click chooses a window or a phase, a double click zooms to it.', actions);
			const from = stage.time(picked[0]), until = stage.time(picked[1]);
			element('b', rangeText(from, until), actions);
			return rangeTools(actions, at, from, until > from ? until : from + 1n);
		});
		stage.zoom = () => go(changed(at, { begin: String(stage.time(stage.picked[0])), end: String(stage.time(stage.picked[1])) }));
		into.insertBefore(actions, charts);
		at.resize = () => stage.draw();
		figureChooser(place, at, figures);
		stage.onPicked(null);
		const marked = drawMarks(strip, at, stage).catch((error) => { if (!at.stop.signal.aborted) { strip.textContent = ''; element('p', 'No marks: ' + error.message, strip); } });
		const reply = await askAll('series', { source, begin: at.params.begin, end: at.params.end, host, analyses, interval, columns: ['trace', 'begin', 'end', ...paths].join(',') }, at.stop.signal, PAGES);
		element('p', 'Windows of ' + interval + (reply.page.next === null ? '' : '; only the first ' + count(reply.rows.length) + ' of ' + count(reply.page.total) + ' are shown: choose a host or a shorter range'), place);
		quality(place, reply);
		for (const path of figures) chartOf(charts, at, stage, reply, path, figures);
		stage.draw();
		await marked;
		return null;
	},
	command(at) {
		const { begin, end, host } = at.params, interval = at.params.interval || intervalOf(Number((at.range[1] || 1n) - (at.range[0] || 0n)), WINDOWS);
		const figures = (at.params.figures || usualFigures(at.source)).split(',').filter((one) => one !== 'none');
		return at.source.kind === 'store' ? command('history', [['i', interval], ['host', host], ['since', begin], ['until', end]], sourceWord(at.source))
			: command('analyze', [['i', interval], ['a', [...new Set(figures.map((path) => path.split('.')[0]))].join(',')], ['begin', begin], ['end', end]], sourceWord(at.source));
	},
};

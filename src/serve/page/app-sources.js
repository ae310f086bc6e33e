/* ---- what is served, and the hosts of a store ---- */

const LOOKED_AT = 20; /* sources whose losses are read without asking */

function changeText(change) {
	const { series, before, after } = change;
	if (/ (busy|idle|unknown)$/.test(series)) return series + ' ' + percent(before, 0) + ' → ' + percent(after, 0);
	return series + (!(before > 0) ? ' begins' : !(after > 0) ? ' ends' : after > before ? ' × ' + numberText(Number((after / before).toPrecision(2))) : ' ÷ ' + numberText(Number((before / after).toPrecision(2))));
}
function unusualText(reply) {
	const phases = reply.rows.filter((row) => row.kind === 'phase'), others = reply.rows.filter((row) => row.kind !== 'phase');
	const changes = phases.map((row) => row.says && row.says.change).filter((one) => one && one.series);
	const size = (one) => Math.abs(one.after - one.before) / Math.max(Math.abs(one.after), Math.abs(one.before), 1e-12);
	const most = changes.sort((a, b) => size(b) - size(a))[0], parts = [];
	for (const kind of ['trigger', 'capture', 'loss']) {
		const number = others.filter((row) => row.kind === kind).length;
		if (number) parts.push(kind === 'loss' ? plural(number, 'loss').replace('losss', 'losses') : plural(number, kind));
	}
	if (phases.length > 1) parts.push(plural(phases.length, 'phase') + (most ? ': ' + changeText(most) : ''));
	return parts.join('; ') || 'nothing';
}
function sourceAddress(row) { return can(row, 'hosts') ? address('hosts', { source: row.source }) : address('time', { source: row.source }); }
function hostsOf(row) { return [...new Set(row.traces.map((trace) => trace.host).filter((host) => host))]; }
/* Of a store: hosts that are far from the others. */
async function lookAtHosts(row, tell, signal) {
	const reply = await ask('hosts', { source: row.source, limit: 1000 }, signal), far = reply.rows.filter((host) => host.far && host.far.length);
	const unusual = !reply.rows.some((host) => host.judged) ? 'too little is known' : far.length === 0 ? 'no host is far from the others'
		: far.length + ' of ' + plural(reply.host_count, 'host') + ': ' + far.slice(0, 3).map((host) => host.host + ' (' + host.far.join(', ') + ')').join(', ');
	const counts = reply.rows.flatMap((host) => [host.values['count.discarded'], host.values['count.lost_packets']]).filter((one) => typeof one === 'number');
	const all = counts.reduce((sum, one) => sum + one, 0);
	tell(unusual, counts.length ? (all ? count(all) + ' events and packets' : 'none') : 'not measured', all > 0);
}
/* Tell: what is unusual, what is lost, whether anything is.  One after the other, since each reads a trace. */
async function look(row, tell, signal) {
	try {
		if (can(row, 'hosts')) {
			await lookAtHosts(row, tell, signal);
			return;
		}
		const reply = await ask('marks', { source: row.source, limit: 1000 }, signal), losses = reply.quality.map((one) => one.losses);
		const all = {};
		for (const one of losses) for (const [name, number] of Object.entries(one || {})) all[name] = (all[name] || 0) + Number(number);
		tell(unusualText(reply), losses.some((one) => one) ? lossText(all) : 'not measured', isLost(all));
	} catch (error) {
		if (signal.aborted) throw error;
		tell(error.message, '...', false);
	}
}
/* What is known of sources, in the lines that show them now: sorting makes these anew. */
function looksOf(rows, signal) {
	const known = new Map(), lines = new Map(), asked = new Set(rows.slice(0, LOOKED_AT));
	const paint = (row) => {
		const line = lines.get(row), [unusual, lost, isLost] = known.get(row) || ['...', '...', false];
		if (!line || row.why) return;
		line.cells[3].textContent = unusual;
		line.cells[4].textContent = lost;
		line.cells[4].classList.toggle('lost', isLost);
		if (!asked.has(row)) {
			line.cells[3].textContent = '';
			button('look', line.cells[3], (event) => { event.stopPropagation(); ask(row).catch(() => {}); }, 'reads the trace');
		}
	};
	const ask = (row) => {
		asked.add(row);
		paint(row);
		return look(row, (...found) => { known.set(row, found); paint(row); }, signal);
	};
	return { ask, dress(line, row) { line.title = row.name; lines.set(row, line); paint(row); } };
}
views.sources = {
	title: 'Sources',
	async draw(into, at) {
		const all = await sourceList(at.stop.signal), form = element('form', '', into), input = field(form, 'sources with', 'find', at.params.find, 'name, host, session');
		form.className = 'tools';
		form.addEventListener('submit', (event) => { event.preventDefault(); go(changed(at, { find: input.value })); });
		button('search', form, () => form.requestSubmit());
		const wanted = (at.params.find || '').toLowerCase();
		const rows = all.filter((row) => JSON.stringify([row.name, row.kind, row.traces.map(traceName)]).toLowerCase().includes(wanted));
		element('p', plural(rows.length, 'source') + (rows.length < all.length ? ' of ' + all.length : '') + '. Choose one: its line leads to its time line, or to its hosts.', into);
		if (!rows.length) return sayNothing(into, 'No source has "' + at.params.find + '".', 'Search for another name.');
		const place = element('div', '', into), looks = looksOf(rows, at.stop.signal);
		place.className = 'wide';
		tableIn(place, rows, [
			['source', shortName, true, (row) => row.name],
			['kind', (row) => row.kind, true, (row) => row.kind],
			['hosts', (row) => { const hosts = hostsOf(row); return hosts.length > 3 ? count(hosts.length) + ' hosts' : hosts.join(', ') || '-'; }, true, (row) => hostsOf(row).length],
			['unusual', (row) => row.why || '...', true],
			['lost', () => '...', true],
			['begin (UTC)', (row) => whenText(row.begin), false, (row) => Number(row.begin || 0)],
			['length', (row) => longText(lengthOf(row.begin, row.end)), false, (row) => lengthOf(row.begin, row.end) || 0],
		], (row) => row.why ? null : [sourceAddress(row)], undefined, looks.dress);
		for (const row of rows.slice(0, LOOKED_AT)) if (!row.why) await looks.ask(row);
	},
	command: () => ['sillage serve', ...(sources || []).map(sourceWord)].join(' '),
};

function farText(row) {
	return row.far && row.far.length ? row.far.map((figure) => {
		const far = row.distances && row.distances[figure];
		return figure + (far === null || far === undefined ? '' : ' (' + numberText(far) + ' spreads from the median)');
	}).join(', ') : row.judged === false ? 'too little is known' : 'nothing';
}
views.hosts = {
	title: 'Hosts',
	async draw(into, at) {
		const { source, begin, end, sort, order, filter, offset, columns } = at.params;
		const reply = await ask('hosts', { source, begin, end, sort, order, filter, offset }, at.stop.signal);
		element('p', plural(reply.host_count, 'host') + (reply.absent.length ? '; without a window: ' + reply.absent.map((one) => one.host || brief(one)).slice(0, 10).join(', ') : '') +
			'. Choose one for its time line.', into);
		quality(into, reply);
		const units = new Map(reply.figures.map((one) => [one.figure, one.unit]));
		reply.rows = reply.rows.map((row) => ({ host: row.host, unusual: farText(row), ...Object.fromEntries(Object.entries(row.values || {}).map(([name, value]) => ['values.' + name, value === null ? null : unitText(units.get(name), value)])),
			complete: row.complete, known: row.known, begin: row.begin, covered_ns: row.covered_ns }));
		const some = Object.keys(reply.rows[0] || {}).filter((path) => !/^values/.test(path) || reply.rows.some((row) => row[path] !== null));
		list(into, { ...at, params: { ...at.params, columns: columns || some.join(',') } }, reply,
			{ first: ['host', 'unusual'], derived: ['unusual'], go: (row) => address('time', { source, begin, end, host: row.host }) });
	},
	command: (at) => command('history', [['per', 'host'], ['since', at.params.begin], ['until', at.params.end]], sourceWord(at.source)),
};

/* ---- tables of a range, its state at an instant, its events, and two ranges compared ---- */

function tableNames(reply) {
	const rows = new Map();
	for (const one of reply.tables || []) rows.set(one.table, (rows.get(one.table) || 0) + one.rows);
	return rows;
}
/* The figures beside the lists, of each trace. */
function figuresOf(into, at, reply, name) {
	const more = element('details', '');
	element('summary', 'figures of the range as a whole', more);
	more.open = !at.params.offset && !at.params.filter && !at.params.sort;
	for (const row of reply.rows.slice(0, 8)) {
		const figures = Object.entries(flat(row)).filter(([path, value]) => path.startsWith(name + '.') && !Array.isArray(value) && value !== null && typeof value !== 'string' && !/(stdev|p95|p999|min|sum)_ns$/.test(path));
		if (!figures.length) continue;
		if (!more.isConnected) into.append(more);
		if (reply.rows.length > 1) element('p', traceName((reply.quality[row.trace ?? 0] || {}).trace), more);
		const box = element('div', '', more);
		box.className = 'figures';
		for (const [path, value] of figures) {
			const one = element('div', '', box);
			element('span', titleOf(path.slice(name.length + 1)), one);
			one.append(valueText(path, value));
		}
	}
}
views.tables = {
	title: 'Tables',
	async draw(into, at) {
		const { source, begin, end, host, table, filter, sort, order, offset } = at.params, signal = at.stop.signal, is_stored = at.source.kind === 'store';
		const name = (table || 'cpu.threads').split('.')[0], analyses = is_stored ? '' : name;
		const tools = element('div', '', into), place = element('div', '', into);
		tools.className = 'tools';
		const choices = told.analyses.map(([one, says]) => [one, one + ': ' + says]);
		select(tools, 'analysis', choices, name, (one) => go(address('tables', { ...same(at), table: one })));
		const whole = await ask('tables', { source, begin, end, host, analyses, limit: 8 }, signal), names = tableNames(whole);
		const mine = [...names].filter(([one]) => one.startsWith(name + '.')), found = names.has(table) ? table : (mine.find(([one]) => one === name + '.threads') || mine.find(([, rows]) => rows > 0) || mine[0] || [''])[0];
		if (mine.length) select(tools, 'table', mine.map(([one, rows]) => [one, one.split('.')[1].replace(/_/g, ' ') + ' (' + count(rows) + ')']), found, (one) => go(address('tables', { ...same(at), table: one })));
		quality(place, whole);
		figuresOf(place, at, whole, name);
		if (!found) return sayNothing(place, name + ' has no table here.', is_stored ? 'The store has: ' + [...new Set([...names.keys()].map((one) => one.split('.')[0]))].join(', ') + '.' : 'Its figures are above.');
		const reply = await ask('tables', { source, begin, end, host, analyses, table: found, filter, sort, order, offset }, signal);
		list(place, at, reply, { hidden: whole.rows.length > 1 ? [] : ['trace'], go: rowAddress(at),
			none: 'Nothing of it is in this range; choose a longer one, or see above what was not recorded.' });
		return null;
	},
	command(at) {
		const { begin, end, host, table } = at.params, name = (table || 'cpu.threads').split('.')[0];
		return at.source.kind === 'store' ? command('history', [['a', name], ['host', host], ['since', begin], ['until', end]], sourceWord(at.source))
			: command('analyze', [['a', name], ['begin', begin], ['end', end]], sourceWord(at.source));
	},
};

/* ---- state at an instant ---- */

const threadStates = ['running', 'runnable', 'blocked', 'stopped', 'unknown'];
views.state = {
	title: 'State',
	async draw(into, at) {
		const { source, table, filter, sort, order, offset } = at.params, signal = at.stop.signal;
		const when = at.params.at || (at.range[1] === null ? '-0s' : String(at.range[1] - 1n));
		const tools = element('div', '', into), place = element('div', '', into);
		tools.className = 'tools';
		fieldsForm(tools, { ...at, params: { ...at.params, at: when } }, [['at', 'at', 'ns, 12:00:01.5 or -10s']], 'show');
		if (exact(when) !== null) {
			element('b', whenText(exact(when)) + ' UTC', tools);
			for (const [text, ns] of [['-1 ms', -1000000n], ['+1 ms', 1000000n]]) link(text, changed(at, { at: String(exact(when) + ns) }), tools);
			if (can(at.source, 'events')) link('events from here', address('events', { source, begin: when, end: at.params.end }), tools);
		}
		const whole = await ask('state', { source, at: when }, signal), names = tableNames(whole), found = names.has(table) ? table : 'state.threads';
		const row = (whole.rows[0] || {}).state || {};
		const says = element('p', '', place);
		says.className = 'answer';
		for (const state of threadStates) {
			const number = row[state + '_threads'] || 0, text = count(number) + ' ' + state;
			if (number) link(text, changed(at, { at: when, table: 'state.threads', filter: state + '_threads>0', offset: '' }), says);
			else says.append(text);
			if (state !== 'unknown') says.append(', ');
		}
		if (names.size) select(tools, 'table', [...names].map(([one, rows]) => [one, one.split('.')[1] + ' (' + count(rows) + ')']), found, (one) => go(changed(at, { table: one, sort: '', filter: '', offset: '', columns: '' })));
		quality(place, whole);
		const reply = await ask('state', { source, at: when, table: found, filter, sort, order, offset }, signal);
		if (found === 'state.threads') {
			reply.rows = reply.rows.map((one) => ({ comm: one.comm, tid: one.tid, state: threadStates.find((state) => one[state + '_threads'] > 0) || '-',
				since_ns: Math.max(...threadStates.map((state) => Number(one[state + '_ns'] || 0))), call_ns: one.call_ns, pid: one.pid, ...one }));
		}
		list(place, at, reply, { first: ['comm', 'tid', 'state', 'since_ns', 'call_ns'], derived: ['state', 'since_ns'], go: rowAddress({ ...at, params: { ...same(at), begin: at.params.begin, end: at.params.end } }),
			hidden: ['trace', ...(found === 'state.threads' ? threadStates.flatMap((state) => [state + '_threads', state + '_ns']) : [])] });
	},
	command: (at) => command('report', [['at', at.params.at || (at.range[1] === null ? '-0s' : String(at.range[1] - 1n))]], sourceWord(at.source)),
};

/* ---- events ---- */

views.events = {
	title: 'Events',
	async draw(into, at) {
		const { source, begin, end, event, cpu, filter, offset } = at.params, tools = element('div', '', into), place = element('div', '', into);
		tools.className = 'tools';
		fieldsForm(tools, at, [['event', 'events', 'sched_*,irq_*'], ['cpu', 'CPUs', '0,1'], ['begin', 'from', 'ns, 12:00:01.5, -10s'], ['end', 'until', 'the same']], 'show');
		const reply = await ask('events', { source, begin, end, event, cpu, filter, offset }, at.stop.signal);
		quality(place, reply);
		if (!reply.is_all) element('p', filter ? 'Only the first events of the range were looked at: narrow it to see the others.' : 'There are more events than are shown.', place);
		const several = new Set(reply.rows.map((row) => row.trace)).size > 1;
		reply.rows = reply.rows.map((row) => ({ begin: row.begin, UTC: clockText(big(row.begin), 9), cpu: row.cpu, event: row.event === null ? 'events are missing here' : row.event,
			fields: brief(row.fields || {}), context: row.context ? brief(row.context) : null, trace: several ? row.trace : null }));
		const shown = ['UTC', 'cpu', 'event', 'fields', ...(reply.rows.some((row) => row.context) ? ['context'] : []), ...(several ? ['trace'] : [])];
		list(place, { ...at, params: { ...at.params, columns: at.params.columns || shown.join(',') } }, reply, { is_sorted: false, hidden: several ? [] : ['trace'],
			go: (row) => can(at.source, 'state') ? address('state', { source, at: row.begin, begin, end }) : null, none: 'Choose a longer range, or other names of events.' });
		place.classList.add('events');
		if (reply.rows.length) element('p', 'A row leads to the state of all threads at that instant.', place);
	},
	command: (at) => command('events', [['begin', at.params.begin], ['end', at.params.end], ['event', at.params.event], ['cpu', at.params.cpu]], sourceWord(at.source)),
};

/* ---- two ranges ---- */

function changeOf(row) {
	const of = ['p99_ns', 'mean_ns', 'max_ns'].find((one) => row[one] && typeof row[one] === 'object'), two = of ? row[of] : row;
	return { of: of || row.key || '', a: two.a, b: two.b, difference: two.difference, change: two.change };
}
function unitText(unit, value) {
	if (value === null || value === undefined) return '-';
	const [of, per] = (unit || '').split('/'), text = of === 'ns' ? duration(Math.round(value)) : of === 'bytes' ? bytes(value) : of === 'share' ? percent(value) : numberText(value);
	return text + (per ? '/' + per : '');
}
views.compare = {
	title: 'Compare',
	async draw(into, at) {
		const { a, b, a_begin, a_end, b_begin, b_end, analyses, filter, sort, order, offset } = at.params, all = await sourceList(at.stop.signal);
		if (a === undefined || b === undefined || !all[a] || !all[b]) {
			const some = kept('a') || kept('b');
			return sayNothing(into, some ? 'One range is chosen; another one is needed.' : 'Two ranges are needed, A and B, of one source or of two.',
				'On a time line drag over a chart and press "as A", then choose another range and press "as B".');
		}
		for (const [side, index, from, until] of [['A', a, a_begin, a_end], ['B', b, b_begin, b_end]]) {
			const line = element('p', side + ': ' + shortName(all[index]) + ', ' + (exact(from) !== null && exact(until) !== null ? rangeText(exact(from), exact(until)) : (from || 'its begin') + ' – ' + (until || 'its end')) + ' ', into);
			link('time line', address('time', { source: index, begin: from, end: until }), line);
		}
		const tools = element('div', '', into);
		tools.className = 'tools';
		link('swap A and B', address('compare', { a: b, b: a, a_begin: b_begin, a_end: b_end, b_begin: a_begin, b_end: a_end }), tools);
		button('choose anew', tools, () => { for (const side of ['a', 'b']) sessionStorage.removeItem('sillage-' + side); history.back(); });
		select(tools, 'analysis', [['', 'all'], ...told.analyses.map(([name]) => [name, name])], analyses || '', (name) => go(changed(at, { analyses: name, offset: '' })));
		const reply = await ask('compare', { a, b, a_begin, a_end, b_begin, b_end, analyses, filter, sort, order, offset }, at.stop.signal);
		quality(into, reply);
		if (reply.not_compared && reply.not_compared.length) {
			said(into, plural(reply.not_compared.length, 'list') + ' of figures not compared', reply.not_compared.map((one) => one.analysis + (one.list ? '.' + one.list : '') + ': ' + one.why));
		}
		reply.rows = reply.rows.map((row) => {
			const two = changeOf(row);
			return { figure: row.figure + (row.kind === 'spread' ? ', ' + titleOf(two.of) : ''), A: unitText(row.unit, two.a), B: unitText(row.unit, two.b),
				change: two.change === null || two.change === undefined ? '-' : (two.change > 0 ? '+' : '') + percent(two.change) };
		});
		list(into, at, reply, { first: ['figure', 'A', 'B', 'change'], is_sorted: false, none: 'No figure changed between the two.' });
		return null;
	},
	command(at) {
		const side = (index, from, until) => { return sourceWord(sources[index], from || until ? '@' + (from || '') + '..' + (until || '') : ''); };
		const { a, b, a_begin, a_end, b_begin, b_end, analyses } = at.params;
		return sources && sources[a] && sources[b] ? command('compare', [['a', analyses]], side(a, a_begin, a_end), side(b, b_begin, b_end)) : '';
	},
};

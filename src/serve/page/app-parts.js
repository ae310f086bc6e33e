/* ---- what views are made of ---- */

function link(text, address, parent) {
	const made = element('a', text, parent);
	made.href = address;
	return made;
}
/* '#/VIEW?...': members that have no value are left out. */
function address(view, params) {
	const words = query(params);
	return '#/' + view + (words ? '?' + words : '');
}
function go(to) { location.hash = to; }
/* Where the row of a table leads: tableIn() calls it. */
function show(to) { go(to); }
/* The parameters that name a source and a range, which other views of them keep. */
function same(at) {
	const { source, begin, end, host } = at.params;
	return { source, begin, end, host };
}
/* The same view with some parameters changed. */
function changed(at, params) { return address(at.view, { ...at.params, ...params }); }

function hint(event, text) {
	const tip = document.getElementById('tip');
	tip.style.display = text ? 'block' : 'none';
	tip.textContent = text || '';
	if (!text) return;
	tip.style.left = Math.max(0, Math.min(event.clientX + 14, document.documentElement.clientWidth - tip.offsetWidth - 8)) + 'px';
	tip.style.top = Math.max(0, Math.min(event.clientY + 14, innerHeight - tip.offsetHeight - 4)) + 'px';
}

/* ---- ranges ---- */

/* The two ranges to compare are kept while the page is open: { source, begin, end }. */
function kept(side) {
	try { return JSON.parse(sessionStorage.getItem('sillage-' + side)); } catch (error) { return null; }
}
function keep(side, range) { sessionStorage.setItem('sillage-' + side, JSON.stringify(range)); }
function compareAddress(a, b) {
	return address('compare', { source: a.source, a: a.source, a_begin: a.begin, a_end: a.end, b: b.source, b_begin: b.begin, b_end: b.end });
}
function choose(side, range, at) {
	keep(side, range);
	const a = kept('a'), b = kept('b');
	if (a && b) go(compareAddress(a, b));
	else drawRange(at);
}
/* What can be asked of a range of the source: where it leads, or is chosen to be compared. */
function rangeTools(into, at, begin, end) {
	const range = { ...same(at), begin: String(begin), end: String(end) };
	link('zoom', address('time', { ...range, figures: at.params.figures }), into);
	link('tables', address('tables', range), into);
	if (can(at.source, 'explain')) link('explain', address('explain', range), into);
	if (can(at.source, 'events')) link('events', address('events', range), into);
	if (can(at.source, 'state')) link('state at its begin', address('state', { source: range.source, at: range.begin, begin: range.begin, end: range.end }), into);
	sideButtons(into, at, range);
}
function sideButtons(into, at, { source, begin, end }) {
	element('span', 'compare:', into);
	for (const side of ['a', 'b']) button('as ' + side.toUpperCase(), into, () => choose(side, { source, begin, end }, at), 'compare this range with another one');
}

/* ---- how much is known ---- */

function lossText(losses) {
	if (!losses) return 'not measured';
	const some = Object.entries(losses).filter(([, number]) => number > 0);
	return some.length ? some.map(([name, number]) => count(number) + ' ' + name.replace(/_/g, ' ')).join(', ') : 'none';
}
function isLost(losses) { return Boolean(losses) && Object.values(losses).some((number) => number > 0); }
function said(into, title, lines) {
	if (!lines.length) return;
	const more = element('details', '', into);
	element('summary', title, more);
	for (const line of lines.slice(0, 100)) element('p', line, more);
}
function qualityLine(into, one, isAlone) {
	const parts = [], lost = isLost(one.losses);
	parts.push(one.losses ? 'lost: ' + lossText(one.losses) : 'losses are not measured by this view');
	if (one.unknown_ns !== null && one.unknown_ns !== undefined) {
		parts.push(Number(one.unknown_ns) > 0 ? 'unknown: ' + duration(Number(one.unknown_ns)) + ' of time' : 'no time is unknown');
	}
	if (one.interrupted) parts.push('it was interrupted');
	if (one.complete === false) parts.push('a part of its windows is not complete');
	element('p', (isAlone ? '' : (one.side ? one.side.toUpperCase() : traceName(one.trace)) + ': ') + parts.join('; '), into).className = lost ? 'lost' : '';
	if (one.missing && one.missing.length) {
		const names = one.missing.map((need) => need.event);
		said(into, 'not recorded, so some figures are unknown: ' + names.slice(0, 4).join(', ') + (names.length > 4 ? ' and ' + (names.length - 4) + ' more' : ''),
			['To record it:', ...one.missing.map((need) => need.command)]);
	}
}
/* Said above figures: what was lost, what is unknown, what was not recorded. */
function quality(into, reply) {
	const box = element('div', '', into), all = reply.quality;
	box.className = 'quality';
	if (all.some((one) => isLost(one.losses)) || reply.warnings.count) box.classList.add('bad');
	const shown = all.length > 6 ? all.filter((one) => isLost(one.losses) || Number(one.unknown_ns) > 0) : all;
	if (shown.length < all.length) element('p', count(all.length - shown.length) + ' of ' + count(all.length) + ' traces lost nothing', box);
	for (const one of shown.slice(0, 50)) qualityLine(box, one, all.length === 1);
	if (reply.warnings.count) {
		said(box, plural(reply.warnings.count, 'warning'), reply.warnings.first.map((one) => (one.time ? one.time + ' ' : '') + (one.message || one.text || brief(one))));
	}
	for (const line of reply.messages.first.slice(0, 3)) element('p', line, box);
	if (!box.children.length) box.remove();
}

/* ---- errors ---- */

const nextSteps = [
	[504, 'Choose a shorter range, or make an index of the trace: sillage index TRACE.'],
	[503, 'The server is busy; reload in a while.'],
	[500, 'Choose a shorter range, or begin sillage serve with a larger --max-memory.'],
	[422, 'Choose another range: the whole source is one link away, above.'],
	[401, 'Reload the page, and say who you are.'],
	[404, 'See what is served: the link "sillage" above.'],
];
function sayError(into, error) {
	const box = element('div', '', into);
	box.className = 'quality bad';
	box.setAttribute('role', 'alert');
	element('p', error instanceof Refused ? 'No reply: ' + error.message : error instanceof TypeError ? 'The server does not answer.' : String(error), box).className = 'failed';
	const step = error instanceof Refused ? nextSteps.find(([status]) => status === error.status) : [0, 'See whether sillage serve still runs, then reload.'];
	element('p', step ? step[1] : 'Change what was asked for, above or in the address.', box);
	link('Go back', '#', box).addEventListener('click', (event) => { event.preventDefault(); history.back(); });
}
function sayNothing(into, what, step) {
	const box = element('div', '', into);
	box.className = 'quality none';
	element('p', what, box);
	if (step) element('p', step, box);
}

/* ---- tables of replies ---- */

const COLUMNS_SHOWN = 9;
const columnsLast = /(^|\.)(stdev_ns|p95_ns|p999_ns|min_ns|sum_ns|trace|end_time|begin_time|time|count)$/;
/* Paths of all members that rows have: names first, then what is shown without asking. */
function pathsOf(rows) {
	const paths = new Map();
	for (const row of rows) for (const [path, value] of Object.entries(row)) if (!paths.has(path) || paths.get(path) === null) paths.set(path, value);
	const rank = (path) => columnsLast.test(path) ? 2 : typeof paths.get(path) === 'string' || isThread(paths.get(path)) ? 0 : 1;
	return [...paths.keys()].filter((path) => !/(begin|end)_time$/.test(path)).sort((a, b) => rank(a) - rank(b));
}
function isText(rows, path) { return rows.some((row) => typeof row[path] === 'string' || isThread(row[path]) || (row[path] !== null && typeof row[path] === 'object')); }
/* A word alone is looked for in names; else it is the list of conditions that the server takes. */
function filterOf(text, paths, rows) {
	if (!text || /[=<>~]/.test(text)) return text;
	const path = ['comm', 'name', 'event', 'host', 'figure'].find((one) => paths.includes(one)) || paths.find((one) => rows.some((row) => typeof row[one] === 'string')) || 'comm';
	return path + '~*' + text.replace(/^\*|\*$/g, '') + '*';
}
function searchForm(into, at, paths, rows) {
	const form = element('form', '', into), label = element('label', 'rows with ', form), input = element('input', '', label);
	input.type = 'search';
	input.value = at.params.filter || '';
	input.placeholder = 'a name, or run_ns>1000000';
	input.setAttribute('aria-label', 'search: a name, or conditions such as run_ns>1000,comm~db*');
	form.addEventListener('submit', (event) => {
		event.preventDefault();
		go(changed(at, { filter: filterOf(input.value.trim(), paths, rows), offset: '' }));
	});
	button('search', form, () => form.requestSubmit());
	if (at.params.filter) link('all rows', changed(at, { filter: '', offset: '' }), form);
}
function columnBoxes(into, at, paths, chosen) {
	const more = element('details', '', into), boxes = element('div', '', more);
	more.prepend(element('summary', 'columns: ' + chosen.length + ' of ' + paths.length));
	boxes.className = 'columns';
	for (const path of paths) {
		const label = element('label', '', boxes), box = element('input', '', label);
		box.type = 'checkbox';
		box.checked = chosen.includes(path);
		label.append(' ' + titleOf(path));
		box.addEventListener('change', () => {
			const names = box.checked ? [...chosen, path] : chosen.filter((one) => one !== path);
			go(changed(at, { columns: names.join(',') }));
		});
	}
}
function pages(into, at, page) {
	if (page.total <= page.rows) return;
	const tools = element('div', '', into), offset = page.offset, limit = page.limit;
	tools.className = 'tools';
	element('span', count(offset + 1) + ' to ' + count(offset + page.rows) + ' of ' + count(page.total), tools);
	if (offset > 0) link('previous page', changed(at, { offset: Math.max(0, offset - limit) || '' }), tools);
	if (page.next !== null) link('next page', changed(at, { offset: page.next }), tools);
}
/* A page of rows: searched, sorted and cut by the server, with columns by need.  Options: go(row): where a
 * row leads; hidden: paths never shown; first: those shown first; derived: those that the server does
 * not know; is_sorted: whether rows can be sorted; none: what to do where there is none. */
function list(into, at, reply, options = {}) {
	const rows = reply.rows.map((row) => Object.assign(flat(row), { [WHOLE]: row }));
	const found = pathsOf(rows).filter((path) => !(options.hidden || []).includes(path));
	const first = (options.first || []).filter((path) => found.includes(path)), paths = [...first, ...found.filter((path) => !first.includes(path))];
	const asked = (at.params.columns || '').split(',').filter((path) => path);
	const usual = paths.filter((path) => !columnsLast.test(path) && !/(^|\.)path$/.test(path));
	const chosen = asked.length ? asked : (usual.length > 1 ? usual : paths).slice(0, COLUMNS_SHOWN);
	const tools = element('div', '', into), is_sorted = options.is_sorted !== false;
	tools.className = 'tools';
	searchForm(tools, at, paths, rows);
	if (!rows.length) {
		sayNothing(into, at.params.filter ? 'No row fulfils ' + at.params.filter + '.' : 'There is no row here.',
			at.params.filter ? 'Search for another name, or show all rows.' : options.none || 'Choose a longer range, or another table.');
		return;
	}
	columnBoxes(into, at, [...new Set([...chosen, ...paths])], chosen);
	const place = element('div', '', into);
	place.className = 'wide';
	tableIn(place, rows, chosen.map((path) => [titleOf(path), (row) => valueText(path, row[path]), isText(rows, path)]),
		options.go && ((row) => { const to = options.go(row[WHOLE]); return to && [to]; }));
	if (is_sorted) sortButtons(place.querySelector('table'), at, chosen, options.derived || []);
	for (const cell of place.querySelectorAll('td.text')) cell.title = cell.textContent; /* it may be cut */
	pages(into, at, { ...reply.page, rows: rows.length });
}
const WHOLE = Symbol('the row as the server sent it');
function sortButtons(made, at, chosen, derived) {
	[...made.rows[0].cells].forEach((cell, i) => {
		const path = chosen[i], sorted = at.params.sort === path, back = sorted && at.params.order !== 'asc';
		if (derived.includes(path)) return;
		const title = cell.textContent;
		cell.textContent = '';
		if (sorted) cell.setAttribute('aria-sort', back ? 'descending' : 'ascending');
		button(title, cell, () => go(changed(at, { sort: path, order: back ? 'asc' : '', offset: '' })), 'sort by this');
	});
}
/* Where a row of an analysis leads: its thread, or its time. */
function rowAddress(at) {
	return (row) => {
		const who = isThread(row.thread) ? row.thread : row, range = { ...same(at) };
		if (row.begin !== undefined && row.end !== undefined && row.end > row.begin) Object.assign(range, { begin: row.begin, end: row.end });
		if (who.tid !== undefined && who.tid > 0 && can(at.source, 'explain')) return address('explain', { ...range, thread: who.tid });
		if (who.comm && can(at.source, 'explain')) return address('explain', { ...range, thread: who.comm });
		return row.begin !== undefined ? address('time', range) : null;
	};
}
function select(into, title, choices, chosen, change) {
	const label = element('label', title + ' ', into), made = element('select', '', label);
	for (const [value, text] of choices) {
		const option = element('option', text, made);
		option.value = value;
		option.selected = value === chosen;
	}
	made.addEventListener('change', () => change(made.value));
	return made;
}
function field(form, title, name, value, about) {
	const label = element('label', title + ' ', form), input = element('input', '', label);
	input.type = 'text';
	input.name = name;
	input.value = value || '';
	input.placeholder = about;
	return input;
}
/* A form whose fields become parameters of this view. */
function fieldsForm(into, at, fields, press) {
	const form = element('form', '', into);
	for (const [name, title, about] of fields) field(form, title, name, at.params[name], about);
	form.addEventListener('submit', (event) => {
		event.preventDefault();
		go(changed(at, { ...Object.fromEntries(new FormData(form)), offset: '' }));
	});
	button(press, form, () => form.requestSubmit());
	return form;
}

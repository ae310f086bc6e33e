// The page of `sillage serve`: views of what is served, on /api/v1 (doc/api.md).
'use strict';

const views = {}; // by name: { title, draw(into, at), command(at) }
let now = null; // the view that is shown: { view, params, source, range, stop, resize }

@FILE ../../base/page/text.js@
@FILE ../../base/page/elements.js@
@FILE ../../base/page/table.js@
@FILE ../../base/page/states.js@
@FILE app-data.js@
@FILE app-parts.js@
@FILE app-chart.js@
@FILE app-sources.js@
@FILE app-time.js@
@FILE app-tables.js@
@FILE app-explain.js@
@FILE app-find.js@
/* ---- the frame ---- */

const needs = { hosts: 'hosts', time: 'series', tables: 'tables', explain: 'explain', state: 'state', events: 'events', compare: 'compare' };
/* [name, title] of the views that there are here. */
function viewsOf(at) {
	return Object.entries(needs).filter(([, need]) => at.source && can(at.source, need)).map(([view]) => [view, views[view].title]).concat(at.source ? [] : [['compare', 'Compare']]);
}
function viewAddress(at, view) {
	const a = kept('a'), b = kept('b');
	return view === 'compare' ? (a && b ? compareAddress(a, b) : address('compare', { source: at.params.source })) : address(view, same(at));
}
function drawNav(at) {
	const nav = document.getElementById('views');
	nav.textContent = '';
	for (const [view, title] of viewsOf(at)) {
		const made = link(title, view === at.view ? location.hash : viewAddress(at, view), nav);
		if (view === at.view) made.setAttribute('aria-current', 'page');
	}
}
/* The source and the range that is looked at. */
function drawRange(at) {
	const bar = document.getElementById('range'), [begin, end] = at.range;
	bar.textContent = '';
	if (!at.source || at.view === 'compare') return;
	element('b', shortName(at.source), bar).title = at.source.name;
	if (at.params.host) element('span', 'host ' + at.params.host, bar);
	element('span', begin !== null && end !== null ? rangeText(begin, end) : 'from ' + (at.params.begin || 'its begin') + ' to ' + (at.params.end || 'its end'), bar);
	if (at.params.begin || at.params.end) link('whole', changed(at, { begin: '', end: '', offset: '' }), bar);
	if (begin !== null && end !== null) {
		if (at.params.begin || at.params.end) link('wider', changed(at, wider(at)), bar);
		sideButtons(bar, at, { source: at.params.source, begin: String(begin), end: String(end) });
	}
	for (const side of ['a', 'b']) {
		const range = kept(side);
		if (range) element('span', side.toUpperCase() + ' is ' + (exact(range.begin) === null ? 'chosen' : clockText(exact(range.begin), 3) + ' – ' + clockText(exact(range.end), 3)), bar);
	}
}
function wider(at) {
	const [begin, end] = at.range, more = (end - begin) / 2n + 1n, first = big(at.source.begin), last = big(at.source.end);
	const from = begin - more, until = end + more;
	return { begin: first !== null && from <= first ? '' : String(from), end: last !== null && until >= last ? '' : String(until), offset: '' };
}
function drawCommand(at) {
	const into = document.getElementById('command'), text = views[at.view].command(at);
	into.textContent = '';
	if (!text) return;
	const code = element('code', text, into), press = button('copy as command', into, () => {
		getSelection().selectAllChildren(code);
		if (navigator.clipboard) navigator.clipboard.writeText(text).catch(() => {});
		else document.execCommand('copy');
		press.textContent = 'copied';
	}, 'the command line for what is seen');
}
function addressed() {
	const [, view, words] = /^#\/([a-z]*)\??(.*)$/.exec(location.hash) || [];
	return { view: view && views[view] ? view : 'sources', params: Object.fromEntries(new URLSearchParams(words || '')), stop: new AbortController(), source: null, range: [null, null], resize: () => {} };
}
async function findSource(at) {
	const all = at.view === 'sources' && !sources ? [] : await sourceList(at.stop.signal);
	at.source = all[at.params.source] || null;
	if (!at.source) {
		if (at.view === 'sources' || at.view === 'compare') return;
		throw new Refused('there is no source ' + (at.params.source || 'in the address'), 404);
	}
	at.range = [at.params.begin ? exact(at.params.begin) : big(at.source.begin), at.params.end ? exact(at.params.end) : big(at.source.end)];
	if (at.view !== 'sources' && at.view !== 'compare' && !can(at.source, needs[at.view])) throw new Refused('a ' + at.source.kind + ' has no view ' + at.view, 404);
}
/* What was asked for by the view before is cancelled. */
async function draw() {
	if (now) now.stop.abort();
	const at = now = addressed(), main = document.getElementById('main');
	document.body.dataset.state = 'busy';
	hint(null, '');
	main.textContent = '';
	const title = element('h1', views[at.view].title, main), wait = element('p', 'Asking the server ...', main);
	title.tabIndex = -1;
	document.title = views[at.view].title + ' - sillage';
	const into = element('div', '', main);
	try {
		await findSource(at);
		if (at.stop.signal.aborted) return;
		if (at.source) document.title = views[at.view].title + ' - ' + shortName(at.source) + ' - sillage';
		drawNav(at);
		drawRange(at);
		if (at.view !== 'sources') drawCommand(at);
		await views[at.view].draw(into, at);
		if (at.view === 'sources' && !at.stop.signal.aborted) drawCommand(at);
	} catch (error) {
		if (at.stop.signal.aborted) return;
		drawNav(at);
		sayError(into, error);
	}
	if (at.stop.signal.aborted) return;
	wait.remove();
	document.body.dataset.state = 'ready';
}

/* Rows that lead somewhere: Enter follows one, arrows go to the next. */
function onRow(event, row) {
	const next = event.key === 'ArrowDown' ? row.nextElementSibling : event.key === 'ArrowUp' ? row.previousElementSibling : null;
	if (event.key === 'Enter') row.click();
	else if (next && next.classList.contains('go')) {
		row.tabIndex = -1;
		next.tabIndex = 0;
		next.focus();
	} else return;
	event.preventDefault();
}
addEventListener('keydown', (event) => {
	if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
		event.preventDefault();
		openFind();
	} else if (event.target instanceof HTMLTableRowElement && event.target.classList.contains('go')) {
		onRow(event, event.target);
	}
});
document.getElementById('search').addEventListener('click', openFind);
addEventListener('hashchange', () => { scrollTo(0, 0); draw(); });
addEventListener('resize', () => { if (now) now.resize(); });
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { if (now) now.resize(); });
draw();

/* ---- mouse and keys ---- */

function hasExecutions() { return report.jobs && report.jobs.longest.length + report.jobs.open.length > 0; }
function pan(share) { look(view[0] + share * (view[1] - view[0]), view[1] - view[0]); }

/* A wheel alone scrolls the page.  With Ctrl it zooms where the mouse is; sideways it moves. */
function onWheel(event) {
	const width = chart.canvas.clientWidth, left = namesWidth(width), wide = event.deltaMode ? 16 : 1;
	const aside = event.shiftKey && !event.deltaX ? event.deltaY : event.deltaX;
	if (event.ctrlKey || event.metaKey) zoom(event.deltaY > 0 ? 1.25 : 0.8, Math.max(0, event.offsetX - left) / (width - left));
	else if (Math.abs(aside) > Math.abs(event.deltaY) || event.shiftKey) pan(aside * wide / (width - left));
	else return;
	event.preventDefault();
}
function listen(canvas) {
	let from = null, moved = false;
	canvas.tabIndex = 0;
	canvas.setAttribute('role', 'application');
	canvas.setAttribute('aria-label', 'Timeline. Arrows move and choose a row, Enter picks its next interval, ? explains all keys.');
	canvas.addEventListener('wheel', onWheel, { passive: false });
	canvas.addEventListener('pointerdown', (event) => { from = [event.clientX, view[0]]; moved = false; });
	canvas.addEventListener('pointermove', (event) => {
		if (!from || Math.abs(event.clientX - from[0]) < 4 && !moved) return;
		moved = true;
		canvas.setPointerCapture(event.pointerId);
		look(from[1] - (event.clientX - from[0]) * (view[1] - view[0]) / (canvas.clientWidth - namesWidth(canvas.clientWidth)), view[1] - view[0]);
	});
	canvas.addEventListener('pointerup', (event) => {
		if (from && !moved) pickAt(event.offsetX, event.offsetY, canvas.clientWidth);
		from = null;
	});
	canvas.addEventListener('pointercancel', () => { from = null; });
	canvas.addEventListener('dblclick', () => look(0, end));
}
/* Nothing is picked, and the keys are where they were before. */
function leave() {
	const back = cameFrom && cameFrom.isConnected ? cameFrom : null;
	hint({ clientX: 0, clientY: 0 });
	found = new Set();
	cameFrom = null;
	pick(null);
	if (back) back.focus();
}
function toggleHelp() {
	const it = document.getElementById('keys');
	it.hidden = !it.hidden;
	if (!it.hidden) it.scrollIntoView({ block: 'nearest' });
}

/* Keys of the timeline: elsewhere they scroll the page. */
const moves = {
	ArrowLeft: () => pan(-0.2), ArrowRight: () => pan(0.2),
	ArrowUp: () => { cursor = Math.max(0, cursor - 1); reveal(); },
	ArrowDown: () => { cursor = Math.min(rows.length - 1, cursor + 1); reveal(); },
	Home: () => look(0, end), Enter: pickNext,
};
/* Keys of the whole page. */
const keys = {
	'+': () => zoom(0.5, 0.5), '=': () => zoom(0.5, 0.5), '-': () => zoom(2, 0.5),
	n: () => executionFrom(1), p: () => executionFrom(-1),
	'/': () => document.getElementById('search').focus(), '?': toggleHelp, Escape: leave,
};
/* In a table: to the next row above or below that leads somewhere, or where the row leads. */
function onRow(line, key) {
	const aside = { ArrowUp: 'previousElementSibling', ArrowDown: 'nextElementSibling' }[key];
	let next = aside && line[aside];
	while (next && next.className !== 'go') next = next[aside];
	if (key === 'Enter') line.click();
	else if (next) next.focus();
	else return false;
	return true;
}
/* Whether a key was for what has the focus. */
function onFocus(on, key) {
	if (on.tagName === 'INPUT') {
		if (key === 'Enter') searchNext();
		if (key === 'Escape') {
			on.value = '';
			search('');
			chart.canvas.focus({ preventScroll: true });
		}
		return key === 'Enter' || key === 'Escape';
	}
	if (on.tagName === 'TR') return onRow(on, key);
	if (!chart || on !== chart.canvas || !moves[key]) return false;
	moves[key]();
	return true;
}
addEventListener('keydown', (event) => {
	const on = event.target, isText = on.tagName === 'INPUT' || on.tagName === 'SELECT';
	if (event.ctrlKey || event.altKey || event.metaKey) return;
	if (!onFocus(on, event.key)) {
		if (isText || !keys[event.key]) return;
		keys[event.key]();
	}
	event.preventDefault();
});

function help(into) {
	const made = element('table', '', into);
	made.id = 'keys';
	made.hidden = true;
	for (const [keys, does] of [['click', 'who and why: of an interval, a bar, a dot, a row of a table'], ['drag, wheel sideways', 'earlier, later'],
		['Ctrl and wheel, + and -', 'zoom'], ['double click', 'the whole range'], ...hasExecutions() ? [['n, p', 'next and previous execution, by begin']] : [],
		['/', 'search a thread by name or tid; Enter: the next row found'], ['Tab', 'to the timeline, and to each table'],
		['in the timeline', '\u2190 \u2192 earlier, later; \u2191 \u2193 choose a row; Enter: its next interval; Home: the whole range'],
		['in a table', '\u2191 \u2193 choose a row; Enter: its place in the timeline'], ['Esc', 'nothing is picked; back to the row of the table'], ['?', 'this table']]) {
		const line = element('tr', '', made);
		for (const text of [keys, does]) element('td', text, line).className = 'text';
	}
}

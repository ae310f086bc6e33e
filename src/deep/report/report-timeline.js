/* ---- the timeline ---- */

const LANE = 18, AXIS = 26, SHORTEST = 200 /* ns */;
let view = [0, 1], rows = [], chart = null;
let picked = null;   /* {begin, end, row (-1: none), title, lines}: what is shown in the details */
let cursor = -1;     /* the row that keys are about */
let found = new Set(); /* rows that a search found */
let rowOf = new Map(); /* the row of each thread that has one */
let cameFrom = null; /* the row of a table that led here */

function namesWidth(width) { return width < 600 ? 96 : 176; }
/* Pixels of a time, and the time of a pixel. */
function xOf(ns, width) { const left = namesWidth(width); return left + (ns - view[0]) / (view[1] - view[0]) * (width - left); }
function timeOf(x, width) { const left = namesWidth(width); return view[0] + (x - left) / (width - left) * (view[1] - view[0]); }
function rowOfThread(n) { return rowOf.get(n) ?? -1; }

/* Steps of 1, 2 and 5 times a power of ten. */
function step(length, most) {
	const power = 10 ** Math.floor(Math.log10(length / most));
	return [1, 2, 5, 10].map((times) => times * power).find((size) => length / size <= most);
}
/* Digits that tell one tick of such a step from the next. */
function tickDigits(size) { return Math.min(9, Math.max(0, 9 - Math.floor(Math.log10(size)))); }
function drawAxis(context, width, height) {
	const left = namesWidth(width), room = width - left, size = step(view[1] - view[0], Math.max(2, Math.floor(room / 130)));
	const digits = tickDigits(size);
	/* Ticks of absolute times lie on round absolute times. */
	const shift = clock === 'start' ? 0 : data.begin_rest_ns;
	context.fillStyle = fore();
	for (let tick = Math.ceil((view[0] + shift) / size) * size - shift; tick <= view[1]; tick += size) {
		const x = xOf(tick, width), text = time(tick, digits);
		context.globalAlpha = 0.15;
		context.fillRect(x, 0, 1, height - AXIS);
		context.globalAlpha = 1;
		context.fillRect(x, height - AXIS, 1, 5);
		if (x + context.measureText(text).width < width) context.fillText(text, x + 2, height - 11);
	}
	context.fillText(spent(view[1] - view[0]), 4, height - 11);
}
function drawMarks(context, width, height) {
	const left = namesWidth(width), inside = (ns) => Math.min(Math.max(xOf(ns, width), left), width);
	if (rows.some((row) => row.bin)) {
		context.fillStyle = colours.softirq;
		for (let i = 0; i < data.chosen.length; i += 2) {
			const from = inside(data.chosen[i]), until = inside(data.chosen[i + 1]);
			if (data.chosen[i + 1] > view[0] && data.chosen[i] < view[1]) {
				context.fillRect(from, height - AXIS - 3, Math.max(1, until - from), 3);
			}
		}
	}
	if (picked && picked.end >= view[0] && picked.begin <= view[1]) {
		const from = inside(picked.begin), wide = Math.max(1, inside(picked.end) - from);
		context.fillStyle = context.strokeStyle = fore();
		context.globalAlpha = 0.07;
		context.fillRect(from, 0, wide, height - AXIS);
		context.globalAlpha = 1;
		if (picked.row >= 0) context.strokeRect(from + 0.5, picked.row * LANE + 0.5, wide, LANE - 1);
	}
}
function drawTimeline(context, width, height) {
	const left = namesWidth(width), ink = fore(), x = (ns) => xOf(ns, width);
	rows.forEach((row, i) => {
		if (i === cursor || found.has(i)) {
			context.fillStyle = i === cursor ? colours.syscall : colours.wait;
			context.globalAlpha = 0.35;
			context.fillRect(0, i * LANE, left - 4, LANE);
			context.globalAlpha = 1;
		}
		context.save();
		context.beginPath();
		context.rect(0, i * LANE, left - 6, LANE);
		context.clip();
		context.fillStyle = ink;
		context.fillText(row.name, 4, i * LANE + LANE / 2);
		context.restore();
		drawRow(context, row, i * LANE + 2, LANE - 4, x, view);
	});
	drawMarks(context, width, height);
	drawAxis(context, width, height);
}

/* ---- where it is, and what is picked ---- */

function look(begin, length) {
	length = Math.min(Math.max(length, Math.min(SHORTEST, end)), end);
	begin = Math.min(Math.max(begin, 0), end - length);
	view = [begin, begin + length];
	redraw();
}
function zoom(times, share) {
	const length = view[1] - view[0], next = Math.min(length * times, end);
	look(view[0] + share * (length - next), next);
}
function redraw() {
	chart.again();
	note();
}
/* What is drawn, for whoever reads the page by a script. */
function note() {
	const into = document.getElementById('timeline');
	into.dataset.begin = view[0];
	into.dataset.end = view[1];
	into.dataset.picked = picked ? picked.begin + ' ' + picked.end + ' ' + picked.row : '';
	into.dataset.cursor = cursor;
}
function tell() {
	const pane = document.getElementById('details');
	pane.textContent = '';
	if (!picked) {
		element('p', 'Click an interval, or a row of a table, to see who and why.', pane);
		return;
	}
	element('b', picked.title, pane);
	for (const line of [...picked.lines, ...both(picked.begin, picked.end)]) element('div', line, pane);
	if (picked.row < 0 && picked.n !== undefined) element('div', who(picked.n) + ' has no row in the timeline.', pane);
}
function pick(value) {
	picked = value;
	tell();
	redraw();
}
/* Goes to a range of a thread, or of the row @at, and says what it is; of an execution too. */
function show(begin, ns, n, title, lines, at, execution) {
	const margin = Math.max(ns * 0.3, SHORTEST), row = at >= 0 ? at : n === undefined ? -1 : rowOfThread(n);
	const on = document.activeElement;
	if (on.tagName === 'TR') cameFrom = on;
	if (row >= 0) cursor = row;
	picked = { begin, end: begin + ns, row, n, title, execution, lines: (lines || []).concat(row >= 0 && rows[row].kind !== 'resource' ? within(rows[row], begin, begin + ns) : []) };
	tell();
	look(begin - margin, ns + 2 * margin);
	document.getElementById('timeline').scrollIntoView({ block: 'start' });
	chart.canvas.focus({ preventScroll: true });
	scrollToCursor();
}
/* The longest waits and sleeps of a row in a range, with who and why; of one that is partly in it, that part. */
function within(row, begin, until) {
	const list = [];
	for (let i = find(row.begins, begin); i < row.begins.length && row.begins[i] < until; i++) {
		const all = row.until(i) - row.begins[i], part = Math.min(row.until(i), until) - Math.max(row.begins[i], begin);
		if (!row.isSum[i] && [NEW, WAIT, PREEMPTED, BLOCKED].includes(row.state[i]) && part > 0) list.push([i, part, all]);
	}
	return list.sort(([, a], [, b]) => b - a).slice(0, 5).map(([i, part, all]) => [states[row.state[i]] + ' for ' + spent(part) +
		(part < all ? ' of ' + spent(all) : '') + ' at ' + since(row.begins[i]), ...row.why(i)].join(', '));
}
function pickPiece(index, i) {
	const row = rows[index], lines = row.text(i), range = ['begin', 'end'].map((name, k) => '--' + name + ' ' + exactly(k ? row.until(i) : row.begins[i]));
	cursor = index;
	pick({ begin: row.begins[i], end: row.until(i), row: index, piece: i, title: lines[0],
		lines: lines.slice(1, -1).concat(row.isSum[i] ? 'each of them: sillage report -f html ' + range.join(' ') : []) });
}
/* A time as the options of sillage take it. */
function exactly(ns) {
	return '@' + sinceEpoch(ns).join('.');
}
/* The piece of a row under the mouse; -1: none. */
function pieceAt(row, x, y, width) {
	const near = 3 * (view[1] - view[0]) / Math.max(1, width - namesWidth(width));
	return x < namesWidth(width) ? -1 : row.piece(timeOf(x, width), (y % LANE - 2) / (LANE - 4), near);
}
function pickAt(x, y, width) {
	const index = Math.floor(y / LANE), row = rows[index];
	if (!row) return;
	const i = pieceAt(row, x, y, width);
	cursor = index;
	if (i >= 0) pickPiece(index, i); else redraw();
}
/* The next piece of the row that keys are about, after the picked one or the middle of the view. */
function pickNext() {
	const row = rows[cursor];
	if (!row || !row.begins.length) return;
	const goesOn = picked && picked.row === cursor && picked.begin >= view[0] && picked.begin < view[1];
	const i = row.after(goesOn && picked.piece !== undefined ? picked.piece : -1, goesOn ? picked.end : (view[0] + view[1]) / 2);
	pickPiece(cursor, i);
	if (picked.begin < view[0] || picked.end > view[1]) look((picked.begin + picked.end - view[1] + view[0]) / 2, view[1] - view[0]);
}

/* ---- search ---- */

function search(text) {
	const wanted = text.trim().toLowerCase();
	found = new Set(rows.map((row, i) => i).filter((i) => wanted && rows[i].name.toLowerCase().includes(wanted)));
	const others = wanted ? data.names.map((_, n) => n).filter((n) => rowOfThread(n) < 0 && who(n).toLowerCase().includes(wanted)) : [];
	document.getElementById('found').textContent = wanted ? count(found.size) + ' rows' +
		(others.length ? ', and without a row: ' + others.slice(0, 3).map(who).join(', ') + (others.length > 3 ? ' ...' : '') : '') : '';
	redraw();
}
function searchNext() {
	const list = [...found];
	if (!list.length) return;
	cursor = list.find((i) => i > cursor) ?? list[0];
	reveal();
}
/* Scrolls to the row that keys are about, which the details may cover. */
function scrollToCursor() {
	const top = chart.canvas.getBoundingClientRect().top + cursor * LANE, bottom = innerHeight - document.getElementById('details').offsetHeight;
	if (cursor >= 0 && (top < 0 || top + LANE > bottom)) scrollBy(0, top - bottom / 2);
}
function reveal() {
	scrollToCursor();
	redraw();
}

/* ---- executions ---- */

/* Goes to the next or previous execution by begin: from the picked one, or the first or last that is shown. */
function executionFrom(by) {
	const all = hasExecutions() ? report.jobs.longest.concat(report.jobs.open).sort((a, b) => a.begin_ns - b.begin_ns) : [];
	const last = picked && picked.execution, at = last ? all.findIndex((one) => one.begin_ns === last.begin_ns && one.thread === last.thread) : -1;
	const shown = all.map((one, i) => i).filter((i) => all[i].begin_ns >= view[0] && all[i].begin_ns < view[1]);
	const wanted = at >= 0 ? at + by : shown.length ? shown.at(by > 0 ? 0 : -1) : -1;
	if (wanted < 0 || wanted >= all.length) return;
	const place = placeOf(all[wanted]);
	place[4].unshift(count(wanted + 1) + ' of ' + count(all.length) + ' by begin');
	show(...place);
}

function controls(into) {
	const line = element('p', '', into), input = element('input', '', line), select = element('select');
	line.className = 'controls';
	input.id = 'search';
	input.type = 'search';
	input.placeholder = 'search a thread  /';
	input.addEventListener('input', () => search(input.value));
	const buttons = [['+', keys['+'], 'closer (+)'], ['\u2212', keys['-'], 'farther (-)'], ['all', moves.Home, 'the whole range (Home)']];
	if (hasExecutions()) buttons.push(['\u2039 execution', keys.p, 'the previous one (p)'], ['execution \u203a', keys.n, 'the next one (n)']);
	for (const [text, press, says] of buttons) button(text, line, press, says).setAttribute('aria-label', says);
	button('?', line, keys['?'], 'keys and mouse (?)').id = 'help';
	for (const [value, text] of [['start', 'times since the start'], ['utc', 'UTC'], ['local', 'local time']]) {
		const option = element('option', text, select);
		option.value = value;
		option.selected = value === clock;
	}
	select.id = 'clock';
	select.addEventListener('change', () => { clock = select.value; render(); });
	line.append(select);
	element('span', '', line).id = 'found';
}
function timeline() {
	const into = section('Timeline', 'Click: who and why. Drag: move. Ctrl and wheel, or + and -: zoom. More: ?');
	const bins = rows.map((row) => row.bin).filter((bin) => bin);
	into.id = 'timeline';
	into.dataset.lanes = rows.length;
	controls(into);
	help(into);
	key([...coloured(states.slice(0, 9)), ['on a CPU: pale, a colour for each thread', hue(0)], ['others on a CPU', OTHERS]], into);
	chart = drawing(into, rows.length * LANE + AXIS, drawTimeline, (x, y, width) => {
		const row = rows[Math.floor(y / LANE)], i = row ? pieceAt(row, x, y, width) : -1;
		return i < 0 ? row && x < namesWidth(width) ? row.name : '' : row.text(i).join('\n');
	});
	listen(chart.canvas);
	if (bins.length) {
		const longest = 2 * bins.reduce((a, b) => Math.max(a, b)), note = element('p', '', into);
		note.id = 'sums';
		note.textContent = 'In ' + bins.length + ' of ' + rows.length + ' rows short intervals are added up: a column of shares stands for several, at most ' +
			spent(longest) + '. In the ' + data.chosen.length / 2 + ' ranges that are marked above the axis, each interval is there. Tables are exact.';
	}
	if (report.resources) resourcesNote(into);
	if (data.threads.length < data.thread_count) {
		element('p', count(data.threads.length) + ' of ' + count(data.thread_count) + ' threads have a row.', into);
	}
	const details = element('div', '', into);
	details.id = 'details';
	details.setAttribute('aria-live', 'polite');
	tell();
	note();
}

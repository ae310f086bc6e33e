// The page of `live --web`.
'use strict';

const WINDOWS = 120; // shown over time
const NOTICES = 100;
const traces = new Map(); // by identity: { section, when, parts, windows, skipped }

@FILE ../../src/base/page/text.js@
@FILE ../../src/base/page/elements.js@
@FILE ../../src/base/page/table.js@
function shareOf(part, whole) {
	return part === null || part === undefined || !(whole > 0) ? '-' : percent(part / whole);
}

function nameOf(trace) {
	return [trace.host, trace.session, trace.domain].filter((part) => part).join('/') || trace.path || 'trace';
}

function part(parts, key, title) {
	let made = parts.get(key);
	if (!made) {
		made = element('div');
		made.className = 'part';
		element('h3', title, made);
		element('div', '', made);
		parts.set(key, made);
	}
	return made.lastChild;
}

// ---- over time ----

/* What to draw on, its context, and its width. */
function prepare(into, height) {
	let canvas = into.querySelector('canvas');
	if (!canvas) {
		canvas = element('canvas');
		canvas.setAttribute('role', 'img');
		into.prepend(canvas);
	}
	return [canvas, ...fit(canvas, height)];
}

function busyShare(cpu) {
	const known = cpu.busy_ns + cpu.idle_ns;
	return cpu.busy_ns === null || !(known > 0) ? null : cpu.busy_ns / known;
}

// A row for each CPU, a column for each window, the newest at the right.
function drawCpus(into, windows) {
	const last = windows[windows.length - 1].cpu.cpus;
	const height = Math.max(4, Math.min(18, 320 / last.length));
	const ids = last.map((cpu) => cpu.cpu).sort((a, b) => a - b);
	const [canvas, pen, width] = prepare(into, height * ids.length);
	const left = 52, step = (width - left) / WINDOWS;
	const style = getComputedStyle(document.body);
	windows.forEach((one, i) => {
		const x = left + (WINDOWS - windows.length + i) * step;
		for (const cpu of one.cpu && one.cpu.cpus || []) {
			const row = ids.indexOf(cpu.cpu), share = busyShare(cpu);
			if (row >= 0 && share !== null) {
				pen.fillStyle = 'hsl(' + (210 - 200 * share) + ' 75% 50% / ' + (0.1 + 0.9 * share) + ')';
				pen.fillRect(x, row * height, step + 0.5, height - 1);
			}
		}
	});
	pen.fillStyle = style.color;
	if (height >= 11) {
		ids.forEach((id, row) => pen.fillText('cpu ' + id, 4, (row + 0.5) * height));
	}
	canvas.setAttribute('aria-label', 'how busy each CPU was in the last windows');
}

// The 99th percentile of wake-up latency.
function drawWake(into, windows) {
	const values = windows.map((one) => one.sched && one.sched.wake && one.sched.wake.p99_ns);
	const most = Math.max(0, ...values.map((value) => value || 0));
	const [canvas, pen, width] = prepare(into, 60);
	const step = width / WINDOWS;
	pen.fillStyle = getComputedStyle(document.body).getPropertyValue('--hot');
	values.forEach((value, i) => {
		if (value) {
			const height = Math.max(1, 56 * value / most);
			pen.fillRect((WINDOWS - values.length + i) * step, 60 - height, Math.max(1, step - 1), height);
		}
	});
	canvas.setAttribute('aria-label', 'the 99th percentile of wake-up latency in the last windows');
	return most;
}

// ---- a trace ----

function missing(analysis) {
	return analysis.missing ? 'not recorded: ' + analysis.missing.map((one) => one.event).join(', ') : '';
}

function note(into, text) {
	let made = into.querySelector('.note');
	if (!made) {
		made = element('p', '', into);
		made.className = 'soft note';
	}
	made.textContent = text;
}

/* Columns as tableIn() takes them.  What is shown is of this window, so rows of one before go. */
function showRows(parts, key, title, columns, rows) {
	if (!(rows && rows.length) && !parts.has(key)) {
		return;
	}
	const into = part(parts, key, title);
	into.replaceChildren();
	if (!(rows && rows.length)) {
		note(into, 'none in this window');
		return;
	}
	tableIn(into, rows, columns);
	into.querySelectorAll('td').forEach((cell) => { cell.title = cell.textContent; });
}

function threadName(row) {
	return (row.comm || '?') + (row.tid === undefined ? '' : ' (' + row.tid + ')');
}

function containerName(row) {
	const name = row.name || row.container || row.comm;
	return name === undefined ? String(row.pid_ns) : name;
}

function showCpu(parts, all, now) {
	const cpu = now.cpu, span = now.end - now.begin;
	const columns = (title, name) => [[title, name, 'text'], ['of one CPU', (one) => shareOf(one.run_ns, span)],
		['switches', (one) => String(one.switches ?? '-')], ['longest', (one) => duration(one.longest_ns)]];
	if (cpu.cpus && cpu.cpus.length) {
		const into = part(parts, 'cpus', 'CPUs over time');
		drawCpus(into, all);
		note(into, 'busy ' + shareOf(cpu.busy_ns, cpu.busy_ns + cpu.idle_ns) + ' of ' + cpu.cpus.length + ' CPUs' +
			(cpu.unknown_ns > 0 ? ', unknown ' + shareOf(cpu.unknown_ns, cpu.busy_ns + cpu.idle_ns + cpu.unknown_ns) + ' ' : ' ') + missing(cpu));
	} else if (cpu.missing) {
		note(part(parts, 'cpus', 'CPUs over time'), missing(cpu));
	}
	showRows(parts, 'threads', 'Threads that ran most', columns('thread', threadName), cpu.threads);
	showRows(parts, 'containers', 'Containers', columns('container', containerName), cpu.containers);
}

function showSched(parts, all, now) {
	const into = part(parts, 'wake', 'Wake-up latency'), wake = now.sched.wake;
	if (wake) {
		const most = drawWake(into, all);
		note(into, (wake.count > 0 ? 'now: p50 ' + duration(wake.p50_ns) + ', p99 ' + duration(wake.p99_ns) + ', longest ' + duration(wake.max_ns) +
			', ' + wake.count + ' wake-ups' : 'no wake-up in this window') + '; the highest bar: ' + duration(most) + ' ' + missing(now.sched));
	} else {
		note(into, wake ? 'no wake-up in this window' : missing(now.sched) || 'another trace of the session has it');
	}
	const times = (which) => (one) => one[which] ? String(one[which].count) : '-';
	const longest = (one) => Math.max(...[one.wake, one.requeue].map((all) => all && all.max_ns || 0));
	showRows(parts, 'waits', 'Threads that waited longest', [['thread', threadName, 'text'], ['waited', (one) => duration(one.waited_ns)],
		['longest', (one) => duration(longest(one))], ['woken', times('wake')], ['preempted', times('requeue')]], now.sched.threads);
}

function known(trace) {
	const key = JSON.stringify(trace);
	if (!traces.has(key)) {
		const section = element('section');
		element('h2', nameOf(trace), section);
		const made = { section, parts: new Map(), windows: [], skipped: 0, when: element('p', '', section) };
		made.when.className = 'soft';
		element('div', '', section).className = 'parts';
		section.querySelector('h2').title = trace.path || '';
		traces.set(key, made);
		document.getElementById('none').hidden = true;
		document.getElementById('traces').append(section);
	}
	return traces.get(key);
}

function draw(trace) {
	const now = trace.windows[trace.windows.length - 1];
	const parts = trace.section.querySelector('.parts');
	if (!now) {
		return;
	}
	trace.when.textContent = now.end_time.slice(0, 23).replace('T', ' ') + ' UTC, window of ' + duration(now.end - now.begin) +
		(now.lag_ns === undefined ? '' : ', ' + duration(now.lag_ns) + ' behind') + (now.complete ? '' : ', not complete') +
		(trace.skipped ? ', ' + trace.skipped + (trace.skipped === 1 ? ' window was' : ' windows were') + ' left out' : '');
	// A new part has a place before it is drawn, since a canvas takes its width from there.
	for (const [key, title] of [['cpus', 'CPUs over time'], ['wake', 'Wake-up latency']]) {
		if (key === 'cpus' ? now.cpu && ((now.cpu.cpus || []).length || now.cpu.missing) : now.sched) {
			part(trace.parts, key, title);
		}
	}
	parts.append(...[...trace.parts.values()].filter((one) => !one.isConnected));
	if (now.cpu) {
		showCpu(trace.parts, trace.windows.filter((one) => one.cpu), now);
	}
	if (now.sched) {
		showSched(trace.parts, trace.windows, now);
	}
	if (!now.cpu && !now.sched) {
		note(part(trace.parts, 'none', 'Windows'), 'begin with -a cpu,sched to see threads, CPUs and latency here');
	}
	const added = [...trace.parts.values()].filter((one) => !one.isConnected);
	parts.append(...added);
	if (added.length) {
		draw(trace); // they have changed the width of the others
	}
}

// ---- what arrives ----

function onWindow(line) {
	const trace = known(line.trace);
	trace.section.className = '';
	const last = trace.windows.length ? trace.windows[trace.windows.length - 1].seq : line.seq;
	trace.skipped += Math.max(0, line.seq - last - 1);
	trace.windows = trace.windows.filter((one) => one.seq !== line.seq).concat(line).slice(-WINDOWS);
	draw(trace);
	document.body.dataset.state = 'ready';
}

function onNotice(key, make) {
	const list = document.getElementById('list');
	if ([...list.children].some((one) => one.dataset.key === key)) {
		return; // the state is sent again after a connection was lost
	}
	const item = make();
	item.dataset.key = key;
	list.prepend(item);
	while (list.children.length > NOTICES) {
		list.lastChild.remove();
	}
	document.getElementById('notices').hidden = false;
}

function onTrigger(fired) {
	const line = fired.trigger;
	onNotice('t' + JSON.stringify([line.trace, line.name, line.end]), () => {
		const more = line.rows > 1 ? ' (and ' + (line.rows - 1) + ' more)' : '';
		return element('li', line.end_time.slice(11, 23) + ' ' + nameOf(line.trace) + ': ' + line.name + ': ' + fired.says + more);
	});
}

function onCapture(line) {
	onNotice('c' + line.number + line.capture.end, () => {
		const capture = line.capture, item = element('li');
		item.textContent = capture.end_time.slice(11, 23) + ' ' + capture.host + '/' + capture.session + ': ' +
			(capture.path ? 'captured ' : 'could not be captured: ' + capture.error);
		item.className = capture.path ? '' : 'failed';
		if (line.has_report) {
			const link = element('a', capture.path, item);
			link.href = 'capture/' + line.number;
			link.target = '_blank';
			link.rel = 'noopener';
		} else if (capture.path) {
			item.append(capture.path);
		}
		return item;
	});
}

function follow() {
	const link = document.getElementById('link');
	const source = new EventSource('events');
	const on = (name, take) => source.addEventListener(name, (event) => take(JSON.parse(event.data)));
	source.onopen = () => {
		link.textContent = 'connected';
		link.className = '';
	};
	source.onerror = () => {
		link.textContent = 'no connection; trying again';
		link.className = 'lost';
		if (source.readyState === EventSource.CLOSED) { // refused
			setTimeout(follow, 5000);
		}
	};
	on('away', () => { // by itself it would come back, in the place of another one
		source.close();
		link.textContent = 'this page gave way to another one; reload it to go on';
		link.className = 'lost';
	});
	on('window', onWindow);
	on('trigger', onTrigger);
	on('capture', onCapture);
	on('attach', (line) => { known(line.trace).section.className = ''; });
	on('detach', (line) => { known(line.trace).section.className = 'ended'; });
}

window.addEventListener('resize', () => traces.forEach(draw));
follow();

/* ---- executions ---- */

const PARTS = [...run, 'new', 'wait', 'preempted', 'blocked', 'unknown'];

/* Of whom it is, and which of them. */
function whose(one) {
	return who(one.thread) + (one.last !== undefined ? ' to ' + who(one.last) : '') + (one.by ? ', ' + one.by : '') + (one.row ? ', ' + one.row : '');
}
function told(one) {
	return [whose(one),
		'response ' + spent(one.response_ns) + ', ' + spent(one.ns) + ' long',
		'begins ' + since(one.begin_ns) + ', ' + spent(one.late_ns) + ' after its arrival (' + one.arrival_from + ')'].concat(counted(one));
}
/* What its counters counted, as far as that is known. */
function counted(one) {
	return Object.entries(one.differences || {}).map(([field, value]) => field + ' +' + count(value));
}
/* Where an execution is, as show() takes it: from its arrival to its end. */
function placeOf(one) {
	const lines = told(one).slice(1);
	const parts = PARTS.filter((part) => one[part + '_ns']).map((part) => part + ' ' + spent(one[part + '_ns']));
	const worst = report.jobs.worst.find((other) => other.begin_ns === one.begin_ns && other.thread === one.thread);
	lines.push(parts.join(', '));
	for (const rival of worst ? worst.rivals.slice(0, 3) : []) {
		lines.push('its CPU had ' + who(rival.thread) + ' for ' + spent(rival.total_ns));
	}
	for (const finding of worst ? worst.inversions.slice(0, 3) : []) lines.push(...inverted(finding));
	const begin = one.begin_ns - one.late_ns;
	return [begin, one.begin_ns + one.ns - begin, one.last !== undefined ? one.last : one.thread, 'Execution of ' + told(one)[0], lines, -1, one];
}
function isLate(jobs, one) { return jobs.deadline_ns && one.response_ns > jobs.deadline_ns; }

/* How executions are sorted, largest first: by any part. */
function orders() {
	const made = { response: (one) => one.response_ns, duration: (one) => one.ns, 'late begin': (one) => one.late_ns,
		running: (one) => sum(one, run), waiting: (one) => sum(one, ['wait', 'new']) };
	for (const part of PARTS) made[part] = (one) => one[part + '_ns'] || 0;
	made.begin = (one) => -one.begin_ns;
	return made;
}
function someOf(jobs, all) {
	const total = jobs.count + jobs.open_count;
	return all.length < total ? count(all.length) + ' of ' + count(total) + ' executions, the worst; the figures above are of all. ' : '';
}
function comparison(jobs, all) {
	const into = section('Executions compared', someOf(jobs, all) + 'Each from its arrival: the first part, without a colour of its own, is the time until it begins. ' +
		'The line is the deadline, if there is one. Click: its place in the timeline.');
	const by = orders(), choose = element('select', '', element('p', 'By ', into));
	all = all.slice().sort((a, b) => b.response_ns - a.response_ns);
	const bar = Math.max(2, Math.min(14, Math.floor(480 / Math.max(all.length, 1))));
	const longest = Math.max(jobs.max_ns, jobs.response_max_ns, jobs.deadline_ns || 0, 1);
	choose.id = 'order';
	for (const name in by) element('option', name, choose);
	key(coloured(PARTS), into);
	into.id = 'compared';
	into.dataset.bars = all.length;
	const at = (y) => all[Math.floor(y / bar)];
	const made = drawing(into, Math.min(all.length * bar, 12000) + 22, (context, width, height) => {
		const ink = fore();
		all.forEach((one, i) => {
			let x = one.late_ns / longest * (width - 4);
			context.fillStyle = ink;
			context.globalAlpha = 0.25;
			context.fillRect(0, i * bar, x, bar > 4 ? bar - 1 : bar);
			context.globalAlpha = 1;
			for (const part of PARTS) {
				const wide = (one[part + '_ns'] || 0) / longest * (width - 4);
				context.fillStyle = colours[part];
				context.fillRect(x, i * bar, wide, bar > 4 ? bar - 1 : bar);
				x += wide;
			}
		});
		if (jobs.deadline_ns) {
			context.fillStyle = colours.irq;
			context.fillRect(jobs.deadline_ns / longest * (width - 4), 0, 2, all.length * bar);
		}
		context.fillStyle = ink;
		for (let ns = 0, size = step(longest, Math.max(2, Math.floor(width / 110))); ns <= longest; ns += size) {
			context.fillText(ns ? spent(ns) : '0', ns / longest * (width - 4) + 2, height - 9);
			context.fillRect(ns / longest * (width - 4), height - 20, 1, 5);
		}
	}, (x, y) => {
		const one = at(y);
		return one ? told(one).concat(PARTS.filter((part) => one[part + '_ns']).map((part) => part + ' ' + spent(one[part + '_ns']))).join('\n') : '';
	}, (x, y) => { if (at(y)) show(...placeOf(at(y))); });
	choose.addEventListener('change', () => {
		all.sort((a, b) => by[choose.value](b) - by[choose.value](a));
		into.dataset.first = all.length ? all[0].begin_ns : '';
		made.again();
	});
}
function perspective(jobs, all) {
	const into = section('Executions over time', someOf(jobs, all) + 'Responses, by begin. Lines: the mean duration, and a standard deviation from it; ' +
		'red: later than the deadline. Click: its place in the timeline.');
	const HEIGHT = 220, LEFT = 62, top = Math.max(jobs.max_ns, jobs.response_max_ns, jobs.deadline_ns || 0) * 1.05 || 1;
	const mean = jobs.count ? jobs.total_ns / jobs.count : 0;
	const y = (ns) => HEIGHT - ns / top * HEIGHT, x = (one, width) => LEFT + one.begin_ns / end * (width - LEFT - 8) + 4;
	const near = (px, py, width) => all.find((one) => Math.abs(x(one, width) - px) < 4 && Math.abs(y(one.response_ns) - py) < 4);
	into.id = 'overtime';
	drawing(into, HEIGHT + 20, (context, width) => {
		context.fillStyle = fore();
		for (let ns = 0, size = step(top, 5); ns <= top; ns += size) context.fillText(ns ? spent(ns) : '0', 2, Math.max(8, y(ns) - 6));
		for (let ns = 0, size = step(end, Math.max(2, Math.floor(width / 130))); ns <= end; ns += size) {
			context.fillText(time(ns, tickDigits(size)), LEFT + ns / end * (width - LEFT - 8), HEIGHT + 10);
		}
		for (const ns of [mean, mean + jobs.deviation_ns, mean - jobs.deviation_ns]) {
			context.globalAlpha = ns === mean ? 0.6 : 0.25;
			context.fillRect(LEFT, y(ns), width, 1);
		}
		context.globalAlpha = 1;
		if (jobs.deadline_ns) {
			context.fillStyle = colours.irq;
			context.fillRect(LEFT, y(jobs.deadline_ns), width, 1);
		}
		for (const one of all) {
			context.fillStyle = isLate(jobs, one) ? colours.irq : colours.syscall;
			context.fillRect(x(one, width) - 2, y(one.response_ns) - 2, 4, 4);
		}
	}, (px, py, width) => {
		const one = near(px, py, width);
		return one ? told(one).join('\n') : '';
	}, (px, py, width) => {
		const one = near(px, py, width);
		if (one) show(...placeOf(one));
	});
}
function list(jobs, all) {
	const ns = (title, of) => [title, (one) => spent(of(one)), false, of];
	table('Each execution', someOf(jobs, all) + 'Late: from its arrival to its begin; the longest is the jitter. Click a title to sort, a row to see its place in the timeline.', all,
		[['thread', whose, true, (one) => who(one.thread)],
			['begin', (one) => since(one.begin_ns), false, (one) => one.begin_ns], ns('response', (one) => one.response_ns),
			ns('duration', (one) => one.ns), ns('late', (one) => one.late_ns), ['arrival by', (one) => one.arrival_from, true, (one) => one.arrival_from],
			ns('running', (one) => sum(one, run)), ns('waiting', (one) => sum(one, ['wait', 'new'])), ns('preempted', (one) => one.preempted_ns || 0),
			ns('blocked', (one) => one.blocked_ns || 0), ...differed(jobs),
			['', (one) => [isLate(jobs, one) ? 'missed' : '', jobs.open.includes(one) ? 'open' : ''].join(' ').trim(), true]], placeOf);
}
/* A column for each counter. */
function differed(jobs) {
	return (jobs.differences || []).map(({ field }) => {
		const of = (one) => (one.differences || {})[field];
		return [field, (one) => of(one) === undefined ? '-' : count(of(one)), false, of];
	});
}
function differences(all) {
	const known = (name) => [name, (row) => row.measured ? count(row[name]) : '-', false, (row) => row[name]];
	table('Counters', 'Differences from the first event of an execution to the last one, where they are known.', all,
		[['field', (row) => row.field, true, (row) => row.field], ['measured', (row) => count(row.measured), false, (row) => row.measured],
			known('total'), known('largest'), ['mean', (row) => row.measured ? count(Math.floor(row.total / row.measured)) : '-']]);
}
function figures(jobs) {
	const late = ['late', (row) => row.misses === undefined ? '' : row.misses, false, (row) => row.misses];
	table('Executions of ' + jobs.pattern, '', [jobs], [['', (row) => count(row.count), true],
		['min', (row) => spent(row.min_ns)], ['median', (row) => spent(row.median_ns)],
		['mean', (row) => spent(row.count ? row.total_ns / row.count : 0)], ['p95', (row) => spent(row.p95_ns)],
		['p99', (row) => spent(row.p99_ns)], ['max', (row) => spent(row.max_ns)], ['outliers', (row) => row.outliers],
		['open', (row) => row.open_count], ['longest response', (row) => spent(row.response_max_ns)],
		['jitter', (row) => spent(row.jitter_ns)], late.slice(0, 2)]);
	const ns = (title, name) => [title, (row) => spent(row[name]), false, (row) => row[name]];
	const parts = (what, rows, name) => table('Executions by ' + what, '', rows, [[what, name, true, name],
		['count', (row) => count(row.count), false, (row) => row.count], ['open', (row) => row.open_count, false, (row) => row.open_count],
		ns('median', 'median_ns'), ns('p99', 'p99_ns'), ns('max', 'max_ns'), ns('longest response', 'response_max_ns'), ns('jitter', 'jitter_ns'), late]);
	if (jobs.rows) parts('group', jobs.rows, (row) => row.name);
	if (jobs.threads.length > 1) parts('thread', jobs.threads, (row) => who(row.thread));
}
/* What the slow tenth had more of than the rest. */
function slowTenth(slow) {
	const ns = (title, name) => [title, (row) => spent(row[name]), false, (row) => row[name]];
	table('The slow tenth', count(slow.slow) + ' executions of at least ' + spent(slow.shortest_ns) + ': what they had more of, in mean, than the others.',
		slow.parts, [['part', (row) => row.state || (row.rival !== undefined ? 'CPU taken by ' + who(row.rival) : 'asleep in ' + (row.call || 'no known call')), true],
			ns('more', 'more_ns'), ns('these', 'slow_mean_ns'), ns('others', 'rest_mean_ns')]);
}
/* The level above. */
function around(jobs) {
	const ns = (title, of) => [title, (one) => spent(of(one)), false, of];
	table('Around executions', 'Executions of ' + jobs.within + ' that they lie in. Click a row to see its place in the timeline.', jobs.outer,
		[['thread', whose, true, (one) => who(one.thread)],
			['begin', (one) => since(one.begin_ns), false, (one) => one.begin_ns], ns('duration', (one) => one.ns),
			['inside', (one) => one.count, false, (one) => one.count], ns('their time', (one) => one.inner_ns)],
		(one) => [one.begin_ns, one.ns, one.thread, 'Around ' + count(one.count) + ' executions', [spent(one.ns) + ' long'], -1]);
}
function executions(jobs) {
	const all = jobs.longest.concat(jobs.open);
	figures(jobs);
	if (jobs.differences) differences(jobs.differences);
	comparison(jobs, all);
	perspective(jobs, all);
	list(jobs, all);
	if (jobs.outer) around(jobs);
	if (jobs.slow_tenth) slowTenth(jobs.slow_tenth);
	jobs.worst.forEach((one, i) => {
		explained(one, 'Worst execution ' + (i + 1) + ': ' + who(one.thread) + ', ' + since(one.begin_ns) +
			', response ' + spent(one.response_ns) + (one.is_open ? ' so far' : ''), placeOf(one));
	});
}

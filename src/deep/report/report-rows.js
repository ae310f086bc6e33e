/* ---- rows of the timeline ---- */

/*
 * A row is a list of pieces: intervals, or sums of intervals that are shorter than the row's bin.
 * Each piece begins where the one before ends.  In a row's text `states`, a digit is an interval in
 * that state, a letter a sum in which that state is the longest.
 */
const NEW = 1, USER = 2, WAIT = 6, PREEMPTED = 7, BLOCKED = 8;
const LEVEL_BINS = 65536, LEVEL_FROM = 2000;
const palette = ['']; /* colours by number; 0: nothing is drawn */
const paletteOf = new Map([['', 0]]);

function paint(colour) {
	if (!paletteOf.has(colour)) {
		paletteOf.set(colour, palette.length);
		palette.push(colour);
	}
	return paletteOf.get(colour);
}
/* Of a thread on a CPU: pale, and no hue near those of new and blocked, as no state is. */
function hue(n) { return n < 0 ? colours.unknown : 'hsl(' + (245 + (n * 179.2) % 290) % 360 + ' 65% 78%)'; }
const OTHERS = '#b8a98f'; /* of a CPU's sum: threads that are not named */

/* Of times by colour: the colour that has most; 0: none. */
function mostOf(parts) {
	let most = 0, time = 0;
	for (const [colour, ns] of parts) if (colour && ns > time) [most, time] = [colour, ns];
	return most;
}

/* Index of the last entry of a sorted list that begins at or before a time. */
function find(begins, at) {
	let low = 0, high = begins.length;
	while (high - low > 1) {
		const middle = (low + high) >> 1;
		if (begins[middle] <= at) low = middle; else high = middle;
	}
	return low;
}

class Row {
	/* Kind: cpu, path, thread. */
	constructor(kind, name, raw) {
		const begins = raw.begins || [], sums = raw.sums || [];
		Object.assign(this, { kind, name, n: raw.n, end: raw.end, bin: raw.bin, who: raw.who, facts: raw.facts, sums,
			begins: new Float64Array(begins.length), state: new Uint8Array(begins.length), isSum: new Uint8Array(begins.length),
			at: new Int32Array(begins.length), levels: new Map() });
		let now = 0, fact = 0, part = 0;
		for (let i = 0; i < begins.length; i++) {
			const code = raw.states.charCodeAt(i);
			this.begins[i] = now += begins[i];
			this.isSum[i] = code >= 97;
			this.state[i] = code - (code >= 97 ? 97 : 48);
			if (this.isSum[i]) {
				this.at[i] = part;
				part += 2 + 2 * sums[part + 1] + (kind === 'thread' ? 0 : 1);
			} else if (kind !== 'cpu' && [NEW, WAIT, PREEMPTED, BLOCKED].includes(this.state[i])) {
				this.at[i] = fact;
				fact += 2;
			}
		}
	}
	until(i) { return i + 1 < this.begins.length ? this.begins[i + 1] : this.end; }
	/* How many intervals a piece stands for. */
	intervals(i) { return this.isSum[i] ? this.sums[this.at[i]] : 1; }
	/* Time of a piece by state: [state, ns]. */
	shares(i) {
		if (!this.isSum[i]) return [[this.state[i], this.until(i) - this.begins[i]]];
		const at = this.at[i], made = [];
		for (let k = 0; k < this.sums[at + 1]; k++) made.push([this.sums[at + 2 + 2 * k], this.sums[at + 3 + 2 * k]]);
		return made;
	}
	whoTime(i) { return this.isSum[i] ? this.sums[this.at[i] + 2 + 2 * this.sums[this.at[i] + 1]] : this.until(i) - this.begins[i]; }
	colour(state, i) {
		if (this.kind !== 'cpu') return colours[states[state]];
		return state === BLOCKED ? '' : state === USER ? hue(this.who[i]) : colours.unknown;
	}
	/* Calls f(colour's number, ns) for each part of a piece. */
	each(i, f) {
		if (!this.isSum[i]) {
			f(paint(this.colour(this.state[i], i)), this.until(i) - this.begins[i]);
			return;
		}
		for (const [state, ns] of this.shares(i)) {
			if (this.kind === 'cpu' && state === USER) {
				f(paint(hue(this.who[i])), this.whoTime(i));
				if (ns > this.whoTime(i)) f(paint(OTHERS), ns - this.whoTime(i));
			} else f(paint(this.colour(state, i)), ns);
		}
	}
	/* Bins of 2^k ns: the colour that covers most of each. */
	level(k) {
		if (this.levels.has(k)) return this.levels.get(k);
		const wide = 2 ** k, made = new Uint16Array(Math.ceil(end / wide) + 1), parts = new Map();
		let bin = 0;
		function flush() {
			made[bin] = mostOf(parts);
			parts.clear();
		}
		for (let i = 0; i < this.begins.length; i++) {
			const from = this.begins[i], until = this.until(i);
			for (let b = Math.floor(from / wide); b * wide < until && b < made.length; b++) {
				const share = (Math.min(until, (b + 1) * wide) - Math.max(from, b * wide)) / (until - from);
				if (b !== bin) { flush(); bin = b; }
				this.each(i, (colour, ns) => parts.set(colour, (parts.get(colour) || 0) + ns * share));
			}
		}
		flush();
		this.levels.set(k, made);
		return made;
	}
	/* The piece at a time; -1: none. */
	piece(at) { return !this.begins.length || at < this.begins[0] || at >= this.end ? -1 : find(this.begins, at); }
	/* The next piece after the picked one, or the one at a time. */
	after(_, at) { return Math.max(0, this.piece(Math.min(at, this.end - 1))); }
	/* What a piece says of itself, in lines. */
	text(i) {
		const from = this.begins[i], ns = this.until(i) - from, lines = [this.name];
		if (this.isSum[i]) {
			lines.push(count(this.intervals(i)) + ' intervals in ' + spent(ns) + ', added up:');
			if (this.kind !== 'thread' && this.who[i] >= 0) lines.push('most of it ' + who(this.who[i]) + ', ' + spent(this.whoTime(i)));
			for (const [state, part] of this.shares(i).sort((a, b) => b[1] - a[1])) {
				lines.push(this.stateName(state) + ' ' + spent(part) + ', ' + percent(part / ns));
			}
		} else if (this.kind === 'cpu') {
			lines.push((this.state[i] === USER ? who(this.who[i]) : this.stateName(this.state[i])) + ' for ' + spent(ns));
		} else {
			lines.push((this.kind === 'path' ? who(this.who[i]) + ' ' : '') + this.stateName(this.state[i]) + ' for ' + spent(ns));
			lines.push(...this.why(i));
		}
		return lines.concat(since(from));
	}
	stateName(state) {
		if (this.kind === 'cpu') return state === BLOCKED ? 'idle' : state === USER ? 'busy' : 'unknown';
		return this.kind === 'path' ? states[state].replace('user', 'run') : states[state];
	}
	/* Of a wait or a sleep: who and why. */
	why(i) {
		const [first, second] = [this.facts ? this.facts[this.at[i]] : -1, this.facts ? this.facts[this.at[i] + 1] : -1], lines = [];
		if ([NEW, WAIT, PREEMPTED].includes(this.state[i])) {
			lines.push(first >= 0 ? 'its CPU had ' + who(first) : 'no other thread had its CPU');
			if (second >= 0) lines.push('woken by ' + who(second));
		} else if (this.state[i] === BLOCKED) {
			if (first >= 0) lines.push('in ' + data.calls[first]);
			if (second >= 0) lines.push('woken by ' + who(second));
			else if (causes[-2 - second]) lines.push('ended by ' + causes[-2 - second]);
		}
		return lines;
	}
}

function makeRows() {
	const made = data.cpus.map((cpu) => new Row('cpu', 'CPU ' + cpu.cpu, cpu));
	data.paths.forEach((path, i) => {
		const number = i + (data.has_path ? 0 : 1);
		made.push(new Row('path', number ? 'path of worst ' + number : 'critical path', path));
	});
	for (const thread of data.threads) made.push(new Row('thread', who(thread.n), thread));
	addResources(made);
	return made;
}

/* ---- drawing a row ---- */

const INK = '#1c2127'; /* on pale colours, in both colour schemes */

/* The name of who has a CPU, where the piece has room for it. */
function drawName(context, row, i, left, right, middle) {
	const room = right - left - 6;
	if (row.kind !== 'cpu' || row.state[i] !== USER || row.isSum[i] || room < 15 || row.who[i] < 0) return;
	const text = [who(row.who[i]), data.names[row.who[i]].comm].find((one) => one && context.measureText(one).width <= room);
	if (!text) return;
	context.fillStyle = INK;
	context.fillText(text, left + 3, middle);
}

/* Sums that are wide enough are columns of shares.  Pieces narrower than a pixel share one pixel,
 * in the colour that covers most of its time. */
function drawPieces(context, row, top, high, x, view) {
	let pixel = -1;
	const parts = new Map();
	function flush() {
		const most = mostOf(parts);
		if (most) {
			context.fillStyle = palette[most];
			context.fillRect(pixel, top, 1, high);
		}
		parts.clear();
	}
	for (let i = find(row.begins, view[0]); i < row.begins.length && row.begins[i] < view[1]; i++) {
		const from = Math.max(row.begins[i], view[0]), until = Math.min(row.until(i), view[1]);
		const left = x(from), right = x(until), all = row.until(i) - row.begins[i];
		if (until <= from) continue;
		if (Math.floor(left) !== pixel) {
			flush();
			pixel = Math.floor(left);
		}
		if (right - left < 1) {
			row.each(i, (colour, ns) => parts.set(colour, (parts.get(colour) || 0) + ns));
			continue;
		}
		let y = top + high;
		row.each(i, (colour, ns) => {
			const share = ns / all * high;
			y -= share;
			if (!colour) return;
			context.fillStyle = palette[colour];
			context.fillRect(left, y, right - left, share);
		});
		drawName(context, row, i, left, right, top + high / 2);
	}
	flush();
}
function drawRow(context, row, top, high, x, view) {
	if (row.kind === 'resource') {
		row.draw(context, top, high, x, view);
		return;
	}
	const k = Math.max(0, Math.ceil(Math.log2((view[1] - view[0]) / Math.max(1, x(view[1]) - x(view[0])))));
	const wide = 2 ** k, visible = find(row.begins, view[1]) - find(row.begins, view[0]);
	if (visible < LEVEL_FROM || end / wide > LEVEL_BINS) {
		drawPieces(context, row, top, high, x, view);
		return;
	}
	const level = row.level(k), last = Math.min(level.length - 1, Math.floor(view[1] / wide));
	for (let b = Math.floor(view[0] / wide); b <= last; b++) {
		if (!level[b]) continue;
		const left = x(Math.max(b * wide, view[0]));
		context.fillStyle = palette[level[b]];
		context.fillRect(left, top, Math.max(1, x(Math.min((b + 1) * wide, view[1])) - left), high);
	}
}

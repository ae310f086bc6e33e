/* ---- charts over time ---- */

const LEFT = 64, BOTTOM = 20, STRIP = 26, HIGH = 150;
const inks = ['--one', '--two', '--three', '--four'];
function ink(name) { return getComputedStyle(document.body).getPropertyValue(name).trim() || '#000'; }

/* What all charts of a view share.  Times within are ns since `base`. */
class Stage {
	constructor(begin, end, picked) {
		this.base = begin;
		this.length = Math.max(1, Number(end - begin));
		this.charts = [];
		this.cursor = null; /* under the pointer, or where keys have moved it */
		this.picked = null; /* [from, until] */
		this.onPicked = picked;
	}
	since(ns) { return Number(big(ns) - this.base); }
	time(x) { return this.base + BigInt(Math.round(Math.min(Math.max(x, 0), this.length))); }
	draw() { for (const one of this.charts) one.draw(); }
	pick(from, until) {
		this.picked = from === until ? null : [Math.max(0, Math.min(from, until)), Math.min(this.length, Math.max(from, until))];
		this.draw();
		this.onPicked(this.picked);
	}
}
/* Steps of 1, 2 and 5 times a power of ten. */
function stepOf(length, most) {
	const power = 10 ** Math.floor(Math.log10(length / most));
	return [1, 2, 5, 10].map((times) => times * power).find((size) => length / size <= most) || 10 * power;
}
const daySteps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800].map((s) => s * 1e9);
function drawTimes(pen, stage, width, height) {
	const room = width - LEFT, most = Math.max(2, Math.floor(room / 95));
	const size = stage.length > most * 1e9 ? daySteps.find((one) => stage.length / one <= most) || stepOf(stage.length, most) : Math.max(1, stepOf(stage.length, most));
	const digits = Math.min(9, Math.max(0, 9 - Math.floor(Math.log10(size) + 1e-9))), step = BigInt(Math.round(size));
	for (let tick = (stage.base / step + 1n) * step; Number(tick - stage.base) <= stage.length; tick += step) {
		const x = LEFT + Number(tick - stage.base) / stage.length * room;
		const text = size >= 86400e9 ? dayText(tick) : clockText(tick, digits);
		pen.fillStyle = ink('--line');
		pen.fillRect(x, 0, 1, height - BOTTOM);
		pen.fillStyle = ink('--soft');
		const wide = pen.measureText(text).width;
		if (x + wide / 2 < width) pen.fillText(text, Math.max(LEFT, x - wide / 2), height - BOTTOM / 2);
	}
}
class Canvas {
	constructor(into, stage, height, about) {
		this.stage = stage;
		this.height = height;
		this.canvas = element('canvas', '', into);
		this.canvas.tabIndex = 0;
		this.canvas.setAttribute('role', 'img');
		this.canvas.setAttribute('aria-label', about + '; arrow keys move, with Shift they choose a range, Enter zooms to it, Escape leaves it');
		this.listen();
		stage.charts.push(this);
	}
	x(ns) { return LEFT + ns / this.stage.length * (this.width - LEFT); }
	ns(x) { return Math.min(Math.max((x - LEFT) / (this.canvas.clientWidth - LEFT), 0), 1) * this.stage.length; }
	draw() {
		const [pen, width] = fit(this.canvas, this.height), stage = this.stage;
		this.width = width;
		this.paint(pen, width);
		if (stage.picked) {
			pen.fillStyle = pen.strokeStyle = ink('--pick');
			pen.globalAlpha = 0.18;
			pen.fillRect(this.x(stage.picked[0]), 0, this.x(stage.picked[1]) - this.x(stage.picked[0]), this.height);
			pen.globalAlpha = 1;
		}
		if (stage.cursor !== null) {
			pen.fillStyle = ink('--fore');
			pen.fillRect(Math.round(this.x(stage.cursor)), 0, 1, this.height);
		}
	}
	listen() {
		const canvas = this.canvas, stage = this.stage;
		let from = null;
		canvas.addEventListener('pointerdown', (event) => {
			if (event.button !== 0) return;
			from = this.ns(event.offsetX);
			canvas.setPointerCapture(event.pointerId);
		});
		canvas.addEventListener('pointermove', (event) => {
			stage.cursor = this.ns(event.offsetX);
			if (from !== null && Math.abs(this.x(from) - event.offsetX) > 3) stage.picked = [Math.min(from, stage.cursor), Math.max(from, stage.cursor)];
			stage.draw();
			hint(event, clockText(stage.time(stage.cursor)) + '\n' + this.says(stage.cursor));
		});
		canvas.addEventListener('pointerup', (event) => {
			const until = this.ns(event.offsetX), moved = from !== null && Math.abs(this.x(from) - event.offsetX) > 3;
			if (from !== null) moved ? stage.pick(from, until) : this.press(until);
			from = null;
		});
		canvas.addEventListener('pointerleave', (event) => { stage.cursor = null; stage.draw(); hint(event, ''); });
		canvas.addEventListener('dblclick', () => { if (stage.picked) stage.zoom(); });
		canvas.addEventListener('keydown', (event) => this.key(event));
		canvas.addEventListener('blur', (event) => hint(event, ''));
	}
	press(ns) {
		const [from, until] = this.part(ns);
		this.stage.pick(from, until);
	}
	key(event) {
		const stage = this.stage, size = stage.length / 100;
		if (event.key === 'ArrowLeft' || event.key === 'ArrowRight') {
			const before = stage.cursor ?? stage.length / 2, after = Math.min(Math.max(before + (event.key === 'ArrowLeft' ? -size : size), 0), stage.length);
			const kept = stage.picked || [before, before];
			stage.cursor = after;
			if (event.shiftKey) stage.pick(Math.abs(kept[0] - before) <= Math.abs(kept[1] - before) && stage.picked ? kept[1] : kept[0], after);
			const at = this.canvas.getBoundingClientRect();
			hint({ clientX: at.left + this.x(after), clientY: at.top + this.height / 2 }, clockText(stage.time(after)) + '\n' + this.says(after));
			stage.draw();
		} else if (event.key === 'Enter' && stage.picked) {
			stage.zoom();
		} else if (event.key === 'Escape') {
			stage.pick(0, 0);
		} else {
			return;
		}
		event.preventDefault();
	}
}
/* Lines: [{ name, points: [[from, until, value or null]] }]; text(value) with its unit. */
class Chart extends Canvas {
	constructor(into, stage, title, lines, text, most, about) {
		super(into, stage, HIGH, title);
		this.lines = lines;
		this.text = text;
		const values = lines.flatMap((line) => line.points.map((point) => point[2])).filter((value) => value !== null);
		this.most = most || Math.max(...values, 0) * 1.05 || 1;
		this.unknown = about || [];
	}
	part(ns) { return (this.lines[0].points.find((point) => point[0] <= ns && ns < point[1]) || [0, 0]).slice(0, 2); }
	says(ns) {
		const told = this.lines.map((line) => {
			const point = line.points.find((one) => one[0] <= ns && ns < one[1]);
			return line.name + ': ' + (!point ? 'no window' : point[2] === null ? 'unknown' : this.text(point[2]));
		});
		const part = this.unknown.find((one) => one[0] <= ns && ns < one[1]);
		return told.slice(0, 12).join('\n') + (part && part[2] > 0 ? '\nunknown: ' + percent(part[2]) + ' of the time' : '');
	}
	paint(pen, width) {
		const bottom = this.height - BOTTOM, y = (value) => bottom - value / this.most * (bottom - 8);
		drawTimes(pen, this.stage, width, this.height);
		for (let tick = 0, size = stepOf(this.most, 4); tick <= this.most * 1.001; tick += size) {
			const text = this.text(tick);
			pen.fillStyle = ink('--line');
			pen.fillRect(LEFT, y(tick), width - LEFT, 1);
			pen.fillStyle = ink('--soft');
			pen.fillText(text, Math.max(2, LEFT - 6 - pen.measureText(text).width), Math.min(Math.max(y(tick), 7), bottom - 4));
		}
		pen.fillStyle = ink('--unknown');
		pen.globalAlpha = 0.5;
		for (const [from, until, share] of this.unknown) {
			if (share > 0) pen.fillRect(this.x(from), 8, Math.max(1, this.x(until) - this.x(from)), share * (bottom - 8));
		}
		pen.globalAlpha = 1;
		this.lines.forEach((line, i) => this.paintLine(pen, line, ink(inks[i % inks.length]), y, this.lines.length === 1 && bottom));
	}
	paintLine(pen, line, colour, y, bottom) {
		let last = null;
		pen.strokeStyle = pen.fillStyle = colour;
		pen.lineWidth = 1.5;
		pen.beginPath();
		for (const [from, until, value] of line.points) {
			if (value !== null) {
				if (last === from) pen.lineTo(this.x(from), y(value));
				else pen.moveTo(this.x(from), y(value));
				pen.lineTo(Math.max(this.x(until), this.x(from) + 1), y(value));
			}
			last = value === null ? null : until;
		}
		pen.stroke();
		pen.globalAlpha = 0.12;
		for (const [from, until, value] of bottom ? line.points : []) {
			if (value !== null) pen.fillRect(this.x(from), y(value), this.x(until) - this.x(from), bottom - y(value));
		}
		pen.globalAlpha = 1;
	}
}
const markInks = { phase: '--line', capture: '--three', trigger: '--two', loss: '--hot' };
/* Phases as parts, all others as marks over them: [{ from, until, kind, says }]. */
class Marks extends Canvas {
	constructor(into, stage, marks) {
		super(into, stage, STRIP, 'phases, captures, triggers and losses over time');
		this.marks = marks;
	}
	of(ns) {
		const near = this.stage.length / Math.max(1, this.canvas.clientWidth) * 4;
		return this.marks.filter((mark) => mark.from - near <= ns && ns <= Math.max(mark.until, mark.from + near)).sort((a, b) => (a.kind === 'phase') - (b.kind === 'phase'));
	}
	part(ns) { const mark = this.of(ns).find((one) => one.until > one.from); return mark ? [mark.from, mark.until] : [0, 0]; }
	says(ns) { return this.of(ns).slice(0, 6).map((mark) => mark.says).join('\n') || 'nothing is marked here'; }
	paint(pen, width) {
		pen.fillStyle = ink('--soft');
		pen.fillText('phases', 4, this.height / 2);
		this.marks.filter((mark) => mark.kind === 'phase').forEach((mark, i) => {
			const x = this.x(Math.max(mark.from, 0)), wide = this.x(Math.min(mark.until, this.stage.length)) - x;
			pen.fillStyle = ink(inks[i % inks.length]);
			pen.globalAlpha = 0.25;
			pen.fillRect(x, 0, Math.max(1, wide - 1), this.height);
			pen.globalAlpha = 1;
			pen.fillStyle = ink('--fore');
			if (wide > 24) pen.fillText(mark.number, x + 5, this.height / 2);
		});
		for (const mark of this.marks.filter((one) => one.kind !== 'phase')) {
			pen.fillStyle = ink(markInks[mark.kind] || '--fore');
			const is_loss = mark.kind === 'loss', from = this.x(Math.max(mark.from, 0));
			pen.fillRect(from - 1, is_loss ? this.height - 7 : 0, Math.max(3, this.x(Math.min(mark.until, this.stage.length)) - from), is_loss ? 7 : this.height / 2);
		}
	}
}

/* ---- text, and what is drawn ---- */

const sets = JSON.parse(document.getElementById('data').textContent);
const causes = ['', '', 'a timer', 'a disk', 'the network', 'another CPU', 'an interrupt', 'an untraced interrupt'];
const run = ['user', 'syscall', 'irq', 'softirq'];

/* What is shown: a report, its data, and its length. */
let data, report, end;
let clock = 'start'; /* how times are written: since the start, utc, local */

/* Of tables that are mostly empty, as in text: nothing is '-', too. */
function spent(ns) { return ns ? duration(ns) : '-'; }
function two(number) { return String(number).padStart(2, '0'); }
function relative(ns, digits) { return (ns < 0 ? '-' : '+') + (Math.abs(ns) / 1e9).toFixed(digits) + ' s'; }
/* Minutes from UTC to the shown zone at a date. */
function zone(date) { return clock === 'local' ? -date.getTimezoneOffset() : 0; }
function zoneText(date) {
	const minutes = zone(date), far = Math.abs(minutes);
	return clock !== 'local' ? 'Z' : (minutes < 0 ? '-' : '+') + two(Math.floor(far / 60)) + ':' + two(far % 60);
}
/* Seconds since the epoch, and the nine digits behind them.  Times are ns since the start of the
 * report: a number here cannot hold ns since the epoch. */
function sinceEpoch(ns) {
	const all = data.begin_rest_ns + ns, seconds = Math.floor(all / 1e9);
	return [data.begin_s + seconds, String(Math.floor(all - seconds * 1e9)).padStart(9, '0')];
}
/* Date, time of day and zone, apart. */
function absolute(ns, digits) {
	const [seconds, rest] = sinceEpoch(ns), date = new Date(seconds * 1000);
	const [day, second] = new Date(date.getTime() + zone(date) * 60000).toISOString().slice(0, 19).split('T');
	return [day, second + (digits ? '.' + rest.slice(0, digits) : ''), zoneText(date)];
}
/* On an axis, which has little room. */
function time(ns, digits) { return clock === 'start' ? relative(ns, digits) : absolute(ns, digits)[1]; }
function iso(ns) {
	const [day, second, at] = absolute(ns, 9);
	return day + 'T' + second + at;
}
function since(ns) { return clock === 'start' ? relative(ns, 6) : iso(ns); }
/* Of a range: both. */
function both(begin, until) {
	return [relative(begin, 9) + ' to ' + relative(until, 9) + ', ' + spent(until - begin), iso(begin) + ' to ' + iso(until)];
}
/* Threads have numbers here. */
function who(n) {
	const thread = data.names[n];
	return thread ? (thread.comm || '?') + ' (' + thread.tid + ')' : '';
}
/* ---- canvases ---- */

const tip = document.getElementById('tip');
let drawings = [];
function hint(event, text) {
	if (!text && tip.style.display === 'none') return;
	tip.style.display = text ? 'block' : 'none';
	tip.textContent = text || '';
	tip.style.left = Math.max(0, Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8)) + 'px';
	tip.style.top = Math.min(event.clientY + 14, innerHeight - tip.offsetHeight - 4) + 'px';
}
/* A canvas that is redrawn when its width changes: draw(context, width, height), text(x, y, width),
 * press(x, y, width). */
function drawing(into, height, draw, text, press) {
	const canvas = element('canvas', '', into);
	function again() {
		const [context, width] = fit(canvas, height);
		draw(context, width, height);
	}
	drawings.push(again);
	canvas.addEventListener('mousemove', (event) => hint(event, text(event.offsetX, event.offsetY, canvas.clientWidth)));
	canvas.addEventListener('mouseleave', (event) => hint(event));
	if (press) canvas.addEventListener('click', (event) => press(event.offsetX, event.offsetY, canvas.clientWidth));
	again();
	return { canvas, again };
}
function drawAgain() { drawings.forEach((again) => again()); }
addEventListener('resize', drawAgain);
for (const media of ['print', '(prefers-color-scheme: dark)']) matchMedia(media).addEventListener('change', drawAgain);
function fore() { return getComputedStyle(document.body).color; }

/* ---- what the server says ---- */

const told = JSON.parse(document.getElementById('data').textContent); /* { version, analyses: [[name, what it is]] } */

/* Times are ns since the epoch, which a number cannot hold: integers of 16 digits and more are BigInt.
 * They are marked within the text of JSON, but never within its strings.  Durations are numbers. */
function parse(text) {
	const marked = text.replace(/"(?:[^"\\]|\\.)*"|-?\d{16,}(?![\d.eE])/g, (found) => found[0] === '"' ? found : '{"$ns":"' + found + '"}');
	const isMarked = (value) => value && typeof value === 'object' && /^-?\d{16,20}$/.test(value.$ns) && Object.keys(value).length === 1;
	return JSON.parse(marked, (name, value) => !isMarked(value) ? value : /(^|_)ns$/.test(name) ? Number(value.$ns) : BigInt(value.$ns));
}
class Refused extends Error {
	constructor(message, status) {
		super(message);
		this.status = status;
	}
}
function query(params) {
	const words = new URLSearchParams();
	for (const [name, value] of Object.entries(params)) {
		if (value !== undefined && value !== null && value !== '') words.set(name, value);
	}
	return words.toString();
}
function pause(ms, signal) {
	return new Promise((done, fail) => {
		const timer = setTimeout(done, ms);
		signal.addEventListener('abort', () => { clearTimeout(timer); fail(signal.reason); }, { once: true });
	});
}
/* Ends with an error when the view is left.  A server that is busy is asked again. */
async function ask(name, params, signal) {
	const words = query(params), place = 'api/v1/' + name + (words ? '?' + words : '');
	for (let tries = 0; ; tries++) {
		const reply = await fetch(place, { signal }), text = await reply.text();
		if (reply.status === 503 && tries < 10) {
			await pause(1000, signal);
			continue;
		}
		let value = null;
		try { value = parse(text); } catch (error) { throw new Refused(text.slice(0, 300) || 'the server sent nothing', reply.status); }
		if (!reply.ok) throw new Refused(value.error ? value.error.message : 'status ' + reply.status, reply.status);
		return value;
	}
}
/* All pages, but no more than so many. */
async function askAll(name, params, signal, pages) {
	const whole = await ask(name, { ...params, limit: 1000 }, signal);
	let next = whole.page.next;
	for (let i = 1; i < pages && next !== null; i++) {
		const more = await ask(name, { ...params, limit: 1000, offset: next }, signal);
		whole.rows.push(...more.rows);
		next = more.page.next;
	}
	whole.page.next = next;
	return whole;
}
let sources = null;
async function sourceList(signal) {
	if (!sources) sources = (await ask('sources', {}, signal)).rows;
	return sources;
}
function can(source, what) { return source.answers.includes(what); }

/* ---- times ---- */

function big(value) { return value === null || value === undefined ? null : BigInt(value); }
/* Of the address: ns since the epoch, or null where it has another form (-10s). */
function exact(text) { return /^\d{16,20}$/.test(text || '') ? BigInt(text) : null; }
function dayText(ns) { return new Date(Number(ns / 1000000n)).toISOString().slice(0, 10); }
/* UTC */
function clockText(ns, digits = 6) {
	const second = new Date(Number(ns / 1000000000n) * 1000).toISOString().slice(11, 19);
	return second + (digits ? '.' + String(ns % 1000000000n).padStart(9, '0').slice(0, digits) : '');
}
function whenText(ns) { return ns === null || ns === undefined ? '-' : dayText(big(ns)) + ' ' + clockText(big(ns)); }
function lengthOf(begin, end) { return begin === null || end === null || begin === undefined || end === undefined ? null : Number(big(end) - big(begin)); }
function longText(ns) {
	return ns !== null && ns >= 120e9 ? (ns >= 2 * 86400e9 ? (ns / 86400e9).toFixed(1) + ' days' : ns >= 7200e9 ? (ns / 3600e9).toFixed(1) + ' h' : (ns / 60e9).toFixed(1) + ' min') : duration(ns);
}
function rangeText(begin, end) {
	const far = dayText(begin) !== dayText(end);
	return dayText(begin) + ' ' + clockText(begin) + ' – ' + (far ? dayText(end) + ' ' : '') + clockText(end) + ' UTC (' + longText(lengthOf(begin, end)) + ')';
}
/* The least of 1, 2, 5, 10, ... ms, s, min, h that gives no more windows than this. */
function intervalOf(ns, most) {
	const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500].map((ms) => [ms + 'ms', ms * 1e6])
		.concat([1, 2, 5, 10, 30].map((s) => [s + 's', s * 1e9]), [1, 2, 5, 10, 30].map((m) => [m + 'm', m * 60e9]),
			[1, 2, 6, 12, 24, 72, 168].map((h) => [h + 'h', h * 3600e9]));
	return (steps.find(([, size]) => ns / size <= most) || steps[steps.length - 1])[0];
}

/* ---- values as text ---- */

function bytes(value) {
	const [unit, size] = unitOf([['GiB', 2 ** 30], ['MiB', 2 ** 20], ['KiB', 1024]], value, 'B');
	return (size > 1 ? threeDigits(value / size) : Math.round(value)) + ' ' + unit;
}
function numberText(value) {
	return Number.isInteger(value) ? count(value) : Math.abs(value) >= 1000 ? count(Math.round(value)) : String(Number(value.toPrecision(4)));
}
/* Large numbers in little room. */
function compact(value) {
	const [unit, size] = unitOf([[' G', 1e9], [' M', 1e6], [' k', 1e4]], value, '');
	return size === 1 ? numberText(value) : threeDigits(value / (size === 1e4 ? 1e3 : size)) + unit;
}
function isThread(value) { return value !== null && typeof value === 'object' && value.tid !== undefined; }
function threadText(value) { return (value.comm || '?') + ' (' + value.tid + ')'; }
/* By the name of the member, as doc/json.md has them. */
function valueText(path, value) {
	const name = path.split('.').pop();
	if (value === null || value === undefined) return '-';
	if (isThread(value)) return threadText(value);
	if (typeof value === 'bigint') return value > 10n ** 17n && value < 5n * 10n ** 18n ? whenText(value) : String(value);
	if (typeof value === 'boolean') return value ? 'yes' : 'no';
	if (typeof value === 'object') return brief(value);
	if (typeof value !== 'number') return String(value);
	if (/(^|_)ns$/.test(name)) return duration(Math.round(value));
	if (/bytes$/.test(name)) return bytes(value);
	if (/(^|_)prio$/.test(name)) return priority(value);
	if (/share$/.test(name)) return percent(value);
	return /(^|_)(tid|pid|cpu|irq|number|fd)$/.test(name) ? String(value) : numberText(value);
}
function brief(value) {
	if (typeof value === 'bigint') return String(value);
	if (value === null || typeof value !== 'object') return typeof value === 'string' ? value : JSON.stringify(value);
	const parts = Array.isArray(value) ? value.map(brief) : Object.entries(value).map(([key, one]) => key + '=' + brief(one));
	return Array.isArray(value) ? '[' + parts.join(', ') + ']' : parts.join(' ');
}
function titleOf(path) { return path.replace(/^values\./, '').replace(/_ns$/, '').replace(/[._]/g, ' '); }
/* Members within others by their path, as filters and orders name them. */
function flat(row, into = {}, above = '') {
	for (const [key, value] of Object.entries(row)) {
		if (value !== null && typeof value === 'object' && !Array.isArray(value) && !isThread(value)) flat(value, into, above + key + '.');
		else into[above + key] = value;
	}
	return into;
}
function traceName(trace) {
	return !trace ? 'all' : [trace.host, trace.session, trace.domain].filter((one) => one).join('/') || trace.path || 'trace';
}
function shortName(source) { return source.name.replace(/\/+$/, '').split('/').pop() || source.name; }

/* ---- commands ---- */

/* A word as a shell reads it; a path never looks like an option. */
function word(text) {
	if (/^[\w@%+=:,./-]+$/.test(text)) return text;
	if (!/[\x00-\x1f\x7f]/.test(text)) return "'" + text.replace(/'/g, "'\\''") + "'";
	return "$'" + text.replace(/[\\']/g, '\\$&').replace(/[\x00-\x1f\x7f]/g, (c) => '\\x' + c.charCodeAt(0).toString(16).padStart(2, '0')) + "'";
}
/* Behind: what stands behind the name in the same word. */
function sourceWord(source, behind = '') { return word((source.name[0] === '-' ? './' : '') + source.name + behind); }
/* Options: [name, value]; those without a value are left out. */
function command(name, options, ...places) {
	const words = options.filter(([, value]) => value !== undefined && value !== null && value !== '')
		.map(([option, value]) => option.length === 1 ? '-' + option + ' ' + word(String(value)) : '--' + option + (/^-/.test(value) ? '=' : ' ') + word(String(value)));
	return ['sillage', name, ...words, ...places].join(' ');
}

/* ---- states of threads, their colours, and priorities ---- */

const states = ['unknown', 'new', 'user', 'syscall', 'irq', 'softirq', 'wait', 'preempted', 'blocked', 'dead'];
const colours = { unknown: '#8d949e', new: '#7cc6dd', user: '#3f9b68', syscall: '#3876cf', irq: '#d64541', softirq: '#e58a2f',
	wait: '#e9c92b', preempted: '#a650bd', blocked: '#c3c9d2', dead: '', run: '#3f9b68' };
/* What a priority means that is as the tracer gives it (doc/definitions.md, 0.4; base/units.h). */
function priority(value) {
	return value === -101 ? 'deadline' : value < -1 && value > -101 ? 'FIFO/RR ' + (-1 - value) : value >= 0 && value < 40 ? 'nice ' + (value - 20) : '' + value;
}
/* States with their colours. */
function coloured(names, of = colours) { return names.map((name) => [name, of[name]]); }
function sum(row, keys) { return keys.reduce((all, key) => all + (row[key + '_ns'] || 0), 0); }

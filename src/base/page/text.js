/* ---- figures as text ---- */

function count(number) { return number.toLocaleString('en'); }
function plural(number, word) { return number + ' ' + word + (number === 1 ? '' : 's'); }
/* The unit, and its size, that leaves at least three digits before or behind the point. */
function unitOf(units, value, smallest) {
	return units.find(([, size]) => Math.abs(value) >= size * 0.9995) || [smallest, 1];
}
/* 999.9 is 1.00 of the next unit. */
function threeDigits(value) { return Math.abs(value) >= 999.5 ? Math.round(value) : value.toPrecision(3); }
/* '-': it is not known. */
function duration(ns) {
	const [unit, size] = unitOf([['s', 1e9], ['ms', 1e6], ['us', 1e3]], ns, 'ns');
	return ns === null || ns === undefined ? '-' : (size === 1 ? ns : threeDigits(ns / size)) + ' ' + unit;
}
function percent(share, decimals = 1) { return (100 * share).toFixed(decimals) + ' %'; }

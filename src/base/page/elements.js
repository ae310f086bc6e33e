/* ---- elements of pages ---- */

/* Names come from traces: they are set as text, never as markup. */
function element(name, text, parent) {
	const made = document.createElement(name);
	made.textContent = text === undefined ? '' : text;
	if (parent) parent.append(made);
	return made;
}
function section(title, says) {
	const body = document.getElementById('body');
	element('h2', title, body);
	if (says) element('p', says, body);
	return element('div', '', body);
}
function button(text, parent, press, hint) {
	const made = element('button', text, parent);
	made.type = 'button';
	made.title = hint || '';
	made.addEventListener('click', press);
	return made;
}
/* What colours mean: [name, colour] of each. */
function key(entries, into) {
	const made = element('p', '', into);
	made.className = 'key';
	for (const [name, colour] of entries) {
		const one = element('span', '', made);
		element('i', '', one).style.background = colour;
		one.append(name);
	}
}
/* Makes a canvas as wide as its place, in pixels of the screen, and clears it.  Returns what to draw
 * with, and the width. */
function fit(canvas, height) {
	const context = canvas.getContext('2d'), width = Math.max(1, canvas.clientWidth), scale = devicePixelRatio || 1;
	canvas.style.height = height + 'px';
	canvas.width = width * scale;
	canvas.height = height * scale;
	context.setTransform(scale, 0, 0, scale, 0, 0);
	context.clearRect(0, 0, width, height);
	context.font = '11px system-ui, sans-serif';
	context.textBaseline = 'middle';
	return [context, width];
}

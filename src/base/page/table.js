/* ---- tables ---- */

const ROWS_SHOWN = 200;

/* Columns: [title, function from a row to the cell's text, the cell's class ('text', or true: text),
 * function from a row to what it is sorted by].  Go: function from a row to where it is in the
 * timeline, as show() takes it. */
function table(title, says, rows, columns, go) {
	const into = section(title, says);
	into.className = 'wide';
	return tableIn(into, rows, columns, go);
}
/* First: how many rows are shown before more are asked for.  Dress: what is done to the line of a row, each time it is
 * made. */
function tableIn(into, rows, columns, go, first = ROWS_SHOWN, dress = null) {
	const made = element('table', '', into), top = element('tr', '', made);
	let shown = first, more = null, sorted = null, wanted = () => true;
	function fill() {
		const found = rows.filter(wanted);
		while (made.rows.length > 1) made.deleteRow(1);
		made.dataset.rows = found.length;
		let tab = 0; /* the first row that leads somewhere; arrows go to the others */
		for (const row of found.slice(0, shown)) {
			const line = element('tr', '', made), place = go && go(row);
			for (const [, of, text] of columns) element('td', of(row), line).className = text === true ? 'text' : text || '';
			if (dress) dress(line, row);
			if (!place) continue;
			line.className = 'go';
			line.tabIndex = tab;
			tab = -1;
			line.addEventListener('click', () => show(...place));
		}
		if (more) more.remove();
		more = null;
		if (found.length > shown) {
			more = button(count(shown) + ' of ' + count(found.length) + ': more', into, () => { shown += 5 * ROWS_SHOWN; fill(); });
		}
	}
	for (const column of columns) {
		const cell = element('th', '', top), value = column[3];
		cell.className = column[2] ? 'text' : '';
		if (!value) {
			cell.textContent = column[0];
			continue;
		}
		button(column[0], cell, () => {
			const back = sorted === column ? 1 : -1;
			rows = rows.slice().sort((a, b) => (value(a) < value(b) ? -1 : value(a) > value(b) ? 1 : 0) * back);
			sorted = sorted === column ? null : column;
			for (const other of top.cells) other.removeAttribute('aria-sort');
			cell.setAttribute('aria-sort', back < 0 ? 'descending' : 'ascending');
			fill();
		}, 'sort by this');
	}
	fill();
	/* Shows those rows only; returns how many there are. */
	return (which) => {
		wanted = which;
		shown = first;
		fill();
		return Number(made.dataset.rows);
	};
}

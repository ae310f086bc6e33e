/* ---- Ctrl-K: threads, processes, events, analyses, views ---- */

let finding = null; /* the controller of what is asked for */
function hit(into, text, kind, to) {
	const line = element('li', '', into), made = link(text, to, line);
	element('span', kind, made);
	made.addEventListener('click', () => document.getElementById('find').close());
}
function pattern(text) { return text.replace(/[,=<>~*]/g, '?'); }
async function findThreads(into, at, text, signal) {
	const { source, begin, end, host } = at.params, asked = { source, begin, end, host, analyses: at.source.kind === 'store' ? '' : 'cpu', limit: 10 };
	const filter = /^\d+$/.test(text) ? 'tid=' + text : 'comm~*' + pattern(text) + '*';
	const to = (who, table) => can(at.source, 'explain') ? address('explain', { ...same(at), thread: who }) : address('tables', { ...same(at), table, filter });
	const threads = await ask('tables', { ...asked, table: 'cpu.threads', filter, columns: 'tid,comm' }, signal);
	for (const row of threads.rows) hit(into, threadText(row), 'thread', to(row.tid, 'cpu.threads'));
	if (/^\d+$/.test(text)) return;
	const processes = await ask('tables', { ...asked, table: 'cpu.processes', filter, columns: 'pid,comm' }, signal);
	for (const row of processes.rows) hit(into, row.comm + (row.pid === null ? '' : ' (' + row.pid + ')'), 'process', to(row.comm, 'cpu.processes'));
	if (threads.page.total > threads.rows.length) hit(into, 'all ' + count(threads.page.total) + ' threads', 'table', address('tables', { ...same(at), table: 'cpu.threads', filter }));
}
async function findAll(into, at, text) {
	if (finding) finding.abort();
	const mine = finding = new AbortController(), wanted = text.toLowerCase();
	into.textContent = '';
	into.dataset.state = 'busy';
	for (const [view, name] of viewsOf(at)) if (name.toLowerCase().includes(wanted)) hit(into, name, 'view', viewAddress(at, view));
	if (at.source && text) {
		for (const [name, says] of told.analyses) if ((name + ' ' + says).toLowerCase().includes(wanted)) hit(into, name + ': ' + says, 'analysis', address('tables', { ...same(at), table: name }));
		if (can(at.source, 'events')) hit(into, 'events named *' + text + '*', 'events', address('events', { ...same(at), host: '', event: '*' + pattern(text) + '*' }));
	}
	for (const row of sources || []) if (text && row.name.toLowerCase().includes(wanted)) hit(into, shortName(row), row.kind, sourceAddress(row));
	try {
		if (at.source && text) {
			await pause(150, mine.signal); /* more letters may come */
			await findThreads(into, at, text, mine.signal);
		}
	} catch (error) {
		if (mine.signal.aborted) return;
		element('li', error.message, into).className = 'failed';
	}
	if (!into.children.length) element('li', 'Nothing has "' + text + '"; try a part of the name.', into);
	into.dataset.state = 'ready';
}
function openFind() {
	const dialog = document.getElementById('find');
	if (dialog.open) return;
	dialog.textContent = '';
	const input = element('input', '', dialog), hits = element('ul', '', dialog);
	input.type = 'search';
	input.placeholder = now && now.source ? 'a thread, process, event, analysis or view' : 'a source';
	input.setAttribute('aria-label', input.placeholder);
	input.addEventListener('input', () => findAll(hits, now, input.value.trim()));
	dialog.onkeydown = (event) => {
		const links = [...hits.querySelectorAll('a')], i = links.indexOf(document.activeElement);
		if (event.key === 'ArrowDown') (links[i + 1] || links[0] || input).focus();
		else if (event.key === 'ArrowUp') (i > 0 ? links[i - 1] : input).focus();
		else if (event.key === 'Enter' && i < 0 && links[0]) links[0].click();
		else return;
		event.preventDefault();
	};
	dialog.onclose = () => { if (finding) finding.abort(); };
	dialog.showModal();
	input.focus();
	findAll(hits, now, '');
}

#!/usr/bin/env python3
"""overview_page: the page of an overview, in a real browser, driven by a script of the test.

Goal    The slider shows the partition that JSON has for each p; a phase, clicked or chosen by keys,
        gives the commands whose range is the phase's, in words that the shell reads as they were
        meant; the same for the rectangles of the hierarchies.
Method  Headless Chromium runs the page and a script behind it, which leaves what it saw in the
        document.  Commands run in bash, with a function in place of the program or the program.
Hostile Names of a trace that end a script element, and paths that mean something to a shell.

usage: overview_page.py SILLAGE BURST UST
"""
import html
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from browser import HOSTILE, hostile_copy, program

SCRIPT = '''<script>
'use strict';
const seen = { partitions: [], clicks: [], keys: [], trees: [], scripts: document.scripts.length };
const slider = document.getElementById('p'), told = () => [...document.querySelectorAll('#ask code')].map((one) => one.textContent);
const set = (input, value) => { input.value = value; input.dispatchEvent(new Event('input')); };
const press = (id, name) => document.getElementById(id).dispatchEvent(new KeyboardEvent('keydown', { key: name, bubbles: true, cancelable: true }));
seen.first = Number(slider.value);
for (let i = 0; i <= Number(slider.max); i++) {
	set(slider, i);
	seen.partitions.push({ ends: document.getElementById('chart').dataset.ends, p: document.querySelector('[data-mark]').dataset.mark,
		cuts: document.querySelectorAll('#chart .cut').length, rows: document.querySelectorAll('#phases tbody tr').length });
}
document.getElementById('suggested').click();
seen.suggested = Number(slider.value);
seen.table = [...document.querySelectorAll('#phases tbody tr')].map((row) => [...row.children].map((cell) => cell.textContent));
for (const hit of document.querySelectorAll('#chart .hit')) {
	hit.dispatchEvent(new MouseEvent('click', { bubbles: true }));
	seen.clicks.push(told());
}
document.querySelector('#phases tbody tr').click();
seen.row = told();
for (const name of ['End', 'ArrowLeft', 'Home', 'ArrowRight', 'Enter']) {
	press('chart', name);
	seen.keys.push([told()[0], (document.querySelector('#ask button') || {}).textContent]);
}
press('chart', 'ArrowUp');
seen.up = Number(slider.value);
press('chart', 'ArrowDown');
seen.down = Number(slider.value);
for (let t = 0; document.getElementById('tree' + t); t++) {
	const input = document.getElementById('tree' + t), chart = document.getElementById('tree' + t + '-chart'), tree = { counts: [] };
	tree.chosen = Number(input.value);
	tree.says = input.parentNode.querySelector('output').textContent;
	tree.cells = [...chart.querySelectorAll('.cell')].map((cell) => {
		cell.dispatchEvent(new MouseEvent('click', { bubbles: true }));
		return { title: cell.textContent, commands: told() };
	});
	for (let i = 0; i <= Number(input.max); i++) {
		set(input, i);
		tree.counts.push(chart.querySelectorAll('.cell').length);
	}
	press('tree' + t + '-chart', 'Home');
	tree.key = told();
	seen.trees.push(tree);
}
seen.lengths = [0, 1, 999, 999900, 999.9e6, 1234e9, 1.5e6].map(duration);
seen.rates = [999, 999900, 2e12].map((value) => rate({}, value));
const into = document.createElement('pre');
into.id = 'seen';
into.textContent = JSON.stringify(seen);
document.body.append(into);
</script>
</body>'''


def check(condition, *what):
    if not condition:
        raise SystemExit('not ok overview_page: ' + ' '.join(map(str, what)))


def run(*command, status=0):
    done = subprocess.run(command, capture_output=True)
    check(done.returncode == status, command, done.returncode, done.stderr.decode(errors='replace'))
    return done.stdout.decode()


def browse(browser, page, scratch):
    with open(page, encoding='utf-8') as file:
        text = file.read()
    check(text.count('</body>') == 1 and text.endswith('</html>\n'), 'no page')
    driven = page + '.driven.html'
    with open(driven, 'w', encoding='utf-8') as file:
        file.write(text.replace('</body>', SCRIPT))
    done = subprocess.run([browser, '--headless=new', '--no-sandbox', '--disable-gpu', '--enable-logging=stderr',
                           '--user-data-dir=' + os.path.join(scratch, 'profile'), '--virtual-time-budget=20000',
                           '--dump-dom', 'file://' + driven], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    said = [line for line in done.stderr.decode(errors='replace').splitlines() if 'CONSOLE' in line]
    check(not said, said)
    document = done.stdout.decode()
    check('data-state="ready"' in document, 'it did not come to its end')
    found = re.search(r'<pre id="seen">(.*?)</pre>', document, re.S)
    check(found, 'the script of the test did not')
    return text, document, json.loads(html.unescape(found.group(1)))


def words_of(command):
    """As bash reads them."""
    out = subprocess.run(['bash', '-c', 'sillage() { printf "%s\\0" "$@"; }\n' + command], stdout=subprocess.PIPE, check=True)
    return out.stdout.decode(errors='surrogateescape').split('\0')[:-1]


def time_of(word):
    check(word.startswith('@'), word)
    seconds, _, part = word[1:].partition('.')
    return int(seconds) * 10 ** 9 + int(part.ljust(9, '0'))


def range_of(command, path):
    """Checks a command, and returns what it looks at."""
    words = words_of(command)
    check(words[0] in ('report', 'analyze') and words[-1] == path, words, path)
    return words[0], time_of(words[words.index('--begin') + 1]), time_of(words[words.index('--end') + 1]), words


def check_partitions(sillage, trace, overview, seen):
    listed, slices = overview['partitions'], overview['slices'] + [overview['end']]
    check(len(seen['partitions']) == len(listed), 'positions of the slider', len(seen['partitions']))
    check(listed[seen['suggested']]['suggested'] and seen['first'] == seen['suggested'], 'suggested', seen['first'])
    sample = sorted({0, seen['suggested'], len(listed) // 2, len(listed) * 3 // 4, len(listed) - 1})
    for at, (shown, partition) in enumerate(zip(seen['partitions'], listed)):
        ends = [int(end) for end in shown['ends'].split()]
        check(float(shown['p']) == partition['p'], 'another p', shown)
        check(set(ends) <= set(partition['ends']) and ends[-1] == partition['ends'][-1], 'other parts', at)
        check(shown['rows'] == len(ends) and shown['cuts'] == len(ends) - 1, 'rows and cuts', shown)
        until = listed[at + 1]['p'] if at + 1 < len(listed) else 1
        if at in sample and (not partition['suggested'] or until > partition['p']):  # else it is the best for no p
            # Between two of the listed: at its own p rounding decides.
            one = json.loads(run(sillage, 'overview', '-q', '-f', 'json', '-p', str((partition['p'] + until) / 2), trace))
            check([phase['end'] for phase in one['phases']] == [slices[end + 1] for end in ends], 'phases at', partition['p'])


def check_commands(sillage, trace, overview, seen):
    has_cpus = any(series['unit'] == 'share' for series in overview['series'])
    phases = [(phase['begin'], phase['end']) for phase in overview['phases']]
    check(len(seen['clicks']) == len(phases), 'phases to click', len(seen['clicks']))
    for commands, (begin, end) in zip(seen['clicks'], phases):
        found = [range_of(command, trace) for command in commands]
        check([one[0] for one in found] == (['report', 'analyze'] if has_cpus else ['analyze']), commands)
        check(all(one[1:3] == (begin, end) for one in found), 'another range', commands, begin, end)
    check(seen['row'] == seen['clicks'][0], 'a row says something else')
    first = [commands[0] for commands in seen['clicks']]
    wanted = [first[-1], first[max(len(first) - 2, 0)], first[0], first[min(1, len(first) - 1)]]
    check([one[0] for one in seen['keys'][:4]] == wanted and seen['keys'][4] == [wanted[3], 'copied'], 'keys', seen['keys'])
    check(seen['up'] == min(seen['suggested'] + 1, len(overview['partitions']) - 1) and seen['down'] == max(seen['up'] - 1, 0), 'up and down')
    longest = max(range(len(phases)), key=lambda i: phases[i][1] - phases[i][0])
    for command in seen['clicks'][longest]:
        words = range_of(command, trace)[3]
        out = run(sillage, words[0], '-q', '-f', 'json', *words[1:])
        of = [line for line in map(json.loads, out.splitlines()) if line['type'] in ('report', 'total')]
        check(len(of) == 1 and phases[longest][0] <= of[0]['begin'] < of[0]['end'] <= phases[longest][1], words, of)


def check_table(overview, seen):
    """What is told of each phase: shares of time, what ran most, what changed."""
    for row, phase in zip(seen['table'], overview['phases']):
        most = [one['name'] for one in phase['processes'][:4]]
        told = row[5 if len(row) == 7 else 6] if any(s['unit'] == 'share' for s in overview['series']) else ''
        check(all(name in told for name in (most if told else [])), row, most)
        if 'change' in phase:
            check(row[-1].startswith(phase['change']['series']), row, phase['change'])


def check_trees(sillage, trace, seen):
    for by, tree in zip(('cpu', 'process'), seen['trees']):
        overview = json.loads(run(sillage, 'overview', '-q', '-f', 'json', '--hierarchy', by, trace))
        hierarchy = overview['hierarchies'][0]
        wanted = sorted((a['begin'], a['end'], hierarchy['nodes'][a['node']]['name']) for a in hierarchy['aggregates'])
        found = []
        for cell in tree['cells']:
            begin, end = {range_of(command, trace)[1:3] for command in cell['commands']}.pop()
            found.append((begin, end, cell['title'].split('\n')[0]))
            analyze = range_of(cell['commands'][1], trace)[3]
            name = found[-1][2]
            if by == 'cpu' and name.startswith('CPU '):
                check(analyze[analyze.index('--cpu') + 1] == name[4:], analyze, name)
            elif by == 'process' and re.search(r' \(\d+\)$', name):
                check('(%s)' % analyze[[i for i, w in enumerate(analyze) if w in ('--pid', '--tid')][0] + 1] in name, analyze, name)
        check(sorted(found) == wanted, by, 'other rectangles', len(found), len(wanted))
        check(tree['counts'][tree['chosen']] == len(wanted) and tree['counts'][-1] == min(tree['counts']), by, tree['counts'])
        check('suggested' in tree['says'] and len(tree['key']) == 2, by, tree['says'])
        run(sillage, *(lambda words: (words[0], '-q', *words[1:]))(range_of(tree['cells'][-1]['commands'][1], trace)[3]))


def check_page(sillage, browser, trace, scratch):
    page = os.path.join(scratch, 'page.html')
    run(sillage, 'overview', '-q', '-f', 'html', '-o', page, trace)
    overview = json.loads(run(sillage, 'overview', '-q', '-f', 'json', trace))
    text, document, seen = browse(browser, page, scratch)
    check('http' not in re.sub(r'http://www\.w3\.org/2000/svg|http-equiv', '', text), 'it wants the network')
    check_partitions(sillage, trace, overview, seen)
    check(seen['lengths'] == ['0 ns', '1 ns', '999 ns', '1.00 ms', '1.00 s', '1234 s', '1.50 ms'], seen['lengths'])
    check(seen['rates'] == ['999/s', '1.00 M/s', '2000 G/s'], seen['rates'])
    check_commands(sillage, trace, overview, seen)
    check_table(overview, seen)
    has_cpus = any(series['unit'] == 'share' for series in overview['series'])
    check(len(seen['trees']) == (2 if has_cpus else 0), 'hierarchies', len(seen['trees']))
    check_trees(sillage, trace, seen)
    check(seen['scripts'] == 3, 'a name has become a script')
    return text, seen


def check_hostile(sillage, browser, burst, scratch):
    copy = hostile_copy(burst, os.path.join(scratch, 'it\'s $(touch pwned) `x` "\\\n\u00fc; & </script>'))
    text, seen = check_page(sillage, browser, copy, scratch)
    check(text.count('</script>') == 2, 'a name ends the script')
    name = HOSTILE.decode()
    check(any(name in cell for row in seen['table'] for cell in row), 'the name is not shown')
    check(any(name in cell['title'] for cell in seen['trees'][1]['cells']), 'nor in a rectangle')
    # A relative path that looks like an option.
    os.rename(copy, os.path.join(scratch, '-q'))
    out = subprocess.run([os.path.abspath(sillage), 'overview', '-f', 'html', '--', '-q'], cwd=scratch, capture_output=True)
    check(out.returncode == 0 and b'"source":"./-q"' in out.stdout, out.stderr)
    print('ok hostile')


def check_bounds(sillage, browser, burst, scratch):
    for options in (('--slices', '1000', '-a', 'all', '-n', '0'), ('-p', '1', '--slices', '2', '-a', 'io,syscalls')):
        page = os.path.join(scratch, 'bounds.html')
        run(sillage, 'overview', '-q', '-f', 'html', '-o', page, *options, burst)
        check(os.path.getsize(page) < 10 << 20, options, os.path.getsize(page))
        seen = browse(browser, page, scratch)[2]
        check('-p' not in options or seen['first'] == len(seen['partitions']) - 1, 'p = 1 is not shown first')
    said = subprocess.run([sillage, 'overview', '-f', 'html', burst, burst], capture_output=True, text=True)
    check(said.returncode == 2 and 'one trace' in said.stderr and len(said.stderr.splitlines()) == 1, said.stderr)
    print('ok bounds')


def main():
    browser = program()
    if not browser:
        print('skipped: chromium is not installed')
        return 77
    sillage, burst, ust = sys.argv[1:]
    scratch = tempfile.mkdtemp(prefix='sillage-overview-')
    try:
        for trace in (burst, ust):
            _, seen = check_page(sillage, browser, trace, scratch)
            print('ok %s: %d partitions, %d phases' % (trace, len(seen['partitions']), len(seen['clicks'])))
        check_hostile(sillage, browser, burst, scratch)
        check_bounds(sillage, browser, burst, scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return 0


if __name__ == '__main__':
    sys.exit(main())

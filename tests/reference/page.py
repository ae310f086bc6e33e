#!/usr/bin/env python3
"""page: the report as a page, in a real browser.

Goal    It loads without a word on the console, and shows what the same report says in JSON.  A click
        on an execution, a wait, a rival or an inversion, and each key, go where the JSON says.  A wheel
        scrolls the page.  In print there are no controls.
Method  Headless Chromium is driven over a pipe (browser.py).

With --tile, the trace is repeated first: the page is no longer than 10 MB, short intervals are added
up, and the time of each row and state is still that of the JSON.

With --resources, the rows and tables of timers, futexes and message queues are compared.

usage: page.py SILLAGE TRACE...
       page.py --resources SILLAGE TRACE...
       page.py --tile TILE TIMES SILLAGE TRACE
"""
import datetime
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

import browser
import page_figures

WIDE, NARROW = (1280, 800), (480, 900)
ARGS = ('--job', 'sched_in; sched_out', '--deadline', '1ms', '--worst', '2')
EXACT_NS = 1


def name(thread):
    return '%s (%d)' % (thread['comm'] or '?', thread['tid'])


def near(found, wanted, what):
    assert all(abs(a - b) <= EXACT_NS for a, b in zip(found, wanted)), (what, found, wanted)


def table(page, title):
    """Of the table under a heading: how many rows it says it has, and how many it has."""
    found = page.evaluate('''(() => {
        const heading = [...document.querySelectorAll('h2')].find((one) => one.textContent.match(%s));
        let at = heading;
        while (at && !(at.matches('.wide') && at.firstChild.matches('table'))) at = at.nextElementSibling;
        return at ? [Number(at.firstChild.dataset.rows), at.firstChild.rows.length - 1] : null;
    })()''' % json.dumps(title))
    assert found, 'no table "%s"' % title
    return found


def check_tables(page, report):
    for title, key in (('^Who ran$', 'threads'), ('^Who waited longest for a CPU$', 'waits'), ('^Who had its CPU$', 'rivals')):
        wanted = len(report[key])
        assert table(page, title) == [wanted, wanted], (title, table(page, title), wanted)
    heading = '^Where the time of .* went$'
    assert table(page, heading)[0] == len(report['path']['parts'])
    assert page.evaluate("[...document.querySelectorAll('h2')].some((one) => one.textContent === %s)" %
                         json.dumps('Where the time of %s went' % name(report['path']['thread'])))
    lanes = int(page.evaluate("document.getElementById('timeline').dataset.lanes"))
    assert lanes > len(report['cpus']) + 2, lanes
    bars = int(page.evaluate("document.getElementById('compared').dataset.bars"))
    assert bars == min(report['jobs']['count'], 5000) + min(report['jobs']['open_count'], 5000), bars
    for i, one in enumerate(report['jobs']['worst']):
        assert table(page, '^Worst execution %d: ' % (i + 1))[0] == len(one['path']['parts'])
    if report['victims']:
        assert table(page, '^Who was delayed by less urgent threads$')[0] == len(report['victims'])
        prio = report['victims'][0]['prio']
        text = page.evaluate(row_of('^Who was delayed', 0) + '.textContent')
        assert 'FIFO/RR %d' % (-1 - prio) in text, text
    return lanes


def picked(page):
    """Begin, end and row of what is picked, and what the page says of it."""
    text = page.evaluate("document.getElementById('timeline').dataset.picked")
    return [float(one) for one in text.split()], page.evaluate("document.getElementById('details').textContent")


def view(page):
    return page.evaluate("[Number(document.getElementById('timeline').dataset.begin), Number(document.getElementById('timeline').dataset.end)]")


def row_of(title, i):
    return ("((title) => { let at = [...document.querySelectorAll('h2')].find((one) => one.textContent.match(title)); "
            "while (!at.matches('.wide')) at = at.nextElementSibling; return at.firstChild.rows[%d]; })(%s)" % (i + 1, json.dumps(title)))


def check_went(page, report, begin, end, says):
    found, text = picked(page)
    near(found[:2], (begin - report['begin'], end - report['begin']), says)
    left, right = view(page)
    assert left <= max(0, found[0]) + EXACT_NS and right >= min(found[1], report['end'] - report['begin']) - EXACT_NS, (left, right, found)
    assert right - left < 4 * max(found[1] - found[0], 1000), (left, right, found)
    for word in says:
        assert word in text, (word, text)


def check_clicks(page, report):
    wait = report['waits'][0]
    page.click_on(row_of('^Who waited longest', 0))
    check_went(page, report, wait['begin'], wait['end'], [name(wait['thread'])] + ([name(wait['rival'])] if 'rival' in wait else []))
    for one in report['rivals'][:1]:
        page.click_on(row_of('^Who had its CPU$', 0))
        check_went(page, report, one['longest_begin'], one['longest_begin'] + one['longest_ns'], [name(one['thread'])])
    for one in report['inversions'][:1]:
        page.click_on(row_of('^Priority inversions$', 0))
        check_went(page, report, one['begin'], one['end'], [name(one['rival']), one['kind']])
    # An execution, by its row, and by its bar: the first by response is the same.
    both = sorted(report['jobs']['longest'] + report['jobs']['open'], key=lambda one: -one['response_ns'])
    one = both[0]
    page.evaluate("[...document.querySelectorAll('th button')].filter((one) => one.textContent === 'response')[0].click()")
    page.click_on(row_of('^Each execution$', 0))
    check_went(page, report, one['arrival'], one['end'], [name(one.get('last', one['thread']))])
    page.press('Escape')
    assert picked(page)[0] == []
    left, top, _, _ = page.place("document.querySelector('#compared canvas')")
    height = page.evaluate("document.querySelector('#compared canvas').clientHeight")
    page.evaluate('scrollBy(0, %f)' % (top - 40))
    left, top = page.evaluate("(() => { const at = document.querySelector('#compared canvas').getBoundingClientRect(); return [at.left, at.top]; })()")
    assert height > 20
    page.click(left + 3, top + 1)
    check_went(page, report, one['arrival'], one['end'], [name(one.get('last', one['thread']))])
    # Sorted by any part.
    for part in ('preempted', 'blocked'):
        most = max(both, key=lambda one: one.get(part + '_ns', 0)).get(part + '_ns', 0)
        page.evaluate("(() => { const it = document.getElementById('order'); it.value = '%s'; it.dispatchEvent(new Event('change')); })()" % part)
        first = int(page.evaluate("document.getElementById('compared').dataset.first"))
        assert any(one['begin'] - report['begin'] == first and one.get(part + '_ns', 0) == most for one in both), (part, first)


def check_pieces(page, report):
    """Clicks on intervals of rows: each is what the page's data says, and says who and why."""
    page.press('Home')
    page.evaluate("document.getElementById('timeline').scrollIntoView()")
    pieces = page.evaluate('''rows.map((row, i) => [row, i]).filter(([row]) => row.kind === 'thread').flatMap(([row, i]) => {
        const found = [];
        for (const state of [WAIT, PREEMPTED, BLOCKED]) {
            const k = row.state.findIndex((one, k) => one === state && !row.isSum[k] && row.until(k) - row.begins[k] > 2000 && row.why(k).length);
            if (k >= 0) found.push([i, k, row.begins[k], row.until(k), row.why(k)]);
        }
        return found;
    }).slice(0, 12)''')
    assert pieces
    for row, _, begin, end, why in pieces:
        page.evaluate('look(%d - %d, %d)' % (begin, (end - begin) // 2, 2 * (end - begin)))
        x, y = page.evaluate('''(() => {
            const at = chart.canvas.getBoundingClientRect();
            scrollBy(0, at.top + %d * LANE - 200);
            return [at.left + xOf(%d, chart.canvas.clientWidth), chart.canvas.getBoundingClientRect().top + %d * LANE + LANE / 2];
        })()''' % (row, (begin + end) // 2, row))
        page.click(x, y)
        found, text = picked(page)
        near(found, (begin, end, row), 'interval')
        for line in why:
            assert line in text, (line, text)
        page.move(x + 1, y)
        assert all(line in page.evaluate("document.getElementById('tip').textContent") for line in why)


def focus(page):
    return page.evaluate("document.activeElement.tagName")


def check_keys(page, report):
    length = report['end'] - report['begin']
    page.press('Escape')
    page.press('/')
    for _ in range(20):
        page.press('Tab')
        if focus(page) == 'CANVAS':
            break
    assert page.evaluate("document.activeElement === chart.canvas && getComputedStyle(chart.canvas).outlineStyle === 'solid'")
    page.press('Home')
    near(view(page), (0, length), 'Home')
    page.press('+')
    near(view(page), (length / 4, length * 3 / 4), '+')
    page.press('ArrowRight')
    near(view(page), (length * 0.35, length * 0.85), 'right')
    page.press('ArrowLeft')
    near(view(page), (length / 4, length * 3 / 4), 'left')
    page.press('-')
    near(view(page), (0, length), '-')
    # Search for the explained thread, go to its row, pick the next interval twice.
    thread = report['path']['thread']
    for text in (thread['comm'][:8], '(%d)' % thread['tid']):
        page.press('/')
        page.type(text)
        page.press('Enter')
        cursor = int(page.evaluate("document.getElementById('timeline').dataset.cursor"))
        assert text in page.evaluate('rows[%d].name' % cursor)
        page.press('Escape')
        assert focus(page) == 'CANVAS' and page.evaluate("document.getElementById('search').value") == ''
    page.press('ArrowDown')
    assert int(page.evaluate("document.getElementById('timeline').dataset.cursor")) == cursor + 1
    page.press('ArrowUp')
    page.press('Enter')
    first, _ = picked(page)
    page.press('Enter')
    second, _ = picked(page)
    assert first[2] == second[2] == cursor and second[0] in (first[1], first[0]), (first, second)
    page.press('Escape')
    assert page.evaluate("document.getElementById('keys').hidden")
    page.press('?')
    texts = page.evaluate("document.getElementById('keys').getBoundingClientRect().height > 50 && document.getElementById('keys').textContent")
    assert all(word in texts for word in ('next and previous execution', 'Enter', '/', 'Esc', 'Ctrl and wheel')), texts
    page.press('?')
    assert page.evaluate("document.getElementById('keys').hidden")


def check_seen(page):
    """What is gone to is not below the details, also of the last row."""
    page.evaluate("show(0, 1000, rows.at(-1).n, 'the last row', Array(40).fill('why'))")
    row, below = page.evaluate("[chart.canvas.getBoundingClientRect().top + cursor * LANE, document.getElementById('details').getBoundingClientRect().top]")
    assert 0 <= row < below, (row, below)


def check_execution_keys(page, report):
    """n and p go from execution to execution, in the order of begin."""
    page.press('Escape')
    page.evaluate('chart.canvas.focus()')
    page.press('Home')
    jobs = sorted(report['jobs']['longest'] + report['jobs']['open'], key=lambda one: one['begin'])
    for key, at in (('n', 0), ('n', 1), ('n', 2), ('p', 1)):
        page.press(key)
        one = jobs[at]
        check_went(page, report, one['arrival'], one['end'],
                   [name(one.get('last', one['thread'])), '%d of %d' % (at + 1, len(jobs)), iso(one['arrival']) + ' to ' + iso(one['end'])])
    check_seen(page)


def check_table_keys(page, report):
    """Arrows choose a row of a table, Enter goes where it leads, Esc comes back."""
    page.evaluate(row_of('^Who waited longest', 0) + '.focus()')
    page.press('ArrowDown')
    page.press('ArrowUp')
    page.press('ArrowUp')
    assert page.evaluate('document.activeElement === ' + row_of('^Who waited longest', 0))
    page.press('ArrowDown')
    page.press('Enter')
    wait = report['waits'][1]
    check_went(page, report, wait['begin'], wait['end'], [name(wait['thread'])])
    assert focus(page) == 'CANVAS'
    page.press('Escape')
    assert page.evaluate('document.activeElement === ' + row_of('^Who waited longest', 1))


LENGTHS = {1: '1 ns', 999: '999 ns', 1000: '1.00 us', 999499: '999 us', 999900: '1.00 ms', 999.9e6: '1.00 s', 1234e9: '1234 s', -999900: '-1.00 ms',
           99.96e3: '100 us', 1.5e6: '1.50 ms'}


def check_lengths(page, function):
    """Three digits, never an exponent."""
    found = page.evaluate('[%s].map((ns) => %s(ns))' % (', '.join(map(str, LENGTHS)), function))
    assert found == list(LENGTHS.values()), found


def check_placeless(page):
    """Tab comes to the first row that leads somewhere, arrows pass those that do not."""
    page.evaluate("table('Placeless', '', [0, 1, 2, 3], [['n', (n) => n]], (n) => n % 2 ? [0, 1000] : null)")
    assert page.evaluate("[0, 1, 2, 3].map((i) => [%s][i].tabIndex)" % ', '.join(row_of('^Placeless$', i) for i in range(4))) == [-1, 0, -1, -1]
    page.evaluate(row_of('^Placeless$', 1) + '.focus()')
    for key, row in (('ArrowDown', 3), ('ArrowDown', 3), ('ArrowUp', 1), ('ArrowUp', 1)):
        page.press(key)
        assert page.evaluate('document.activeElement === ' + row_of('^Placeless$', row)), (key, row)
    page.evaluate('render()')


def check_draws(page):
    """Each change draws the timeline once."""
    for change in ('render()', 'show(0, 1000, rows.at(-1).n, "a row", [])', 'look(0, end)', 'search("a")'):
        count = page.evaluate('''(() => {
            let count = 0;
            const old = drawAxis;
            drawAxis = (...all) => { count++; old(...all); };
            %s;
            drawAxis = old;
            return count;
        })()''' % change)
        assert count == 1, (change, count)


def check_wheel(page, report):
    """A wheel scrolls the page; with Ctrl it zooms, sideways it moves."""
    length = report['end'] - report['begin']
    page.evaluate('look(0, %d); scrollTo(0, 0)' % length)
    left, top = page.evaluate('(() => { const at = chart.canvas.getBoundingClientRect(); return [at.left + 400, at.top + 50]; })()')
    page.wheel(left, top, down=120)
    assert page.evaluate('scrollY') == 120 and view(page) == [0, length], (page.evaluate('scrollY'), view(page))
    at = page.evaluate('timeOf(400, chart.canvas.clientWidth)')
    page.wheel(left, top - 60, down=-120, ctrl=True)
    assert page.evaluate('scrollY') == 120
    near([view(page)[1] - view(page)[0], page.evaluate('timeOf(400, chart.canvas.clientWidth)')], (length * 0.8, at), 'zoom')
    before = view(page)
    page.wheel(left, top - 60, aside=100)
    moved = 100 * length * 0.8 / page.evaluate('chart.canvas.clientWidth - namesWidth(chart.canvas.clientWidth)')
    near(view(page), [min(one + moved, length - (1 - i) * length * 0.8) for i, one in enumerate(before)], 'sideways')


def check_cpu_rows(page, report):
    """A thread on a CPU never has the colour of a state, or one like it; its name stands in its interval."""
    states, threads = page.evaluate('''(() => {
        const pen = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
        const rgb = (colour) => {
            pen.fillStyle = colour;
            pen.fillRect(0, 0, 1, 1);
            return [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3);
        };
        return [Object.values(colours).filter((one) => one).map(rgb), [...Array(300).keys()].map(hue).concat(OTHERS).map(rgb)];
    })()''')
    near_ = min((sum((x - y) ** 2 for x, y in zip(a, b)) ** 0.5, a, b) for a in states for b in threads)
    assert near_[0] > 45, near_
    lane, begin, end, says = page.evaluate('''rows.map((row, lane) => [lane, row]).filter(([, row]) => row.kind === 'cpu').flatMap(([lane, row]) =>
        [...row.begins.keys()].filter((i) => row.state[i] === USER && !row.isSum[i]).map((i) => [lane, row.begins[i], row.until(i), who(row.who[i])]))
        .sort((a, b) => b[2] - b[1] - a[2] + a[1])[0]''')
    page.evaluate('look(%d, %d)' % (begin, end - begin))
    found, _, _ = page_figures.texts(page, 'chart.canvas', 'chart.again()')
    assert [text for text, x, y in found if text == says and x > page_figures.NAMES and lane * 18 < y < lane * 18 + 18], (says, found)
    page.evaluate('look(0, %d)' % (report['end'] - report['begin']))


def check_print(page):
    """In print controls are left out, and what is drawn is dark, also where the screen is dark."""
    page.media('screen', prefers_color_scheme='dark')
    page.evaluate('chart.dark = chart.canvas.toDataURL()')
    assert page.evaluate("getComputedStyle(document.body).color") == 'rgb(230, 233, 237)'
    assert page.evaluate("document.querySelector('.controls').clientHeight") > 0
    page.media('print', prefers_color_scheme='dark')
    assert page.evaluate("chart.canvas.toDataURL() !== chart.dark && chart.canvas.getContext('2d').fillStyle === '#000000'")
    assert page.evaluate("[...document.querySelectorAll('.controls, #keys')].every((it) => it.clientHeight === 0)")
    page.media('')


def iso(ns):
    seconds, rest = divmod(ns, 10**9)
    return time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds)) + '.%09dZ' % rest


def choose_clock(page, value):
    page.evaluate("(() => { const it = document.getElementById('clock'); it.value = '%s'; it.dispatchEvent(new Event('change')); })()" % value)


def check_times(page, report):
    """ISO times with their zone, of UTC and of where the reader is."""
    wait = report['waits'][0]
    cells = '[...' + row_of('^Who waited longest', 0) + '.cells].map((cell) => cell.textContent)'
    assert iso(report['begin']) in page.evaluate("document.getElementById('head').textContent")
    choose_clock(page, 'utc')
    assert iso(wait['begin']) in page.evaluate(cells), page.evaluate(cells)
    page.call('Emulation.setTimezoneOverride', timezoneId='America/St_Johns')
    choose_clock(page, 'local')
    local = [one for one in page.evaluate(cells) if one[-6:-5] == '-']
    begin = datetime.datetime.fromisoformat(local[0][:26] + local[0][29:])
    assert local[0][-5:] in ('03:30', '02:30') and '.%09d' % (wait['begin'] % 10**9) in local[0], local
    assert int(begin.timestamp()) == wait['begin'] // 10**9, (local, wait)
    page.call('Emulation.setTimezoneOverride', timezoneId='')
    choose_clock(page, 'start')


def told(wait):
    """Who and why, as the page says it of a wait."""
    says = ['its CPU had ' + name(wait['rival']) if 'rival' in wait else 'no other thread had its CPU']
    return says + (['woken by ' + name(wait['waker'])] if 'waker' in wait else [])


def check_paths(page, waits):
    """Waits of paths that are whole waits of their threads say the same as those."""
    found = page.evaluate('''rows.filter((row) => row.kind === 'path').flatMap((row) => [...row.state].map((state, i) => [row, state, i]).filter(
        ([row, state, i]) => !row.isSum[i] && [NEW, WAIT, PREEMPTED].includes(state)).map(
        ([row, state, i]) => [data.names[row.who[i]].tid, row.begins[i], row.until(i), states[state], row.why(i)]))''')
    whole = [(one, waits[one[0], one[1], one[3]]) for one in found if (one[0], one[1], one[3]) in waits]
    whole = [(one, wait) for one, wait in whole if wait['end'] - wait['begin'] == one[2] - one[1]]
    assert whole or not found, found[:3]
    for one, wait in whole:
        assert one[4] == told(wait), (one, wait)
    return len(whole)


def check_rows(page, report):
    """All of the drawing: the time of each thread and CPU by state, and each wait that is there by itself."""
    threads = {(one['thread']['tid'], one['begin'] - report['begin']): one for one in report['threads']}
    waits = {(one['thread']['tid'], one['begin'] - report['begin'], one['state']): one for one in report['waits']}
    rows = page.evaluate('''rows.filter((row) => row.kind === 'thread').map((row) => {
        const all = {}, list = [];
        row.state.forEach((_, i) => row.shares(i).forEach(([state, ns]) => { all[states[state]] = (all[states[state]] || 0) + ns; }));
        row.state.forEach((state, i) => {
            if (!row.isSum[i] && [NEW, WAIT, PREEMPTED].includes(state)) list.push([row.begins[i], row.until(i), states[state], ...row.why(i)]);
        });
        return [data.names[row.n].tid, row.begins[0], all, list];
    })''')
    checked = 0
    for tid, begin, parts, list_ in rows:
        one = threads[tid, begin]
        assert parts == {key[:-3]: ns for key, ns in one.items() if key.endswith('_ns') and key not in ('run_ns', 'dead_ns')}, (tid, parts, one)
        for first, until, state, *why in list_:
            wait, says = waits[tid, first, state], told(waits[tid, first, state])
            assert wait['end'] - report['begin'] == until and why == says, (wait, until, why)
            checked += 1
    checked += check_paths(page, waits)
    busy = page.evaluate('''rows.filter((row) => row.kind === 'cpu').map((row) =>
        row.state.reduce((all, _, i) => all + row.shares(i).reduce((sum, [state, ns]) => sum + (state === USER ? ns : 0), 0), 0))''')
    assert busy == [cpu['busy_ns'] for cpu in report['cpus']], busy
    assert checked
    return checked


def check(sillage, trace, page, scratch):
    out = subprocess.run([sillage, 'report', '-f', 'json', '-n', '10', *ARGS, trace], stdout=subprocess.PIPE, check=True)
    report = json.loads(out.stdout.decode())
    path = os.path.join(scratch, 'report.html')
    subprocess.run([sillage, 'report', '-f', 'html', '-n', '10', '-o', path, *ARGS, trace], check=True)
    everything = subprocess.run([sillage, 'report', '-f', 'json', *ARGS, trace], stdout=subprocess.PIPE, check=True)
    everything = json.loads(everything.stdout.decode())
    report['jobs'] = everything['jobs']
    assert os.path.getsize(path) <= 10 << 20
    page.resize(*WIDE)
    page.open(path)
    for worst in report['jobs']['worst']:
        worst['path']['parts'] = worst['path']['parts'][:10]
    lanes = check_tables(page, report)
    check_rows(page, everything)
    figures = page_figures.check_executions(page, report), page_figures.check_axes(page, report), page_figures.check_sleeps(page, everything, trace)
    check_clicks(page, report)
    check_pieces(page, report)
    check_wheel(page, report)
    check_keys(page, report)
    check_execution_keys(page, report)
    check_table_keys(page, report)
    check_placeless(page)
    check_cpu_rows(page, report)
    check_draws(page)
    check_lengths(page, 'duration')
    check_times(page, report)
    check_print(page)
    assert not page.said, page.said
    return lanes, figures


def check_hostile(sillage, trace, page, scratch):
    """Names of threads that look like markup are text; on a narrow screen."""
    copy, path = os.path.join(scratch, 'hostile'), os.path.join(scratch, 'hostile.html')
    names = {b'mtx-high': b'</script', b'mtx-medium': b'<img src=x', b'mtx-low': b'\'"&<b>x'}
    shutil.copytree(trace, copy)
    for file in os.listdir(copy):
        file = os.path.join(copy, file)
        if os.path.isfile(file) and os.path.basename(file) != 'metadata':
            with open(file, 'rb') as stream:
                data = stream.read()
            for old, new in names.items():
                data = data.replace(old, new)
            with open(file, 'wb') as stream:
                stream.write(data)
    subprocess.run([sillage, 'report', '-f', 'html', '-o', path, *ARGS, copy], check=True)
    page.resize(*NARROW)
    page.open(path)
    for hostile in names.values():
        assert page.evaluate("[...document.querySelectorAll('td')].some((one) => one.textContent.startsWith(%s))" %
                             json.dumps(hostile.decode() + ' (')), hostile
    page.click_on(row_of('^Who waited longest', 0))
    page.type('/<')
    page.press('Escape')
    page.press('n')
    assert picked(page)[0] and page.evaluate('document.documentElement.scrollWidth <= innerWidth')
    check_seen(page)
    assert page.evaluate("document.querySelectorAll('img, b:not(#details b)').length") == 0
    assert page.evaluate('document.scripts.length') == 2
    assert not page.said, page.said


def check_nice(sillage, trace, page, scratch):
    """What nice levels do is no inversion, in the column and in the lists."""
    asked = ['--thread', '75', trace]
    report = json.loads(subprocess.run([sillage, 'report', '-f', 'json', *asked], stdout=subprocess.PIPE, check=True).stdout.decode())
    fair = [one for one in report['inversions'] if one.get('fair_class')]
    assert fair and fair == report['inversions'] and any(one['fair_ns'] for one in report['rivals']), report['inversions']
    path = os.path.join(scratch, 'nice.html')
    subprocess.run([sillage, 'report', '-f', 'html', '-o', path, *asked], check=True)
    page.resize(*WIDE)
    page.open(path)
    assert table(page, '^No inversions: nice levels$')[0] == len(fair)
    assert not page.evaluate("[...document.querySelectorAll('h2')].some((one) => one.textContent === 'Priority inversions')")
    for i in range(len(report['rivals'])):
        cell = page.evaluate(row_of('^Who had its CPU$', i) + '.cells[4].textContent')
        assert not re.search('[1-9]', cell), cell
    assert not page.said, page.said


KINDS = ('timers', 'futexes', 'queues')
TITLES = ('Timers', 'Futexes', 'Message queues')


def figures(one):
    """What a table and the JSON have in common."""
    return {key: value for key, value in one.items() if key not in (
        'name', 'address', 'descriptor', 'pid', 'function', 'intervals', 'threads', 'pairs', 'begin_ns', 'ns', 'state', 'outcome', 'who', 'by')}


def pairs_of(one, names):
    return [(names(pair.get('who')), names(pair.get('by')), pair['times'], pair.get('total_ns')) for pair in one['pairs'][:10]]


def cells(of, kind):
    """Counts that a row of a table shows, by column."""
    columns = ({1: of.get('expiries'), 8: of.get('cancelled'), 9: of.get('woken')},
               {1: of.get('calls'), 2: of.get('waits', {}).get('count'), 10: of.get('wake_calls')},
               {1: of.get('sent'), 2: of.get('received'), 4: of.get('empty_waits', {}).get('count')})[kind]
    return {column: '{:,}'.format(value) for column, value in columns.items()}


def check_resource_tables(page, report):
    found = page.evaluate('report.resources')
    threads = page.evaluate('data.names.map((_, n) => who(n))')
    for kind, (key, title) in enumerate(zip(KINDS, TITLES)):
        assert (key in found) == (key in report['resources']), key
        wanted = report['resources'].get(key, [])
        assert [figures(one) for one in found.get(key, [])] == [figures(one) for one in wanted], key
        assert [pairs_of(one, lambda n: None if n is None else threads[n]) for one in found.get(key, [])] == [
            pairs_of(one, lambda thread: thread and name(thread)) for one in wanted], key
        if not wanted:
            continue
        assert table(page, '^%s$' % title) == [len(wanted), min(len(wanted), 200)]
        for i, one in enumerate(wanted[:5]):
            texts = page.evaluate('[...%s.cells].map((cell) => cell.textContent)' % row_of('^%s$' % title, i))
            assert all(texts[column] == text for column, text in cells(one, kind).items()), (key, texts, one)
            assert (one['name'] if 'name' in one else '0x%x' % one['address']) in texts[0], (texts, one)
            if one['intervals']:
                longest = max(one['intervals'], key=lambda it: it['end'] - it['begin'])
                page.click_on(row_of('^%s$' % title, i) + '.cells[0]')
                check_went(page, report, longest['begin'], longest['end'],
                           [longest['state']] + [name(longest[who]) for who in ('who', 'by') if who in longest])
                if i < 8:
                    assert picked(page)[0][2] >= 0, one
    for one in report['resources']['missing']:
        assert one['command'] in page.evaluate("document.getElementById('body').textContent"), one


def check_resource_rows(page, report):
    """The rows hold each interval of the JSON, and a click on one says who and why."""
    rows = page.evaluate('''rows.map((row, i) => [row, i]).filter(([row]) => row.kind === 'resource').map(([row, i]) => [i, row.type, row.index, row.items.map((one) =>
        [one.begin, one.begin + one.ns, data.report.resources.states[one.state], data.report.resources.outcome_names[one.outcome], who(one.who), who(one.by)])])''')
    assert len(rows) == sum(min(8, len(report['resources'].get(key, []))) for key in KINDS)
    for at, kind, index, items in rows:
        wanted = [[one['begin'] - report['begin'], one['end'] - report['begin'], one['state'], one.get('outcome', ''),
                   name(one['who']) if 'who' in one else '', name(one['by']) if 'by' in one else '']
                  for one in report['resources'][KINDS[kind]][index]['intervals']]
        assert items == wanted, (KINDS[kind], index, items[:3], wanted[:3])
        for i in {0, len(items) // 2, len(items) - 1} if items else ():
            begin, end, state, result, who, by = items[i]
            page.evaluate('look(%f, %f)' % (begin - 2000 - (end - begin), 3 * (end - begin) + 4000))
            x, y = page.evaluate('''(() => {
                const at = chart.canvas.getBoundingClientRect(), row = rows[%d];
                scrollBy(0, at.top + %d * LANE - 200);
                return [at.left + xOf(%f, chart.canvas.clientWidth),
                    chart.canvas.getBoundingClientRect().top + %d * LANE + 2 + (row.slot[%d] + 0.5) / row.slots * (LANE - 4)];
            })()''' % (at, at, (begin + end) / 2, at, i))
            page.click(x, y)
            found, text = picked(page)
            same = [one for one in items if one[:2] == [begin, end]]
            near(found, (begin, end, at), ('resource', items[i]))
            assert len(same) > 1 or all(word in text for word in (state, who, by, result.replace('_', ' '))), (text, items[i])
            page.move(x + 1, y)
            assert page.evaluate('rows[%d].name' % at) in page.evaluate("document.getElementById('tip').textContent")
    page.press('Escape')
    return sum(len(items) for _, _, _, items in rows)


def check_resources(sillage, trace, scratch):
    path = os.path.join(scratch, 'resources.html')
    out = subprocess.run([sillage, 'report', '--resources', '-n', '0', '-f', 'json', trace], stdout=subprocess.PIPE, check=True)
    report = json.loads(out.stdout.decode())
    subprocess.run([sillage, 'report', '--resources', '-n', '0', '-f', 'html', '-o', path, trace], check=True)
    for size in (WIDE, NARROW):
        with browser.Browser(*size) as page:
            page.open(path)
            check_resource_tables(page, report)
            count = check_resource_rows(page, report)
            assert page.evaluate('new Set(Object.values(resourceColours)).size === Object.keys(resourceColours).length')
            assert not page.said, page.said
    return count


def check_sum(page, sillage, trace):
    """A sum of intervals names the command that shows each: it explains that range."""
    begin, end, text, ns = page.evaluate('''(() => {
        const index = rows.findIndex((row) => row.kind === 'cpu' && row.isSum.includes(1)), row = rows[index];
        const i = row.isSum.indexOf(1);
        pickPiece(index, i);
        const busy = row.shares(i).find(([state]) => state === USER);
        return [row.begins[i], row.until(i), document.getElementById('details').textContent, [data.cpus[index].cpu, busy ? busy[1] : 0]];
    })()''')
    options = re.search(r'sillage report -f html (--begin @[0-9.]+ --end @[0-9.]+)', text)[1].split()
    out = subprocess.run([sillage, 'report', '-f', 'json', *options, trace], stdout=subprocess.PIPE, check=True)
    report = json.loads(out.stdout.decode())
    assert report['end'] - report['begin'] == end - begin, (report['begin'], report['end'], begin, end)
    assert [ns[0], ns[1]] in [[cpu['cpu'], cpu['busy_ns']] for cpu in report['cpus']], (ns, report['cpus'])


def check_large(tile, times, sillage, trace, scratch):
    large, path = os.path.join(scratch, 'large'), os.path.join(scratch, 'large.html')
    subprocess.run([tile, trace, large, times], stdout=subprocess.DEVNULL, check=True)
    out = subprocess.run([sillage, 'report', '-f', 'json', *ARGS, large], stdout=subprocess.PIPE, check=True)
    subprocess.run([sillage, 'report', '--resources', '-f', 'html', '-o', path, *ARGS, large], check=True)
    report = json.loads(out.stdout.decode())
    size = os.path.getsize(path)
    assert size <= 10 << 20, size
    with browser.Browser() as page:
        seconds = page.open(path)
        summed = page.evaluate('rows.filter((row) => row.bin).length')
        assert summed and page.evaluate("document.getElementById('sums').textContent.includes('added up')")
        check_rows(page, report)
        # What the page led to is there in full.
        whole = page.evaluate('''data.chosen.every((_, i) => i % 2 || rows.every((row) => {
            for (let k = find(row.begins, data.chosen[i]); k < row.begins.length && row.begins[k] < data.chosen[i + 1]; k++) {
                if (row.isSum[k] && row.until(k) > data.chosen[i] && row.begins[k] < data.chosen[i + 1]) return false;
            }
            return true;
        }))''')
        assert whole and page.evaluate('data.chosen.length') > 0
        # Of too many intervals of a timer, futex or queue, the longest are drawn.
        drawn, all_ = page.evaluate("rows.filter((row) => row.kind === 'resource').reduce(([a, b], row) => [a + row.items.length, b + row.total], [0, 0])")
        assert 0 < drawn <= all_, (drawn, all_)
        assert (drawn < all_) == page.evaluate("document.getElementById('resourcerows').textContent.includes('longest are drawn')")
        # Sums are shorter than two bins.
        assert page.evaluate('rows.every((row) => row.isSum.every((is, i) => !is || row.until(i) - row.begins[i] < 2 * row.bin))')
        check_sum(page, sillage, large)
        assert not page.said, page.said
    print('ok page: %s events, %d bytes, ready after %.2f s' % (report['events'], size, seconds))


def main():
    if sys.argv[1] == '--tile' and browser.program():
        with tempfile.TemporaryDirectory(prefix='sillage-page-') as scratch:
            check_large(*sys.argv[2:], scratch)
        return 0
    if not browser.program():
        print('skipped: chromium is not installed')
        return 77
    if sys.argv[1] == '--resources':
        for trace in sys.argv[3:]:
            with tempfile.TemporaryDirectory(prefix='sillage-page-') as scratch:
                count = check_resources(sys.argv[2], trace, scratch)
                print('ok page: %s, %d intervals of resources' % (os.path.basename(os.path.dirname(trace)), count))
        return 0
    with browser.Browser() as page, tempfile.TemporaryDirectory(prefix='sillage-page-') as scratch:
        for trace in sys.argv[2:]:
            lanes, figures = check(sys.argv[1], trace, page, scratch)
            print('ok page: %s, %d lanes, %d executions, %d texts of axes, %d calls and %d wakers of sleeps' % (
                os.path.basename(os.path.dirname(trace)), lanes, *figures[:2], *figures[2]))
            if 'rt-mutex-none' in trace:
                check_hostile(sys.argv[1], trace, page, scratch)
                check_nice(sys.argv[1], trace.replace('rt-mutex-none', 'timer-jobs'), page, scratch)
                print('ok page: hostile names')
    return 0


if __name__ == '__main__':
    sys.exit(main())

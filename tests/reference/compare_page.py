#!/usr/bin/env python3
"""compare_page: a comparison as a page, in a real browser.

Goal    The page has the rows of `compare -f json`, in that order, with values that are those of JSON
        as far as their digits go.  At first it shows what the text shows.  It sorts and filters, has
        both colour schemes, and in print no controls.  No name of a trace becomes an element.
Method  Headless Chromium is driven over a pipe (browser.py).

usage: compare_page.py SILLAGE DATA
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import time

import browser

UNITS = {'ns': 1, 'us': 1e3, 'ms': 1e6, 's': 1e9, 'B': 1, 'KiB': 1 << 10, 'MiB': 1 << 20, 'GiB': 1 << 30, '': 1}
PARTS = ('count', 'sum_ns', 'mean_ns', 'p50_ns', 'p95_ns', 'p99_ns', 'max_ns')
SECTIONS = {('rate', 'ns'): 'TIME', ('rate', 'bytes'): 'BYTES', ('rate', 'count'): 'COUNTS', 'spread': 'DISTRIBUTIONS', 'level': 'MAXIMA',
            ('rate', True): 'IDLE', ('spread', True): 'CALLS'}


def check(condition, *what):
    if not condition:
        raise SystemExit('not ok compare_page: ' + ' '.join(map(str, what)))


def run(sillage, *args, status=0):
    done = subprocess.run([sillage, 'compare', *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    check(done.returncode == status, args, 'ended with', done.returncode, done.stderr.decode())
    return done.stdout.decode()


def section_of(change):
    if change.get('rests'):
        return SECTIONS[change['kind'], True]
    return SECTIONS[change['kind'] if change['kind'] != 'rate' else ('rate', change['unit'])]


def shown(page):
    """{section: rows of cells}, all of them."""
    page.evaluate('''(() => { for (;;) {
        const more = document.querySelectorAll('.wide:not([hidden]) > button');
        if (!more.length) return;
        more.forEach((one) => one.click());
    } })()''')
    found = page.evaluate('''[...document.querySelectorAll('h2:not([hidden])')].map((one) => {
        let at = one;
        while (!at.matches('.wide')) at = at.nextElementSibling;
        return [one.textContent, [...at.querySelectorAll('tr')].slice(1).map((row) => [...row.cells].map((cell) => cell.textContent))];
    })''')
    return {title.split(',')[0].split(' ')[0]: rows for title, rows in found}


def number(text):
    """A cell as a number; None: not known."""
    if text in ('-', 'new'):
        return None
    found = re.fullmatch(r'([+-]?[\d,.]+) ?(\w*)(?:/s)?', text)
    check(found, 'no value:', text)
    return float(found.group(1).replace(',', '')) * UNITS[found.group(2)]


def near(text, value):
    """Three digits are written, or two decimals, or a whole number."""
    found = number(text)
    if value is None or found is None:
        return value is None and found is None
    return abs(found - value) <= max(0.0051 * abs(value), 0.51)


def figure(change):
    return change['figure'] + ('  (%s alone)' % change['only'].upper() if 'only' in change else '')


def check_row(cells, change):
    of = change['sum_ns'] if change['kind'] == 'spread' else change
    check(cells[0] == figure(change), 'another row', cells, change)
    if change['kind'] == 'spread':
        for side, part in ((side, part) for side in (0, 1) for part in range(len(PARTS))):
            text, value = cells[2 + part].split('\n')[side], change[PARTS[part]]['ab'[side]]
            check(near(text, value), cells, PARTS[part], 'is', value)
        d = re.fullmatch(r'D ([\d.]+)\np (< )?([\d.]+)', cells[11])
        check(cells[11] == 'D -' if change['d'] is None else d and abs(float(d.group(1)) - change['d']) < 0.00051 and
              (change['p'] < 0.0001 if d.group(2) else abs(float(d.group(3)) - change['p']) < 0.000051), cells, change['d'], change['p'])
        cells = [cells[0], cells[3].split('\n')[0], cells[3].split('\n')[1], cells[9], cells[10]]
    else:
        check(near(cells[1], of['a']) and near(cells[2], of['b']), cells, change)
    check(near(cells[3], of['difference']), cells, of)
    wanted = 'new' if of['change'] is None and of['a'] == 0 and of['b'] else '-' if of['change'] is None else '%+.1f %%' % (100 * of['change'])
    check(cells[4] in (wanted, wanted.replace('-0.0', '+0.0'), wanted.replace('+0.0', '-0.0')), cells, wanted)


def check_rows(found, changes):
    """All rows, and no others, in their order."""
    wanted = {}
    for change in changes:
        wanted.setdefault(section_of(change), []).append(change)
    check(set(found) - {'NOT'} == set(wanted), 'sections', list(found), list(wanted))
    for section, some in wanted.items():
        check(len(found[section]) == len(some), section, len(found[section]), 'rows, JSON has', len(some))
        for cells, change in zip(found[section], some):
            check_row(cells, change)
    return len(changes)


def check_lacking(found, lines):
    lacking = [one for one in lines if one['type'] == 'not-compared']
    wanted = [[one['analysis'] + ('.' + one['list'] if 'list' in one else ''),
               one['why'] + ' in ' + ' and '.join(one['lacks']).upper().replace('AND', 'and'), ', '.join(one['keys'])] for one in lacking]
    check(found.get('NOT', []) == wanted, found.get('NOT'), wanted)


def check_text(found, text):
    """What the text of all rows has."""
    rows = [row for section, some in found.items() if section != 'NOT' for row in some]
    figures = re.findall(r'^(?: +\S.*?%|.* (?:new|-))?  (\S.*?)$|^(\S.*?)  D [-\d].*$', text.split('NOT COMPARED')[0], re.M)
    figures = [one.strip() for pair in figures for one in pair if re.match(r'[a-z]+[.\[]', one.strip())]
    check([row[0] for row in rows] == figures, 'the text shows other figures', len(rows), len(figures), set(figures) ^ {row[0] for row in rows})


def set_box(page, which, on):
    if page.evaluate("document.getElementById('%s').checked" % which) != on:
        page.click_on("document.getElementById('%s')" % which)


def check_sorted(page):
    """A click sorts, another one the other way, a third again."""
    head = "[...document.querySelectorAll('h2')].find((one) => one.textContent.startsWith('TIME')).parentNode.querySelector('.wide tr').cells[%d]"
    for column, key in ((2, number), (0, str)):
        seen = []
        for _ in range(2):
            page.evaluate('(%s).querySelector("button").click()' % (head % column))
            seen.append([key(row[column]) for row in shown(page)['TIME']])
            check(page.evaluate('(%s).getAttribute("aria-sort")' % (head % column)) == ('descending' if len(seen) == 1 else 'ascending'), column)
        values = [[value if key is str else round(value, 9) for value in one] for one in seen]
        check(key is str and values[1] == sorted(values[1]) or values[0] == sorted(values[0], reverse=True), 'order', column)
        check(sorted(values[0]) == sorted(values[1]) and values[0] != values[1], 'rows get lost', column)


def check_filter(page, changes):
    page.click_on("document.getElementById('filter')")
    page.type('comm=kernel run')
    rows = [row for section, some in shown(page).items() if section != 'NOT' for row in some]
    wanted = [figure(one) for one in changes if 'comm=kernel' in one['figure'] and 'run' in one['figure']]
    check(rows and sorted(row[0] for row in rows) == sorted(wanted), 'filter', len(rows), len(wanted))
    check(page.evaluate('document.body.dataset.rows') == str(len(wanted)), 'the number of rows')
    page.evaluate("(() => { const it = document.getElementById('filter'); it.value = 'nothing has this name'; it.dispatchEvent(new Event('input')); })()")
    check(set(shown(page)) <= {'NOT'}, 'sections without rows are shown')
    page.evaluate("(() => { const it = document.getElementById('filter'); it.value = ''; it.dispatchEvent(new Event('input')); })()")


def check_looks(page):
    colour = "getComputedStyle(document.body).backgroundColor"
    display = "getComputedStyle(document.querySelector('.controls')).display"
    looks = []
    for scheme in ('light', 'dark'):
        page.media('screen', prefers_color_scheme=scheme)
        looks.append((page.evaluate(colour), page.evaluate("getComputedStyle(document.querySelector('td')).color")))
        check(page.evaluate(display) != 'none', 'no controls')
    check(looks == [('rgb(255, 255, 255)', 'rgb(28, 33, 39)'), ('rgb(21, 24, 28)', 'rgb(230, 233, 237)')], looks)
    page.media('print', prefers_color_scheme='dark')
    check(page.evaluate(display) == 'none' and page.evaluate(colour) == 'rgb(255, 255, 255)', 'print')
    page.media('screen', prefers_color_scheme='light')
    for width in (1280, 420):
        page.resize(width, 800)
        page.frame()
        check(page.evaluate('document.documentElement.scrollWidth') <= width, 'it scrolls aside at', width)
    page.resize(1280, 800)


def make(sillage, path, *sides):
    run(sillage, '-q', '-f', 'html', '-o', path, *sides)
    with open(path, encoding='utf-8') as file:
        text = file.read()
    check(text.startswith('<!DOCTYPE html>') and text.endswith('</html>\n') and '@FILE' not in text and '@DATA@' not in text, 'no page')
    check('http' not in text.replace('http-equiv', '') and text.count('</script>') == 2, 'it wants the network, or a name ends the script')
    return text


def check_page(page, sillage, path, sides, text_options=()):
    """All rows; returns the changes."""
    make(sillage, path, *sides)
    lines = [json.loads(line) for line in run(sillage, '-q', '-f', 'json', *sides).splitlines()]
    changes = [one for one in lines if one['type'] == 'change']
    page.open(path)
    check_text(shown(page), run(sillage, '-q', '-n', '0', *sides))
    head = page.evaluate("document.getElementById('head').textContent")
    check(all(lines[0][side]['name'] in head for side in 'ab'), head)
    set_box(page, 'again', True)
    set_box(page, 'same', True)
    found = shown(page)
    check_rows(found, changes)
    check_lacking(found, lines)
    check(page.evaluate('document.scripts.length') == 2, 'a name has become a script')
    check(not page.said, page.said)
    return changes


def check_hostile(page, sillage, burst, other, scratch):
    copy = browser.hostile_copy(burst, os.path.join(scratch, '<img src=x onerror=alert(1)> & "'))
    changes = check_page(page, sillage, os.path.join(scratch, 'hostile.html'), (copy, other))
    check(any('</script>' in one['figure'] for one in changes), 'the name is not there')
    check(page.evaluate("document.querySelectorAll('#body img, #head img').length") == 0, 'a name has become an element')


def check_options(page, sillage, sides, scratch):
    path = os.path.join(scratch, 'few.html')
    make(sillage, path, '-n', '5', '--per', 'pid', *sides)
    lines = [json.loads(line) for line in run(sillage, '-q', '-f', 'json', '-n', '5', '--per', 'pid', *sides).splitlines()]
    page.open(path)
    check_rows(shown(page), [one for one in lines if one['type'] == 'change'])
    check('Only the 5 figures of ' in page.evaluate("document.getElementById('head').textContent"), '-n is not said')
    # Nothing changed: that is said, and all can be shown.
    make(sillage, path, '-a', 'cpu', sides[0], sides[0])
    page.open(path)
    check('nothing that both have differs' in page.evaluate("document.getElementById('head').textContent") and not shown(page), 'nothing')
    set_box(page, 'same', True)
    check(shown(page), 'no rows of what is the same')
    # A run that fails leaves the page that was there; standard output is as good as a file.
    with open(path, 'rb') as file:
        before = file.read()
    run(sillage, '-q', '-f', 'html', '-o', path, sides[0], os.path.join(scratch, 'away'), status=1)
    with open(path, 'rb') as file:
        check(file.read() == before, 'a run that fails replaces the page')
    check(run(sillage, '-q', '-f', 'html', '-a', 'cpu', sides[0], sides[0]).encode() == before, 'standard output differs')
    run(sillage, '-q', '-f', 'html', '-o', '/dev/null', '--fail', 'count.events > +0.1%', *sides, status=3)


def is_new(page):
    """Whether the page was loaded again, which may be going on."""
    try:
        return page.evaluate('!window.isBefore && document.body && document.body.dataset.state === "ready"')
    except AssertionError:
        return False


def check_phases(page, sillage, sides, scratch):
    """The select has all pairs, and shows one; what is alone cannot be chosen."""
    path = os.path.join(scratch, 'phases.html')
    lines = [json.loads(line) for line in run(sillage, '-q', '--phases', '-f', 'json', '-a', 'cpu', *sides).splitlines()]
    pairs = []
    for line in lines:
        if line['type'] == 'compare-phase':
            pairs.append((line, []))
        elif line['type'] == 'change':
            pairs[-1][1].append(line)
    make(sillage, path, '--phases', '-a', 'cpu', *sides)
    page.open(path)
    wanted = [(' and '.join('%s %d' % (side.upper(), line[side]['number']) for side in 'ab' if side in line) +
               (', distance %.2f' % line['distance'] if 'distance' in line else ' alone'), 'distance' not in line) for line, _ in pairs]
    found = page.evaluate("[...document.getElementById('phase').options].map((one) => [one.textContent, one.disabled])")
    check([tuple(one) for one in found] == wanted, 'pairs', found, wanted)
    check(any(alone for _, alone in wanted) and sum(not alone for _, alone in wanted) > 1, 'pairs of another kind', wanted)
    for number, (_, changes) in enumerate(pairs):
        if not wanted[number][1]:
            page.evaluate("(() => { const it = document.getElementById('phase'); it.value = '%d'; window.isBefore = true; "
                          "setTimeout(() => it.dispatchEvent(new Event('change'))); })()" % number)
            until = page.asleep.now() + browser.LIMIT_S
            while not is_new(page):
                check(page.asleep.now() < until, 'the pair is not shown')
                time.sleep(0.05)
            set_box(page, 'again', True)
            set_box(page, 'same', True)
            check_rows(shown(page), changes)
    check(not page.said, page.said)


def main():
    if not browser.program():
        print('skipped: chromium is not installed')
        return 77
    sillage, data = sys.argv[1:]
    burst, other = (os.path.join(data, name, 'kernel') for name in ('burst', 'migrate'))
    with browser.Browser() as page, tempfile.TemporaryDirectory(prefix='sillage-page-') as scratch:
        changes = check_page(page, sillage, os.path.join(scratch, 'page.html'), (burst, other))
        check_filter(page, changes)
        check_sorted(page)
        check_looks(page)
        print('ok page: %d rows' % len(changes))
        check_hostile(page, sillage, burst, other, scratch)
        print('ok hostile names')
        check_options(page, sillage, (burst, other), scratch)
        print('ok options')
        check_phases(page, sillage, (burst, burst + '@1795225003000000000..'), scratch)
        print('ok phases')
    return 0


if __name__ == '__main__':
    sys.exit(main())

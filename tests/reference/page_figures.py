"""page_figures: what the page of a report writes, against figures that are made here.

Cells of executions from their times in the JSON; the call and the waker of each sleep from what babeltrace2 prints; texts
of axes from the places at which they stand.
"""
import decimal
import json
import re

import reference
import sleeps

NAMES = 176  # pixels before a timeline that is wide enough
AXIS_TICK_MIN = 2


def short(ns):
    """Three digits, as a page shows a length."""
    if not ns:
        return '-'
    unit, size = next(((unit, size) for unit, size in (('s', 10**9), ('ms', 10**6), ('us', 10**3)) if abs(ns) >= size * 0.9995), ('ns', 1))
    value = decimal.Decimal(ns / size)
    digits = max(0, 2 - value.copy_abs().adjusted()) if size > 1 else 0
    rounded = value.quantize(decimal.Decimal(1).scaleb(-digits), rounding=decimal.ROUND_HALF_UP)
    if rounded.adjusted() > value.adjusted() and digits:
        rounded = rounded.quantize(decimal.Decimal(1).scaleb(1 - digits))  # 9.996: 10.0
    return '%s %s' % (rounded, unit)


def length_of(text):
    """In ns, of what short() writes."""
    number, unit = text.split()
    return decimal.Decimal(number) * {'s': 10**9, 'ms': 10**6, 'us': 10**3, 'ns': 1}[unit]


def cells(page, title):
    """The titles of a table's columns, and the texts of its rows."""
    found = page.evaluate('''(() => {
        let at = [...document.querySelectorAll('h2')].find((one) => one.textContent.match(%s));
        while (at && !at.matches('.wide')) at = at.nextElementSibling;
        return at ? [...at.firstChild.rows].map((row) => [...row.cells].map((cell) => cell.textContent)) : null;
    })()''' % json.dumps(title))
    assert found, 'no table "%s"' % title
    return [dict(zip(found[0], row)) for row in found[1:]]


def called(thread):
    return '%s (%d)' % (thread['comm'] or '?', thread['tid'])


def execution_cells(one, begin, deadline):
    parts = {part: one.get(part + '_ns', 0) for part in ('user', 'syscall', 'irq', 'softirq', 'wait', 'new', 'preempted', 'blocked')}
    response = one['end'] - one['arrival']
    return {'thread': called(one['thread']) + (' to ' + called(one['last']) if 'last' in one else ''),
            'begin': '+%.6f s' % ((one['begin'] - begin) / 1e9), 'response': short(response),
            'duration': short(one['end'] - one['begin']), 'late': short(one['begin'] - one['arrival']),
            'running': short(sum(parts[part] for part in ('user', 'syscall', 'irq', 'softirq'))),
            'waiting': short(parts['wait'] + parts['new']), 'preempted': short(parts['preempted']), 'blocked': short(parts['blocked']),
            'missed': deadline < response}


def check_executions(page, report):
    """Response, late and the rest of each row; the longest response and the jitter of all, and of each thread."""
    jobs, rows = report['jobs'], cells(page, '^Each execution$')
    all_ = jobs['longest'] + jobs['open']
    assert rows and len(all_) == jobs['count'] + jobs['open_count']
    assert len({one['begin'] - one['arrival'] for one in all_}) > 1, 'no execution begins late'
    for row, one in zip(rows, all_):
        wanted = execution_cells(one, report['begin'], jobs['deadline_ns'])
        assert ('missed' in row['']) == wanted.pop('missed'), (row, one)
        assert {key: row[key] for key in wanted} == wanted, (row, wanted)
    for title, groups in (('^Executions of ', [all_]), ('^Executions by thread$', [
            [one for one in all_ if one['thread'] == of['thread']] for of in jobs['threads']])):
        shown = cells(page, title) if len(groups) != 0 and (len(jobs['threads']) > 1 or title.endswith('of ')) else []
        for row, group in zip(shown, groups):
            assert row['longest response'] == short(max(one['end'] - one['arrival'] for one in group)), (row, title)
            assert row['jitter'] == short(max(one['begin'] - one['arrival'] for one in group)), (row, title)
            assert row['late'] == str(sum(one['end'] - one['arrival'] > jobs['deadline_ns'] for one in group)), (row, title)
    return len(rows)


def check_sleeps(page, report, trace):
    """Each sleep of each thread names the call in which it slept, and the thread that woke it."""
    plain = sleeps.Sleeps(list(reference.events_of(trace)))
    found = page.evaluate('''rows.filter((row) => row.kind === 'thread').flatMap((row) => [...row.state].map((state, i) => [state, i]).filter(
        ([state, i]) => state === BLOCKED && !row.isSum[i]).map(([_, i]) => [data.names[row.n].tid, row.begins[i], row.until(i), row.why(i)]))''')
    calls = wakers = 0
    for tid, begin, end, why in found:
        at = tid, report['begin'] + begin
        if at in plain.slept:
            wanted = plain.slept[at] and 'in ' + plain.slept[at]
            assert [one for one in why if one.startswith('in ')] == ([wanted] if wanted else []), (at, why, wanted)
            calls += bool(wanted)
        waker = plain.woken.get((tid, report['begin'] + end))
        said = [int(re.search(r'\((\d+)\)$', one)[1]) for one in why if one.startswith('woken by ')]
        assert said == ([waker] if waker else []), (at, end, why, waker)
        wakers += bool(waker)
    assert calls and wakers, (len(found), calls, wakers)
    return calls, wakers


def texts(page, canvas, draw):
    """What is written on a canvas when it is drawn: text, x, y; and its width."""
    return page.evaluate('''(() => {
        const canvas = %s, context = canvas.getContext('2d'), list = [];
        context.fillText = (text, x, y) => list.push([text, x, y]);
        %s;
        delete context.fillText;
        return [list, canvas.clientWidth, canvas.clientHeight];
    })()''' % (canvas, draw))


def check_axis(page, report, begin, length, clock):
    """Texts under the timeline are the times of the places at which they stand, in round steps."""
    page.evaluate('clock = "%s"; look(%d, %d)' % (clock, begin, length))
    found, width, height = texts(page, 'chart.canvas', 'chart.again()')
    found = [(text, x) for text, x, y in found if y == height - 11]
    assert found[-1] == (short(length), 4) or found[0] == (short(length), 4), found
    ticks = [(text, x) for text, x in found if x > 4]
    assert len(ticks) >= AXIS_TICK_MIN, found
    at = []
    for text, x in ticks:
        if clock == 'start':
            ns = decimal.Decimal(re.fullmatch(r'\+(\d+\.\d+) s', text)[1]) * 10**9
        else:
            hours, minutes, seconds = re.fullmatch(r'(\d\d):(\d\d):(\d\d\.\d+)', text).groups()
            ns = (decimal.Decimal(hours) * 3600 + decimal.Decimal(minutes) * 60 + decimal.Decimal(seconds)) * 10**9 - report['begin'] % (86400 * 10**9)
        place = begin + decimal.Decimal(x - 2 - NAMES) * length / (width - NAMES)
        assert abs(ns - place) <= length / decimal.Decimal(width - NAMES) / 100 + 1, (text, x, place)
        at.append(ns)
    steps = {b - a for a, b in zip(at, at[1:])}
    assert len(steps) == 1 and re.fullmatch(r'[125]0*', str(int(*steps))), steps
    page.evaluate('clock = "start"; look(0, %d)' % (report['end'] - report['begin']))
    return len(ticks)


def check_lengths_at(found, of, room, longest, what):
    """Lengths stand where they are, from 0 to the longest."""
    ticks = [(0 if text == '0' else length_of(text), of(x)) for text, x in found]
    assert len(ticks) >= AXIS_TICK_MIN, (what, found)
    for ns, place in ticks:
        # Three digits of the text, and a hundredth of a pixel.
        assert abs(float(ns) - place * longest / room) <= 0.006 * float(ns) + longest / room / 100, (what, found, longest)
    return len(ticks)


def check_axes(page, report):
    length, count = report['end'] - report['begin'], 0
    for begin, part in ((0, length), (length // 3, length // 7), (length // 2, 20000)):
        for clock in ('start', 'utc'):
            count += check_axis(page, report, begin, part, clock)
    jobs, all_ = report['jobs'], report['jobs']['longest'] + report['jobs']['open']
    longest = max([one['end'] - one['arrival'] for one in all_] + [jobs['deadline_ns']])
    found, width, height = texts(page, "document.querySelector('#compared canvas')", 'drawAgain()')
    count += check_lengths_at([(text, x) for text, x, y in found if y == height - 9], lambda x: x - 2, width - 4, longest, 'executions compared')
    found, width, height = texts(page, "document.querySelector('#overtime canvas')", 'drawAgain()')
    left = [(text, y) for text, x, y in found if x == 2 and y > 8]  # those at the top are moved into the page
    count += check_lengths_at(left, lambda y: 220 - (y + 6), 220, longest * 1.05, 'executions over time')
    below = [(text, x) for text, x, y in found if y == 230]
    assert len(below) >= AXIS_TICK_MIN
    for text, x in below:
        assert abs(float(text[1:-2]) * 1e9 - (x - 62) / (width - 70) * length) <= length / (width - 70) / 100 + 1, (text, x)
    return count + len(below)

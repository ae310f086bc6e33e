#!/usr/bin/env python3
"""app: the page of `sillage serve`, driven in a browser as its users would.

Goal    Each way from the list of sources to a thread, an instant and events, and back, by mouse and keys; what is shown
        is what the commands say; addresses can be kept; nothing is wider than the screen or said on the console; names
        are never markup; what a view has asked for is cancelled when it is left.

usage: app.py SILLAGE APP DATA [x NAME]
"""
import json
import os
import subprocess
import sys
import urllib.parse

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'reference'))
import browser  # noqa: E402
import peer  # noqa: E402
import serve  # noqa: E402

SIZES = (390, 768, 1280, 2560)
EVIL = 'it\'s <img id=evil src=x onerror=document.title="evil">'  # the name of a source
LINES = '[...document.querySelectorAll("#main tr")]'


class Page(browser.Browser):
    def __init__(self, server):
        super().__init__()
        self.call('Page.navigate', url='http://localhost:%d/' % server.port)
        self.ready()

    def ready(self):
        peer.wait_until(lambda: self.evaluate('document.body && document.body.dataset.state === "ready"'))
        self.frame()

    def after(self, what):
        """Does what leads to another view, and waits until that is there."""
        self.evaluate('document.body.dataset.state = "left"')
        what()
        self.ready()

    def visit(self, address):
        self.after(lambda: self.evaluate('location.hash === %s ? draw() && 1 : (location.hash = %s)' % (json.dumps(address), json.dumps(address))))

    def follow(self, expression):
        self.after(lambda: self.click_on(expression))

    def back(self):
        self.after(lambda: self.evaluate('history.back()'))

    def hash(self):
        return self.evaluate('location.hash')

    def text(self, selector='#main'):
        return self.evaluate('[...document.querySelectorAll(%s)].map((one) => one.innerText).join("\\n")' % json.dumps(selector))

    def rows(self, table='#main table'):
        """The texts of cells, the heads first."""
        return self.evaluate('[...document.querySelector(%s).rows].map((row) => [...row.cells].map((cell) => cell.textContent))' % json.dumps(table))

    def quiet(self):
        said, self.said = self.said, []
        assert not said, said

    def link(self, text, within='#main'):
        return '[...document.querySelectorAll("%s a, %s button")].find((one) => one.textContent === %s)' % (within, within, json.dumps(text))

    def row(self, text):
        return LINES + '.find((row) => row.textContent.includes(%s))' % json.dumps(text)

    def key(self, key, code, **more):
        for kind in ('keyDown', 'keyUp'):
            self.call('Input.dispatchKeyEvent', type=kind, key=key, windowsVirtualKeyCode=code, **more)

    def drag(self, chart, begin, end):
        left, top, width, height = self.place('document.querySelectorAll("canvas")[%d]' % chart)
        y, at = top + height / 2, lambda share: left + 64 + (width - 64) * share
        self.move(at(begin), y)
        self.call('Input.dispatchMouseEvent', type='mousePressed', x=at(begin), y=y, button='left', clickCount=1)
        self.call('Input.dispatchMouseEvent', type='mouseMoved', x=at(end), y=y, button='left')
        self.call('Input.dispatchMouseEvent', type='mouseReleased', x=at(end), y=y, button='left', clickCount=1)


def check_command(t, page):
    """The command for what is seen is right."""
    command = page.text('#command code')
    assert command.startswith('sillage '), command
    subprocess.run(['bash', '-c', 'sillage() { "$PROGRAM" "$@"; }\n' + command], env={**os.environ, 'PROGRAM': t.sillage}, check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=peer.LIMIT)
    return command


def check_time_line(t, page):
    assert page.evaluate('document.querySelectorAll(".chart canvas").length') == 2 and 'phases' in page.text(), page.text()
    left, top, width, height = page.place('document.querySelector(".chart canvas")')
    page.move(left + width / 2, top + height / 2)
    assert 'CPU busy' in page.text('#tip') and '%' in page.text('#tip'), page.text('#tip')
    page.drag(1, 0.25, 0.5)
    assert '(186 ms)' in page.text('#picked'), page.text('#picked')
    whole = page.hash()
    page.follow(page.link('zoom', '#picked'))
    zoomed = page.hash()
    assert 'begin=' in zoomed and 'end=' in zoomed and '(186 ms)' in page.text('#range'), (zoomed, page.text('#range'))
    check_command(t, page)
    page.back()
    assert page.hash() == whole and 'whole' not in page.text('#range'), page.hash()
    # By keys: along the chart, a range, and into it.
    page.evaluate('document.querySelectorAll(".chart canvas")[0].focus()')
    for _ in range(3):
        page.key('ArrowRight', 39, modifiers=8)
    assert page.text('#picked b'), page.text('#picked')
    page.after(lambda: page.press('Enter'))
    assert 'begin=' in page.hash(), page.hash()
    page.after(lambda: page.call('Page.reload'))
    assert 'whole' in page.text('#range'), 'an address is not kept'
    page.follow(page.link('whole', '#range'))


def check_tables(page):
    page.follow(page.link('Tables', '#views'))
    rows = page.rows()
    assert rows[0][:2] == ['comm', 'tid'] and len(rows) == 27, rows[:2]
    page.follow('[...document.querySelectorAll("th button")].find((one) => one.textContent === "run")')
    assert page.rows()[1][0] == 'mq-server', page.rows()[:3]
    page.follow('[...document.querySelectorAll("th button")].find((one) => one.textContent === "run")')
    assert page.rows()[-1][0] == 'mq-server' and page.evaluate('document.querySelector("th[aria-sort=ascending]").textContent') == 'run'
    page.evaluate('document.querySelector("#main input[type=search]").focus()')
    page.type('mq-')
    page.after(lambda: page.press('Enter'))
    assert sorted(row[0] for row in page.rows()[1:]) == ['mq-client', 'mq-medium', 'mq-server'], page.rows()


def check_thread(t, page, trace):
    """A row of the table, by a key: the answer first; then an instant, and the events."""
    page.evaluate(page.row('mq-client') + '.focus()')
    page.after(lambda: page.press('Enter'))
    wanted = serve.lines_of(t, 'report', '--thread', 'mq-client', trace)[0]
    assert page.text('.answer') == wanted['answer'], (page.text('.answer'), wanted['answer'])
    assert page.evaluate('document.querySelector("#main .answer").getBoundingClientRect().bottom < innerHeight'), 'the answer is not seen first'
    for part in ('Where its time went', 'Critical path', 'Who had its CPU', 'Inversions', 'Waits for a CPU'):
        assert part in page.text(), part
    check_command(t, page)
    page.follow(page.link('state at its begin'))
    assert 'blocked' in page.text('.answer') and 'at=' in page.hash(), page.text()[:300]
    check_command(t, page)
    page.back()
    page.follow(page.link('events of this range'))
    assert page.rows()[0] == ['UTC', 'cpu', 'event', 'fields'] and len(page.rows()) == 101, page.rows()[:2]
    first = page.rows()[1]
    page.follow(page.link('next page'))
    assert 'offset=100' in page.hash() and page.rows()[1] != first, page.hash()
    check_command(t, page)


def check_compare(t, page):
    for side, (begin, end) in (('as A', (0.1, 0.4)), ('as B', (0.5, 0.9))):
        page.visit('#/time?source=0')
        page.drag(1, begin, end)
        if side == 'as A':
            page.click_on(page.link(side, '#picked'))
        else:
            page.follow(page.link(side, '#picked'))
    assert page.hash().startswith('#/compare?') and page.rows()[0] == ['figure', 'A', 'B', 'change'], page.text()[:300]
    check_command(t, page)


def check_find(page):
    page.visit('#/time?source=0')
    page.key('k', 75, modifiers=2)
    assert page.evaluate('document.querySelector("#find").open')
    page.type('mq-med')
    peer.wait_until(lambda: page.evaluate('document.querySelector("#find ul").dataset.state === "ready"') and 'mq-medium' in page.text('#find'))
    page.follow(page.link('mq-medium (18542)thread', '#find'))
    assert 'thread=18542' in page.hash() and 'mq-medium' in page.text('.answer'), page.hash()


def check_ways(t, page, trace):
    """From the list of sources down to the events, and all that is beside."""
    rows = page.rows()
    assert [row[0] for row in rows[1:]] == ['rt-mqueue', 'timer-jobs-timerfd', 'store.db', 'ust', EVIL], rows
    assert rows[1][3].startswith('4 phases') and [row[4] for row in rows[1:]] == ['none', 'none', 'none', '225 events', 'none'], rows
    page.follow(page.row('rt-mqueue'))
    check_time_line(t, page)
    check_tables(page)
    check_thread(t, page, trace)
    check_compare(t, page)
    check_find(page)
    page.quiet()
    # Executions of a job, and a store with its hosts.
    page.visit('#/explain?source=1&job=timerfd')
    assert 'executed 299 times' in page.text('.answer') and 'How long executions took' in page.text() and page.rows()[1][0] == 'job (18645)'
    check_command(t, page)
    page.visit('#/')
    page.follow(page.row('store.db'))
    assert page.hash().startswith('#/hosts') and page.rows()[1][0] == 'testhost', page.text()
    check_command(t, page)
    page.follow(page.row('testhost'))
    assert 'host=testhost' in page.hash() and page.evaluate('document.querySelectorAll(".chart canvas").length') == 2
    check_command(t, page)


VIEWS = ('#/', '#/time?source=0', '#/tables?source=0&table=sched.threads', '#/explain?source=0&thread=mq-client', '#/explain?source=1&job=timerfd',
         '#/state?source=0', '#/events?source=0', '#/compare?a=0&b=1', '#/hosts?source=2', '#/time?source=2', '#/tables?source=2')


def check_sizes(page):
    """Nothing is wider than the screen; SILLAGE_PICTURES=DIR keeps what was seen, light and dark."""
    kept = os.environ.get('SILLAGE_PICTURES')
    for number, view in enumerate(VIEWS):
        page.visit(view)
        for width in SIZES:
            page.resize(width, 900)
            page.frame()
            wide = page.evaluate('[document.documentElement.scrollWidth, document.documentElement.clientWidth]')
            assert wide[0] <= wide[1], (view, width, wide)
            for scheme in ('dark', 'light') if kept else ():
                page.media('screen', prefers_color_scheme=scheme)
                page.picture(os.path.join(kept, '%d-%d-%s.png' % (number, width, scheme)))
        page.quiet()
    page.resize(1280, 800)
    page.visit(VIEWS[1])
    paper = 'getComputedStyle(document.body).backgroundColor + ink("--one")'
    light = page.evaluate(paper)
    page.media('screen', prefers_color_scheme='dark')
    assert page.evaluate(paper) != light
    page.media('screen', prefers_color_scheme='light')


def check_hostile(t, page):
    """Names of sources and threads are text, and words of a shell."""
    name, elements = browser.HOSTILE.decode(), 'document.querySelectorAll("#evil, script").length'
    assert page.evaluate(elements) == 2, page.text()
    for view in ('time', 'tables', 'state', 'events'):
        page.visit('#/%s?source=4' % view)
        assert page.evaluate(elements) == 2 and EVIL in page.evaluate('document.title'), (view, page.evaluate('document.title'))
        check_command(t, page)
    page.visit('#/tables?source=4')
    page.follow(page.row(name))
    assert page.evaluate(elements) == 2 and name in page.text(), page.text()
    page.visit('#/' + EVIL)
    assert page.text('h1') == 'Sources'
    page.quiet()
    # An address may come from anywhere: its words are words of the command, too.
    made = os.path.join(t.scratch, 'made')
    evil = urllib.parse.quote('$(touch %s);`touch %s`' % (made, made))
    for at in ('compare?a=0&b=0&a_begin=%s&b_end=%s', 'compare?a=0&b=1&analyses=%s&a_end=%s', 'tables?source=0&begin=%s&filter=%s',
               'state?source=0&at=%s&filter=%s', 'events?source=0&event=%s&end=%s', 'time?source=0&begin=%s&figures=%s', 'explain?source=0&thread=%s&job=%s'):
        page.visit('#/' + at % (evil, evil))
        subprocess.run(['bash', '-c', 'sillage() { :; }\n' + page.text('#command code')], stderr=subprocess.DEVNULL)
        assert not os.path.exists(made), (at, page.text('#command code'))
    page.said = []  # the browser's lines of what was refused


def check_sorted(page):
    """What was found out of sources stays with them, however they are sorted."""
    page.visit('#/')
    before = page.rows()
    assert any('phases' in row[3] for row in before) and not any(row[3] == '...' for row in before[1:]), before
    page.click_on(page.link('source'))
    assert page.evaluate('document.querySelector("th[aria-sort]").textContent') == 'source'
    assert sorted(page.rows()) == sorted(before) and page.rows() != before, page.rows()


def check_said(page):
    """What is wrong or empty is said in words, with the next step; a view that is left asks no more."""
    page.visit('#/tables?source=0&filter=comm%3Dnobody')
    assert 'No row fulfils' in page.text() and 'all rows' in page.text(), page.text()
    page.quiet()
    page.visit('#/state?source=0&at=nothing')
    assert 'is not a time' in page.text('[role=alert]') and 'Go back' in page.text('[role=alert]'), page.text()
    page.visit('#/time?source=7')
    assert 'there is no source 7' in page.text('[role=alert]'), page.text()
    assert len(page.said) == 1 and '400' in page.said[0], page.said  # the browser's own line
    page.said = []
    page.evaluate('window.was = null; location.hash = "#/time?source=0&interval=1ms&figures=cpu.busy"')
    peer.wait_until(lambda: page.evaluate('now.view === "time" && now.source !== null && (window.was = now) && true'))
    page.visit('#/')
    assert page.evaluate('was.stop.signal.aborted && now.view === "sources"')
    # Times are exact to the ns, which a number of the language is not.
    assert page.evaluate('String(parse(\'{"begin":1795224990537408343,"x":"1795224990537408343,"}\').begin)') == '1795224990537408343'


def test_page(t):
    """One browser for all: its start costs more than most of it."""
    if not browser.program():
        raise peer.Skip('chromium is not installed')
    trace = serve.trace(t, 'rt-mqueue')
    hostile = browser.hostile_copy(os.path.join(serve.trace(t, 'burst'), 'kernel'), os.path.join(t.scratch, EVIL))
    server = serve.Server(t, '-q', '--port', '0', trace, serve.trace(t, 'timer-jobs-timerfd'), serve.store(t), serve.trace(t, 'ust'), hostile)
    with Page(server) as page:
        check_ways(t, page, trace)
        page.quiet()
        check_hostile(t, page)
        page.quiet()
        check_said(page)
        check_sorted(page)
        check_sizes(page)
        page.quiet()
    server.finish()


if __name__ == '__main__':
    sys.exit(peer.main(globals()))

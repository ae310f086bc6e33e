#!/usr/bin/env python3
"""web: the page of `live --web`, read by scripts and by a browser, while a real lttng-relayd serves a trace.

usage: web.py SILLAGE APP DATA [x NAME]
"""
import contextlib
import http.client
import json
import os
import re
import resource
import shutil
import signal
import socket
import sys
import urllib.request

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'reference'))
import browser  # noqa: E402
import page_figures  # noqa: E402
import peer  # noqa: E402

VIEWERS = 20
VIEWERS_MAX = 32  # half of SERVER_CONNECTIONS_MAX
ROWS = 12  # WEB_ROWS
WEB_PENDING_MAX, WEB_KERNEL_MAX = 256 << 10, 64 << 10
ROOM = 128 << 10  # in the kernel, which doubles it, of a viewer that does not read
MARKUP = b'<i id=evil>'  # as long as NAME, a thread of the trace
NAME = b'rcu_preempt'
EVIL = '<img id=evil src=x onerror=document.title="evil">'


def served(t, *options, trace='burst', host='h', session='s'):
    """A live run that shows a page, when it has read all of @trace, and its port."""
    relay, port = t.relay(), peer.free_ports()
    live = t.live('-a', 'cpu,sched', '-i', '10ms', '--from', 'beginning', '--web', ':%d' % port, *options, relay.live)
    peer.wait_port('127.0.0.1', port, live.process)
    t.replay(relay, trace, '--session', session, '--hostname', host, '--speed', '0', '--wait-viewer', '--linger', peer.LONG)
    live.wait_for(lambda one: len(windows(one.lines())) > 2)
    return live, port


def windows(lines):
    return [line for line in lines if line['type'] == 'window']


def get(port, path, host='localhost', method='GET', to='127.0.0.1'):
    """Status, headers and body."""
    link = http.client.HTTPConnection(to, port)
    link.request(method, path, headers={'Host': host} if host else {})
    answer = link.getresponse()
    body = answer.read()
    link.close()
    return answer.status, answer.headers, body


def viewer(port):
    return urllib.request.urlopen('http://localhost:%d/events' % port)


def until(stream, wanted):
    """Reads events until one of this kind comes."""
    while True:
        event, data, end = (stream.readline() for _ in range(3))
        assert event.startswith(b'event: ') and data.startswith(b'data: ') and end == b'\n', (event, data, end)
        if event[7:-1].decode() == wanted:
            return json.loads(data[6:])


def cut(line):
    """A line with as many rows as the page gets."""
    return {name: {key: rows[:ROWS] if isinstance(rows, list) and key != 'cpus' else rows for key, rows in part.items()}
            if name in ('cpu', 'sched') else part for name, part in line.items() if name != 'lag_ns'}


def test_viewers(t):
    """As many as are promised have the same windows as -f json; one that never reads holds nobody; for one more
    the oldest gives way, so that nobody is kept out."""
    live, port = served(t)
    with contextlib.ExitStack() as stack:
        stuck = stack.enter_context(socket.socket())
        stuck.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        stuck.connect(('127.0.0.1', port))
        stuck.sendall(b'GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n' + b'x' * 100000)
        streams = [stack.enter_context(viewer(port)) for _ in range(VIEWERS)]
        for stream in streams:
            assert stream.headers['Content-Type'] == 'text/event-stream'
            line = until(stream, 'window')
            line.pop('lag_ns', None)
            assert line in [cut(one) for one in windows(live.lines())], line
        streams += [stack.enter_context(viewer(port)) for _ in range(VIEWERS_MAX - VIEWERS - 1)]
        streams += [stack.enter_context(viewer(port)) for _ in range(2)]  # in the places of `stuck`, and of the first
        until(streams[-1], 'window')
        until(streams[0], 'away')
        assert streams[0].read() == b''
        live.finish(signal.SIGTERM)
        for stream in streams[1:]:
            with contextlib.suppress(http.client.IncompleteRead, ConnectionResetError):
                stream.read()  # it ends
    assert 'Sanitizer' not in live.said(), live.said()
    assert live.said().count('--web: 32 look: the oldest of 127.0.0.1 has to give way to one of 127.0.0.1') == 2, live.said()


def test_last(t):
    """The windows that close when live ends reach those who look."""
    live, port = served(t)
    with viewer(port) as stream:
        until(stream, 'window')
        before = len(windows(live.lines()))
        live.finish(signal.SIGTERM)
        seen = b''
        with contextlib.suppress(http.client.IncompleteRead, ConnectionResetError):
            while more := stream.read1(65536):
                seen += more
    last = [json.loads(line[6:]) for line in seen.splitlines() if line.startswith(b'data: {"type":"window"')][-1:]
    wanted = windows(live.lines())
    assert len(wanted) > before and [one['begin'] for one in last] == [wanted[-1]['begin']], (before, len(wanted), last)


def raw(port, data):
    with socket.create_connection(('127.0.0.1', port)) as link:
        answer = b''
        with contextlib.suppress(OSError):  # it may have enough before it has all
            link.sendall(data)
            link.shutdown(socket.SHUT_WR)
            while more := link.recv(65536):
                answer += more
        return answer


def test_requests(t):
    """The page with its policy, and requests that are wrong."""
    live, port = served(t)
    for path, kind in (('/', 'text/html'), ('/page.js', 'text/javascript'), ('/page.css', 'text/css')):
        status, headers, body = get(port, path)
        assert status == 200 and headers['Content-Type'].startswith(kind) and body, path
        assert headers['Content-Security-Policy'].startswith("default-src 'none'; script-src 'self'; ")
        assert 'unsafe' not in headers['Content-Security-Policy'] and headers['X-Content-Type-Options'] == 'nosniff'
    assert get(port, '/', method='HEAD')[::2] == (200, b'')
    for host, status in (('localhost:%d' % port, 200), ('127.0.0.1', 200), ('[::1]:80', 200), ('evil.example', 403),
                         ('localhost.evil.example', 403), ('127.0.0.1.evil.example', 403)):
        assert get(port, '/', host)[0] == get(port, '/page.js', host)[0] == status, host
    assert b' 403 ' in raw(port, b'GET / HTTP/1.0\r\n\r\n')
    for path in ('/x', '//', '/events/', '/capture/', '/capture/1', '/capture/-1', '/capture/0', '/capture/../../etc/passwd',
                 '/capture/%2e%2e/etc/passwd', '/capture/99999999999999999999', '/../page.js', '/page.html'):
        assert get(port, path)[0] == 404, path
    assert get(port, '/events', method='HEAD')[0] == 405
    for bad in (b'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n', b'GET\r\n\r\n', b'\0' * 100,
                b'GET / HTTP/1.1\r\nHost: localhost\r\nX: ' + b'x' * 100000 + b'\r\n\r\n'):
        assert b' 200 ' not in raw(port, bad), bad[:40]
    assert get(port, '/')[0] == 200
    live.finish(signal.SIGTERM)
    for address, why in (('x', r'is not \[HOST\]:PORT'), ('8.8.8.8:80', 'others than this host can connect'), ('nohost.invalid:1', r'cannot listen on nohost.invalid port 1: \w')):
        wrong = t.live('--web', address, 'net://localhost:1')
        assert peer.ended(wrong.process) != 0 and re.search(why, wrong.said()), wrong.said()


def test_captures(t):
    """Triggers and captures are told, and the report of a capture is served by its number alone."""
    into = os.path.join(t.scratch, 'captures')
    live, port = served(t, '--history', '10s', '--after', '0', '--capture-dir', into, '--on-trigger', 'capture,report',
                        '--trigger', 'cpu.busy > 0 every 1h')
    live.wait_for(lambda one: [line for line in one.lines() if line['type'] == 'capture'])
    with viewer(port) as stream:
        fired = until(stream, 'trigger')
        assert fired['trigger']['name'] == 'cpu.busy > 0 every 1h', fired
        assert re.fullmatch(r'cpu.busy \d\.\d\d ms, > 0 ns', fired['says']), fired
        made = until(stream, 'capture')
    assert made['has_report'] and made['capture']['path'].startswith(into), made
    with open(os.path.join(made['capture']['path'], 'report.html'), 'rb') as file:
        report = file.read()
    status, headers, body = get(port, '/capture/%d' % made['number'])
    assert status == 200 and body == report and headers['Content-Security-Policy'].startswith('sandbox allow-scripts; ')
    assert get(port, '/capture/%dx' % made['number'])[0] == get(port, '/capture/%d' % (made['number'] + 1))[0] == 404
    shutil.rmtree(made['capture']['path'])
    assert get(port, '/capture/%d' % made['number'])[0] == 404
    live.finish(signal.SIGTERM)


def test_capture_link(t):
    """The page has a link for each capture with a report; a click on it opens that report, which works."""
    if not browser.program():
        raise peer.Skip('chromium is not installed')
    into = os.path.join(t.scratch, 'captures')
    live, port = served(t, '--history', '10s', '--after', '0', '--capture-dir', into, '--on-trigger', 'capture,report',
                        '--trigger', 'cpu.busy > 0 every 1h')
    live.wait_for(lambda one: [line for line in one.lines() if line['type'] == 'capture'])
    made = [line for line in live.lines() if line['type'] == 'capture'][0]
    with browser.Browser() as page:
        page.call('Page.navigate', url='http://localhost:%d/' % port)
        links = '[...document.querySelectorAll("#list a")].map((one) => [one.textContent, one.pathname, one.target, one.rel])'
        peer.wait_until(lambda: page.evaluate('document.body && document.body.dataset.state === "ready"') and page.evaluate(links))
        (text, path, target, rel), = page.evaluate(links)
        assert text == made['path'] and target == '_blank' and rel == 'noopener', (text, target, rel, made)
        # It opens in a tab of its own, to which this pipe does not lead: here it is opened in its place.
        page.evaluate('document.querySelector("#list a").target = "_self"')
        page.click_on('document.querySelector("#list a")')
        peer.wait_until(lambda: page.evaluate('location.pathname') == path and page.evaluate(
            'document.getElementById("timeline") && document.getElementById("timeline").dataset.lanes > 0'))
        assert page.evaluate('document.getElementById("title").textContent') == made['host'] + '/' + made['session'] or made['path'] in page.evaluate(
            'document.getElementById("title").textContent'), page.evaluate('document.getElementById("title").textContent')
    live.finish(signal.SIGTERM)


def stuck(port):
    """A viewer that has some room for what it does not read: with next to none, TCP would send it drop by drop later."""
    link = http.client.HTTPConnection('127.0.0.1', port)
    link.sock = socket.socket()
    link.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, ROOM)
    link.sock.settimeout(peer.LIMIT)
    link.sock.connect(('127.0.0.1', port))
    link.request('GET', '/events', headers={'Host': 'localhost'})
    return link.getresponse()


def viewers(text, what):
    """Of how many it is said: once a minute, and at the end."""
    return sum(1 + int(found or '0') for found in re.findall(r'--web: a viewer on 127.0.0.1 ' + what + r'.*?(?: \(and (\d+) more like this\))?$', text, re.M))


def test_slow(t):
    """A viewer that does not read has bounded room, misses windows, and is left; both is said, and others go on."""
    relay, port = t.relay(), peer.free_ports()
    live = t.live('-a', 'all', '-i', '50ms', '--from', 'beginning', '--web', ':%d' % port, relay.live)
    peer.wait_port('127.0.0.1', port, live.process)
    t.replay(relay, 'containers', '--session', 's', '--hostname', 'h', '--wait-viewer', '--live-timer', '100ms', '--as-now',
             '--loop', '1000')
    slow, never, good = stuck(port), stuck(port), viewer(port)
    ends, seen, size, enough = [], [], 0, 0
    while not viewers(live.said(), 'reads too slowly: it misses windows') or len(ends) < enough + 4:
        ends.append(until(good, 'window')['end'])
        enough = enough if viewers(live.said(), 'reads too slowly') else len(ends)
    while not seen or seen[-1] < ends[-1]:
        window = until(slow, 'window')
        seen.append(window['end'])
        size += len(json.dumps(window, separators=(',', ':')))
    assert seen[0] == ends[0] and len(seen) < len(ends), (seen, ends)
    assert WEB_PENDING_MAX / 2 < size < WEB_PENDING_MAX + 2 * (WEB_KERNEL_MAX + ROOM) + (128 << 10), size
    while '--web: a viewer on 127.0.0.1 took nothing for too long: it is left' not in live.said():
        until(good, 'window')
        until(slow, 'window')
    with contextlib.suppress(http.client.IncompleteRead, ConnectionResetError):
        assert b'\n\n' in never.read()  # up to its end
    live.finish(signal.SIGTERM)
    assert viewers(live.said(), 'reads? too slowly: (?:it misses|they miss) windows') == 2, live.said()
    assert viewers(live.said(), 'took nothing') == 1 and live.said().count('--web: ') == 3, live.said()


def hostile(t):
    """The trace burst, with markup as the name of a thread."""
    trace = os.path.join(t.scratch, 'hostile')
    shutil.copytree(os.path.join(t.data, 'burst'), trace)
    count = 0
    for place, _, names in os.walk(trace):
        for name in names:
            if name.startswith('channel') and not name.endswith('.idx'):
                with open(os.path.join(place, name), 'r+b') as file:
                    data = file.read()
                    count += data.count(NAME)
                    file.seek(0)
                    file.write(data.replace(NAME, MARKUP))
    assert count > 0
    return trace


def test_browser(t):
    """Names that hold markup are text on the page, which shows CPUs, threads, latency and what fired."""
    if not browser.program():
        raise peer.Skip('chromium is not installed')
    live, port = served(t, '--trigger', 'cpu.busy > 0 every 1h', '--on-trigger', 'print', trace=hostile(t), host='<b>h', session=EVIL)
    for width, height in ((1280, 800), (480, 900)):
        with browser.Browser(width, height) as page:
            page.call('Page.navigate', url='http://localhost:%d/' % port)
            peer.wait_until(lambda: page.evaluate('document.body && document.body.dataset.state === "ready"'))
            peer.wait_until(lambda: page.evaluate('document.getElementById("list").children.length') == 1)
            peer.wait_until(lambda: MARKUP.decode() in page.evaluate('document.getElementById("traces").innerText'))
            text = page.evaluate('document.body.innerText')
            assert MARKUP.decode() in text and '<b>h/' + EVIL in text, text
            for title in ('CPUs over time', 'Threads that ran most', 'Wake-up latency', 'Threads that waited longest'):
                assert title in text, text
            assert page.evaluate('document.getElementById("evil") === null && document.title') == 'sillage live'
            assert page.evaluate('document.documentElement.scrollWidth') <= width
            lengths = page.evaluate('[0, 999, 999900, 999.9e6, 1234e9, -999900, 1.5e6, null].map(duration)')
            assert lengths == ['0 ns', '999 ns', '1.00 ms', '1.00 s', '1234 s', '-1.00 ms', '1.50 ms', '-'], lengths
            left_out = page.evaluate('''[1, 2].map((skipped) => {
                const trace = [...traces.values()][0];
                draw(Object.assign(trace, { skipped }));
                return trace.when.textContent.split(', ').at(-1);
            })''')
            assert left_out == ['1 window was left out', '2 windows were left out'], left_out
            # What would run if markup were let in: the policy forbids it.
            page.evaluate('document.body.insertAdjacentHTML("beforeend", %s)' % json.dumps(EVIL))
            page.evaluate('new Promise((done) => setTimeout(done, 50))')
            assert page.evaluate('document.title') == 'sillage live'
            if os.environ.get('SILLAGE_PICTURES'):
                page.picture(os.path.join(os.environ['SILLAGE_PICTURES'], 'web-%d.png' % width))
    live.finish(signal.SIGTERM)


def short(ns):
    """As the page writes a length: page_figures, but for what is 0 or not there."""
    return '-' if ns is None else '0 ns' if ns == 0 else page_figures.short(ns)


SHOWN = """(() => {
    const trace = [...traces.values()][0];
    if (!trace || !['cpus', 'wake', 'threads', 'waits'].every((key) => trace.parts.has(key))) return null;
    const found = { numbers: trace.windows.map((one) => one.seq), notes: {}, rows: {}, drawn: {} };
    for (const key of ['cpus', 'wake']) {
        const into = trace.parts.get(key).lastChild, pen = into.querySelector('canvas').getContext('2d'), list = found.drawn[key] = [];
        pen.fillRect = (x, y, wide, high) => list.push([x, y, high, pen.fillStyle]);
        found.notes[key] = () => into.querySelector('.note').textContent;
    }
    draw(trace);
    for (const key of ['cpus', 'wake']) {
        delete trace.parts.get(key).lastChild.querySelector('canvas').getContext('2d').fillRect;
        found.notes[key] = found.notes[key]();
    }
    for (const key of ['threads', 'waits']) {
        found.rows[key] = [...trace.parts.get(key).querySelectorAll('tr')].slice(1).map((row) => [...row.cells].map((cell) => cell.textContent));
    }
    return found;
})()"""


def check_drawn(shown, known):
    """A column for each window, at the same place in both: how busy each CPU was, and the 99th percentile."""
    columns = sorted({x for x, _, _, _ in shown['drawn']['cpus']})
    with_time = [window for window in known if any(cpu['busy_ns'] + cpu['idle_ns'] for cpu in window['cpu']['cpus'])]
    assert len(columns) == len(with_time) > 3, (columns, len(known))
    for x, window in zip(columns, with_time):
        cells = sorted((y, float(re.fullmatch(r'rgba\((?:\d+, ){3}([\d.]+)\)', colour)[1]) if 'rgba' in colour else 1.0)
                       for at, y, _, colour in shown['drawn']['cpus'] if at == x)
        wanted = [cpu['busy_ns'] / (cpu['busy_ns'] + cpu['idle_ns']) for cpu in sorted(window['cpu']['cpus'], key=lambda cpu: cpu['cpu'])
                  if cpu['busy_ns'] + cpu['idle_ns']]
        assert len(cells) == len(wanted) and all(abs(alpha - 0.1 - 0.9 * share) < 0.006 for (_, alpha), share in zip(cells, wanted)), (cells, wanted)
    waits = [window['sched']['wake'].get('p99_ns', 0) for window in known]
    heights = [high for _, _, high, _ in sorted(shown['drawn']['wake'])]
    assert len(heights) == sum(ns > 0 for ns in waits) > 1, (heights, waits)
    for high, ns in zip(heights, [ns for ns in waits if ns]):
        assert abs(high - max(1, 56 * ns / max(waits))) < 0.01, (high, ns)
    assert len({round(high) for high in heights}) > 2, heights


def test_figures(t):
    """What the page draws and writes of CPUs, threads and latency is what -f json has."""
    if not browser.program():
        raise peer.Skip('chromium is not installed')
    relay, port = t.relay(), peer.free_ports()
    live = t.live('-a', 'cpu,sched', '-i', '20ms', '--from', 'beginning', '--web', ':%d' % port, relay.live)
    peer.wait_port('127.0.0.1', port, live.process)
    with browser.Browser() as page:
        page.call('Page.navigate', url='http://localhost:%d/' % port)
        peer.wait_until(lambda: page.evaluate('document.getElementById("link") && document.getElementById("link").textContent') == 'connected')
        # Windows that close together come as one: its packets are short, so they do not.
        t.replay(relay, 'small-packets', '--session', 's', '--hostname', 'h', '--speed', '0.1', '--wait-viewer', '--live-timer', '100ms', '--linger', peer.LONG)
        got = []
        peer.wait_until(lambda: got.append(page.evaluate(SHOWN)) or (got[-1] and len(got[-1]['drawn']['wake']) > 3 and got[-1]['rows']['waits']))
        shown = got[-1]
    by_number = {}
    live.wait_for(lambda one: by_number.update({line['seq']: line for line in windows(one.lines())}) or set(shown['numbers']) <= set(by_number))
    known = [by_number[number] for number in shown['numbers']]
    check_drawn(shown, known)
    last = known[-1]
    cpu, sched, length = last['cpu'], last['sched'], last['end'] - last['begin']
    of_all = cpu['busy_ns'] + cpu['idle_ns'] + cpu['unknown_ns']
    assert shown['notes']['cpus'].strip() == 'busy %.1f %% of %d CPUs' % (100 * cpu['busy_ns'] / (cpu['busy_ns'] + cpu['idle_ns']), len(cpu['cpus'])) + (
        ', unknown %.1f %%' % (100 * cpu['unknown_ns'] / of_all) if cpu['unknown_ns'] else ''), (shown['notes'], cpu)
    if sched['wake']['count']:
        wanted = 'now: p50 %s, p99 %s, longest %s, %d wake-ups; ' % (*(short(sched['wake'][key + '_ns']) for key in ('p50', 'p99', 'max')), sched['wake']['count'])
        assert shown['notes']['wake'].startswith(wanted), (shown['notes'], wanted)
    listed = lambda window: [['%s (%d)' % (one['comm'], one['tid']), '%.1f %%' % (100 * one['run_ns'] / length), str(one['switches']), short(one['longest_ns'])]
                             for one in window['cpu']['threads'][:ROWS] if 'tid' in one]
    waited = lambda window: [['%s (%d)' % (one['comm'], one['tid']), short(one['waited_ns']), short(max(one[key].get('max_ns', 0) for key in ('wake', 'requeue'))),
                              str(one['wake']['count']), str(one['requeue']['count'])]
                             for one in window['sched']['threads'][:ROWS] if 'tid' in one]
    for key, rows_of in (('threads', listed), ('waits', waited)):
        assert [row for row in shown['rows'][key] if '(' in row[0]] == rows_of(last), (key, shown['rows'][key], rows_of(last))
    assert all(row['waited_ns'] == row['wake'].get('sum_ns', 0) + row['requeue'].get('sum_ns', 0) for window in known for row in window['sched']['threads'])
    assert any(row['waited_ns'] for window in known for row in window['sched']['threads'])
    live.finish(signal.SIGTERM)


def test_silent_window(t):
    """A window without events has no rows of the one before, under its own time."""
    if not browser.program():
        raise peer.Skip('chromium is not installed')
    live, port = served(t)
    with browser.Browser() as page:
        page.call('Page.navigate', url='http://localhost:%d/' % port)
        rows = "['threads', 'waits'].map((key) => [...traces.values()][0].parts.get(key)).map((one) => one ? one.querySelectorAll('td').length : 0)"
        peer.wait_until(lambda: page.evaluate('document.getElementById("link") && document.getElementById("link").textContent') == 'connected')
        known = """[...traces.values()].some((one) => {
            const line = one.windows.find((line) => line.cpu.threads.length && line.sched.threads.length);
            window.full = line && {...line, seq: 1000};
            return line;
        })"""
        peer.wait_until(lambda: page.evaluate('Boolean(%s)' % known))
        live.finish(signal.SIGTERM)
        # The windows that closed last may still be on their way; behind them is the end.
        peer.wait_until(lambda: page.evaluate('document.getElementById("link").className') == 'lost')
        page.evaluate('onWindow(full)')
        assert all(page.evaluate(rows)), page.evaluate(rows)
        page.evaluate("onWindow({...full, seq: 1001, cpu: {...full.cpu, threads: []}, sched: {...full.sched, threads: [], wake: {count: 0}}})")
        assert page.evaluate(rows) == [0, 0], page.evaluate(rows)
        says = page.evaluate("[...document.querySelectorAll('.part')].map((one) => one.textContent).join(' ')")
        assert says.count('none in this window') == 2 and 'no wake-up in this window' in says, says


CONNECTIONS_MAX = 64  # SERVER_CONNECTIONS_MAX


def alone(t):
    """A live run without a relay, and the ports of its page and of its metrics."""
    ports = peer.free_ports(), peer.free_ports()
    live = t.live('--web', ':%d' % ports[0], '--metrics', ':%d' % ports[1], '--retry', '1h', 'net://127.0.0.1:1')
    for port in ports:
        peer.wait_port('127.0.0.1', port, live.process)
    return live, ports


def is_open(link):
    """Whether the other end has not closed it."""
    link.setblocking(False)
    try:
        return link.recv(65536) != b''
    except BlockingIOError:
        return True
    except OSError:
        return False


def test_hosts(t):
    """Both servers listen on both addresses of loopback, and answer those who ask for it, there alone."""
    live, ports = alone(t)
    for port, path in zip(ports, ('/', '/metrics')):
        for host, status in (('localhost:%d' % port, 200), ('127.0.0.1', 200), ('[::1]:80', 200), ('evil.example', 403), (None, 403),
                             ('localhost.evil.example', 403), ('127.0.0.1.evil.example', 403)):
            asked = b'' if host is None else b'Host: %s\r\n' % host.encode()
            answer = raw(port, b'GET %s HTTP/1.0\r\n%s\r\n' % (path.encode(), asked))
            assert answer.startswith(b'HTTP/1.0 %d ' % status), (host, answer[:200])
        if has_six():
            assert get(port, path, '[::1]', to='::1')[0] == 200
    live.finish(signal.SIGTERM)


def has_six():
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET6) as one:
        one.bind(('::1', 0))
        return True
    return False


def test_all_addresses(t):
    """[::]:PORT is IPv4, too, and 0.0.0.0:PORT is IPv4 only; what is not loopback answers any name."""
    for host, also_six in (('[::]', True), ('0.0.0.0', False)):
        if also_six and not has_six():
            continue
        port = peer.free_ports()
        live = t.live('--metrics', '%s:%d' % (host, port), '--retry', '1h', 'net://127.0.0.1:1')
        peer.wait_port('127.0.0.1', port, live.process)
        assert get(port, '/metrics', 'host.example')[0] == 200
        try:
            assert get(port, '/metrics', 'host.example', to='::1')[0] == 200 and also_six
        except OSError:
            assert not also_six
        live.finish(signal.SIGTERM)


def test_crowd(t):
    """Many connections that never send a whole request, and one byte of it again and again: both servers answer
    others, have a bounded number of connections, and close each in time."""
    live, ports = alone(t)
    with contextlib.ExitStack() as stack:
        crowds = []
        for port in ports:
            crowd = [stack.enter_context(socket.create_connection(('127.0.0.1', port))) for _ in range(3 * CONNECTIONS_MAX)]
            for link in crowd:
                with contextlib.suppress(OSError):
                    link.sendall(b'GET / HTTP/1.1\r\nX: ')
            crowds.append(crowd)
        for port, path, crowd in zip(ports, ('/', '/metrics'), crowds):
            peer.wait_until(lambda crowd=crowd: sum(map(is_open, crowd)) <= CONNECTIONS_MAX)
            assert sum(map(is_open, crowd)) > CONNECTIONS_MAX // 2
            assert get(port, path)[0] == 200

        def all_are_closed():
            for crowd in crowds:
                for link in crowd:
                    with contextlib.suppress(OSError):
                        link.send(b'x')
            return not any(is_open(link) for crowd in crowds for link in crowd)

        peer.wait_until(all_are_closed)
    assert get(ports[0], '/')[0] == get(ports[1], '/metrics')[0] == 200
    said = live.finish(signal.SIGTERM) and live.said()
    for what in ('--web', '--metrics'):
        assert 1 <= len(re.findall(what + ': there are 64 connections: the oldest is closed', live.said())) <= 9, said
        assert 1 <= len(re.findall(what + ': no whole request within 10 s', live.said())) <= 9, said
    assert len(live.said()) < 3000, live.said()


def cpu_s(pid):
    with open('/proc/%d/stat' % pid) as file:
        return sum(map(int, file.read().rpartition(')')[2].split()[11:13])) / os.sysconf('SC_CLK_TCK')


def test_descriptors(t):
    """Without a descriptor for them connections wait, at no cost; with one they are served."""
    live, ports = alone(t)
    pid, nothing = live.process.pid, b'GET /x HTTP/1.0\r\nHost: localhost\r\n\r\n'
    was = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    count = len(os.listdir('/proc/%d/fd' % pid))
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (max(map(int, os.listdir('/proc/%d/fd' % pid))) + 1, was[1]))
    with contextlib.ExitStack() as stack:
        spare = count  # descriptors below the highest are few
        links = [stack.enter_context(socket.create_connection(('127.0.0.1', port))) for port in ports for _ in range(spare + 20)]
        for what in ('--web', '--metrics'):
            live.wait_said(what + ': connections have to wait: Too many open files')
        used, begin = cpu_s(pid), peer.ASLEEP.now()
        peer.wait_until(lambda: peer.ASLEEP.now() > begin + 3)
        assert cpu_s(pid) - used < 1, cpu_s(pid) - used
        resource.prlimit(pid, resource.RLIMIT_NOFILE, was)
        for link in links:
            link.settimeout(peer.LIMIT)
            with contextlib.suppress(OSError):  # those that were taken first may have waited for too long
                link.sendall(nothing)
        assert any(b' 404 ' in link.recv(200) for link in links[-10:]), 'not served'
    assert get(ports[0], '/')[0] == get(ports[1], '/metrics')[0] == 200
    live.finish(signal.SIGTERM)
    # The first of each, and at the end how many more.
    assert 2 <= live.said().count('have to wait') <= 4 and len(live.said()) < 3000, live.said()


def test_containers(t):
    """With --per container the page has the containers of the last window, and no list without rows."""
    if not browser.program():
        raise peer.Skip('chromium is not installed')
    live, port = served(t, '--per', 'container', trace='containers')
    with browser.Browser() as page:
        page.call('Page.navigate', url='http://localhost:%d/' % port)
        peer.wait_until(lambda: page.evaluate('document.body && document.body.dataset.state === "ready"'))
        with viewer(port) as stream:
            last = until(stream, 'window')
        rows = page.evaluate('''(() => {
            const title = [...document.querySelectorAll('h3')].find((one) => one.textContent === 'Containers');
            return [...title.nextElementSibling.querySelectorAll('tr')].slice(1).map((row) => [...row.cells].map((cell) => cell.textContent));
        })()''')
        wanted = [[one.get('name', str(one['pid_ns'])), '%.1f %%' % (100 * one['run_ns'] / (last['end'] - last['begin'])), str(one['switches'])]
                  for one in last['cpu']['containers']]
        assert [row[:3] for row in rows] == wanted and wanted, (rows, wanted)
        text = page.evaluate('document.body.innerText')
        assert 'CPUs over time' not in text and 'Threads that ran' not in text, text
    live.finish(signal.SIGTERM)


if __name__ == '__main__':
    sys.exit(peer.main(globals()))

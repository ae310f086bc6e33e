#!/usr/bin/env python3
"""tls: the servers of `live` with --server-config: TLS, users, renewal, and whoever should not get in.

usage: tls.py SILLAGE APP DATA [x NAME]
"""
import base64
import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'reference'))
import browser  # noqa: E402
import peer  # noqa: E402
import web  # noqa: E402

# Of "hunter2", as mkpasswd(1) makes it.
YESCRYPT = '$y$j9T$F5Jx5fExrKuPp53xLKQ..1$PmNgGTLMFjJn.URBv11CpTEm5RwlKtPjRtztKe6.b33'
BEGINNING = ('certificate = cert.pem', 'key = key.pem')
NEEDS_USERS = 'others than this host can connect to 0.0.0.0: that needs --server-config with users, or --insecure'


def sha_of(password):
    return subprocess.run(['openssl', 'passwd', '-6', '-salt', 'abcdefgh', password], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def certify(folder, name='localhost', also=()):
    """A certificate of its own authority, and its key."""
    subprocess.run(['openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2',
                    '-keyout', os.path.join(folder, 'key.pem'), '-out', os.path.join(folder, 'cert.pem'), '-subj', '/CN=' + name,
                    '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1', *also], check=True, stderr=subprocess.DEVNULL)
    os.chmod(os.path.join(folder, 'key.pem'), 0o600)


def write(path, *lines, mode=0o600):
    with open(path, 'w') as file:
        file.write('\n'.join(lines) + '\n')
    os.chmod(path, mode)
    return path


def configured(t, *users):
    """The path of a configuration with these, or with two."""
    if not shutil.which('openssl'):
        raise peer.Skip('openssl is not installed')
    certify(t.scratch)
    return write(os.path.join(t.scratch, 'server'), *BEGINNING, '[users]',
                 *(users or ('alice = ' + sha_of('secret'), '# a comment', 'bob = ' + YESCRYPT)))


def started(t, config, *options):
    """A live run without a relay, and the ports of its page and of its metrics."""
    ports = peer.free_ports(), peer.free_ports()
    live = t.live('--web', ':%d' % ports[0], '--metrics', ':%d' % ports[1], '--server-config', config, *options, '--retry', '1h',
                  'net://127.0.0.1:1')
    for port in ports:
        peer.wait_port('127.0.0.1', port, live.process)
    return live, ports


def context(t, **settings):
    made = ssl.create_default_context(cafile=os.path.join(t.scratch, 'cert.pem'))
    for key, value in settings.items():
        setattr(made, key, value)
    return made


def headers_of(who):
    return {'Authorization': 'Basic ' + base64.b64encode(who.encode()).decode()} if who else {}


def get(t, port, path, who, headers=None):
    """Status, headers and body."""
    link = http.client.HTTPSConnection('localhost', port, context=context(t), timeout=peer.LIMIT)
    link.request('GET', path, headers=headers or headers_of(who))
    answer = link.getresponse()
    body = answer.read()
    link.close()
    return answer.status, answer.headers, body


def answered(t, port, path, who):
    """The same, by one who comes again when there were too many tries."""
    while True:
        status, headers, body = get(t, port, path, who)
        if status != 429:
            return status, headers, body
        assert headers['Retry-After'] == '5'
        time.sleep(0.2)  # between tries


def test_users(t):
    """Both servers answer users of either hash, and nobody else."""
    live, ports = started(t, configured(t))
    for port, path, has in ((ports[0], '/', b'<html'), (ports[1], '/metrics', b'sillage_relay_up')):
        for who in ('alice:secret', 'bob:hunter2'):
            for _ in range(3):
                status, _, body = answered(t, port, path, who)
                assert status == 200 and has in body, (who, status, body[:200])
        for who in (None, 'alice:wrong', 'alice:', 'bob:secret', 'nobody:secret', ':', ':secret', 'alice:secret\0', 'Alice:secret', 'alice:secret '):
            status, headers, body = answered(t, port, path, who)
            assert status == 401 and headers['WWW-Authenticate'].startswith('Basic realm="sillage"') and has not in body, (who, status, body[:200])
        for header in ('Basic', 'Basic ', 'Basic ****', 'Basic YQ', 'Basic YWxpY2U6c2VjcmV0=', 'Basic ' + 'YWJj' * 1000, 'Bearer YWxpY2U6c2VjcmV0'):
            assert get(t, port, path, None, {'Authorization': header})[0] == 401, header
        assert get(t, port, '/x', 'alice:secret')[0] == 404 and get(t, port, '/x', None)[0] == 401
        assert get(t, port, path, None, {'Host': 'evil.example', **headers_of('alice:secret')})[0] == 403
    live.finish(signal.SIGTERM)
    assert 'secret' not in live.said() and 'hunter2' not in live.said() and 'Sanitizer' not in live.said(), live.said()
    # The first, and at the end how many more.
    assert len(re.findall(r'a user of (?:127.0.0.1|::1) is refused.*(?: \(and [0-9]+ more like this\))?', live.said())) == 2, live.said()
    assert re.search(r'is refused.* \(and [0-9]+ more like this\)$', live.said(), re.M), live.said()


def test_protocols(t):
    """TLS before 1.2 is refused, and what is no TLS has no answer."""
    live, ports = started(t, configured(t))
    for port in ports:
        assert b' 200 ' not in web.raw(port, b'GET / HTTP/1.0\r\nHost: localhost\r\n\r\n')
        assert b' 200 ' not in web.raw(port, os.urandom(3000))
        for least, most, is_served in (('TLSv1', 'TLSv1_1', False), ('TLSv1_2', 'TLSv1_2', True), ('TLSv1_3', 'TLSv1_3', True)):
            made = context(t)
            made.set_ciphers('ALL:@SECLEVEL=0')
            with socket.create_connection(('127.0.0.1', port)) as link:
                import warnings
                with warnings.catch_warnings():
                    warnings.simplefilter('ignore')
                    made.minimum_version, made.maximum_version = (getattr(ssl.TLSVersion, one) for one in (least, most))
                try:
                    made.wrap_socket(link, server_hostname='localhost').close()
                    assert is_served, most
                except (ssl.SSLError, OSError):
                    assert not is_served, most
    assert get(t, ports[0], '/', 'alice:secret')[0] == 200
    live.finish(signal.SIGTERM)


def test_guessing(t):
    """Many guesses have few of them tried, cost little, and keep nobody out who is known."""
    live, ports = started(t, configured(t))
    assert answered(t, ports[0], '/', 'bob:hunter2')[0] == 200
    begin, count = time.monotonic(), 0
    seen = {401: 0, 429: 0}
    while seen[429] < 60 and count < 300:
        seen[get(t, ports[count % 2], '/', 'bob:guess%d' % count)[0]] += 1
        count += 1
    assert seen[401] <= 5 + (time.monotonic() - begin) + 1 and seen[429] == 60, seen
    assert get(t, ports[0], '/', 'bob:hunter2')[0] == 200
    assert get(t, ports[0], '/', 'bob:guess0')[0] == 401  # what is known to be wrong is not tried again
    live.finish(signal.SIGTERM)
    assert live.said().count('is refused') <= 2 and len(live.said()) < 1000, live.said()


def test_slow_handshakes(t):
    """Many that connect and never finish the handshake: others are served, and all of these are closed in time."""
    live, ports = started(t, configured(t))
    hello = context(t).wrap_bio(ssl.MemoryBIO(), out := ssl.MemoryBIO(), server_hostname='localhost')
    with contextlib.suppress(ssl.SSLWantReadError):
        hello.do_handshake()
    hello = out.read()
    with contextlib.ExitStack() as stack:
        crowd = []
        for i in range(3 * web.CONNECTIONS_MAX):
            link = stack.enter_context(socket.create_connection(('127.0.0.1', ports[0])))
            with contextlib.suppress(OSError):
                link.sendall((b'', hello[:20], hello)[i % 3])
            crowd.append(link)
        peer.wait_until(lambda: sum(map(web.is_open, crowd)) <= web.CONNECTIONS_MAX)
        assert answered(t, ports[0], '/', 'alice:secret')[0] == 200

        def all_are_closed():
            for link in crowd[1::3]:
                with contextlib.suppress(OSError):
                    link.send(hello[20:21])
            return not any(map(web.is_open, crowd))

        peer.wait_until(all_are_closed)
    assert get(t, ports[0], '/', 'alice:secret')[0] == 200
    live.finish(signal.SIGTERM)
    assert len(live.said()) < 3000 and 'Sanitizer' not in live.said(), live.said()


def subject(t, port):
    made = context(t, check_hostname=False, verify_mode=ssl.CERT_NONE)
    with socket.create_connection(('127.0.0.1', port)) as link, made.wrap_socket(link) as tls:
        return tls.getpeercert(binary_form=True)


def viewer(t, port, who):
    link = http.client.HTTPSConnection('localhost', port, context=context(t), timeout=peer.LIMIT)
    link.request('GET', '/events', headers=headers_of(who))
    return link.getresponse()


def test_renewal(t):
    """SIGHUP: a new certificate is served, and users are those of the new file; a file that is wrong changes nothing."""
    live, ports = started(t, config := configured(t))
    first = subject(t, ports[0])
    assert answered(t, ports[0], '/', 'alice:secret')[0] == 200
    stream = viewer(t, ports[0], 'alice:secret')
    assert stream.status == 200
    certify(t.scratch)
    assert subject(t, ports[0]) == first
    live.process.send_signal(signal.SIGHUP)
    peer.wait_until(lambda: subject(t, ports[0]) != first and subject(t, ports[1]) == subject(t, ports[0]))
    with contextlib.suppress(http.client.IncompleteRead, ConnectionResetError, ssl.SSLError):
        stream.read()  # who looks has to come again
    assert answered(t, ports[0], '/', 'alice:secret')[0] == 200
    for number, lines in enumerate((('nonsense',), (*BEGINNING, '[users]', 'alice = x'), ('certificate = gone.pem', 'key = key.pem'))):
        write(config, *lines)
        live.process.send_signal(signal.SIGHUP)
        live.wait_for(lambda one, number=number: one.said().count(': all is served as before') == number + 1)
        assert answered(t, ports[0], '/', 'alice:secret')[0] == 200
    write(config, *BEGINNING, '[users]', 'bob = ' + YESCRYPT)
    live.process.send_signal(signal.SIGHUP)
    peer.wait_until(lambda: answered(t, ports[0], '/', 'alice:secret')[0] == 401)
    assert answered(t, ports[1], '/metrics', 'bob:hunter2')[0] == 200
    write(config, *BEGINNING)
    live.process.send_signal(signal.SIGHUP)
    peer.wait_until(lambda: get(t, ports[1], '/metrics', None)[0] == 200)  # it is on loopback
    live.finish(signal.SIGTERM)
    assert 'Sanitizer' not in live.said(), live.said()


def refused(t, *args):
    """What it said before it ended with status 1."""
    live = t.live(*args, '--retry', '1h', 'net://127.0.0.1:1')
    live.finish(status=1)
    return live.said()


def test_reach(t):
    """A page leaves this host with users only, or --insecure; metrics without them, which is said once.  Whoever began with
    users keeps them."""
    config, port = configured(t), peer.free_ports()
    assert '--web: ' + NEEDS_USERS in refused(t, '--web', '0.0.0.0:%d' % port)
    alone = write(os.path.join(t.scratch, 'no-users'), *BEGINNING)
    assert '--web: ' + NEEDS_USERS in refused(t, '--web', '0.0.0.0:%d' % port, '--server-config', alone)
    for options, line in ((('--web', '0.0.0.0:%d' % port, '--insecure'), '--web: whoever can connect to port %d can read it'),
                          (('--metrics', '0.0.0.0:%d' % port), '--metrics: whoever can connect to port %d can read it'),
                          (('--web', '0.0.0.0:%d' % port, '--server-config', config), None),
                          (('--web', '0.0.0.0:%d' % port, '--server-config', config, '--insecure'), None),
                          (('--metrics', '0.0.0.0:%d' % port, '--server-config', config), None)):
        path = '/metrics' if '--metrics' in options else '/'
        live = t.live(*options, '--retry', '1h', 'net://127.0.0.1:1')
        peer.wait_port('127.0.0.1', port, live.process)
        if '--server-config' not in options:
            assert web.get(port, path, 'here.example')[0] == 200
        else:
            assert answered(t, port, path, 'alice:secret')[0] == 200 and get(t, port, path, None)[0] == 401
            write(config, *BEGINNING)
            live.process.send_signal(signal.SIGHUP)  # without users it may not be there
            live.wait_said('there are no users, and others can connect: all is served as before')
            assert get(t, port, path, None)[0] == 401
            configured(t)
        live.finish(signal.SIGTERM)
        assert live.said().count('can read it') == bool(line) and (not line or line % port in live.said()), live.said()


def test_configurations(t):
    """What is wrong with a configuration, its certificate or its key is said, and nothing is served."""
    config, port, at = configured(t), ':%d' % peer.free_ports(), lambda name: os.path.join(t.scratch, name)
    os.mkfifo(at('fifo'), 0o600)
    shutil.copy(at('key.pem'), at('open.pem'))
    os.chmod(at('open.pem'), 0o644)
    os.mkdir(at('other'))
    certify(at('other'))
    subprocess.run(['openssl', 'ec', '-aes256', '-passout', 'pass:x', '-in', at('key.pem'), '-out', at('locked.pem')], check=True, stderr=subprocess.DEVNULL)
    os.chmod(at('locked.pem'), 0o600)
    write(at('empty.pem'))
    one = BEGINNING[0]
    for lines, why in ((('x',), 'line 1: expected [NAME] or KEY = VALUE'), ((), 'names no certificate'), ((one,), 'names no key'), ((one, one), 'line 2: expected one'),
                       ((one, 'key = gone.pem'), 'gone.pem: No such file'), ((one, 'key = open.pem'), 'open.pem: others can read or write it'),
                       ((one, 'key = fifo'), 'fifo: is a pipe or a device, and no file'), (('certificate = fifo', BEGINNING[1]), 'fifo: is no file'),
                       ((one, 'key = other/key.pem'), 'key.pem: key values mismatch'), ((one, 'key = locked.pem'), 'locked.pem: '),
                       ((one, 'key = empty.pem'), 'empty.pem: '), (('certificate = empty.pem', BEGINNING[1]), 'empty.pem: '),
                       ((one, 'key =',), 'line 2: expected one'), ((*BEGINNING, 'port = 1'), 'line 3: expected one'),
                       ((*BEGINNING, '[user]'), 'line 3: expected [users], not [user]'), ((*BEGINNING, '[users]', 'a = b'), 'line 4: a: expected a hash'),
                       ((*BEGINNING, '[users]', 'a = ' + YESCRYPT, 'a = ' + YESCRYPT), 'line 5: a is there twice'),
                       ((*BEGINNING, '[users]', 'a:b = ' + YESCRYPT), 'line 4: "a:b" is no name'),
                       ((*BEGINNING, '[users]', 'a = $6$rounds=999999999$x$y'), 'line 4: a: expected a hash'),
                       ((*BEGINNING, '[users]', 'a = ' + YESCRYPT.replace('$j9T', '$jFT')), 'line 4: a: expected a hash')):
        said = refused(t, '--web', port, '--server-config', write(config, *lines))
        assert why in said and said.count('\n') == 1, (lines, why, said)
    for mode in (0o644, 0o602, 0o620):
        assert 'server: others can read or write it' in refused(t, '--web', port, '--server-config', write(config, *BEGINNING, mode=mode))
    assert 'No such file' in refused(t, '--web', port, '--server-config', at('gone'))
    assert 'is no file' in refused(t, '--web', port, '--server-config', t.scratch)
    for args in (('--server-config', config), ('--insecure',)):
        live = t.live(*args, 'net://127.0.0.1:1')
        live.finish(status=2)


def libraries(pid):
    with open('/proc/%d/maps' % pid) as file:
        return set(re.findall(r'/(lib(?:ssl|crypto|event_openssl|crypt))[.-]', file.read()))


def test_loaded(t):
    """OpenSSL is loaded with a configuration only."""
    live, _ = started(t, configured(t))
    assert libraries(live.process.pid) == {'libssl', 'libcrypto', 'libevent_openssl', 'libcrypt'}
    live.finish(signal.SIGTERM)
    live, _ = web.alone(t)
    assert not libraries(live.process.pid)
    live.finish(signal.SIGTERM)


def served(t):
    """A live run with windows, its port, and its viewers' way in."""
    relay, port, config = t.relay(), peer.free_ports(), configured(t)
    live = t.live('-a', 'cpu,sched', '-i', '10ms', '--from', 'beginning', '--web', ':%d' % port, '--server-config', config, relay.live)
    peer.wait_port('127.0.0.1', port, live.process)
    t.replay(relay, 'burst', '--session', 's', '--hostname', 'h', '--speed', '0', '--wait-viewer', '--linger', peer.LONG)
    live.wait_for(lambda one: len(web.windows(one.lines())) > 2)
    return live, port


def test_last(t):
    """Viewers get windows, and those that close when live ends, by TLS too."""
    live, port = served(t)
    stream = viewer(t, port, 'alice:secret')
    web.until(stream, 'window')
    live.finish(signal.SIGTERM)
    seen = b''
    with contextlib.suppress(http.client.IncompleteRead, ConnectionResetError, ssl.SSLError):
        while more := stream.read1(65536):
            seen += more
    last = [json.loads(line[6:]) for line in seen.splitlines() if line.startswith(b'data: {"type":"window"')][-1:]
    assert [one['begin'] for one in last] == [web.windows(live.lines())[-1]['begin']], seen[-300:]
    assert 'Sanitizer' not in live.said(), live.said()


def test_browser(t):
    """The page, its parts and its events come to a browser that was given a user."""
    if not browser.program():
        raise peer.Skip('chromium is not installed')
    live, port = served(t)
    with browser.Browser() as page:
        page.call('Security.setIgnoreCertificateErrors', ignore=True)
        page.call('Page.navigate', url='https://alice:secret@localhost:%d/' % port)
        peer.wait_until(lambda: page.evaluate('document.body && document.body.dataset.state === "ready"'))
        assert page.evaluate('location.protocol') == 'https:'
        assert page.evaluate('document.getElementById("link").textContent') == 'connected'
        assert 'CPUs over time' in page.evaluate('document.body.innerText')
    live.finish(signal.SIGTERM)
    assert 'Sanitizer' not in live.said(), live.said()


if __name__ == '__main__':
    sys.exit(peer.main(globals()))

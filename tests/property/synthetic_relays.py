"""synthetic_relays: cases of synthetic_cases.py on relays that have no sessions, or do not answer.

The relay is a few lines of Python that know two requests of the viewer protocol.
"""
import contextlib
import socket
import struct
import subprocess
import threading

import synthetic
from synthetic import same

CONNECT, LIST = 1, 2


def session(name):
    return struct.pack('>QIII', 1, 1000000, 0, 1) + b'host'.ljust(64, b'\0') + name.encode().ljust(255, b'\0')


def exactly(peer, count):
    data = b''
    while len(data) < count:
        more = peer.recv(count - len(data))
        if not more:
            return None
        data += more
    return data


def serve(peer, names, answers):
    with contextlib.suppress(OSError):
        while True:
            head = exactly(peer, 16)
            if head is None:
                return
            size, command, _ = struct.unpack('>QII', head)
            exactly(peer, size)
            if answers and command == CONNECT:
                peer.sendall(struct.pack('>QIII', 1, 2, 13, 1))
            elif answers and command == LIST:
                peer.sendall(struct.pack('>I', len(names)) + b''.join(map(session, names)))


@contextlib.contextmanager
def relay(*names, answers=True):
    """The URL of a relay with sessions of these names."""
    with socket.create_server(('127.0.0.1', 0)) as server:
        def accept():
            with contextlib.suppress(OSError):
                while True:
                    peer = server.accept()[0]
                    threading.Thread(target=serve, args=(peer, names, answers), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield 'net://127.0.0.1:%d' % server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)


def first_said(*args):
    """The first line that it says; then it is ended."""
    done = subprocess.Popen([synthetic.SILLAGE, *args], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    line = done.stderr.readline().decode()
    done.terminate()
    rest = done.stderr.read().decode()
    same(done.wait(), -15 if args[0] == 'list' else 0)
    return line, rest


def test_relay_without_sessions(scratch):
    del scratch
    with relay() as url:
        place = url[len('net://'):]
        same(first_said('live', url), ('sillage: connected to %s, no sessions yet; waiting\n' % place, ''))
        same(first_said('live', url + '/host/h/s')[0], 'sillage: %s/host/h/s: no such session yet; waiting for it\n' % url)
        same(synthetic.run('list', url), (0, '', 'sillage: connected to %s, no sessions\n' % place))
        same(synthetic.run('list', '-q', url), (0, '', ''))
    with relay('one', 'two') as url:
        place = url[len('net://'):]
        same(first_said('live', url + '/host/h*/x*')[0],
             'sillage: connected to %s, none of its 2 sessions matches; waiting\n' % place)
        same(synthetic.run('list', url + '/host/host/three')[1:],
             ('', 'sillage: connected to %s, no sessions of this name\n' % place))


def test_relay_without_answers(scratch):
    del scratch
    with relay(answers=False) as url:
        place = url[len('net://'):]
        same(first_said('live', url)[0], 'sillage: connected to %s, but it does not answer; waiting\n' % place)
        same(first_said('list', url)[0], 'sillage: %s does not answer; waiting\n' % place)

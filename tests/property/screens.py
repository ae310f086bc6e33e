#!/usr/bin/env python3
"""screens: `top` shows each list of analyses, of traces and of a store, and ends well.

Goal    What is on the screen is the screen's own: it is shown and freed after the run that made it has
        freed everything.  Each analysis alone, pairs of them, all of them and those by default; with
        names of jobs and periods; windows that lack events.
Method  A pseudo terminal.  All lists are visited, sorted, and one row is opened, window after window.
        The status is 0, and what sanitizers say is on the terminal.

usage: screens.py SILLAGE DATA [--store]
"""
import concurrent.futures
import contextlib
import fcntl
import os
import pty
import random
import re
import sqlite3
import struct
import subprocess
import sys
import tempfile
import termios

import options

KEYS = b'\t>\tr>\t\r\t>\r' * 4 + b'\x1bOC' + b'\t' * 40 + b'\x1bOF' + b'\t\r' * 8
ESCAPES = re.compile(rb'\x1b(\[[0-?]*[ -/]*[@-~]|[()][AB0]|[=>])')


def shown(sillage, *words):
    """What `top` wrote before it ended, and its status."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update(TERM='xterm', LC_ALL='C.UTF-8')
        os.execv(sillage, [sillage, 'top', *words])
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack('4H', 40, 130, 0, 0))
    seen, sent = b'', False
    while True:
        try:
            got = os.read(terminal, 65536)
        except OSError:  # it has ended
            break
        seen += got
        if not sent and b'quit' in seen:
            os.write(terminal, KEYS)
            os.write(terminal, b'\x1b\x1bq')
            sent = True
    os.close(terminal)
    return seen, os.waitpid(pid, 0)[1]


def check(sillage, words):
    seen, status = shown(sillage, *words)
    text = ESCAPES.sub(b'', seen).decode(errors='replace')
    if status != 0 or 'Sanitizer' in text or 'quit' not in text:
        return 'top %s: status %d\n%s' % (' '.join(words), status, text[-3000:])
    return None


def cases(names, data, store):
    rng = random.Random(7)
    lists = [()] + [('-a', name) for name in names + ['all'] + [','.join(rng.sample(names, 2)) for _ in range(6)]]
    traces = [os.path.join(data, name) for name in ('burst', 'lost-events', 'ust')]
    for words in lists:
        for trace in traces + ([store] if store else []):
            yield words + ('-i', '100ms', trace)
    if store:  # windows that leave a hole, of jobs and periods
        yield '-a', 'jobs,periods,cpu', '-i', '100ms', store
        yield '-a', 'jobs,periods,cpu', '-i', '500ms', store
    yield ('-a', 'jobs,cpu,ust', '--job', 'u = *; *; every 5ms', '-i', '100ms', traces[2])
    yield '-a', 'preempt,sched,cpu', '--per', 'container', '-i', '100ms', os.path.join(data, 'containers')
    yield '-a', 'cpu', '--comm', 'burst-1', '-i', '100ms', traces[0]
    yield ('-a', 'jobs,periods', '--job', 'b = run-to-sleep', '--period', 'r = syscall_entry_read; syscall_exit_read',
           '-i', '100ms', traces[0])


def main():
    sillage, data = os.path.abspath(sys.argv[1]), sys.argv[2]
    names = [name for name in options.analyses(sillage) if name not in ('jobs', 'periods')]
    assert 'cpu' in names and 'sched' in names, names
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as lanes:
        store = os.path.join(folder, 'a.db') if '--store' in sys.argv else None
        if store:
            subprocess.run([sillage, 'analyze', '-q', '-a', 'all', '--job', 'b = run-to-sleep', '--period',
                            'r = syscall_entry_read; syscall_exit_read', '-i', '100ms', '-o', os.devnull, '--store', store,
                            os.path.join(data, 'burst')], check=True)
            with contextlib.closing(sqlite3.connect(store)) as db:
                db.execute('DELETE FROM windows WHERE begin IN (SELECT begin FROM windows ORDER BY begin LIMIT 7 OFFSET 7)')
                db.commit()
        asked = list(cases(names, data, store))
        wrong = [text for text in lanes.map(lambda words: check(sillage, words), asked) if text]
    for text in wrong:
        print(text)
    print('%s screens: %d' % ('not ok' if wrong else 'ok', len(asked)))
    sys.exit(1 if wrong else 0)


if __name__ == '__main__':
    main()

#!/usr/bin/env python3
"""names: whatever names hold, what people read is plain text.

Goal    Names of threads, files, hosts, events and triggers, paths, and what stores, files and servers say come
        from others.  Text on standard output, in files of -o and on a terminal, and messages, are valid UTF-8
        without control characters but ends of lines, and without marks that are not seen; a terminal gets
        beside these the two sequences of bold titles; JSON and files of test cases escape them.
Method  A trace whose names are replaced by hostile ones of the same length (escape sequences, C1, invalid UTF-8, ends
        of lines, marks of direction), and a store, a comparison and triggers made of that.  All commands that
        print text, each with what makes it print names in another place.

usage: names.py SILLAGE DATA
"""
import concurrent.futures
import http.server
import itertools
import os
import pty
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading

EVIL = (b'\x1b]0;pwn\x07', b'\x1b[2J\x1b[31m', b'\xc2\x9b31m\x9d', b'a\rb\tc\x08', b'\xff\xfe\xc0\x80', b'\xe2\x80\xae\xe2\x80\x8f',
        b'\x0e\x0f\x0e\x0f', b'x\ny\nz', b'\x7f\x1bc')
NAMES = (b'kernel-record', b'task-16628', b'rcu_preempt', b'task-5642', b'task-3199', b'task-2826', b'task-2837', b'burst-1', b'/dev/null',
         b'/hidden', b'burst\0')
HOST = EVIL[0] + EVIL[2] + EVIL[4]
UNSEEN = re.compile('[\x00-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff0-\ufffb]')


def hostile(length, number):
    """So many bytes, none of them 0."""
    return (EVIL[number % len(EVIL)] * length)[:length]


def evil_trace(trace, to):
    shutil.copytree(trace, to)
    for name in os.listdir(to):
        path = os.path.join(to, name)
        if name == 'index':
            shutil.rmtree(path)
            continue
        with open(path, 'rb') as file:
            data = file.read()
        if name == 'metadata':
            data = data.replace(b'"testhost"', b'"' + b''.join(b'\\%03o' % byte for byte in HOST) + b'"')
        else:
            for number, one in enumerate(NAMES):
                tail = b'\0' if one.endswith(b'\0') else b''
                data = data.replace(one, hostile(len(one) - len(tail), number) + tail)
        with open(path, 'wb') as file:
            file.write(data)
    return to


def evil_store(path):
    """One that another program wrote: all of its texts."""
    with sqlite3.connect(path) as db:
        for table, column in (('traces', 'host'), ('traces', 'session'), ('traces', 'path')):
            db.execute('UPDATE %s SET %s = ?' % (table, column), (HOST.decode(errors='replace') + '\x1b[5m',))
        db.execute('UPDATE windows SET missing = ?', ('sched:ev\x1b]0;pwn\x07\u202e\ncpu:\x1b[2J\tx\n',))
        db.execute('INSERT INTO gaps(begin, "end", windows, why) SELECT begin, "end", 1, ? FROM windows LIMIT 1', ('why \x1b[31m\x9b\r',))
    db.close()
    return path


PASTED = "it's; touch pwned #$(touch pwned)"  # what would be run if it were no word of a command


def pasted_store(path, count=9):
    """Of so many hosts that their summary offers commands, all of whose names and missing events are such words."""
    with sqlite3.connect(path) as db:
        db.execute('UPDATE traces SET host = ?, session = ?', (PASTED, PASTED))
        db.execute('UPDATE windows SET missing = ?', ('sched:%s\ncpu:my:%s\n' % (PASTED, PASTED),))
        for table in ('traces', 'windows'):
            names = [row[1] for row in db.execute('PRAGMA table_info(%s)' % table)]
            for i in range(1, count):
                own = {'trace': '"trace" + %d * 1000' % i, 'id': "'x%d'" % i, 'uuid': "'x%d'" % i, 'host': '"host" || %d' % i}
                db.execute('INSERT INTO %s SELECT %s FROM %s WHERE trace < 1000' % (
                    table, ', '.join(own.get(name, '"%s"' % name) for name in names), table))
    db.close()
    return path


class Speaker(http.server.BaseHTTPRequestHandler):
    """A server whose errors are hostile."""

    def do_POST(self):
        data = b'Code: 60. DB::Exception: ' + b''.join(EVIL)
        self.send_response(500)
        self.send_header('Content-Length', str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


BLANKS = re.compile('[^\n]*[ \t]$', re.M)


def faults_of_text(data):
    """What people read: the same, and no line ends with a blank."""
    found = BLANKS.search(data.decode(errors='replace'))
    return faults_of_message(data) or (found and 'a blank ends a line: %r' % found.group())


def faults_of_message(data):
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        return 'no UTF-8: %r' % data[max(0, error.start - 30):error.start + 30]
    found = UNSEEN.search(text.replace('\n', ''))
    return 'a letter that is not seen: %r' % text if found else None


def faults_of_json(data):
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        return 'no UTF-8: %s' % error
    found = re.search('[\x00-\x09\x0b-\x1f\x7f-\x9f]', text)
    return 'control characters: %r' % text[max(0, found.start() - 30):found.end() + 30] if found else None


def on_terminal(command):
    """What the command writes to a terminal, its end of lines as it wrote them."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update(TERM='xterm', LC_ALL='C.UTF-8')
        os.execv(command[0], command)
    seen = b''
    while True:
        try:
            got = os.read(terminal, 65536)
        except OSError:
            break
        seen += got
    os.close(terminal)
    os.waitpid(pid, 0)
    return seen.replace(b'\r\n', b'\n').replace(b'\x1b[1m', b'').replace(b'\x1b[0m', b'')


class Test:
    def __init__(self, sillage, data, folder):
        self.sillage, self.folder = os.path.abspath(sillage), folder
        self.trace = evil_trace(os.path.join(data, 'burst', 'kernel'), os.path.join(folder, 'trace'))
        self.placed = evil_trace(os.path.join(data, 'burst', 'kernel'), os.path.join(os.fsencode(folder), b'at' + HOST).decode(errors='surrogateescape'))
        self.jobs = evil_trace(os.path.join(data, 'rt-mutex-none', 'kernel'), os.path.join(folder, 'jobs'))
        self.store, self.triggers, self.json = (os.path.join(folder, name) for name in ('a.db', 'triggers', 'a.json'))
        for words in (['analyze', '-q', '-a', 'all', '-i', '100ms', '-o', os.devnull, '--store', self.store, self.trace],
                      ['analyze', '-q', '-a', 'all', '-f', 'json', '--buckets', '-o', self.json, self.trace],
                      ['map', '-a', 'cpu,sched', '-i', '100ms', '-o', os.path.join(folder, 'mapped'), self.trace]):
            subprocess.run([self.sillage, *words], check=True)
        self.pasted = pasted_store(shutil.copy(self.store, os.path.join(folder, PASTED + '.db')))
        evil_store(self.store)
        with open(self.triggers, 'wb') as file:
            file.write(b'[' + HOST + b']\nwhen = cpu.thread[comm=*].run > 1%\ndo = print\n[plain]\nwhen = count.events > 1\ndo = print\n')
        server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Speaker)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.server = 'clickhouse://127.0.0.1:%d/s' % server.server_address[1]

    def texts(self):
        """Commands whose standard output is text."""
        per = [['--per', kind] for kind in ('cpu', 'tid', 'pid', 'comm', 'container')]
        for words in [['-a', 'all'], ['-a', 'all', '-i', '100ms', '-n', '3'], ['-a', 'all', '--freq'], ['-a', 'cpu,sched', '--freq-bins', '5', '--freq'],
                      ['-a', 'files,syscalls,preempt', '--width', '60'], ['-a', 'cpu', '--phases', '-i', '20ms'],
                      ['-a', 'cpu', '-i', '100ms', '--trigger', 'cpu.thread[comm=*].run > 5%', '--fail', 'cpu.process.run > 1%'],
                      ['-a', 'cpu', '-i', '100ms', '--triggers', self.triggers, '--tap', '-', '-o', os.path.join(self.folder, 'aside')],
                      *[['-a', 'cpu,sched,preempt', *one] for one in per]]:
            yield 'analyze', *words, self.trace
        for words in [[], ['-i', '1s'], ['--merged', '--per', 'comm'], ['--freq'], ['--per', 'host'], ['-a', 'sched', '-n', '3', '-i', '500ms']]:
            yield 'history', *words, self.store
        yield 'analyze', '-a', 'cpu', self.placed
        for one, other in itertools.permutations((self.trace, self.jobs, self.json, self.placed), 2):
            yield 'compare', one, other
        yield 'compare', '--fail', 'cpu.busy > +1%', '--per', 'comm', self.trace, self.jobs
        yield 'compare', self.store, self.jobs
        for words in [[], ['--job', 'run-to-sleep'], ['--discover'], ['--resources'], ['--job', 'run-to-sleep', '-n', '5']]:
            yield 'report', *words, self.jobs
            yield 'report', *words, self.trace
        yield 'report', self.placed
        yield 'overview', '-a', 'cpu,sched,syscalls', '--hierarchy', 'process', self.trace
        yield 'merge', os.path.join(self.folder, 'mapped')
        yield 'triggers', '-v', '--check', self.triggers
        yield 'triggers', '--check', 'cpu.thread[comm="\x1b]0;pwn\x07\u202e"].run > 1%'

    def messages(self):
        """Commands that end with a message."""
        evil = ''.join(one.decode(errors='surrogateescape') for one in EVIL)
        for words in (['analyze', evil], ['analyze', '-a', evil, self.trace], ['analyze', '--thread', evil, self.trace], [evil], ['help', evil],
                      ['analyze', '--' + evil, self.trace], ['analyze', '--trigger', evil, self.trace], ['analyze', '--fail', 'cpu.thread[%s=1].run > 1' % evil, self.trace],
                      ['analyze', '--job', evil, self.trace], ['history', evil], ['history', self.server], ['compare', evil, self.trace],
                      ['analyze', '-o', '/nowhere/' + evil, self.trace], ['top', evil], ['live', '--retry', '0', 'net://' + evil], ['capture', evil],
                      ['report', '--thread', evil, self.trace], ['report', '--thread', 'no', self.placed], ['triggers', '--check', evil + '>'],
                      ['analyze', '--begin', evil, self.trace], ['analyze', '--store', self.server, self.trace], ['analyze', '-v', '-a', 'all', self.placed],
                      ['history', '--host', 'none' + evil, self.store], ['overview', evil], ['replay', evil, '--to', 'net://127.0.0.1:1']):
            yield [word.replace('\0', '') for word in words]

    def run(self, words):
        done = subprocess.run([self.sillage, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        return done.returncode, done.stdout, done.stderr

    def check_text(self, words):
        status, out, said = self.run(words)
        wrong = faults_of_text(out) or faults_of_message(said)
        if not wrong and (status not in (0, 3) or len(out) < 40):
            wrong = 'status %d: %r' % (status, said[:500])
        return wrong and '%r: %s' % (words, wrong)

    def check_message(self, words):
        status, out, said = self.run(words)
        wrong = faults_of_message(said) or faults_of_message(out) or (None if said or status == 0 else 'status %d without a word' % status)
        return wrong and '%r: %s' % (words, wrong)

    def check_json(self, words):
        status, out, said = self.run([*words[:-1], '-f', 'json', words[-1]])
        wrong = faults_of_json(out) or faults_of_message(said) or (status not in (0, 3) and 'status %d: %r' % (status, said))
        return wrong and '%r in JSON: %s' % (words, wrong)

    def check_terminal(self, words):
        seen = on_terminal([self.sillage, *words])
        wrong = faults_of_text(seen.replace(b'\r', b'').replace(b'\x1b[K', b''))  # of progress
        return wrong and '%r on a terminal: %s' % (words, wrong)

    def check_files(self):
        """Test cases, and text in a file."""
        names = {name: os.path.join(self.folder, name) for name in ('junit', 'tap', 'text')}
        status, _, said = self.run(['analyze', '-q', '-a', 'cpu', '-i', '100ms', '--triggers', self.triggers, '--fail', 'cpu.process[comm=*].run > 1%', '--junit', names['junit'],
                  '--tap', names['tap'], '-o', names['text'], '--freq', self.trace])
        if status != 3:
            yield 'files: status %d: %r' % (status, said)
            return
        for name, path in names.items():
            with open(path, 'rb') as file:
                data = file.read()
            wrong = faults_of_text(data) or (len(data) < 100 and 'too short')
            if wrong:
                yield '%s: %s' % (name, wrong)


    def check_pasted(self):
        """What is offered for pasting is one command whatever is named in it: a shell runs nothing else."""
        programs = os.path.join(self.folder, 'programs')
        os.mkdir(programs)
        for name in ('lttng', 'sillage'):
            with open(os.path.join(programs, name), 'w') as file:
                file.write('#!/bin/sh\nexit 0\n')
            os.chmod(file.name, 0o755)
        trace = shutil.copytree(self.jobs, os.path.join(self.folder, 'traces', PASTED))
        for words, least in ((['history', '-a', 'cpu,sched', '--session', PASTED, self.pasted], 4), (['history', '-a', 'cpu,sched', '--host', PASTED, self.pasted], 1),
                             (['analyze', '-a', 'block', '--job', 'run-to-sleep', trace], 1), (['setup', '-a', 'ust', '--ust', PASTED], 2)):
            _, out, said = self.run(words)
            commands = re.findall(r'`((?:lttng|sillage) [^`]*)`|(?:^|[:;#] *|  )((?:lttng|sillage) .*)', (out + said).decode(), re.M)
            if len(commands) < least:
                yield '%r offers %d commands: %r' % (words, len(commands), (out + said)[-1500:])
            for command in map(''.join, commands):
                done = subprocess.run(['bash', '-c', command], cwd=self.folder, env=dict(os.environ, PATH=programs + ':' + os.environ['PATH']),
                                      stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
                if done.returncode != 0 or os.path.exists(os.path.join(self.folder, 'pwned')):
                    yield 'to paste: %s: %r' % (command, done.stderr)


def main():
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as lanes:
        test = Test(sys.argv[1], sys.argv[2], folder)
        texts, messages = list(test.texts()), list(test.messages())
        work = [(test.check_text, words) for words in texts] + [(test.check_message, words) for words in messages]
        work += [(test.check_json, words) for words in texts if words[0] in ('analyze', 'history', 'compare') and '--freq' not in words and '--tap' not in words]
        work += [(test.check_terminal, words) for words in texts[::3]]
        wrong = [text for text in lanes.map(lambda one: one[0](one[1]), work) if text] + list(test.check_files()) + list(test.check_pasted())
    print('\n'.join(text[:900] for text in wrong) or 'ok %d commands' % len(work))
    sys.exit(1 if wrong else 0)


if __name__ == '__main__':
    main()

#!/usr/bin/env python3
"""answers: a server of ClickHouse whose answers are wrong, or do not agree with each other.

Goal    Whatever a server answers, `history`, `compare`, `baseline` triggers and `history --follow` print what
        is there, or end with status 1 and one line.  None of them reads or writes memory that is not
        its own (sanitizers look), takes a number that is none, or an index that another answer gave.
Method  A small server answers the reader's statements from a store in SQLite, so that no ClickHouse is needed
        and the answers can be changed: by hand (traces that one answer names and another does not,
        columns that are not there, numbers beyond 64 bits, bytes of 0, ...), and by seeded mutations of
        each answer's bytes and fields.

usage: answers.py SILLAGE TRACE [--count N] [--seed S] [--lanes N]

    --count    so many mutations; the first one has the seed S, the next one S + 1, ...: a failure prints it
"""
import argparse
import concurrent.futures
import http.server
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lies  # noqa: E402

OTHER = '00000000-0000-4000-8000-000000000000'


def escaped(value):
    if value is None:
        return '\\N'
    return str(value).replace('\\', '\\\\').replace('\t', '\\t').replace('\n', '\\n')


class Tables:
    """What a server has: the columns and rows of each table."""

    def __init__(self, path):
        db = sqlite3.connect(path)
        ids = dict(db.execute('SELECT trace, id FROM traces'))
        self.columns, self.rows = {}, {}
        for name, in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'"):
            found = db.execute('SELECT * FROM "%s"' % name)
            columns, rows = [one[0] for one in found.description], [list(row) for row in found]
            if name == 'traces':
                columns, rows = columns[1:], [row[1:] for row in rows]
                columns[columns.index('id')] = 'trace'
            elif 'trace' in columns:
                at = columns.index('trace')
                rows = [row[:at] + [ids[row[at]]] + row[at + 1:] for row in rows]
            self.columns[name] = columns + ['version']
            self.rows[name] = [row + [1 << 63 | 1] for row in rows]
            if {'level', 'begin', 'trace'} <= set(columns):
                keys = [columns.index(key) for key in ('level', 'begin', 'trace')]
                self.rows[name].sort(key=lambda row, keys=keys: [row[i] for i in keys])

    def select(self, table, columns):
        at = [self.columns[table].index(column) for column in columns]
        return ''.join('\t'.join(escaped(row[i]) for i in at) + '\n' for row in self.rows[table])

    def answer(self, statement):
        """An answer, as far as readers ask: without the conditions, which are only there to save work."""
        if 'FROM system.columns' in statement:
            return ''.join('%s\t%s\n' % (table, column) for table, columns in self.columns.items() for column in columns)
        if 'FROM system.tables' in statement:
            asked = re.search(r'toString\((\d+) \+ 1\)', statement)
            return ''.join(name + '\n' for name in self.columns) + 'store\n+ %d\n' % (int(asked.group(1)) + 1)
        if 'FROM `store`' in statement:
            return '1\n'
        if 'count(), max(`version`)' in statement:
            return '1\t1\n'
        begins = [row[self.columns['windows'].index('begin')] for row in self.rows['windows']]
        ends = [row[self.columns['windows'].index('end')] for row in self.rows['windows']]
        if 'min(`begin`), max(`end`)' in statement:
            return '%d\t%d\n' % (min(begins), max(ends))
        if 'count(), m' in statement:
            return '%d\t%d\n' % (len(begins), max(begins) if 'max(`begin`)' in statement else min(begins))
        if 'uniqExact' in statement:
            return '%s\t%d\n' % (self.rows['traces'][0][self.columns['traces'].index('trace')], len(begins))
        found = re.match(r'SELECT (.*) FROM `(\w+)`', statement)
        return self.select(found.group(2), re.findall(r'`(\w+)`', found.group(1)))


class Server(http.server.ThreadingHTTPServer):
    """@change: what is done to an answer: a function of the statement and the answer, both text."""
    daemon_threads = True

    def __init__(self, tables):
        super().__init__(('127.0.0.1', 0), Handler)
        self.tables, self.change, self.asked, self.on_ask = tables, None, 0, None
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    def handle_error(self, *_):
        """A client that goes is nothing to say."""

    def url(self):
        return 'clickhouse://127.0.0.1:%d/s?timeout=30s' % self.server_address[1]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    wbufsize = 1 << 20  # an answer in one piece

    def do_POST(self):
        statement = self.rfile.read(int(self.headers['Content-Length'])).decode()
        answer = self.server.tables.answer(statement)
        answer = self.server.change(statement, answer) if self.server.change else answer
        data = answer.encode('latin-1', 'replace')
        self.send_response(200)
        self.send_header('Content-Length', str(len(data)))
        self.end_headers()
        self.wfile.write(data)
        self.wfile.flush()
        self.server.asked += 1
        if self.server.on_ask:
            self.server.on_ask(self.server.asked)

    def log_message(self, *_):
        pass


def run(*words):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    return done.returncode, done.stdout.decode(errors='replace'), done.stderr.decode(errors='replace')


def fault(words, status, said):
    """None: it ended well, or in one line."""
    if status < 0 or status > 2 or 'Sanitizer' in said or 'runtime error' in said or 'Assertion' in said:
        return '%s: status %d: %.3000s' % (' '.join(words), status, said)
    if status and not said:
        return '%s: status %d without a word' % (' '.join(words), status)
    return None


# ---- by hand ----

def on(pattern, change):
    """Changes answers to statements that match."""
    return lambda statement, answer: change(answer) if re.search(pattern, statement) else answer


def lines(change):
    """Changes each line, without its end, by its number."""
    return lambda answer: ''.join(change(i, line) + '\n' for i, line in enumerate(answer.split('\n')[:-1]))


def field(at, text, only=None):
    def change(i, line):
        fields = line.split('\t')
        if only is None or i == only:
            fields[at] = text
        return '\t'.join(fields)
    return lines(change)


def without(table, column):
    return on('system.columns', lambda answer: answer.replace('%s\t%s\n' % (table, column), ''))


TRACES, HEADS, ROWS, SPAN = 'FROM `traces`', 'FROM `windows` FINAL WHERE', 'FROM `cpu_', r'min\(`begin`\), max\(`end`\) FROM `windows` FORMAT'
BY_HAND = {  # name: (the change, whether it is an error)
    'nothing': (None, False),
    'traces twice': (on(TRACES, lambda answer: answer * 3), False),
    'a trace more': (on(TRACES, lambda answer: answer + answer.replace(answer[:36], OTHER)), False),
    'another trace': (on(TRACES, field(0, OTHER)), True),
    'rows of a trace that is not there': (on(ROWS, field(2, OTHER)), False),
    'no trace': (on(TRACES, lambda answer: ''), None),
    'a trace without an id': (on(TRACES, field(0, '\\N')), True),
    'a short id': (on(TRACES, lambda answer: answer[:20] + answer[36:]), True),
    'an id over lines': (on(TRACES, lambda answer: answer[:20] + '\n' + answer[21:]), True),
    'an id that is none': (on(TRACES, field(0, "' OR 1 = 1 OR '" + 'x' * 21)), True),
    'a trace of three fields': (on(TRACES, lambda answer: answer[:36] + '\t\\N\thost\n'), True),
    'a level of 0': (on(HEADS, field(0, '0')), True),
    'a level below 0': (on(HEADS, field(0, '-5')), True),
    'a level beyond 64 bits': (on(HEADS, field(0, '9' * 30)), True),
    'a begin that is none': (on(HEADS, field(1, '1e9', 3)), True),
    'a begin that is empty': (on(ROWS, field(1, '', 3)), True),
    'a version beyond 64 bits': (on(HEADS, field(-1, '18446744073709551616', 2)), True),
    'a version below 0': (on(ROWS, field(-1, '-1', 2)), True),
    'a figure beyond 64 bits': (on(ROWS, field(4, '9223372036854775808', 1)), True),
    'a head with a byte of 0': (on(HEADS, lambda answer: answer.split('\n')[0].replace('cpu', 'c\0p\0u' * 40) + '\n' + answer), None),
    'heads that differ': (on(HEADS, lambda answer: ''.join(line + '\n' + line.replace('cpu', 'io\0' * 50) + '\n'
                                                           for line in answer.split('\n')[:-1])), None),
    'fields that end early': (on(ROWS, lines(lambda i, line: line.rpartition('\t')[0])), True),
    'fields that go on': (on(ROWS, lines(lambda i, line: line + '\t1' * 200)), True),
    'a line without an end': (on(ROWS, lambda answer: answer[:-1]), True),
    'a span that is turned round': (on(SPAN, lambda answer: '9\t8\n'), True),
    'a span of one number': (on(SPAN, lambda answer: '9\n'), True),
    'a span below 0': (on(SPAN, lambda answer: '-1\t-1\n'), True),
    'windows without level': (without('windows', 'level'), True),
    'windows without trace': (without('windows', 'trace'), True),
    'windows without version': (without('windows', 'version'), True),
    'threads without begin': (without('cpu_threads', 'begin'), True),
    'a table of one column': (on('system.columns', lambda answer: answer.replace('cpu_cpus\t', 'x\t') + 'cpu_cpus\tcpu\n'), True),
    'a table that lacks figures': (without('cpu_cpus', 'idle_ns'), False),
}


def check_by_hand(test):
    for name, (change, is_error) in BY_HAND.items():
        test.server.change = change
        for words in (['history', '-q', '-f', 'json', '-i', '50ms'], ['history', '-q', '--merged', '-f', 'json'],
                      ['history', '-q', '--per', 'host', '-i', '50ms', '--figure', 'cpu.busy']):
            status, out, said = run(test.sillage, *words, test.server.url())
            wrong = fault(words, status, said)
            if not wrong and is_error is not None and (status != 0) != is_error:
                wrong = '%s: status %d: %s' % (' '.join(words), status, said)
            if not wrong and status and said.count('\n') != 1:
                wrong = '%s: %d lines: %s' % (' '.join(words), said.count('\n'), said)
            if wrong:
                yield '%s: %s' % (name, wrong)
        if name in ('nothing', 'traces twice', 'a trace more') and out.count('\n') < 3:
            yield '%s: nothing is printed: %s' % (name, out)


# ---- by chance ----

def mutated(rng, share):
    numbers = ['-1', '0', '', '\\N', '18446744073709551615', '9223372036854775807', '-9223372036854775808', '9' * 40, '1.5', 'x',
               OTHER, '[1,2,3]', '[', '[-1]', '[18446744073709551615]', '\\', '\\t' * 20, '\0', 'x' * 3000]

    def change(_, answer):
        if rng.random() < 0.3:  # of bytes
            data = list(answer)
            for _ in range(max(1, int(len(data) * share * rng.random() / 5))):
                if data:
                    data[rng.randrange(len(data))] = chr(rng.choice((0, 9, 10, 45, 48, 57, 92, rng.randrange(256))))
            return ''.join(data)
        rows = [line.split('\t') for line in answer.split('\n')]
        for row in rows:
            for i in range(len(row)):
                if rng.random() < share:
                    row[i] = rng.choice(numbers)
        if rng.random() < share:
            rows = rng.choice((rows + rows, rows[:1], rows[::-1], [row[:rng.randrange(1, 5)] for row in rows]))
        return '\n'.join('\t'.join(row) for row in rows)
    return change


def check_by_chance(test, count, seed):
    """Of all that read, and of one that writes: it compares what the server says that it has."""
    commands = (['history', '-q', '-f', 'json', '-i', '50ms'], ['history', '-q', '--per', 'host', '--figure', 'cpu.busy'],
                ['history', '-q', '--merged', '--per', 'comm'], ['history', '-q', '--per', 'container', '-f', 'json'],
                ['compare', '-q', test.trace], ['history', '-q', '--freq', '-i', '1s'],
                ['analyze', '-q', '-a', 'cpu,sched', '-i', '50ms', '-o', os.devnull, '--trigger', 'cpu.busy > baseline +20%', test.trace,
                 '--baseline'],
                ['analyze', '-q', '-a', 'cpu', '-i', '50ms', '-o', os.devnull, test.trace, '--store'])
    for number in range(seed, seed + count):
        rng = random.Random(number)
        target = rng.choice(('.', TRACES, HEADS, ROWS, 'system', SPAN, '_threads', '_longest', 'sched'))
        words = commands[number % len(commands)]
        is_writer = words[-1] == '--store'
        server = test.taker if is_writer else test.server
        server.change = on('.' if is_writer else target,
                           lambda answer, change=mutated(rng, rng.choice((0.005, 0.05, 0.3))): change('', answer))
        status, _, said = run(test.sillage, *words, server.url())
        wrong = fault(words, status, said)
        if wrong:
            yield 'seed %d: %s' % (number, wrong)


def follow_one(test, number, is_changed):
    """Whatever lands.  It is ended after some statements."""
    rng, server = random.Random(number), Server(test.server.tables)
    change = mutated(rng, rng.choice((0.01, 0.1)))
    server.change = change if is_changed else None
    words = ['history', '-q', '--follow', '--since', '@0', '-f', 'json', '-i', '50ms', *(('--per', 'host') if number % 2 else ())]
    process, is_begun, is_over = None, threading.Event(), threading.Event()

    def on_ask(asked):
        if asked >= 14 and not is_over.is_set():
            is_over.set()
            is_begun.wait()
            process.send_signal(signal.SIGINT)

    server.on_ask = on_ask
    process = subprocess.Popen([test.sillage, *words, server.url()], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    is_begun.set()
    said = process.communicate()[1].decode(errors='replace')
    server.shutdown()
    server.server_close()
    wrong = fault(words, process.returncode if process.returncode != 130 else 0, said)
    return wrong and 'seed %d: %s' % (number, wrong)


def check_follow(test, count, seed):
    """All at once, since each waits for new windows."""
    with concurrent.futures.ThreadPoolExecutor(count) as all_of_them:
        yield from filter(None, all_of_them.map(lambda number: follow_one(test, number, number > seed), range(seed, seed + count)))


class Test:
    def __init__(self, sillage, trace, folder):
        self.sillage, self.trace = os.path.abspath(sillage), trace
        os.environ['XDG_STATE_HOME'] = folder  # of spools
        store = os.path.join(folder, 'a.db')
        subprocess.run([self.sillage, 'analyze', '-q', '-a', 'cpu,sched,io,count', '-i', '50ms', '-o', os.devnull, '--store', store, trace],
                       check=True)
        self.server, self.taker = Server(Tables(store)), Server(lies.Honest())


def lane(args, folder, number):
    """A part of the mutations, with servers of its own."""
    place = os.path.join(folder, str(number))
    os.mkdir(place)
    test, count = Test(args.sillage, args.trace, place), args.count // args.lanes
    seed = args.seed + number * count
    wrong = list(check_by_hand(test)) if number == 0 else []
    wrong += check_by_chance(test, count + (args.count % args.lanes if number == args.lanes - 1 else 0), seed)
    return wrong + list(check_follow(test, max(2, count // 100), seed))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('sillage')
    parser.add_argument('trace')
    parser.add_argument('--count', type=int, default=64)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--lanes', type=int, default=1)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(args.lanes) as lanes:
        wrong = sum(lanes.map(lambda number: lane(args, folder, number), range(args.lanes)), [])
    print('\n'.join(wrong) or 'ok %d cases by hand, %d by chance from --seed %d on' % (len(BY_HAND), args.count, args.seed))
    sys.exit(1 if wrong else 0)


if __name__ == '__main__':
    main()

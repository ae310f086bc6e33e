#!/usr/bin/env python3
"""tables: what csv has is what JSON has, in every command that writes both.

Goal    Each table of `-f csv` is the member of the JSON lines that it is named after: the same rows in the same order,
        the same columns, and each field is the text of the value there.
Method  Both are written for the same traces, stores and options.  The lines are taken apart here as doc/json.md says (as tables),
        and csv is read by Python's reader.  One table alone (--table) is the file of that name.

usage: tables.py SILLAGE DATA
"""
import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile

NAMES = ('log2', 'buckets', 'by_name')  # objects whose keys are data


class Float(str):
    """As it is written."""


def run(*words):
    return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)


def text(value):
    return '' if value is None else {True: 'true', False: 'false'}[value] if isinstance(value, bool) else str(value)


class Tables:
    def __init__(self):
        self.rows = {}

    def row(self, name, before, members, path, within=''):
        """Columns of an object, and what is behind them as lists."""
        fields, lists = dict(before), []
        for key, value in members.items():
            where = path + '.' + key if path else key
            if isinstance(value, list) or (isinstance(value, dict) and key in NAMES):
                lists.append((where, value))
            elif isinstance(value, dict):
                inner, deeper = self.row(None, {}, value, where, within + key + '.')
                fields.update(inner)
                lists += deeper
            else:
                fields[within + key] = text(value)
        if name is not None:
            self.rows.setdefault(name, []).append(fields)
        return fields, lists

    def object(self, name, before, members, number):
        _, lists = self.row(name, before, members, name)
        for where, value in lists:
            self.list(where, dict(before, **({name + '#': str(number)} if number else {})), value)

    def list(self, name, before, value):
        if isinstance(value, dict):
            for key, one in value.items():
                self.rows.setdefault(name, []).append(dict(before, key=key, value=text(one)))
            return
        for number, one in enumerate(value, 1):
            if isinstance(one, dict):
                self.object(name, before, one, number)
            else:
                self.rows.setdefault(name, []).append(dict(before, value=json.dumps(one) if isinstance(one, list) else text(one)))

    def line(self, line):
        parts = {}
        if line['type'] in ('window', 'total'):
            parts = {key: value for key, value in line.items() if isinstance(value, dict) and key != 'trace' and key not in NAMES}
        fields, lists = self.row(line['type'], {}, {key: value for key, value in line.items() if key not in parts}, '')
        before = {key: value for key, value in fields.items() if key in ('type', 'begin', 'begin_time', 'end', 'end_time') or
                  key.startswith('trace')}
        for name, part in parts.items():
            self.object(name, before, part, 0)
        for name, value in lists:
            self.list(name, before, value)


def of_json(out):
    tables = Tables()
    for line in out.decode().splitlines():
        tables.line(json.loads(line, parse_float=Float))
    return tables.rows


def of_csv(folder):
    tables = {}
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), newline='') as file:
            header, *rows = csv.reader(file, strict=True)
        assert len(set(header)) == len(header) and name.endswith('.csv'), (name, header)
        assert all(len(row) == len(header) for row in rows), name
        tables[name[:-4]] = [dict(zip(header, row)) for row in rows]
    return tables


def without_empty(rows):
    return [{key: value for key, value in row.items() if value != ''} for row in rows]


def compare(sillage, words, folder):
    what, there = ' '.join(words), os.path.join(folder, 'tables')
    shutil.rmtree(there, ignore_errors=True)
    done, made = run(sillage, *words, '-f', 'json'), run(sillage, *words, '-f', 'csv', '-o', there)
    if done.returncode != made.returncode or not done.stdout or made.stdout:
        yield '%s: status %d and %d: %s' % (what, done.returncode, made.returncode, made.stderr.decode())
        return
    wanted, found = of_json(done.stdout), of_csv(there)
    for one in (wanted, found):  # how long the run took
        one.pop('end', None)
    if set(wanted) != set(found):
        yield '%s: tables are %s, not %s' % (what, sorted(found), sorted(wanted))
    for name in sorted(set(wanted) & set(found)):
        if without_empty(wanted[name]) != without_empty(found[name]):
            pairs = [pair for pair in zip(without_empty(wanted[name]), without_empty(found[name])) if pair[0] != pair[1]]
            yield '%s: %s differs, %d and %d rows: %s' % (what, name, len(wanted[name]), len(found[name]), pairs[:1])
    name = max(found, key=lambda name: len(found[name]))
    alone = run(sillage, *words, '-f', 'csv', '--table', name)
    with open(os.path.join(there, name + '.csv'), 'rb') as file:
        if file.read() != alone.stdout or b'\r\n' not in alone.stdout:
            yield '%s: --table %s is another table' % (what, name)


def check_empty(sillage, trace):
    """A table without rows is said, and no failure."""
    done = run(sillage, 'analyze', '-a', 'lost,calls', '-f', 'csv', '--table', 'calls.nameless', trace)
    if done.returncode != 0 or done.stdout or b'--table calls.nameless: it has no rows here' not in done.stderr:
        yield 'an empty table: %d, %s' % (done.returncode, done.stderr.decode())


def check_refused(sillage, trace, folder):
    file = os.path.join(folder, 'file')
    open(file, 'w').close()
    for words, status, says in ((('-f', 'csv'), 2, 'needs --table NAME'), (('--table', 'cpu'), 2, 'no effect without'),
                                (('-f', 'json', '--table', 'cpu'), 2, 'no effect without'),
                                (('-f', 'csv', '--table', 'cpu.thread'), 1, 'there is: start'),
                                (('-f', 'csv', '-o', file), 1, 'cannot write to the directory'),
                                (('-f', 'csv', '-o', file + '/x'), 1, 'cannot write to the directory'),
                                (('-f', 'csv', '--table', 'cpu', '-o', '/dev/full'), 1, '')):
        done = run(sillage, 'analyze', '-q', '-a', 'cpu', *words, trace)
        if done.returncode != status or says not in done.stderr.decode() or not done.stderr:
            yield '%s: status %d: %s' % (' '.join(words), done.returncode, done.stderr.decode())
    if run(sillage, 'list', '-f', 'csv', 'net://localhost').returncode != 2:
        yield 'list takes csv'


def main():
    sillage, data = sys.argv[1:]
    folder = tempfile.mkdtemp(prefix='sillage-tables-')
    burst, ust, store = os.path.join(data, 'burst'), os.path.join(data, 'ust'), os.path.join(folder, 'store.db')
    periods = ['--period', 'r = syscall_entry_*; syscall_exit_*; group path', '--job', 'run; deadline 1ms']
    try:
        run(sillage, 'analyze', '-q', '-a', 'all', '-i', '500ms', '--store', store, '-o', '/dev/null', burst)
        wrong = [fault for words in (
            ['analyze', '-q', '-a', 'all', burst], ['analyze', '-q', '-a', 'all', '-i', '100ms', '--buckets', burst],
            ['analyze', '-q', '-a', 'ust,count,periods', '--period', 'x = sillage_test:texts; sillage_test:sequences; group text', ust],
            ['analyze', '-q', '-a', 'periods,jobs,cpu', '-i', '1s', *periods[:2], *periods[2:], '--trigger', 'cpu.busy > 1%',
             '--trigger', '99% of windows: cpu.busy < 1%', os.path.join(data, 'io-mix'), burst],
            ['report', '-q', '--job', 'run; deadline 1ms', burst], ['report', '-q', '--resources', os.path.join(data, 'rt-mutex-none')],
            ['overview', '-q', burst], ['history', '-q', '-i', '1s', store], ['history', '-q', '--per', 'host', store],
            ['compare', '-q', burst, os.path.join(data, 'migrate')]) for fault in compare(sillage, words, folder)]
        wrong += check_empty(sillage, ust)
        wrong += check_refused(sillage, burst, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print('\n'.join(wrong) or 'ok')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())

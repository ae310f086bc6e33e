#!/usr/bin/env python3
"""others: files that are no trace are told apart by their first bytes, and the command that is named for one works.

Goal    Who gives the file of another tool, or a part of a trace, reads in one line what it is and how to go on.
Method  Files of each kind are made here, most of them by their first bytes alone, and `analyze` refuses each with one line;
        one of them is given to the other commands that take a trace, too.  Of the commands that are named those that
        unpack an archive and convert perf's file are run as they are printed; perf makes its own.

usage: others.py SILLAGE TRACE      TRACE: a kernel's trace
"""
import glob
import gzip
import json
import lzma
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile


def run(*args, **more):
    return subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, **more)


def refusal(sillage, command, path):
    done = run(sillage, *command, path)
    lines = done.stderr.splitlines()
    assert done.returncode == 1 and not done.stdout and len(lines) == 1, (command, path, done)
    assert 'not a trace' in lines[0] and 'looks like' in lines[0], lines
    return lines[0]


def made_files(folder, trace):
    """Pairs of bytes and what is said of them."""
    stream = open(sorted(glob.glob(os.path.join(trace, 'channel0_*')))[0], 'rb').read(4096)
    metadata = open(os.path.join(trace, 'metadata'), 'rb').read(4096)
    base = os.path.join(folder, 'base')
    sqlite3.connect(base).execute('create table a (b)').connection.commit()
    packet = b'\x0a\x20' + b'\x40\x00' + bytes(30)
    return (
        (stream, 'one stream of a trace, which is its directory'),
        (stream[3::-1] + stream[4:], 'one stream of a trace'),
        (metadata, 'the metadata of a trace, which is its directory'),
        (b'/* CTF 1.8 */\ntypealias', 'the metadata of a trace'),
        (b'\x1e{"type":"preamble","version":2}\n', 'the metadata of a trace'),
        (open(base, 'rb').read(), '`sillage history '),
        (b'sillage partials' + bytes(99), '`sillage merge '),
        (gzip.compress(stream), '`tar xf '),
        (lzma.compress(stream), '`tar xf '),
        (b'PK\x03\x04' + bytes(99), '`unzip '),
        (b'PERFILE2' + bytes(99), '`perf data convert -i '),
        (b'# tracer: nop\n#\n', '`trace-cmd extract '),
        (b'cpus=2\n   sh-12 [001] 1.2: sched_switch\n', 'trace-cmd report'),
        (packet + packet, 'viewer of Perfetto'),
        (b'\nnot a packet\n\nat all\n', 'text'),
        (b'{"traceEvents": []}', "Chrome's viewer"),
        (b'[{"name":"a","ph":"X"}]', "Chrome's viewer"),
        (b'{"type":"run","version":2}\n', '`sillage compare '),
        (b'<!DOCTYPE html>', 'a page'),
        (b'\x7fELF' + bytes(99), 'a program'),
        (b'hello\n', 'text'),
        (b'\x99\x01\x02\x00' * 40, 'a form that is not known'),
        (b'', 'an empty file'),
    )


def check_kinds(sillage, folder, trace):
    for number, (data, wanted) in enumerate(made_files(folder, trace)):
        path = os.path.join(folder, "it's %d" % number)
        with open(path, 'wb') as file:
            file.write(data)
        said = refusal(sillage, ('analyze',), path)
        assert wanted in said, (data[:16], said)
        assert "its directory" not in said or said.endswith(run('bash', '-c', 'printf %q "$0"', folder).stdout), said


def check_commands(sillage, folder):
    path = os.path.join(folder, 'some.bin')
    with open(path, 'wb') as file:
        file.write(b'hello\n')
    said = {refusal(sillage, command, path) for command in (
        ('analyze',), ('report',), ('overview',), ('export', '-o', os.path.join(folder, 'out')),
        ('report', '--discover'), ('replay', '--to', 'net://localhost:1'))}
    assert len(said) == 1, said


def check_unpacked(sillage, folder, trace):
    """What unpacks an archive is printed so that it does."""
    place = os.path.join(folder, 'packed')
    os.mkdir(place)
    shutil.make_archive(os.path.join(place, 'all'), 'gztar', trace)
    said = refusal(sillage, ('analyze',), os.path.join(place, 'all.tar.gz'))
    command = re.search('`(tar [^`]*)`', said).group(1)
    done = run('sh', '-c', command, cwd=place)
    assert done.returncode == 0 and os.path.exists(os.path.join(place, 'metadata')), (command, done)


def check_perf(sillage, folder):
    """perf.data becomes a trace by the command that is printed."""
    place = os.path.join(folder, "perf's")
    os.mkdir(place)
    path = os.path.join(place, 'perf.data')
    if not shutil.which('perf') or run('perf', 'record', '-q', '-e', 'sched:sched_switch', '-k', 'mono', '-o', path, '--',
                                       'sh', '-c', 'true | cat').returncode or not os.path.exists(path):
        print('# perf cannot record here: its command is not tried')
        return
    said = refusal(sillage, ('report',), path)
    command = re.search('`(perf data [^`]*)`', said).group(1)
    made = re.search('makes the trace (.*) of it', said).group(1)
    done = run('sh', '-c', command)
    if 'No conversion support' in done.stdout + done.stderr:
        print('# perf has no support for CTF')
        return
    assert done.returncode == 0, (command, done)
    done = run('sh', '-c', '"$0" analyze -q -f json ' + made, sillage)
    total = [json.loads(line) for line in done.stdout.splitlines() if '"total"' in line]
    assert done.returncode == 0 and total and total[0]['count']['events'] > 0, done


def main():
    sillage, trace = sys.argv[1:3]
    with tempfile.TemporaryDirectory(prefix='sillage-others-') as folder:
        check_kinds(sillage, folder, trace)
        check_commands(sillage, folder)
        check_unpacked(sillage, folder, trace)
        check_perf(sillage, folder)
    print('ok')


if __name__ == '__main__':
    main()

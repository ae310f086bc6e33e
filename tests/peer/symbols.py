#!/usr/bin/env python3
"""symbols: a program whose functions are traced (-finstrument-functions, liblttng-ust-cyg-profile.so) by the real LTTng-UST;
`export` and `analyze` call them by their names.

Goal    - Functions of the program and of a library that it loads have their names, as slices that nest as the calls do,
          and beside addresses; calls of them are rows by name.
        - So they do from a state on, before the next event.
        - A stripped program has those of its debug file, by its link.
        - A program that runs is asked where it is, if its trace has no state dump; one that ended is not, nor one whose file is another now.
        - Another build at the same path gives no names, and this is said; so is a pipe or a device, which is not opened.

usage: symbols.py SILLAGE     (needs lttng-tools, LTTng-UST's helpers and a compiler; else it is skipped)
"""
import collections
import ctypes.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'reference'))
from perfetto_file import File

HELPERS = 'liblttng-ust-cyg-profile.so', 'liblttng-ust-dl.so'
PROGRAM = r'''
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
static volatile int sum;
__attribute__((noinline)) static void inner(int i)
{
	sum += i EXTRA;
	if (i < 0) {
		puts("inside");
		fflush(stdout);
		getchar();
	}
}
__attribute__((noinline)) void outer(int i) { inner(i); inner(i + 1); }
int main(int argc, char **argv)
{
	void *library = dlopen(argv[1], RTLD_NOW);
	if (argc > 2) {
		inner(-1);
	}
	for (int i = 0; i < 10; i++) {
		outer(i);
	}
	((void (*)(void))dlsym(library, "plugged"))();
	return 0;
}
'''
LIBRARY = 'void plugged(void) {}\n'
WANTED = {'main': (1, None, 0), 'outer': (10, 'main', 1), 'inner': (20, 'outer', 2), 'plugged': (1, 'main', 1)}


def compiled(folder, name, text, *flags):
    path = os.path.join(folder, name)
    with open(path + '.c', 'w') as file:
        file.write(text)
    subprocess.run(['cc', '-g', '-O1', '-finstrument-functions', '-Wl,--build-id', '-o', path, path + '.c', '-ldl', *flags], check=True)
    return path


class Daemon:
    def __init__(self, folder):
        self.folder, self.user = folder, []
        if os.getuid() == 0:
            self.user = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups', '--']
            os.chown(folder, 65534, 65534)
            os.chmod(folder, 0o755)
        self.env = dict(os.environ, HOME=folder, LTTNG_HOME=folder, LTTNG_UST_REGISTER_TIMEOUT='-1', LTTNG_APP_SOCKET_TIMEOUT='-1')
        self.daemon = subprocess.Popen(self.user + ['lttng-sessiond', '--no-kernel'], env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 120
        while subprocess.run(self.user + ['lttng', '--no-sessiond', 'list'], env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
            assert time.monotonic() < deadline and self.daemon.poll() is None, 'lttng-sessiond does not answer'
            time.sleep(.05)

    def lttng(self, *words):
        subprocess.run(self.user + ['lttng', '--no-sessiond', *words], env=self.env, stdout=subprocess.DEVNULL, check=True, timeout=120)

    def record(self, name, *command):
        """The directory of the program's trace."""
        path = self.begin(name)
        subprocess.run(self.preloaded(command), env=self.env, check=True, timeout=120)
        self.end(name)
        return path

    def record_rotated(self, name, *command):
        """The same in two chunks: the program is inside a function meanwhile."""
        path = self.begin(name)
        with subprocess.Popen(self.preloaded(command), env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
            assert program.stdout.readline() == b'inside\n'
            self.lttng('rotate', name)
            program.stdin.write(b'\n')
        assert program.returncode == 0
        self.end(name)
        chunks = os.path.join(path, 'archives')
        return sorted(os.path.join(chunks, chunk) for chunk in os.listdir(chunks))

    def preloaded(self, command):
        return self.user + ['env', 'LD_PRELOAD=' + ':'.join(HELPERS), *command]

    def record_running(self, name, *command):
        """A trace without a state dump, while its program is inside a function, and the program."""
        path = self.begin(name, 'lttng_ust_cyg_profile*')
        program = subprocess.Popen(self.preloaded(command), env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert program.stdout.readline() == b'inside\n'
        self.end(name)
        return path, program

    def begin(self, name, events='lttng_ust_*'):
        path = os.path.join(self.folder, name)
        self.lttng('create', name, '--output=' + path)
        self.lttng('enable-event', '-u', '-s', name, events)
        self.lttng('add-context', '-u', '-s', name, '-t', 'vpid', '-t', 'vtid', '-t', 'procname', '-t', 'ip')
        self.lttng('start', name)
        return path

    def end(self, name):
        self.lttng('stop', name)
        self.lttng('destroy', name)

    def close(self):
        self.daemon.terminate()
        self.daemon.wait()


def exported(sillage, trace, out):
    done = subprocess.run([sillage, 'export', '-o', out, trace], stderr=subprocess.PIPE, check=True, timeout=60)
    with open(out, 'rb') as file:
        return File(file.read()), done.stderr.decode()


def slices(made):
    """How many there are of each name, within which, and how deep."""
    count, around, depths = collections.Counter(), {}, {}
    for spans in made.slices().values():
        for begin, end, name, depth in spans:
            outer = [other[2] for other in spans if other[0] <= begin and end <= other[1] and other[3] == depth - 1]
            count[name] += 1
            around.setdefault(name, set()).add(outer[0] if outer else None)
            depths.setdefault(name, set()).add(depth)
    del count['lttng_ust_statedump']  # it begins and ends, too
    return {name: (count[name], *around[name], *depths[name]) for name in count}


def check_names(made):
    assert slices(made) == WANTED, slices(made)
    for mark in made.marks:
        args = dict(mark.args)
        if 'addr' in args:
            assert args['addr_symbol'] in WANTED and isinstance(args['addr'], int), args
            assert mark.kind != 1 or mark.name == args['addr_symbol'], (mark.name, args)
            assert args['addr_symbol'] == 'main' or args['call_site_symbol'] in WANTED, args


def calls_of(sillage, trace, *words):
    """What `analyze -a calls` says: rows by name, and why others have none."""
    done = subprocess.run([sillage, 'analyze', '-q', '-f', 'json', '-a', 'calls', *words, trace], stdout=subprocess.PIPE, check=True, timeout=60)
    total, = [line['calls'] for line in map(json.loads, done.stdout.splitlines()) if line['type'] == 'total']
    rows = {row['name']: row for row in total['by_name'] if row['name'] not in ('lttng_ust_statedump', 'lttng_ust_lib')}
    return {name: row['calls'] for name, row in rows.items()}, {row['why']: row['calls'] for row in total['nameless']}, total


def check_calls(sillage, trace):
    """Calls of functions are called by their names, in any process and with any division of the work."""
    wanted = {name: count for name, (count, _, _) in WANTED.items()}
    made, nameless, total = calls_of(sillage, trace)
    assert made == wanted and not nameless, (made, nameless)
    assert {row['name'] for row in total['longest']} & {'main', 'outer'}, total['longest']
    for words in ['-i', '1ms'], ['--chunk-size', '1', '-j', '2']:
        assert calls_of(sillage, trace, *words)[2] == total, words
    text = subprocess.run([sillage, 'analyze', '-q', '-a', 'calls', trace], stdout=subprocess.PIPE, check=True, timeout=60).stdout.decode()
    assert re.search(r'^  inner +20 ', text, re.M) and 'WITHOUT A NAME' not in text, text
    with tempfile.TemporaryDirectory() as folder:  # what workers found of images goes to another process, and on to the next run
        part = os.path.join(folder, 'part')
        subprocess.run([sillage, 'map', '-a', 'calls', '-o', part, trace], check=True, timeout=60)
        done = subprocess.run([sillage, 'merge', '-q', '-f', 'json', part], stdout=subprocess.PIPE, check=True, timeout=60)
        merged, = [line['calls'] for line in map(json.loads, done.stdout.splitlines()) if line['type'] == 'total']
        assert merged == total, merged


def check_state(sillage, chunks, state):
    """What is open when a run ends has its name in the next one, before any event."""
    found, windows = [], []
    for chunk in chunks:
        done = subprocess.run([sillage, 'analyze', '-q', '-f', 'json', '-n', '0', '-i', '1ms', '-a', 'calls', '--state', state, chunk], stdout=subprocess.PIPE, check=True,
                              timeout=60)
        windows.append([line['calls']['by_name'] for line in map(json.loads, done.stdout.splitlines()) if line['type'] == 'window'])
        done = subprocess.run([sillage, 'merge', '-q', '-f', 'json', '-n', '0', state], stdout=subprocess.PIPE, check=True, timeout=60)
        total, = [line['calls'] for line in map(json.loads, done.stdout.splitlines()) if line['type'] == 'total']
        found.append({row['name']: (row['calls'], row['open']) for row in total['by_name'] if not row['name'].startswith('lttng_')})
    assert found == [{'main': (0, 1), 'inner': (0, 1)}, {'main': (1, 0), 'inner': (21, 0), 'outer': (10, 0), 'plugged': (1, 0)}], found
    opens = [{row['name'] for row in window if row['open'] > 0} for window in windows[1]]
    assert opens[0] == {'main', 'inner'} and not any(name.startswith('0x') for window in opens for name in window), opens


def check_nameless(sillage, trace, why):
    made, nameless, _ = calls_of(sillage, trace)
    assert sum(made.values()) == 32 and sum(nameless.values()) == 31 and made['plugged'] == 1, (made, nameless)
    assert not {'main', 'inner', 'outer'} & set(made) and all(why in one for one in nameless), (made, nameless)


def check_refused(sillage, trace, program, out, why):
    made, said = exported(sillage, trace, out)
    found = slices(made)
    assert 'plugged' in found and not {'main', 'inner', 'outer'} & set(found) and len(found) == 4, found
    assert all(name.startswith('0x') for name in found if name != 'plugged'), found
    assert any(program in line and why in line for line in said.splitlines()), said
    check_nameless(sillage, trace, why)


def check_running(sillage, daemon, out, program, library):
    """Of a program that still runs its process says where it is, if its trace does not; no other process does."""
    def names():
        made, said = exported(sillage, trace, out)
        folded = subprocess.run([sillage, 'export', '-q', '-f', 'folded', trace], stdout=subprocess.PIPE, check=False, timeout=60).stdout.decode()
        return [dict(mark.args).get('addr_symbol') for mark in made.marks if 'addr' in dict(mark.args)], folded, said
    trace, running = daemon.record_running('running', program, library, 'wait')
    try:
        found = names()
        assert found[0] == ['main', 'inner'] and ';main ' in found[1], found
        for words in [], ['--chunk-size', '1', '-j', '2']:  # each chunk asks by itself
            total = calls_of(sillage, trace, *words)[2]
            assert {row['name']: row['open'] for row in total['by_name']} == {'main': 1, 'inner': 1}, total
        shutil.copy(program, program + '.new')
        os.replace(program + '.new', program)
        found = names()  # another file is there now
        assert found[0] == [None, None] and program + ' (deleted)' in found[2], found
    finally:
        running.communicate(b'\n')
    found = names()
    assert found[0] == [None, None] and all(row['name'].startswith('0x') for row in calls_of(sillage, trace)[2]['by_name']), found


def check(sillage, folder):
    daemon = Daemon(folder)
    out = os.path.join(folder, 'out.perfetto')
    try:
        program = compiled(folder, 'program', PROGRAM, '-DEXTRA=')
        library = compiled(folder, 'library.so', LIBRARY, '-shared', '-fPIC')
        trace = daemon.record('whole', program, library)
        check_names(exported(sillage, trace, out)[0])
        check_running(sillage, daemon, out, program, library)
        check_calls(sillage, trace)
        check_state(sillage, daemon.record_rotated('rotated', program, library, 'wait'), os.path.join(folder, 'state'))
        subprocess.run(['objcopy', '--only-keep-debug', program, program + '.debug'], check=True)
        subprocess.run(['objcopy', '--strip-all', '--add-gnu-debuglink=' + program + '.debug', program], check=True)
        check_names(exported(sillage, daemon.record('stripped', program, library), out)[0])
        check_names(exported(sillage, trace, out)[0])  # the build is the same, and the file has the link
    finally:
        daemon.close()
    os.unlink(program + '.debug')
    compiled(folder, 'program', PROGRAM, '-DEXTRA=* 3 + i')
    check_refused(sillage, trace, program, out, 'another build')
    os.unlink(program)
    check_refused(sillage, trace, program, out, 'No such file')
    os.mkfifo(program)
    check_refused(sillage, trace, program, out, '')
    os.unlink(program)
    os.symlink('/dev/zero', program)
    check_refused(sillage, trace, program, out, '')


def main():
    lacking = [name for name in ('lttng', 'lttng-sessiond', 'cc', 'objcopy') if not shutil.which(name)]
    lacking += [name for name in HELPERS if not ctypes.util.find_library(name[3:-3])]
    if lacking:
        print('skipped:', ', '.join(lacking), 'not installed')
        return 77
    with tempfile.TemporaryDirectory() as folder:
        check(sys.argv[1], folder)
    print('ok symbols')
    return 0


if __name__ == '__main__':
    sys.exit(main())

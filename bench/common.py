"""common: what the programs of this folder share: options, traces, runs, figures and tables.

A program prints lines that begin with `#`, and tables of cells with tabs between.  A table begins
with its heads, which say the unit of each column; behind it is an empty line, another `#`, or the
end.  tests/bench.py reads them so: it runs every program with --quick, and compares the events and
bytes of the line of the trace (headline()) with those of its files.
"""
import argparse
import collections
import contextlib
import json
import math
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.join(HERE, '..', 'tests')
sys.path[1:1] = [os.path.join(TESTS, folder) for folder in ('peer', 'store', 'property')]

PIN = ['taskset', '-c', '0'] if shutil.which('taskset') else []  # one core: with -j 0
COUNTER = ['-c', 'sink.utils.counter']  # of babeltrace2
LIVE_LIMIT_S = 3600  # for what a relay has to send


# ---- options ----

class Options(argparse.ArgumentParser):
    """Those that each program has, and its own: option() and size()."""

    def __init__(self, doc, trace='TRACE'):
        super().__init__(description=doc.split('\n')[0])
        self.quick = {}
        self.add_argument('--sillage', default='build/sillage', help='the program that is measured')
        self.add_argument('--quick', action='store_true',
                          help='the least of everything, to see that this program runs')
        if trace:
            self.add_argument('trace', metavar='TRACE', help='a trace, or a directory above it',
                              nargs='+' if trace.endswith('...') else None)

    def size(self, name, full, quick, text):
        """A number, which is @quick with --quick."""
        self.quick[name] = full, quick
        self.add_argument('--' + name, metavar='N', type=type(full),
                          help='%s (default: %s)' % (text, full))

    def parse(self):
        args = self.parse_args()
        for name, (full, quick) in self.quick.items():
            if getattr(args, name) is None:
                setattr(args, name, quick if args.quick else full)
        args.sillage = os.path.abspath(args.sillage)
        if not os.access(args.sillage, os.X_OK):
            self.error('%s: no such program; build it, or name one with --sillage' % args.sillage)
        args.build = os.path.dirname(args.sillage)
        if not is_optimized(args.sillage):
            warn('%s: these figures say little' % about_build(args.sillage))
        # Large traces need a file system, /tmp is memory on some machines.
        tempfile.tempdir = os.environ.get('TMPDIR', '/var/tmp')
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        return args


def warn(text):
    print('# warning: ' + text, file=sys.stderr, flush=True)


def tool(args, name):
    """The path of @name of the build, as 'bench/tile'."""
    path = os.path.join(args.build, name)
    if not os.path.exists(path):
        raise SystemExit('%s is missing; build it with: ninja -C %s %s' % (path, args.build, name))
    return path


# ---- builds ----

def flags_of(program):
    """What the compiler was given for @program, in a build of meson's; None: it is in none."""
    folder = os.path.join(os.path.dirname(os.path.realpath(program)), 'meson-info')
    try:
        with open(os.path.join(folder, 'intro-targets.json')) as file:
            targets = json.load(file)
        with open(os.path.join(folder, 'intro-buildoptions.json')) as file:
            options = {one['name']: one['value'] for one in json.load(file)}
    except OSError:
        return None
    words = [word for target in targets if os.path.realpath(program) in target['filename']
             for sources in target['target_sources'] for word in sources.get('parameters', [])]
    return words + ['-flto'] * bool(options.get('b_lto')) + ['-fprofile-use'] * (
        options.get('b_pgo') == 'use')


def kind_of(program):
    """A short text of how it was built, and whether that is for speed."""
    flags = flags_of(program)
    if flags is None:
        return 'not in a folder of a build: is it optimized?', False
    level = [word for word in flags if word.startswith('-O')][-1:] or ['-O0']
    has_lto = any(word.startswith('-flto') for word in flags)
    has_checks = '-DSILLAGE_CHECKS' in flags or any(word.startswith('-fsanitize') for word in flags)
    text = '%s, %s, %s%s' % (level[0], 'LTO' if has_lto else 'no LTO',
                             'profile' if '-fprofile-use' in flags else 'no profile',
                             ', checks' if has_checks else '')
    return text, level[0] in ('-O2', '-O3') and has_lto and not has_checks


def is_optimized(program):
    return kind_of(program)[1]


def about_build(program):
    return '%s: %s' % (program, kind_of(program)[0])


# ---- traces ----

def traces(path):
    """The traces at or below a path, as sillage finds them: directories with a file `metadata`."""
    found = []
    for place, folders, names in os.walk(path):
        if 'metadata' in names:
            found.append(place)
            folders.clear()
        folders[:] = sorted(name for name in folders if not name.startswith('.'))
    if not found:
        raise SystemExit('%s: there is no trace in it or below it' % path)
    return found


def streams(path):
    """The files of all streams of all traces at or below a path."""
    files = (os.path.join(trace, name) for trace in traces(path)
             for name in sorted(os.listdir(trace))
             if name != 'metadata' and not name.startswith('.'))
    return [file for file in files if os.path.isfile(file)]


def size_of(path):
    return sum(map(os.path.getsize, streams(path)))


def events_of(args, path):
    return last_line(cost(analyze(args, '-a', 'count', path)))['events']


def tiled(args, path, scratch, times):
    """The packets of the trace at or below @path that many times, one after the other in time."""
    out = os.path.join(scratch, 'tiled')
    run([tool(args, 'bench/tile'), path, out, str(times)])
    return out


def enough(args, path, scratch, events):
    """@path tiled until it has that many events, and how many times."""
    times = -(-events // events_of(args, path))
    return tiled(args, path, scratch, times), times


@contextlib.contextmanager
def scratch():
    with tempfile.TemporaryDirectory(prefix='sillage-bench-') as folder:
        yield folder


# ---- runs ----

# rss_mib: a program counts from what this one had when it began: what is less cannot be seen.
Cost = collections.namedtuple('Cost', 'wall_s cpu_s rss_mib out said')
WALL, CPU = (lambda one: one.wall_s), (lambda one: one.cpu_s)  # what the best run has least of


def cost(command):
    """One run: its times, the peak of its memory, and what it wrote."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as said:
        begin = time.monotonic()
        try:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=said)
        except FileNotFoundError:
            raise SystemExit('%s is not installed' % command[0]) from None
        _, status, usage = os.wait4(process.pid, 0)
        wall_s = time.monotonic() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        said.seek(0)
        texts = [file.read().decode(errors='replace') for file in (out, said)]
    if process.returncode:
        raise SystemExit('%s: status %d\n%s' % (
            ' '.join(command), process.returncode, texts[1][-2000:]))
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    rss_mib = usage.ru_maxrss / 1024 if usage.ru_maxrss > own else '< %d' % (own / 1024 + 1)
    return Cost(wall_s, usage.ru_utime + usage.ru_stime, rss_mib, *texts)


def run(command):
    return cost(command).out


def best(command, rounds, by=WALL):
    return min((cost(command) for _ in range(rounds)), key=by)


def in_turn(commands, rounds):
    """{name: its runs} of {name: command}: one of each, and again."""
    found = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            found[name].append(cost(command))
    return found


def ratios(before, after):
    """Of CPU times, run by run, sorted."""
    return sorted(b.cpu_s / a.cpu_s for a, b in zip(before, after))


def analyze(args, *words):
    return [args.sillage, 'analyze', '-q', '-f', 'json', *words]


def last_line(done):
    """Of JSON: the events, packets and bytes of the run."""
    return json.loads(done.out.strip().splitlines()[-1])


def total(done, name):
    """The figures of an analysis of the whole trace."""
    return [line for line in map(json.loads, done.out.splitlines())
            if line['type'] == 'total'][-1][name]


# ---- processes ----

@contextlib.contextmanager
def peers(args, app=None):
    """A test of tests/peer: relays, replays and live runs, which end with it."""
    import peer

    peer.LIMIT = LIVE_LIMIT_S
    test = peer.Test(args.sillage, app, '')
    try:
        yield test
    except peer.Skip as skip:
        raise SystemExit(str(skip)) from None
    finally:
        test.close()


def replay(test, relay, trace, session, *options):
    """As fast as it can; the session stays.  No name of a session may be part of another's."""
    import peer

    return test.replay(relay, os.path.abspath(trace), '--session', session, '--hostname', 'h',
                       '--speed', '0', '--linger', peer.LONG, *options)


def wait_stored(relay, trace, session):
    """Until the relay has all of it."""
    for one in traces(trace):
        relay.wait_stored(session, one)


def end(relay, trace, session, process):
    """The session ends as soon as the relay has all of it."""
    import peer

    wait_stored(relay, trace, session)
    process.terminate()
    if peer.ended(process):
        raise SystemExit('replay failed')


def cpu_seconds(pid):
    """CPU time of a process, in ns, its threads that have ended included: clock ticks miss short
    wake-ups.  (The clock of CPUCLOCK_SCHED, see clock_getcpuclockid(3).)"""
    return time.clock_gettime(~pid << 3 | 2)


def shares(lives, seconds, is_enough=lambda: True):
    """Of one core, in percent, over the next @seconds and until it is enough: what each of these
    live runs uses.  And how long that was."""
    for live in lives:
        live.wait_for(lambda one: one.process.poll() is None)
    pids = [live.process.pid for live in lives]
    before = [cpu_seconds(pid) for pid in pids]
    begin = time.monotonic()
    time.sleep(seconds)
    while not is_enough():
        time.sleep(0.1)
    wall_s = time.monotonic() - begin
    return [100 * (cpu_seconds(pid) - used) / wall_s for pid, used in zip(pids, before)], wall_s


def peak_mib(pid):
    with open('/proc/%d/status' % pid) as status:
        return [int(line.split()[1]) for line in status if line.startswith('VmHWM')][0] / 1024


# ---- tables ----

def digits(value):
    """Three significant digits, without an exponent."""
    if not value:
        return '0'
    return '%.*f' % (max(0, 2 - math.floor(math.log10(abs(value)))), value)


def headline(args, path, times=1):
    """Says of which trace the figures are, and on which machine; returns its events and bytes.
    @path: args.trace, or that tiled."""
    events, size = events_of(args, path), size_of(path)
    print('# %s%s: %d events, %d bytes; machine: %d cores, load %.1f; %s' % (
        args.trace, ', %d times' % times if times > 1 else '', events, size, os.cpu_count(),
        os.getloadavg()[0], kind_of(args.sillage)[0]), flush=True)
    return events, size


class Table:
    """Prints its heads, then each row when it is known.  Numbers that are no integers: digits()."""

    def __init__(self, *heads, first=28):
        heads = [str(head) for head in heads]
        self.widths = [first] + [max(8, len(head)) for head in heads[1:]]
        self.row(*heads)

    def row(self, *cells):
        texts = [digits(cell) if isinstance(cell, float) else str(cell) for cell in cells]
        print('\t'.join([texts[0].ljust(self.widths[0])] + [
            text.rjust(width) for text, width in zip(texts[1:], self.widths[1:])]), flush=True)


class Rates(Table):
    """Throughput of commands that read the whole trace, beside babeltrace2 on the same files."""

    def __init__(self, args, path, times=1):
        self.events, self.size = headline(args, path, times)
        super().__init__('what', 's', 'M events/s', 'MB/s', 'ratio', 'RSS MiB', 'note')
        self.base_s = None
        if shutil.which('babeltrace2'):
            counter = cost([*PIN, 'babeltrace2', path, *COUNTER])
            self.base_s = counter.wall_s
            self.add('babeltrace2 counter', counter.wall_s, counter.rss_mib)

    def add(self, what, seconds, rss_mib='-', note='', share=1):
        """@share: of the trace, if it did not read all of it."""
        ratio = float(self.base_s * share / seconds) if self.base_s else '-'
        self.row(what, seconds, self.events * share / seconds / 1e6,
                 self.size * share / seconds / 1e6, ratio, rss_mib, note)

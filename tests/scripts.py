#!/usr/bin/env python3
"""scripts: what scripts and shells rely on.

Goal    Pipes that close early are silent; tables keep all columns in a pipe; rows are sorted by any
        figure; times are there as texts; -a adds; values are completed; the wrong command and the
        wrong kind of argument name the right one.  Files of reports are whole, or as they were.
Method  The program is run as a shell would.  What text shows is compared with its own JSON.

usage: scripts.py SILLAGE DATA
"""
import datetime
import json
import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile

SILLAGE, DATA = sys.argv[1:3]
IO_MIX = os.path.join(DATA, 'io-mix')
faults = []


def check(what, holds, seen=''):
    if not holds:
        faults.append(what)
        print('not ok: %s: %s' % (what, str(seen)[:300]), flush=True)


def run(*args, columns=None):
    env = {name: value for name, value in os.environ.items() if name != 'COLUMNS'}
    if columns:
        env['COLUMNS'] = columns
    return subprocess.run([SILLAGE, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)


def closed_pipe(*args):
    """Its reader ends after the first byte, sooner than head does."""
    child = subprocess.Popen([SILLAGE, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    os.read(child.stdout.fileno(), 1)
    child.stdout.close()
    said = child.stderr.read().decode()
    child.stderr.close()
    return child.wait(), said


def check_pipes():
    for args in (['analyze', '-q', '-a', 'all', '-n', '0', '-i', '1ms', IO_MIX],
                 ['report', '-f', 'json', '-n', '0', os.path.join(DATA, 'migrate')]):
        status, said = closed_pipe(*args)
        check('%s | head' % args[0], status == 141 and said == '', (status, said))
    with open('/dev/full', 'w') as full:
        failed = subprocess.run([SILLAGE, 'analyze', '-q', IO_MIX], stdout=full, stderr=subprocess.PIPE, text=True)
    check('a full disk is said', failed.returncode == 1 and 'No space left' in failed.stderr, failed)


def longest_line(*args, **more):
    lines = run('analyze', '-q', '-a', 'block', *args, IO_MIX, **more).stdout.splitlines()
    return max([len(line.rstrip()) for line in lines if line.startswith('  ')] or [0])


def check_width():
    head = [line for line in run('analyze', '-q', '-a', 'block', IO_MIX).stdout.splitlines() if 'DISK' in line][0]
    check('all columns in a pipe', head.split()[-3:] == ['P50', 'MIN', 'STDEV'], head)
    check('COLUMNS', 60 < longest_line(columns='90') <= 90)
    check('--width wins', longest_line('--width', '70', columns='90') <= 70)
    check('--width 0', longest_line('--width', '0', columns='90') > 90)
    check('COLUMNS that is no number', longest_line(columns='wide') == longest_line())


def lists_of(*args, data=IO_MIX):
    """The lists of text, by their first words and in order: ('THREAD', rows)."""
    found = []
    for line in run('analyze', '-q', *args, data).stdout.splitlines():
        if re.match(r'  [A-Z]{3}', line):
            found.append((line.split()[0], 0))
        elif line.startswith('  ') and found and not line.startswith('  ...'):
            found[-1] = found[-1][0], found[-1][1] + 1
        elif not line:
            found.append((None, 0))
    return [one for one in found if one[0]]


def check_brief():
    """Text does not say the same twice, unless it is asked; what was asked for is there."""
    kinds = lambda *args, **more: [kind for kind, _ in lists_of(*args, **more)]
    check('by default', kinds() == ['CPU', 'THREAD', 'THREAD'], kinds())
    check('events', kinds('-a', 'count,cpu') == ['EVENT', 'CPU', 'THREAD'], kinds('-a', 'count,cpu'))
    ust = os.path.join(DATA, 'ust')
    check('of a program', kinds(data=ust) == ['PID', 'LOG', 'DEBUG_LINE', 'PID'], kinds(data=ust))  # it has no calls, and one level
    for words in (('--per', 'all'), ('--per', 'pid'), ('--sort', 'io.processes.reads')):
        check(words, 'PROCESS' in kinds('-a', 'io', *words), kinds('-a', 'io', *words))
    check('rows of totals', [rows for _, rows in lists_of('-a', 'count')] == [10])
    check('rows of windows', {rows for _, rows in lists_of('-a', 'count', '-i', '100ms')[:-1]} == {5})
    check('rows wanted', {rows for _, rows in lists_of('-a', 'count', '-i', '100ms', '-n', '7')} == {7})


def check_headings():
    """Traces of the same names, as of several snapshots, have their paths in headings; others have not."""
    with tempfile.TemporaryDirectory() as folder:
        for name, data in (('snapshot-1', 'burst'), ('snapshot-2', 'burst'), ('other', 'io-mix')):
            shutil.copytree(os.path.join(DATA, data), os.path.join(folder, name))
        heads = [line.split('  ')[0] for line in run('analyze', '-q', '-a', 'count', '-n', '1', folder).stdout.splitlines() if line.startswith('testhost')]
        places = ['testhost/burst/kernel in ' + os.path.join(folder, 'snapshot-%d' % i, 'kernel') for i in (1, 2)]
        check('headings', sorted(heads) == sorted(places + ['testhost/io-mix/kernel']), heads)


def shown_tids(key):
    text = run('analyze', '-q', '-a', 'cpu,sched', '--per', 'tid', '-n', '0', '--sort', key, IO_MIX).stdout
    tables, rows = [], None
    for line in text.splitlines():
        if line.startswith('  THREAD (TID)'):
            rows = []
            tables.append(rows)
        elif rows is not None and line.startswith('  ') and '(' in line:
            rows.append(int(line.split('(')[1].split(')')[0]))
        else:
            rows = None
    return tables


def check_sort():
    line = run('analyze', '-q', '-f', 'json', '-a', 'cpu,sched', '--per', 'tid', IO_MIX).stdout.splitlines()[1]
    cpu, sched = (json.loads(line)[name]['threads'] for name in ('cpu', 'sched'))
    cases = {'switches': (0, cpu, lambda row: -row['switches']),
             'prio': (0, cpu, lambda row: row['prio']),
             'p99': (1, sched, lambda row: -row['wake'].get('p99_ns', 0)),
             'wake.mean': (1, sched, lambda row: -row['wake'].get('mean_ns', 0)),
             'wake.max': (1, sched, lambda row: -row['wake'].get('max_ns', 0)),
             'requeue.count': (1, sched, lambda row: -row['requeue']['count'])}
    for key, (table, rows, figure) in cases.items():
        figures = {row['tid']: figure(row) for row in rows}
        shown = [figures[tid] for tid in shown_tids(key)[table]]
        check('--sort %s' % key, len(set(shown)) > 1 and shown == sorted(shown), shown[:8])
    for key, says in (('run_ns.p99', 'unknown distribution'), ('wake.p42', 'behind the point'), ('runs', 'unknown figure')):
        refused = run('analyze', '-q', '--sort', key, IO_MIX)
        check('--sort %s' % key, refused.returncode == 2 and says in refused.stderr, refused.stderr)


def check_key():
    """The column that rows are sorted by is there in lines of any width."""
    for analysis, key in (('sched', 'WAITED'), ('syscalls', 'TOTAL'), ('cpu', 'RUN')):
        for width in ('60', '80', '100', '0'):
            lines = run('analyze', '-q', '-a', analysis, '--per', 'tid', '-n', '20', '--width', width, IO_MIX).stdout.splitlines()
            heads = [i for i, line in enumerate(lines) if line.startswith('  THREAD (TID)')]
            head = lines[heads[0]] if heads else ''
            check('%s by %s in %s columns' % (analysis, key, width), key in head.split(), head)
            at = head.find(key) + len(key)  # cells end below their titles
            cells = [line[:at].split()[-2:] for line in lines[heads[0] + 1:] if line.startswith('  ') and ')' in line]
            found = [float(number) * {'ns': 1, 'us': 1e3, 'ms': 1e6, 's': 1e9}[unit] for number, unit in cells]
            check('%s in order in %s columns' % (analysis, width), len(found) > 5 and found == sorted(found, reverse=True), found)


def check_help():
    """What is said of an option is of that command, and long lists have headings."""
    for command, wanted in (('live', '(count,cpu,io, of programs count,calls,ust)'), ('top', '(all)'), ('overview', '(count,cpu,waits, of programs count,calls,ust)'), ('compare', '(all)')):
        text = run(command, '--help').stdout
        line = next(line for line in text.splitlines() if '--analyses' in line)
        check('%s --help has its own default' % command, line.endswith('names, all, or help ' + wanted), line)
        check('%s --help is about no other command' % command, not re.search(r'\((?:[a-z]+, )*(?:top|analyze|report|setup|watch|history|overview|compare): ', text), text)
    check('headings', 'Triggers and gates:\n' in run('live', '--help').stdout and ':\n  -f' not in run('list', '--help').stdout)
    for option in ('--web', '--metrics'):
        refused = run('live', option, '19090', 'net://127.0.0.1:1')
        check('%s with a wrong address' % option, refused.returncode == 2 and 'is not [HOST]:PORT' in refused.stderr, refused)
    refused = run('top', 'no-such.db')
    check('top of a file that is not there', refused.returncode == 1 and 'no-such.db: No such file' in refused.stderr, refused)


def as_ns(text):
    whole, fraction = text.rstrip('Z').split('.')
    seconds = datetime.datetime.fromisoformat(whole).replace(tzinfo=datetime.timezone.utc).timestamp()
    return int(seconds) * 10**9 + int(fraction)


def check_times():
    os.environ['TZ'] = 'America/New_York'  # texts are in UTC all the same
    found = 0
    for line in run('analyze', '-q', '-f', 'json', '-a', 'cpu,lost', '-i', '50ms', '--trigger', 'cpu.busy > 1%',
                    os.path.join(DATA, 'lost-events')).stdout.splitlines():
        value = json.loads(line)
        for key in ('begin', 'end'):
            if key in value:
                found += 1
                check('%s_time of %s' % (key, value['type']), as_ns(value[key + '_time']) == value[key], value)
    check('there are times', found > 10, found)


def check_numbers():
    """Numbers are integers but for means and their like, which never are, and what a trigger compares."""
    kinds = {}  # by key: how its numbers are written

    def keep(pairs):
        for key, value in pairs:
            for one in value if isinstance(value, list) else [value]:
                if isinstance(one, (int, tuple)) and not isinstance(one, bool):
                    kinds.setdefault(key, set()).add('real' if isinstance(one, tuple) else 'integer')
        return dict(pairs)

    for args in (['analyze', '-q', '-a', 'all', '-i', '50ms', '--trigger', 'cpu.busy > 10.5%', '--job', 'r = run', IO_MIX],
                 ['analyze', '-q', '-a', 'all', os.path.join(DATA, 'lost-events')],
                 ['report', '-q', '--job', 'run', '--deadline', '1ms', '--worst', '2', os.path.join(DATA, 'timer-jobs')]):
        kinds.clear()
        for line in run(args[0], '-f', 'json', *args[1:]).stdout.splitlines():
            json.loads(line, parse_float=lambda text: (text,), object_pairs_hook=keep)
        check('numbers of %s' % args[0], len(kinds) > 60, sorted(kinds))
        for key, kind in kinds.items():
            is_mean = re.search(r'(mean|stdev|deviation|more)_ns$', key) or key in ('value', 'limit')
            check('%s is written as %s' % (key, kind), kind == {'real' if is_mean else 'integer'}, args)


def check_words():
    check('-V', run('-V').stdout == run('--version').stdout != '')
    with tempfile.NamedTemporaryFile('w') as file:
        file.write('[busy]\nwhen = cpu.busy > 1%\ndo = print\n')
        file.flush()
        said = [run('triggers', *words).stdout for words in (('--check', '-v', file.name), ('-v', '--check', file.name), ('--check', file.name, '-v'))]
        check('options before and behind a file', len(set(said)) == 1 and '[busy]' in said[0], said)
    check('help help', run('help', 'help').stdout == run('help').stdout != '')
    names = json.loads(run('analyze', '-q', '-f', 'json', '-a', 'lost', '-a', 'cpu,count', '-a', 'cpu', IO_MIX).stdout.splitlines()[0])
    check('-a adds', names['analyses'] == ['count', 'cpu', 'lost'], names)
    lines = [line for line in run('help', 'analyze').stdout.splitlines() if line.startswith('  ') and '--' in line[:8]]
    begins = {line.index(line[6:].split('  ')[-1].strip(), 6) for line in lines}
    check('help is aligned', len(begins) == 1, begins)
    for command in ('live', 'list'):
        said = run(command, IO_MIX)
        check('%s TRACE' % command, said.returncode == 2 and 'analyze' in said.stderr, said.stderr)


def limited(*args):
    """With files of at most 8 KiB."""
    return subprocess.run(['bash', '-c', 'trap "" XFSZ; ulimit -f 8; exec "$0" "$@"', SILLAGE, *args], stderr=subprocess.PIPE, text=True)


def check_whole_files():
    """A file that is written at the end: it is there in full, or as it was before."""
    trace, bad = os.path.join(DATA, 'timer-jobs'), os.path.join(DATA, 'timer-jobs', 'nothing')
    with tempfile.TemporaryDirectory(prefix='sillage-scripts-') as scratch:
        path = os.path.join(scratch, 'report')
        for args in (['report'], ['report', '-f', 'html'], ['report', '-f', 'json'], ['overview']):
            failed = run(*args, '-o', path, bad)
            check('%s -o after a failure' % args, failed.returncode == 1 and os.listdir(scratch) == [], os.listdir(scratch))
        failed = limited('report', '-f', 'html', '-o', path, trace)
        check('no room', failed.returncode == 1 and 'too large' in failed.stderr and os.listdir(scratch) == [], failed)
        for content in ('', 'before'):
            with open(path, 'w') as file:
                file.write(content)
            os.chmod(path, 0o640)
            run('report', '-o', path, bad)
            failed = limited('report', '-f', 'html', '-o', path, trace)
            with open(path) as file:
                check('what was there stays', file.read() == content and failed.returncode == 1 and os.listdir(scratch) == ['report'])
        for name in ('report', 'new', 'dangling'):
            path = os.path.join(scratch, name)
            if name == 'dangling':
                os.symlink('target', path)
            written = run('report', '-o', path, trace)
            with open(path) as file:
                check('-o %s' % name, written.returncode == 0 and file.read() == run('report', trace).stdout)
        check('a link stays one', os.path.islink(path))
        check('its mode stays', os.stat(os.path.join(scratch, 'report')).st_mode & 0o777 == 0o640)
        check('no other file', sorted(os.listdir(scratch)) == ['dangling', 'new', 'report', 'target'], os.listdir(scratch))
        check('-o /dev/stdout', run('report', '-o', '/dev/stdout', trace).stdout == run('report', trace).stdout)


def check_threads():
    """Threads are named alike everywhere."""
    for word, option in (('18678', '--tid'), ('18678,18679', '--tid'), ('io-*', '--comm'), ('io_mix,18678', '--comm')):
        selected, same = (run('analyze', '-q', '-f', 'json', '-a', 'cpu', name, word, IO_MIX).stdout.splitlines()[1:-1] for name in ('--thread', option))
        check('analyze --thread %s' % word, selected == same and '"tid"' in selected[0], (selected, same))
    trace = os.path.join(DATA, 'timer-jobs')
    explained = run('report', '--thread', 'disturber', trace).stdout
    leads = 'sillage report --discover %s ' + trace
    tid = explained.split('WENT')[0].rsplit('disturber (', 1)[1].split(')')[0]
    for args in (('--comm', 'disturber'), ('--tid', tid), ('--thread', tid)):
        wanted = explained.replace(leads % '--thread disturber', leads % ' '.join(args))
        check('report %s %s' % args, run('report', *args, trace).stdout == wanted != run('report', trace).stdout, args)


    # One that is neither real-time nor periodic may have been late for a while only.
    trace = os.path.join(DATA, 'io-mix')
    said = run('report', '--thread', 'io_mix', trace).stdout
    check('report leads to ranges', 'when that changed: sillage overview %s\n' % trace in said, said[:300])
    check('and not from one', 'sillage overview' not in run('report', '--thread', 'io_mix', '--begin', '01:36:39.5', trace).stdout)


def check_longest():
    """The longest periods name their thread and their key."""
    lines = run('analyze', '-q', '-a', 'periods', '--period', 'disk = block_rq_issue; block_rq_complete; by dev, sector', IO_MIX).stdout
    first = lines.split('LONGEST PERIODS')[1].splitlines()[1]
    check('longest periods', re.fullmatch(r'  disk .* \S+ \(\d+\) +dev=\d+ sector=\d+ *', first), first)


def check_dumb_terminal():
    ours, theirs = pty.openpty()
    child = subprocess.run([SILLAGE, 'top', IO_MIX], stdin=theirs, stdout=theirs, stderr=subprocess.PIPE, text=True,
                           env={**os.environ, 'TERM': 'dumb'})
    os.close(theirs)
    os.close(ours)
    check('TERM=dumb', child.returncode == 1 and '"dumb" cannot place text' in child.stderr, child)


BASH = 'source <("$0" help completion); COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _sillage; echo "${COMPREPLY[@]}"'
FISH = '$argv[1] help completion fish | source; complete -C "$argv[2..]" | string replace -r "\t.*" ""'
# What is typed, and a tab; the screen has the expected word then, or this waits for it in vain.
ZSH = """zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z "PS1=; unsetopt zle_bracketed_paste prompt_sp; autoload -U compinit; compinit -u -D; source <($0 help completion zsh)
bindkey '^I' complete-word; print -r -- re''ady"
zpty -r z out '*ready*'
zpty -w -n z "$1"$'\t'
zpty -r -m z out "*$2*" && print -r -- $3
zpty -d z"""


def completed(shell, expected, *words):
    line = ' '.join(words)
    command = {'bash': ['bash', '-c', BASH, SILLAGE, *words], 'fish': ['fish', '-N', '-c', FISH, SILLAGE, line],
               'zsh': ['zsh', '-f', '-c', ZSH, SILLAGE, line, ' '.join(words[:-1] + (expected,)), expected]}[shell]
    try:
        return subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=60).stdout.split()
    except subprocess.TimeoutExpired:
        return 'nothing'


def check_completion():
    for shell in ('bash', 'fish', 'zsh'):
        if not shutil.which(shell):
            print('skipped: no %s' % shell)
            continue
        for words, expected in ((('sillage', 'ov'), 'overview'), (('sillage', 'help', 'jso'), 'json'),
                                (('sillage', 'live', '--phas'), '--phases'),
                                (('sillage', 'analyze', '-a', 'cpu,sc'), 'cpu,sched'),
                                (('sillage', 'top', '--per', 'con'), 'container'),
                                (('sillage', 'live', '--model', 'ro'), 'ros2'),
                                (('sillage', 'analyze', '--sort', 'switch'), 'switches'),
                                (('sillage', 'report', '--job', 'timer'), 'timerfd')):
            found = completed(shell, expected, *words)
            check('%s: completion of %s' % (shell, ' '.join(words)), found == [expected], found)
    refused = run('help', 'completion', 'tcsh')
    check('completion for tcsh', refused.returncode == 2 and 'bash, zsh and fish' in refused.stderr, refused)


for test in (check_pipes, check_width, check_brief, check_headings, check_sort, check_key, check_help, check_times, check_numbers, check_words, check_whole_files, check_threads, check_longest,
             check_dumb_terminal, check_completion):
    test()
sys.exit(1 if faults else 0)

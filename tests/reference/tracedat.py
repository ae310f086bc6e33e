#!/usr/bin/env python3
"""tracedat: a trace.dat is read as `trace-cmd report` reads it, event by event.

Goal    The files of trace-cmd, of both versions, packed or not, have the events, times and CPUs that trace-cmd itself
        prints, and the threads of switches; so have those with the clock x86-tsc.  Of several buffers, other clocks and
        offsets the numbers of events and the first time are checked; what the kernel lost is said.
Method  trace-cmd made two files, of versions 6 and 7; others are written here (tracedat_file.py).  `events` prints what
        the conversion makes of one.  Switches that only the conversion has are told by the events behind them, and
        counted.  What events are made of other kernels is the business of formats.py.

usage: tracedat.py SILLAGE EVENTS DATA      DATA has v6.dat and v7-zstd.dat
"""
import collections
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

import tracedat_file

LINE = re.compile(r'^\s*(?:cpu )?(.+)-(\d+)\s+\[(\d+)\]\s+(-?\d+)\.(\d{9}): (\w+):\s*(.*)$')
NAMES = {'softirq_entry': 'irq_softirq_entry', 'softirq_exit': 'irq_softirq_exit',
         'hrtimer_expire_entry': 'timer_hrtimer_expire_entry'}
STATE = 'lttng_statedump_process_state'


def run(*args, **more):
    return subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, **more)


def theirs(path):
    """CPU -> events (time, name, tid) in order."""
    done = run('trace-cmd', 'report', '-t', '-i', path)
    assert done.returncode == 0, done
    cpus, start = collections.defaultdict(list), 0
    for line in done.stdout.splitlines():
        found = LINE.match(line)
        if found:
            _, tid, cpu, s, ns, name, text = found.groups()
            # The end of a call that was none any more: rt_sigreturn().
            if not (name.startswith('sys_') and text.startswith('NR -1 ')):
                cpus[int(cpu)].append((int(s) * 10**9 + int(ns), name, int(tid)))
            start += 1
    assert start > 0, done
    return cpus


def ours(events, path):
    done = run(events, path)
    assert done.returncode == 0 and 'fault' not in done.stdout, done
    cpus, cpu = collections.defaultdict(list), None
    for line in done.stdout.splitlines():
        if not line.startswith(' '):
            cpu = int(re.search(r'_(\d+)$', line).group(1))
        else:
            words = line.split()
            # The fields come before the name and the time.
            cpus[cpu].append((int(words[-1]), words[-2], words[:-2]))
    return cpus


def is_call(wanted, name):
    kind = 'entry' if wanted == 'sys_enter' else 'exit'
    return re.match('(compat_)?syscall_%s_' % kind, name) is not None


def same(wanted, name):
    return is_call(wanted, name) if wanted in ('sys_enter', 'sys_exit') else NAMES.get(wanted, wanted) == name


def compare(events, path, shift=lambda time: time):
    """The number of events; of both sides they are equal."""
    left, right, count, derived = theirs(path), ours(events, path), 0, 0
    for cpu in sorted(set(left) | set(right)):
        mine = [one for one in right[cpu] if one[1] != STATE]
        at, current = 0, None
        for time, name, tid in left[cpu]:
            while at < len(mine) and mine[at][1] == 'sched_switch' and mine[at][0] < shift(time) and (
                    name != 'sched_switch' or mine[at][0] != shift(time)):
                current, at, derived = int(mine[at][2][5]), at + 1, derived + 1
            assert at < len(mine), (path, cpu, time, name, 'is missing')
            got, called, fields = mine[at]
            assert got == shift(time) and same(name, called), (path, cpu, (time, name), mine[at])
            assert current is None or current == tid or name == 'sched_process_exec', (path, cpu, time, name, tid, current)
            if name == 'sched_switch':
                assert int(fields[1]) == tid, (path, fields, tid)
                current = int(fields[5])
            at, count = at + 1, count + 1
        assert at == len(mine), (path, cpu, mine[at])
    return count, derived


def total(sillage, path, *more):
    done = run(sillage, 'analyze', '-f', 'json', *more, path)
    lines = [json.loads(line) for line in done.stdout.splitlines() if '"type":"total"' in line]
    assert done.returncode == 0 and lines, done
    return lines, done.stderr


def write(folder, name, data):
    path = os.path.join(folder, name)
    with open(path, 'wb') as file:
        file.write(data)
    return path


def check_versions(sillage, events, folder, data):
    base = tracedat_file.read(os.path.join(data, 'v6.dat'))
    paths = [os.path.join(data, 'v6.dat'), os.path.join(data, 'v7-zstd.dat'), write(folder, 'v6.dat', base.v6()),
             write(folder, 'v7.dat', base.v7())]
    counts = {compare(events, path) for path in paths}
    assert len(counts) == 1, counts
    # trace-cmd of Debian has no zlib: the events have to be those of the same file without.
    packed = write(folder, 'packed.dat', base.v7(True))
    assert ours(events, packed) == ours(events, paths[3])
    print('%d events, %d switches more, in each of %d files' % (*counts.pop(), len(paths) + 1))
    return base


def check_commands(sillage, folder, data):
    """Each command takes the file, and names of calls are those of the machine, 32-bit ones too."""
    path = os.path.join(data, 'v7-zstd.dat')
    names = set(total(sillage, path, '-q', '-n', '0')[0][0]['count']['by_name'])
    assert {'syscall_entry_openat', 'compat_syscall_entry_open', 'compat_syscall_entry_write', 'sched_switch'} <= names, names
    assert not any(name.startswith('block_') for name in names), names
    for command in (('report',), ('report', '--discover'), ('overview',), ('analyze',)):
        done = run(sillage, *command, path)
        assert done.returncode == 0 and done.stdout, (command, done)
    for form in ('perfetto', 'folded'):
        out = os.path.join(folder, 'out.' + form)
        done = run(sillage, 'export', '-f', form, '-o', out, path)
        assert done.returncode == 0 and os.path.getsize(out) > 0, done
    done = run(sillage, 'compare', os.path.join(data, 'v6.dat'), path)
    assert done.returncode == 0, done
    assert not [name for name in os.listdir(folder) if name.startswith('sillage-')]


def check_buffers(sillage, events, folder, base):
    """Each buffer is a trace of its own, by its name."""
    dat = base.copy()
    dat.buffers[0].clock = 'mono'
    dat.buffers.append(tracedat_file.Buffer('more', 'global', 4096, {1: base.buffers[0].cpus[1]}))
    for name, data in (('two6.dat', dat.v6()), ('two7.dat', dat.v7())):
        path = write(folder, name, data)
        counts = [line['count']['events'] for line in total(sillage, path)[0]]
        alone = [line['count']['events'] for line in total(sillage, path + '/more')[0]]
        assert len(counts) == 2 and counts[1:] == alone and 0 < alone[0] < counts[0], (counts, alone)
        assert 'no such buffer' in run(sillage, 'analyze', path + '/less').stderr


def stats(cpu, **figures):
    names = {'entries': 0, 'overrun': 0, 'commit overrun': 0, 'dropped events': 0, 'read events': 0}
    names.update({name.replace('_', ' '): value for name, value in figures.items()})
    return b'CPU: %d\n' % cpu + b''.join(b'%s: %d\n' % (name.encode(), value) for name, value in names.items()) + b'\0'


def check_losses(sillage, folder, base):
    """The kernel's own account of what it lost is in the figures."""
    dat = base.copy()
    read = run('trace-cmd', 'report', '-i', write(folder, 'base.dat', base.v6())).stdout.count(' [000] ')
    dat.options += [(tracedat_file.CPUSTAT, stats(0, overrun=7, commit_overrun=2, dropped_events=3, entries=5, read_events=read)),
                    (tracedat_file.CPUSTAT, stats(1, dropped_events=100))]
    for name, data in (('lost6.dat', dat.v6()), ('lost7.dat', dat.v7(True))):
        count = total(sillage, write(folder, name, data))[0][0]['count']
        assert count['discarded'] == 7 + 2 + 3 + 5 + 100, count
    # Events that the kernel still had came into the file after its account.
    dat = base.copy()
    dat.options.append((tracedat_file.CPUSTAT, stats(0, entries=9, read_events=read - 9)))
    assert total(sillage, write(folder, 'late.dat', dat.v7()))[0][0]['count']['discarded'] == 0


def check_clocks(sillage, events, folder, base):
    dat = base.copy()
    dat.buffers[0].clock = 'x86-tsc'
    dat.options.append((tracedat_file.TSC2NSEC, dat.pack('IIQ', 3435973, 23, 0)))
    for name, data in (('tsc6.dat', dat.v6()), ('tsc7.dat', dat.v7())):
        path = write(folder, name, data)
        compare(events, path)
        assert 'does not count ns' not in total(sillage, path)[1]
    dat.options.pop()
    assert '"x86-tsc" does not count ns' in total(sillage, write(folder, 'ticks.dat', dat.v7()))[1]
    dat.buffers[0].clock = 'mono'
    assert not total(sillage, write(folder, 'mono.dat', dat.v7()))[1]
    first = total(sillage, os.path.join(folder, 'mono.dat'))[0][0]['begin']
    dat.options.append((tracedat_file.OFFSET, b'-1000000007\0'))
    assert total(sillage, write(folder, 'offset.dat', dat.v6()))[0][0]['begin'] == first - 1000000007
    dat.options[-1] = (tracedat_file.DATE, hex(1700000000 * 10**6).encode() + b'\0')
    assert total(sillage, write(folder, 'date.dat', dat.v6()))[0][0]['begin'] == first + 1700000000 * 10**9


def check_damage(sillage, folder, base):
    """Where a file is cut off, what can be read is read, and one line says what cannot."""
    whole = base.v7(True)
    for size in (11, 40, 3000, len(whole) // 3, len(whole) - 4096 - 1):
        done = run(sillage, 'analyze', write(folder, 'cut.dat', whole[:size]))
        assert done.returncode in (0, 1) and 'cut.dat' in done.stderr and 'assert' not in done.stderr.lower(), (size, done)
    done = run(sillage, 'analyze', write(folder, 'other.dat', whole.replace(b'tracing7\0', b'tracing9\0')))
    assert done.returncode == 1 and 'version 9' in done.stderr, done
    done = run(sillage, 'analyze', write(folder, 'lzo.dat', base.v7().replace(b'none\0\0', b'lz4\0\0\0')))
    assert done.returncode == 1 and 'trace-cmd convert' in done.stderr, done
    partial = base.v6()
    partial = partial[:partial.index(base.cmdlines) + len(base.cmdlines)]
    done = run(sillage, 'analyze', write(folder, 'partial.dat', partial))
    assert done.returncode == 1 and 'trace-cmd restore -i' in done.stderr, done


def main():
    sillage, events, data = sys.argv[1:4]
    if not shutil.which('trace-cmd'):
        print('trace-cmd is not there')
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix='tracedat-') as folder:
        os.environ['TMPDIR'] = folder
        base = check_versions(sillage, events, folder, data)
        check_commands(sillage, folder, data)
        check_buffers(sillage, events, folder, base)
        check_losses(sillage, folder, base)
        check_clocks(sillage, events, folder, base)
        check_damage(sillage, folder, base)
    print('ok')


if __name__ == '__main__':
    main()

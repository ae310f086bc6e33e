#!/usr/bin/env python3
"""kernel_record: figures of a recording are those of another recorder around the same programs, and the kernel's own.

Goal    Of each of some processes that run, sleep, read and write: run time, switches, migrations, preemptions, calls by
        their number, and bytes are in the trace of `sillage record` what they are in the trace that kernel-record
        makes meanwhile, and what taskstats says of each when it ends.
Method  kernel-record runs sillage, which runs the programs: both have buffers of their own, and see the same events.
        A switch of an idle thread that the kernel withholds is derived by either from what follows: times differ by
        as much.  The kernel counts run time up to the last tick or switch, and bytes in KiB.

usage: kernel_record.py SILLAGE KERNEL-RECORD      77: it is not there, or may not record here
"""
import json
import os
import subprocess
import sys
import tempfile

import record

PROCESSES, ROUNDS = 12, 40
# The noted ones are those whose whole life lies in both recordings.
PROGRAM = r'''
import os, sys, time
zero, null, pids = os.open('/dev/zero', os.O_RDONLY), os.open('/dev/null', os.O_WRONLY), []
for number in range(%d):
    pids.append(os.fork())
    if pids[-1] == 0:
        for at in range(%d):
            os.write(null, os.read(zero, 1000 * (number + 1)))
            sum(range(3000 * number))
            if at %% 4 == 0:
                time.sleep(0.001)
        os._exit(0)
for pid in pids:
    os.waitpid(pid, 0)
with open(sys.argv[1], 'w') as out:
    out.write(' '.join(map(str, pids)))
''' % (PROCESSES, ROUNDS)


def rows_of(sillage, trace, pids):
    total = record.figures(sillage, trace, '-a', 'cpu,syscalls,io')
    rows = {}
    for analysis in 'cpu', 'syscalls', 'io':
        for row in total[analysis]['threads']:
            if row['tid'] in pids and row.get('pid', row['tid']) == row['tid']:
                rows.setdefault(row['tid'], {}).update(row)
    return rows


def differs(ours, theirs, keys):
    return {key: (ours.get(key, 0), theirs.get(key, 0)) for key in keys if ours.get(key, 0) != theirs.get(key, 0)}


def main():
    sillage, other = map(os.path.abspath, sys.argv[1:3])
    if not os.access(record.TRACEFS + '/instances', os.W_OK) or not os.path.exists(other):
        print('skipped: tracefs cannot be written here, or kernel-record is not there')
        return 77
    with tempfile.TemporaryDirectory() as place:
        with open(place + '/program.py', 'w') as file:
            file.write(PROGRAM)
        done = subprocess.run([sys.executable, other, '--out', place + '/theirs', '--events', 'sched,syscalls', '--quiet', '--no-bpf', '--',
                               sillage, 'record', '-v', '-o', place + '/ours', '--buffer', '32M', '-a', 'cpu,syscalls,io', '--',
                               sys.executable, place + '/program.py', place + '/pids'], capture_output=True, text=True)
        if done.returncode != 0 and not os.path.exists(place + '/ours'):
            print('skipped: kernel-record does not record here:', done.stderr[-300:])
            return 77
        assert done.returncode == 0, done.stderr
        assert record.balances(done.stderr) == 0, done.stderr
        with open(place + '/pids') as file:
            pids = set(map(int, file.read().split()))
        with open(place + '/theirs/truth.json') as file:
            ended = {task['tid']: task for task in json.load(file)['exited_tasks'] if task['tid'] in pids}
        ours, theirs = rows_of(sillage, place + '/ours/kernel', pids), rows_of(sillage, place + '/theirs/kernel', pids)
        assert set(ours) == set(theirs) == pids and len(pids) == PROCESSES, (set(ours), set(theirs), pids)
        for pid in sorted(pids):
            mine, other_s, kernel = ours[pid], theirs[pid], ended.get(pid)
            found = differs(mine, other_s, ('switches', 'migrations', 'preemptions', 'calls', 'errors', 'read_bytes', 'write_bytes', 'reads', 'writes'))
            assert not found, (pid, found)
            assert abs(mine['run_ns'] - other_s['run_ns']) <= 0.02 * other_s['run_ns'] + 5e6, (mine, other_s)
            if kernel:
                # It comes on once more than it left before it ended.
                assert 1 <= mine['switches'] - kernel['nvcsw'] - kernel['nivcsw'] <= 3, (mine, kernel)
                for key, of_kernel in (('read_bytes', 'rchar'), ('write_bytes', 'wchar')):
                    assert 0 <= mine[key] - kernel[of_kernel] < 1024, (key, mine, kernel)
        ran, ran_there = (sum(row['run_ns'] for row in rows.values()) for rows in (ours, theirs))
        assert abs(ran - ran_there) <= 0.05 * ran_there + 2e6, (ran, ran_there)
        # The kernel takes from a program's time what its host took, which is the more the busier that is.
        of_kernel = sum(task['run_ns'] for task in ended.values())
        assert not ended or 0.8 * of_kernel <= sum(ours[pid]['run_ns'] for pid in ended) <= 2 * of_kernel + 20e6, (ran, of_kernel)
        print('ok: %d processes, %d of them by taskstats, %d switches' % (
            len(pids), len(ended), sum(row['switches'] for row in ours.values())))
    return 0


if __name__ == '__main__':
    sys.exit(main())

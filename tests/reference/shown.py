#!/usr/bin/env python3
"""shown: names, fields, levels and times of traces that others met are shown as what they are.

Each case is a trace of tests/data/cases, or one made here of a day's metadata, a command, and what
its output has, or has not.

usage: shown.py SILLAGE CASES
"""
import os
import re
import struct
import subprocess
import sys
import tempfile

F = 'float-field-conditions'
UTF8 = 'utf8-names-in-text'
MUTEX = '../rt-mutex-none/kernel'
TIMERFD = '../timer-jobs-timerfd/kernel'
MQUEUE = '../rt-mqueue/kernel'
BURST = '../burst/kernel'
PERIOD = "analyze -q -n 3 -a periods --period 'p = ev%s; end; by $cpu%s'"
SWITCHES = "--period 'x = sched_in; sched_out' --period 'y = sched:sched_switch next_pid=10; sched_out'"

# (trace, command, what the output has, what it has not)
CASES = (
    (UTF8, 'analyze -q -a cpu -n 0', [r'^  éééééééé \(104\) {15}1.00 ms', r'^  日本語 \(110\) {17}1.00 ms', r'^  \?{3}bad \(105\) '],
     [r'\?{4}']),
    (UTF8, 'report --thread 日本語', [r'^WHERE THE TIME OF 日本語 \(110\) WENT'], [r'\?{4}']),
    (F, PERIOD % (' f64be<-3', ''), ['^periods  ended 9 '], []),
    (F, PERIOD % (' f32=1', ''), ['^periods  ended 1 '], []),
    (F, PERIOD % ('', '; group f32'), ['^  p f32=1.75 ', '^  p f32=1.5 '], ['f32=46']),
    ('did-you-mean-the-same', PERIOD % ('', '; group st'), ['"st" of "ev" is a struct'], ['did you mean']),
    ('agent-levels', 'analyze -q -a ust', [r'^  JUL INFO +300 ', r'^  JUL WARNING +100 ', r'^  JUL SEVERE +30 ', r'^  j.ävé:x y +430 '],
     ['DEBUG_LINE']),
    ('agent-levels', """analyze -q -a ust --fail 'ust.levels[level="JUL SEVERE"].events > 29'""", ['FAILED|JUL SEVERE'], ['no level has']),
    ('perf-to-ctf', 'analyze -q -a cpu', [r'busy 55.6 %', r'^  task10 \(10\) +50.0 ms +55.6 %'], ['not recorded']),
    ('perf-to-ctf', 'analyze -q -a periods ' + SWITCHES, [r'^  x +9 ', r'^  y +5 '], []),
    ('perf-to-ctf', 'report', [r'^  task10 \(10\) +50.0 ms'], []),
    # Units of rates, shares of what, and whole tids.
    (MUTEX, 'overview -a preempt', [r'waited [\d.]+ ms/s', r'CPU idle [\d.]+ [mun]?s/s'], [r'(waited|idle) [\d,]+/s']),
    (MUTEX, 'analyze -q -a preempt', [r'^  THREAD \(TID\) BY .* OF TIME '], ['SHARE']),
    # What was asked for comes first; a call is not cut; one execution has begun and not ended.
    (TIMERFD, 'report --thread job --discover', [r'CPU 1 .*%\n\nJOBS FOUND in 1 of 1 thread\n(.*\n)+?.* --job .*\n\nWHO RAN '], ['^its jobs']),
    (TIMERFD, 'report --job timerfd --thread job --resources', [
        r'%\n\nEXECUTIONS of timerfd: 299, 1 not ended(?: \(of 1 the thread has ended\))?\n(.*\n)+TIMERS (.*\n)+WHO RAN '], []),
    (MQUEUE, 'report --thread mq-client', [r'^  mq-medium \(18542\)   3.13 ms  01:36:31.217 unbounded mq-server  mq_timedreceive$'],
     ['mq_timed(?!(receive|send)$)']),
    # Rows of names, or of processes.
    (BURST, 'analyze -q -a cpu,preempt --per comm', [r'^  NAME  +RUN', r'^  NAME BY NAME  +WAITED'], ['PID']),
    (BURST, 'analyze -q -a cpu,preempt --per pid', [r'^  PROCESS \(PID\)  +RUN', r'^  PROCESS \(PID\) BY PROCESS \(PID\)  +WAITED'], ['NAME']),
    (MUTEX, 'report', [r'^  mtx-medium \(18490\) ', 'WHO WAS DELAYED'], [r'[a-z0-9] \(\d+(?: |$)']),
)
# A trace of three days, and four seconds over the end of summer time.
ZONE = 'CET-1CEST,M3.5.0,M10.5.0/3'
MADE = (
    ('analyze -q -a cpu', (1795219200, 259500), ['2026-11-21 01:00:00.000 .. 2026-11-24 01:05:00.000'], []),
    ('analyze -q -a sched', (1795219200, 259500), [r'BEGAN +ENDED +THREAD', r'  2026-11-24 01:04:59.999998  2026-11-24 01:04:59.999999  a \(7\)'], []),
    ('analyze -q -a cpu', (1792889998, 4), [r' 02:59:58.000\+02:00 .. 02:00:02.000\+01:00 '], []),
    ('analyze -q -a cpu', (1792889000, 4), [' 02:43:20.000 .. 02:43:24.000 '], []),
    ('report', (1795219200, 259500), ['2026-11-21 01:00:00.000000 .. 2026-11-24 01:05:00.000000'], []),
    ('overview -a sched', (1795219200, 259500), ['from 2026-11-21 01:00:00.000', '^ +1  2026-11-21 01:00:00.000 '], []),
)
METADATA = '''/* CTF 1.8 */
typealias integer { size = 32; align = 8; signed = true; } := i32;
trace { major = 1; minor = 8; byte_order = le; packet.header := struct { integer { size = 32; align = 8; } magic; integer { size = 32; align = 8; } stream_id; }; };
env { domain = "kernel"; };
clock { name = c; freq = 1000000000; };
typealias integer { size = 64; align = 8; map = clock.c.value; } := ts;
stream { id = 0; event.header := struct { integer { size = 8; align = 8; } id; ts timestamp; };
  packet.context := struct { ts timestamp_begin; ts timestamp_end; i32 cpu_id; }; };
event { name = sched_switch; id = 0; stream_id = 0; fields := struct { string prev_comm; i32 prev_tid; i32 prev_prio; integer { size = 64; align = 8; signed = true; } prev_state;
  string next_comm; i32 next_tid; i32 next_prio; }; };
event { name = sched_waking; id = 1; stream_id = 0; fields := struct { string comm; i32 tid; i32 prio; i32 target_cpu; }; };
'''


def make(folder, begin, length):
    """A thread runs, sleeps a little, and runs again, of so many seconds from the first one on."""
    begin, end = begin * 10**9, (begin + length) * 10**9
    switch = lambda at, prev, next_, state: struct.pack('<BQ', 0, at) + prev + struct.pack('<iq', 20, state) + next_ + struct.pack('<i', 20)
    idle, thread = b'swapper\0' + struct.pack('<i', 0), b'a\0' + struct.pack('<i', 7)
    waking = lambda at: struct.pack('<BQ', 1, at) + thread + struct.pack('<ii', 20, 0)
    events = [switch(begin, idle, thread, 0), switch(begin + 10**6, thread, idle, 1), waking(end - 2000), switch(end - 1000, idle, thread, 0),
              switch(end, thread, idle, 1)]
    with open(os.path.join(folder, 'metadata'), 'w', encoding='ascii') as file:
        file.write(METADATA)
    with open(os.path.join(folder, 's'), 'wb') as file:
        file.write(struct.pack('<IIQQi', 0xC1FC1FC1, 0, begin, end, 0) + b''.join(events))


def fault_of(sillage, command, trace, has, lacks, zone='UTC'):
    done = subprocess.run(['sh', '-c', '"$0" %s "$1"' % command, sillage, trace], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env=dict(os.environ, TZ=zone, LC_ALL='C'))
    text = done.stdout.decode()
    wrong = [one for one in has if not re.search(one, text, re.M)] + [one for one in lacks if re.search(one, text, re.M)]
    return '%s %s: %s\n%s' % (command, os.path.basename(trace), wrong, text) if wrong else None


def faults(sillage, cases):
    for name, command, has, lacks in CASES:
        yield fault_of(sillage, command, os.path.join(cases, name), has, lacks)
    for command, (begin, length), has, lacks in MADE:
        with tempfile.TemporaryDirectory() as folder:
            make(folder, begin, length)
            yield fault_of(sillage, command, folder, has, lacks, ZONE)


def main():
    found = list(faults(os.path.abspath(sys.argv[1]), sys.argv[2]))
    for fault in filter(None, found):
        print('# ' + fault.replace('\n', '\n# '))
    failed = sum(fault is not None for fault in found)
    print('%s shown: %d cases, %d faults' % ('not ok' if failed else 'ok', len(found), failed))
    return 1 if failed or len(found) < 10 else 0


if __name__ == '__main__':
    sys.exit(main())

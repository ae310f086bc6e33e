#!/usr/bin/env python3
"""record: this host's kernel, recorded by its own tracer, against what programs and the kernel's accounts say.

The programs note what they did: calls with their bytes, threads and processes they began, and what
/proc/thread-self/schedstat had before and after.  babeltrace2 reads the trace too, so that an event
counts only if both agree.  Buffers that are too small lose events: what the kernel counts is what the trace
has and says to lack.

usage: record.py SILLAGE [NAME...]
"""
import contextlib
import glob
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

TRACEFS = '/sys/kernel/tracing'
POLL_S = 0.02
# It reads and writes by number, begins children, and says what it did.
PROGRAM = r'''
import ctypes, json, os, sys, threading
READS, WRITES, CHILDREN = 300, 200, 7
def sched():
    with open('/proc/thread-self/schedstat') as file:
        return [int(word) for word in file.read().split()]
def spin(out):
    threading.current_thread()
    begin = sched()
    total = 0
    for i in range(300000):
        total += i
    end = sched()
    out.update(tid=threading.get_native_id(), run=end[0] - begin[0], slices=end[2] - begin[2])
null, zero = os.open('/dev/null', os.O_WRONLY), os.open('/dev/zero', os.O_RDONLY)
for _ in range(READS):
    os.pread(zero, 77, 0)
for _ in range(WRITES):
    os.pwrite(null, b'x' * 33, 0)
children = []
for _ in range(CHILDREN):
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    children.append(pid)
thread = {}
one = threading.Thread(target=spin, args=[thread])
one.start()
one.join()
json.dump(dict(pid=os.getpid(), children=children, reads=READS, writes=WRITES, thread=thread), open(sys.argv[1], 'w'))
'''


# It runs itself, a thread, and a child that executes nothing; as the first process of a PID namespace, if it is told so.
# On one CPU, by priority: "low" has the lock that "high" wants, and "medium" takes the CPU from it.
INVERSION = r'''
import json, multiprocessing, os, sys, time
SPIN_S, LATER_S = 0.06, 0.03
def run_ns():
    with open('/proc/self/schedstat') as file:
        return int(file.read().split()[0])
def spin():
    end = time.clock_gettime(time.CLOCK_PROCESS_CPUTIME_ID) + SPIN_S
    while time.clock_gettime(time.CLOCK_PROCESS_CPUTIME_ID) < end:
        pass
def begin(name, priority, does):
    pid = os.fork()
    if pid == 0:
        with open('/proc/self/comm', 'w') as file:
            file.write(name)
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
        does()
        os._exit(0)
    return pid
def low():
    with lock:
        os.write(start_writer, b'x')
        spin()
def high():
    os.read(start_reader, 1)
    with lock:
        pass
def medium():
    time.sleep(LATER_S)
    before = run_ns()
    spin()
    os.write(told_writer, b'%d' % (run_ns() - before))
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(40))  # none of them runs before all are there
lock, (start_reader, start_writer), (told_reader, told_writer) = multiprocessing.Lock(), os.pipe(), os.pipe()
pids = dict(low=begin('low', 10, low), medium=begin('medium', 20, medium), high=begin('high', 30, high))
for pid in pids.values():
    os.waitpid(pid, 0)
json.dump(dict(pids, ran=int(os.read(told_reader, 100))), open(sys.argv[1], 'w'))
'''
PLACED = r'''
import json, os, subprocess, sys, threading, time
note, is_first = sys.argv[1:3]
def time_run():
    with open('/proc/thread-self/schedstat') as file:
        return int(file.read().split()[0])
def spin():
    for _ in range(600000):
        pass
def noted(before=0):
    ran.append((int(os.readlink('/proc/thread-self').rsplit('/', 1)[1]), time_run() - before))
if is_first == 'first':
    sys.exit(subprocess.call(['unshare', '-pf', '--mount-proc', sys.executable, sys.argv[0], note, 'inner']))
# The container is known from when the recorder has looked at this one, which takes its time on a busy machine.
time.sleep(0.5)
ran, before = [], time_run()
one = threading.Thread(target=lambda: (spin(), noted()))
one.start()
one.join()
reader, writer = os.pipe()
pid = os.fork()
spin()
if pid == 0:
    noted()
    os.write(writer, json.dumps(ran[-1]).encode())
    os._exit(0)
os.waitpid(pid, 0)
ran.append(json.loads(os.read(reader, 4096)))
noted(before)
with open('/proc/self/status') as file:
    pids = [line.split()[1:] for line in file if line.startswith('NSpid')][0]
json.dump(dict(ran=ran, pids=pids, pid_ns=os.stat('/proc/self/ns/pid').st_ino), open(note, 'w'))
'''


def has_instance(process):
    """Others may record at the same time."""
    return os.path.isdir('%s/instances/sillage-%d' % (TRACEFS, process.pid))


def run(sillage, *words, env=None):
    done = subprocess.run([sillage, 'record', *words], capture_output=True, text=True, env=env)
    return done.returncode, done.stderr


def account(said):
    """What -v says of the kernel's counts and of the trace's."""
    words = ('read', 'left', 'overrun', 'commit overrun', 'dropped', 'read', 'written', 'of no use', 'missed', 'of the dump')
    line = re.search(r'the kernel: .*', said)[0]
    numbers = [int(word) for word in re.findall(r'\d+', line)]
    assert len(numbers) == len(words), line
    return numbers


def balances(said):
    """read + left + overrun + commit overrun + dropped = recorded + lost."""
    read, left, overrun, commit, dropped, recorded, written, unwanted, missed, _ = account(said)
    assert read + left + overrun + commit + dropped == recorded + missed, said
    assert written + unwanted == recorded, said
    return missed


def events(trace):
    """Each event as babeltrace2 reads it: (name, tail of the line)."""
    text = subprocess.run(['babeltrace2', trace], capture_output=True, text=True, errors='replace', check=True).stdout
    return [found.groups() for found in re.finditer(r'^\[.*?\] \(.*?\) \S+ (\S+): (.*)$', text, re.M)]


def figures(sillage, trace, *words):
    out = subprocess.run([sillage, 'analyze', '-f', 'json', '--top', '0', *words, trace], capture_output=True, text=True, check=True).stdout
    return [json.loads(line) for line in out.splitlines() if '"total"' in line][-1]


def counts(sillage, place):
    """Calls, bytes, children and run time of a program are those that it noted."""
    trace, note = place + '/counts', place + '/note.json'
    with open(place + '/program.py', 'w') as file:
        file.write(PROGRAM)
    status, said = run(sillage, '-v', '-o', trace, '--buffer', '32M', '--', sys.executable, place + '/program.py', note)
    assert status == 0, said
    assert balances(said) == 0, said
    assert 'next: sillage report ' + trace in said, said
    with open(note) as file:
        truth = json.load(file)
    read = events(trace)
    # The calls of the program by what they have that no other does.
    by_bytes = {name: sum(1 for one, rest in read if one == name and re.search(r'\bcount = %d\b' % size, rest))
                for name, size in (('syscall_entry_pread64', 77), ('syscall_entry_pwrite64', 33))}
    assert by_bytes == {'syscall_entry_pread64': truth['reads'], 'syscall_entry_pwrite64': truth['writes']}, by_bytes
    forked = [int(re.search(r'child_tid = (\d+)', rest)[1]) for one, rest in read
              if one == 'sched_process_fork' and 'parent_tid = %d,' % truth['pid'] in rest]
    assert set(truth['children']) <= set(forked) and truth['thread']['tid'] in forked, (forked, truth)
    of_thread = [rest for one, rest in read if one == 'sched_process_fork' and 'child_tid = %d,' % truth['thread']['tid'] in rest]
    assert 'child_pid = %d,' % truth['pid'] in of_thread[0], of_thread
    total = figures(sillage, trace, '-a', 'count,cpu,io')
    assert total['count']['events'] == len(read), (total['count']['events'], len(read))
    thread = [row for row in total['cpu']['threads'] if row['tid'] == truth['thread']['tid']][0]
    # The thread's own look is within its life.  Where switches are withheld, when it began is not known.
    assert 'derived' in said or thread['run_ns'] > truth['thread']['run'] - 1000000, (thread, truth['thread'])
    assert thread['pid'] == truth['pid'], thread
    return 'counts: %d events of babeltrace2 and of sillage, calls, children and threads as noted' % len(read)


def small_buffers(sillage, place):
    """What is lost is counted, and the trace says it."""
    trace = place + '/small'
    code = 'import os\nfor i in range(200000): os.getppid()'
    status, said = run(sillage, '-v', '-o', trace, '--buffer', '16K', '-a', 'syscalls', '--', sys.executable, '-c', code)
    assert status == 0, said
    missed = balances(said)
    assert missed > 0 and '--buffer' in said, said
    total = figures(sillage, trace, '-a', 'count')
    assert total['count']['discarded'] == missed, (total['count']['discarded'], missed)
    return 'small buffers: %d events are missed by the kernel, and by the trace' % missed


def has_packet(trace):
    """The first entry of an index, of 72 bytes, tells of a packet that is whole."""
    return any(os.path.getsize(path) >= 16 + 72 for path in glob.glob(trace + '/kernel/index/*'))


def after(seconds):
    until = []

    def is_now(*_):
        until.append(time.monotonic() + seconds)
        return time.monotonic() >= until[0]
    return is_now


def killed(sillage, place):
    """After SIGKILL, whenever it comes, no instance is left, and what was written is a trace, snapshots too."""
    moments = {'made': lambda trace, recorder: has_instance(recorder),
               'begun': lambda trace, recorder: os.path.exists(trace + '/kernel/metadata'),
               'written': lambda trace, recorder: has_packet(trace),
               'kept': lambda trace, recorder: has_packet(trace + '/snapshot-1')}
    for number in range(3):  # and at any time
        moments['any-%d' % number] = after(random.random() * (number + 1) / 2)
    found = []
    for name, is_now in moments.items():
        trace = place + '/killed-' + name
        is_kept = name == 'kept'
        recorder = subprocess.Popen([sillage, 'record', '-o', trace] + (['--overwrite'] if is_kept else []), stderr=subprocess.PIPE,
                                    text=True)
        if is_kept:
            assert '-USR1' in recorder.stderr.readline()
            recorder.send_signal(signal.SIGUSR1)
        while not is_now(trace, recorder):
            assert recorder.poll() is None
            time.sleep(POLL_S / 10)
        # Half a packet more, and half a declaration, as a kill in a write leaves it.
        recorder.send_signal(signal.SIGSTOP)
        place_of = trace + '/snapshot-1' if is_kept else trace
        torn = sorted(glob.glob(place_of + '/kernel/channel0_*'))[:1] + glob.glob(place_of + '/kernel/metadata')
        for path in torn if has_packet(place_of) else []:
            with open(path, 'ab') as file:
                file.write(b'\xc1\x1f\xfc\xc1' + b'torn' * 100)
        recorder.kill()
        recorder.communicate()
        until = time.monotonic() + 60
        while has_instance(recorder):
            assert time.monotonic() < until, 'nobody removes the instance: %s' % name
            time.sleep(POLL_S)
        if has_packet(place_of):
            for path in torn:
                with open(path, 'rb') as file:
                    assert b'torntorn' not in file.read(), path
            found.append(len(events(place_of)))
    assert len(found) >= 2 and min(found) > 0, found
    return 'killed: the instance is removed, and babeltrace2 reads %s events' % found


def full_disk(sillage, place):
    """A disk that is full ends the recording with a reason, and leaves a trace that can be read."""
    disk = place + '/disk'
    os.mkdir(disk)
    subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=700k', 'none', disk], check=True)
    try:
        code = 'import os\nwhile True: os.getppid()'
        status, said = run(sillage, '-o', disk + '/trace', '-a', 'syscalls', '--', sys.executable, '-c', code)
        assert status == 1 and 'No space left' in said, (status, said)
        read = events(disk + '/trace')
        assert len(read) > 0
    finally:
        subprocess.run(['umount', disk], check=True)
    return 'full disk: %d events can be read' % len(read)


def last(sillage, place):
    """A flight recorder: snapshots have the last, each is whole, and reports read them."""
    trace, code = place + '/last', 'import os\nfor i in range(100000): os.getppid()'
    recorder = subprocess.Popen([sillage, 'record', '--overwrite', '--buffer', '1M', '-a', 'syscalls', '-o', trace, '--',
                                 sys.executable, '-c', code + "\nprint('done', flush=True)\nimport sys\nsys.stdin.read()"],
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert recorder.stdout.readline() == 'done\n'
    recorder.send_signal(signal.SIGUSR1)
    while not glob.glob(trace + '/snapshot-1/kernel/index/*'):
        assert recorder.poll() is None
        time.sleep(POLL_S)
    said = recorder.communicate('')[1]
    assert recorder.returncode == 0, said
    for number in (1, 2):
        snapshot = '%s/snapshot-%d' % (trace, number)
        assert 'next: sillage report ' + snapshot in said, said
        total = figures(sillage, snapshot, '-a', 'count')['count']
        assert total['events'] == len(events(snapshot)) > 0 and total['discarded'] == 0, total
    calls = figures(sillage, trace + '/snapshot-1', '-a', 'count')['count']['by_name']
    # 100,000 calls do not fit.
    assert calls.get('syscall_entry_getppid', 0) < 100000, calls
    return 'last: snapshots on a signal and at the end, %d of 100000 calls in the first' % calls.get('syscall_entry_getppid', 0)


# Its threads and descriptors are more than the buffer below has room for while they are looked at.
MANY = r'''
import os, resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, 2 * (resource.getrlimit(resource.RLIMIT_NOFILE)[1],))
for _ in range(3000):
    os.open('/dev/null', os.O_RDONLY)
for _ in range(3):
    if os.fork() == 0:
        break
os.write(1, b'opened\n')
sys.stdin.readline()
'''


def dump(sillage, place):
    """A state dump of many descriptors does not fill the buffer of who records it: only what the recorder itself does is
    recorded, which is more than the buffer has room for."""
    trace = place + '/dump'
    holder = subprocess.Popen([sys.executable, '-c', MANY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert [holder.stdout.readline() for _ in range(4)] == 4 * ['opened\n']
        # It takes over the number that is recorded.
        command = 'exec "$0" record -v -o "$1" -a files --buffer 1M --pid $$ --duration 0.05s'
        done = subprocess.run(['sh', '-c', command, sillage, trace], capture_output=True, text=True)
    finally:
        holder.communicate('\n' * 4)
    assert done.returncode == 0 and balances(done.stderr) == 0, done
    count = figures(sillage, trace, '-a', 'count')['count']
    found = count['by_name']['lttng_statedump_file_descriptor']
    assert found > 12000 and count['discarded'] == 0 and count['by_name']['lttng_statedump_end'] == 1, count
    return 'dump: %d descriptors, and nothing is lost' % found


# One file is open for long; two others take turns at one descriptor, and have sizes of reads of their own.
OPENS = r'''
import os, sys, time
place = sys.argv[1]
for name in ('long', 'eleven', 'thirteen'):
    with open(place + '/' + name, 'w') as file:
        file.write('x' * 4096)
kept = os.open(place + '/long', os.O_RDONLY)
print('opened', flush=True)
sys.stdin.readline()
for _ in range(10):
    os.read(kept, 7)
for _ in range(200):
    for name, size in (('eleven', 11), ('thirteen', 13)):
        fd = os.open(place + '/' + name, os.O_RDONLY)
        os.read(fd, size)
        os.close(fd)
'''


def paths(sillage, place):
    """A file that stays open has its path; a descriptor that leads elsewhere by now has none, and never another's."""
    trace, files = place + '/paths', place + '/files'
    os.mkdir(files)
    recorder = subprocess.Popen([sillage, 'record', '-o', trace, '-a', 'files', '--', sys.executable, '-c', OPENS, files],
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert recorder.stdout.readline() == 'opened\n'
    # Its path is known once the call has been converted, and written a second later at most.
    def is_named():
        for path in glob.glob(trace + '/kernel/channel0_*'):
            with open(path, 'rb') as file:
                if (files + '/long').encode() in file.read():
                    return True
        return False
    while not is_named():
        assert recorder.poll() is None
        time.sleep(POLL_S)
    said = recorder.communicate('\n')[1]
    assert recorder.returncode == 0, said
    rows = figures(sillage, trace, '-a', 'files')['files']['files']
    read = {row['path']: row['read_bytes'] for row in rows if row['path'].startswith(files)}
    assert read.get(files + '/long') == 70, (read, said)
    assert read.get(files + '/eleven', 0) % 11 == 0 and read.get(files + '/thirteen', 0) % 13 == 0, read
    return 'paths: of a file that stays open, and of no other descriptor'


def perf_switches(data):
    """By CPU: what perf recorded, as (previous thread, its priority, next thread)."""
    text = subprocess.run(['perf', 'script', '-i', data, '-F', 'cpu,time,event,trace', '--ns'], capture_output=True, text=True,
                          errors='replace', check=True).stdout
    found = {}
    for cpu, prev, prio, following in re.findall(
            r'^\s*\[(\d+)\].*sched_switch: .*prev_pid=(\d+) prev_prio=(\d+) .*next_pid=(\d+) ', text, re.M):
        found.setdefault(int(cpu), []).append((int(prev), int(prio) - 100, int(following)))
    return found


def extras(mine, theirs):
    """How many more there are among mine, up to the last of theirs; None: some of theirs is not there."""
    at = 0
    for switch in theirs:
        if at == 0 and mine[0] != switch:
            return None
        while at < len(mine) and mine[at] != switch:
            at += 1
        at += 1
        if at > len(mine):
            return None
    return at - len(theirs)


def beside(sillage, place):
    """Each switch that perf records meanwhile is in the trace, in its order, and none between but those derived."""
    if not shutil.which('perf'):
        return 'beside: skipped: perf is not installed'
    trace, data = place + '/beside', place + '/perf.data'
    record = ['perf', 'record', '-q', '-a', '-m', '4M', '-k', 'mono', '-e', 'sched:sched_switch', '-o', data, '--', 'sleep', '0.2']
    if subprocess.run(record, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 0:
        return 'beside: skipped: perf may not record here'
    status, said = run(sillage, '-o', trace, '--buffer', '32M', '--event', 'sched_switch', '--', *record)
    assert status == 0 and ' 0 lost' in said, (status, said)
    derived = re.search(r'(\d+) switches are derived', said)
    derived = int(derived[1]) if derived else 0
    ours = {}
    for name, rest in events(trace):
        if name == 'sched_switch':
            cpu, prev, prio, following = (int(re.search(r'\b%s = (-?\d+)' % field, rest)[1])
                                          for field in ('cpu_id', 'prev_tid', 'prev_prio', 'next_tid'))
            ours.setdefault(cpu, []).append((prev, prio, following))
    compared = 0
    for cpu, theirs in perf_switches(data).items():
        # Kernels that withhold those of idle threads do so from either.
        theirs, mine = ([switch for switch in switches if switch[0] != 0] for switches in (theirs, ours.get(cpu, [])))
        more = [extras(mine[i:], theirs) for i in range(len(mine) - len(theirs) + 1)]
        least = min((count for count in more if count is not None), default=None)
        assert least is not None and least <= derived, (cpu, theirs[:3], len(theirs), len(mine), least, derived)
        compared += len(theirs)
    assert compared > 0
    return 'beside: %d switches of perf are those of the trace' % compared


def ends(sillage, place):
    """SIGINT and SIGTERM end it in order, the host's own tracing is what it was, and nothing is left."""
    def host():
        state = {}
        for name in ('tracing_on', 'trace_clock', 'buffer_size_kb', 'set_event', 'set_event_pid', 'dynamic_events'):
            with open(os.path.join(TRACEFS, name)) as file:
                state[name] = file.read()
        return state
    was = host()
    for number, name in ((signal.SIGINT, 'int'), (signal.SIGTERM, 'term')):
        trace = place + '/' + name
        recorder = subprocess.Popen([sillage, 'record', '-v', '-o', trace], stderr=subprocess.PIPE, text=True)
        while not glob.glob(trace + '/kernel/index/*'):
            assert recorder.poll() is None
            time.sleep(POLL_S)
        recorder.send_signal(number)
        said = recorder.communicate()[1]
        assert recorder.returncode == 0, (recorder.returncode, said)
        balances(said)
        assert not has_instance(recorder)
    assert host() == was, (host(), was)
    # What is there already stays as it is, also what its index does not have.
    with open(glob.glob(place + '/int/kernel/channel0_*')[0], 'ab') as file:
        file.write(b'more')
    there = {path: open(path, 'rb').read() for path in glob.glob(place + '/int/kernel/*') if os.path.isfile(path)}
    status, said = run(sillage, '-o', place + '/int')
    assert status == 1 and 'not empty' in said, said
    assert there == {path: open(path, 'rb').read() for path in there}, 'a trace that was there is changed'
    status, said = run(sillage, '-o', place + '/none', '--event', 'no_such_event')
    assert status == 1 and 'available_events' in said and not os.path.exists(place + '/none'), said
    status, said = run(sillage, '-q', '-o', place + '/status', '--', 'sh', '-c', 'exit 7')
    assert status == 7, (status, said)
    nobody = subprocess.Popen(['true'])
    nobody.wait()
    os.mkdir(place + '/bin')
    with open(place + '/bin/plain', 'w') as file:
        file.write('x')
    for status, word, words in ((2, 'no such process', ['--pid', '%d,%d' % (os.getpid(), nobody.pid), '--duration', '0.1s']),
                                (127, 'command not found', ['--', 'no-such-command']),
                                (127, 'No such file', ['--', place + '/bin/none']),
                                (126, 'Permission', ['--', place + '/bin']), (126, 'Permission', ['--', 'plain'])):
        done = run(sillage, '-o', place + '/none', *words, env=dict(os.environ, PATH='%s:%s/bin' % (os.environ['PATH'], place)))
        assert done[0] == status and word in done[1] and not os.path.exists(place + '/none'), (status, words, done)
    status, said = run(sillage, '-o', place + '/one', '--pid', str(os.getpid()), '--duration', '0.1s')
    assert status == 0 and 'sillage analyze --tid %d %s/one' % (os.getpid(), place) in said, said
    of_kernel, own = map(int, re.search(r': (\d+) events of the kernel, (\d+) of the state dump and derived, 0 lost', said).groups())
    assert figures(sillage, place + '/one', '-a', 'count')['count']['events'] == of_kernel + own and of_kernel > 0 < own, said
    return 'ends: signals end it in order, nothing of the host is changed, errors say what helps'


# It takes its time to end, and makes more calls meanwhile than the buffers below have room for.
LATE = r'''
import os, signal
def end(number, frame):
    for _ in range(100000):
        os.getppid()
    os.write(1, b'ended')
    os._exit(0)
signal.signal(signal.SIGTERM, end)
os.write(1, b'ready\n')
while True:
    signal.pause()
'''


def late(sillage, place):
    """A command that is ended with the recording is asked once the trace is whole: what it does then is not lost, but later."""
    recorder = subprocess.Popen([sillage, 'record', '-v', '-o', place + '/late', '-a', 'syscalls', '--buffer', '512K', '--',
                                 sys.executable, '-c', LATE], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert recorder.stdout.readline() == 'ready\n'
    recorder.terminate()
    out, said = recorder.communicate()
    assert recorder.returncode == 0 and out == 'ended', (recorder.returncode, out, said)
    balances(said)
    calls = figures(sillage, place + '/late', '-a', 'count')['count']['by_name'].get('syscall_entry_getppid', 0)
    assert calls < 1000, (calls, said)  # others of this host may make some
    return 'late: what a command does when it is ended is not of the recording'


ONLINE = '/sys/devices/system/cpu/cpu%d/online'
# It reads a file by sizes of its own, on a CPU that goes and comes back: first all are there, then one less, then all again.
MOVES = r'''
import json, os, sys
cpu, others, began = int(sys.argv[1]), set(json.loads(sys.argv[2])), sys.argv[3]
def turn(on):
    with open('/sys/devices/system/cpu/cpu%d/online' % cpu, 'w') as file:
        file.write('%d' % on)
def read(where, size):
    os.sched_setaffinity(0, where)
    for _ in range(100):
        os.pread(zero, size, 0)
zero = os.open('/dev/zero', os.O_RDONLY)
if began == 'on':
    read({cpu}, 101)
    turn(False)
read(others, 103)
turn(True)
read({cpu}, 107)
turn(False)
read(others, 109)
turn(True)
read({cpu}, 113)
'''


def offline(sillage, place):
    """A CPU that goes and comes back while it is recorded, or was away when that began: what runs there is in the trace, and
    the account holds."""
    cpu = max(os.sched_getaffinity(0))
    others = sorted(os.sched_getaffinity(0) - {cpu})
    try:
        with open(ONLINE % cpu, 'w') as file:
            file.write('1')
    except OSError as error:
        return 'offline: skipped: %s' % error
    if not others:
        return 'offline: skipped: there is one CPU'
    told = []
    for began in 'on', 'off':
        trace = place + '/offline-' + began
        try:
            with open(ONLINE % cpu, 'w') as file:
                file.write('%d' % (began == 'on'))
            status, said = run(sillage, '-v', '-o', trace, '--buffer', '16M', '-a', 'syscalls,sched', '--', sys.executable, '-c', MOVES,
                               str(cpu), json.dumps(others), began)
        finally:
            with open(ONLINE % cpu, 'w') as file:
                file.write('1')
        assert status == 0 and balances(said) == 0, said
        where = {}
        for name, rest in events(trace):
            size = re.search(r'\bcount = (\d+)\b', rest) if name == 'syscall_entry_pread64' else None
            if size and int(size[1]) in (101, 103, 107, 109, 113):
                on = int(re.search(r'cpu_id = (\d+)', rest)[1]) == cpu
                where.setdefault(int(size[1]), []).append(on)
        wanted = {size: 100 * [size in (101, 107, 113)] for size in (101, 103, 107, 109, 113)[began == 'off':]}
        assert where == wanted, {size: (len(on), sum(on)) for size, on in where.items()}
        total = figures(sillage, trace, '-a', 'count')['count']
        assert total['discarded'] == 0, total
        told.append(total['events'])
    return 'offline: %s events, each call on its CPU' % told


def own_names(sillage, place):
    """Events that LTTng does not have keep their names and fields, and are of use in periods."""
    trace = place + '/own'
    status, said = run(sillage, '-o', trace, '--event', 'task:task_rename', '--event', 'sched_switch', '--', 'sh', '-c',
                       'for i in 1 2 3; do (echo recorded-$i > /proc/self/comm; sleep 0.01 & wait); done')
    assert status == 0, said
    names = {name for name, _ in events(trace)}
    assert 'task_rename' in names and 'sched_switch' in names and not any(name.startswith('syscall') for name in names), names
    total = figures(sillage, trace, '-a', 'periods', '--period', 'renamed = task_rename; sched_process_exit')
    names = [row['comm'].strip() for row in total['periods']['threads']]
    assert {'recorded-1', 'recorded-2', 'recorded-3'} <= set(names), names
    # What is missing is advised for as it is recorded here.
    for words in (['report', trace], ['report', '--resources', '--thread', 'sh', trace], ['analyze', '-a', 'irq,io', trace]):
        done = subprocess.run([sillage, *words], capture_output=True, text=True, errors='replace')
        advice = done.stdout + done.stderr
        assert 'sudo sillage record' in advice and 'lttng enable' not in advice, advice
    return 'own names: task_rename keeps its name, and is the begin of a period'


def groups_of(name):
    """Groups of a name in the hierarchy that says who is who, and in the one that counts time: their folders, and what
    reads the time of the last one in ns.  None: there is none that can be written."""
    root = '/sys/fs/cgroup'
    if os.access(root + '/systemd/cgroup.procs', os.W_OK) and os.access(root + '/cpuacct/cgroup.procs', os.W_OK):
        folders = [root + '/systemd/' + name, root + '/cpuacct/' + name]

        def usage():
            with open(folders[1] + '/cpuacct.usage') as file:
                return int(file.read())
    elif os.access(root + '/cgroup.procs', os.W_OK):
        folders = [root + '/' + name]

        def usage():
            with open(folders[0] + '/cpu.stat') as file:
                return 1000 * int(re.search(r'^usage_usec (\d+)', file.read(), re.M)[1])
    else:
        return None
    return folders, usage


def make_groups(folders):
    """Returns what was made, the outermost first."""
    made = []
    for folder in folders:
        for path in (os.path.dirname(folder), folder):
            if not os.path.isdir(path):
                os.mkdir(path)
                made.append(path)
    return made


def rows_by(sillage, trace, per, *words):
    total = figures(sillage, trace, '-a', 'cpu', '--per', per, *words)
    return {row.get('name', '-'): row for row in total['cpu']['containers']}, total


def lines_of(*words):
    out = subprocess.run([*words, '-f', 'json'], capture_output=True, text=True, check=True).stdout
    return [json.loads(line) for line in out.splitlines()]


def by_service_later(sillage, place, trace, rows):
    """A store has the services of its run, also in windows that are made of others; comparisons and hierarchies too."""
    store, other = place + '/services.db', place + '/containers.db'
    ours = {name for name in rows if name.startswith('sillage-%d' % os.getpid())}  # others may have theirs

    def totals_of(*words):
        line = [line for line in lines_of(sillage, 'history', '-n', '0', '-a', 'cpu', *words) if line['type'] == 'total'][-1]
        return {row.get('name', '-'): row for row in line['cpu']['containers']}, line['cpu']['processes']
    for per, path in (('service', store), (None, other)):
        done = lines_of(sillage, 'analyze', '-q', '-a', 'cpu', '-i', '20ms', '--store', path, '--store-also', '200ms', '--trigger',
                        'cpu.containers[name=%s].run > 1%%' % max(ours), *(['--per', per] if per else []), trace)
        assert any(line['type'] == 'trigger' for line in done) or not per, done
    for words in ([], ['-i', '20ms'], ['-i', '200ms'], ['--merged']):
        found, processes = totals_of('--per', 'service', *words, store)
        assert found == rows, (words, found, rows)
        assert {one.get('service', '-') for one in processes} <= set(rows) and not any('pid_ns' in one for one in processes), processes
    run_ns = sum(row['run_ns'] for row in rows.values())
    for per, path in (('container', store), ('service', other)):  # what a run did not list is not known
        found, processes = totals_of('--per', per, path)
        assert list(found) == ['-'] and found['-']['run_ns'] == run_ns, (per, found)
        assert not any('service' in one or 'container' in one for one in processes), processes
    known, _ = totals_of('--per', 'container', other)
    assert len(known) > 1 and sum(row['run_ns'] for row in known.values()) == run_ns, known
    changes = [line for line in lines_of(sillage, 'compare', '-a', 'cpu', '--per', 'service', store, trace) if line['type'] == 'change']
    assert all(line['difference'] == 0 for line in changes), changes
    found = {line['name'] for line in changes if line.get('list') == 'containers'}
    assert found | {''} == set(rows) - {'-'} | {''}, found
    tree = lines_of(sillage, 'overview', '--hierarchy', 'service', trace)[-1]['hierarchies'][0]
    assert ours <= {node['name'] for node in tree['nodes']} and tree['by'] == 'process', tree['nodes']
    page = subprocess.run([sillage, 'overview', '--hierarchy', 'service', '-f', 'html', trace], capture_output=True, text=True, check=True)
    assert max(ours) in page.stdout


def placed(sillage, place):
    """A container that has a PID namespace and a service that has none: who is of them, their names and times."""
    container, service = 'sillage-%d' % os.getpid(), 'sillage-%d.service' % os.getpid()
    of_container, of_service = groups_of('lxc.payload.' + container), groups_of('system.slice/' + service)
    if not of_container:
        return 'placed: skipped, no hierarchy of control groups can be written here'
    made, trace, notes = make_groups(of_container[0] + of_service[0]), place + '/placed', {}
    try:
        with open(place + '/placed.py', 'w') as file:
            file.write(PLACED)
        # The shell moves, and is another program then.
        run_each = '; '.join('sh -c "%s; exec %s %s %s/%s.json %s"' % (
            '; '.join('echo \\$\\$ >%s/cgroup.procs' % folder for folder in folders), sys.executable, place + '/placed.py', place, name, first)
            for name, first, (folders, _) in ((container, 'first', of_container), (service, 'same', of_service)))
        status, said = run(sillage, '-v', '-o', trace, '--buffer', '32M', '-a', 'cpu', '--', 'sh', '-c', run_each)
        assert status == 0 and balances(said) == 0, said
        usage = {container: of_container[1](), service: of_service[1]()}
    finally:
        for path in reversed(made):
            with contextlib.suppress(OSError):  # another test has its groups beside them
                os.rmdir(path)
    for name in usage:
        with open('%s/%s.json' % (place, name)) as file:
            notes[name] = json.load(file)
    by_service, total = rows_by(sillage, trace, 'service')
    by_container, _ = rows_by(sillage, trace, 'container')
    every = events(trace)
    read = [rest for name, rest in every if name == 'sillage_container']
    for name, kind in ((container, 'lxc'), (service, 'service')):
        ours = [rest for rest in read if 'kind = "%s"' % kind in rest and 'name = "%s"' % name in rest]
        assert len({re.search(r'\btid = (\d+)', rest)[1] for rest in ours}) >= len(notes[name]['ran']), (name, ours)
        moved = every.index(('sillage_container', ours[0]))
        executed = [at for at, (one, rest) in enumerate(every) if one == 'sched_process_exec' and
                    'tid = %s,' % re.search(r'\btid = (\d+)', ours[0])[1] in rest]
        assert moved < max(executed), 'the move was seen when it executed something only'
        # The group has the time from the move on, the row all of its threads.
        ran, row = sum(ns for _, ns in notes[name]['ran']), by_service[name]
        assert 'pid_ns' not in row, row
        assert ran * 0.9 <= row['run_ns'] and row['run_ns'] <= 1.1 * usage[name] + 20e6, (name, ran, usage, row)
        processes = [one for one in total['cpu']['processes'] if one.get('service') == name]
        assert sum(one['run_ns'] for one in processes) == row['run_ns'] and len(processes) >= 2, processes
    inner = by_container[container]
    assert inner['pid_ns'] == notes[container]['pid_ns'] and service not in by_container, by_container
    assert inner['run_ns'] >= 0.9 * sum(ns for _, ns in notes[container]['ran']), (inner, notes)
    assert not any(row.get('service') == container for row in total['cpu']['processes'] if row.get('pid') == 1)
    # However it is computed.
    for words in (['-j', '0', '--chunk-size', '300'], ['-i', '20ms'], ['-j', '2', '--chunk-size', '4000']):
        for per, rows in (('service', by_service), ('container', by_container)):
            assert rows_by(sillage, trace, per, *words)[0] == rows, (per, words)
    partials = subprocess.run([sillage, 'map', '-q', '-a', 'cpu', '--chunk-size', '4000', trace], capture_output=True, check=True).stdout
    for per, rows in (('service', by_service), ('container', by_container)):
        merged = subprocess.run([sillage, 'merge', '-q', '-f', 'json', '-n', '0', '--per', per, '-'], input=partials,
                                capture_output=True, check=True).stdout.decode()
        line = [json.loads(line) for line in merged.splitlines() if '"total"' in line][-1]
        assert {row.get('name', '-'): row for row in line['cpu']['containers']} == rows, (per, line)
    state = place + '/placed.state'
    subprocess.run([sillage, 'analyze', '-q', '-a', 'cpu', '--per', 'service', '--state', state, trace], capture_output=True, check=True)
    merged = subprocess.run([sillage, 'merge', '-q', '-f', 'json', '-n', '0', '--per', 'service', state], capture_output=True, text=True)
    line = [json.loads(line) for line in merged.stdout.splitlines() if '"total"' in line][-1]
    assert {row.get('name', '-'): row for row in line['cpu']['containers']} == by_service, merged
    other = subprocess.run([sillage, 'merge', '-q', '--per', 'container', state], capture_output=True, text=True)
    assert other.returncode != 0 and '--per service' in other.stderr, other
    text = subprocess.run([sillage, 'analyze', '-a', 'cpu', '--per', 'service', '-n', '0', trace], capture_output=True, text=True).stdout
    assert re.search(r'^ +SERVICE +RUN', text, re.M) and re.search(r'^ +\S+ \(\d+\) in %s ' % service, text, re.M), text
    refused = subprocess.run([sillage, 'analyze', '--per', 'service', '--containers', place + '/none', trace], capture_output=True)
    assert refused.returncode == 2, refused
    by_service_later(sillage, place, trace, by_service)
    return 'placed: a container of namespace %d ran for %d ns, a service for %d' % (
        inner['pid_ns'], by_service[container]['run_ns'], by_service[service]['run_ns'])


def inversions(sillage, place):
    """Who of lower priority had the CPU while a thread waited for one of still lower: as long as its own account says."""
    with open(place + '/inversion.py', 'w') as file:
        file.write(INVERSION)
    trace, note = place + '/inversions', place + '/inversions.json'
    status, said = run(sillage, '-v', '-o', trace, '--buffer', '32M', '--', sys.executable, place + '/inversion.py', note)
    if status != 0 and 'PermissionError' in said:
        return 'inversions: skipped, no real-time priorities here'
    assert status == 0 and balances(said) == 0, said
    with open(note) as file:
        truth = json.load(file)
    done = subprocess.run([sillage, 'report', '-q', '-f', 'json', '-n', '0', '--thread', str(truth['high']), trace], capture_output=True, check=True)
    # Who has a semaphore the trace does not say: what its wait is made of stands apart from locks.
    found = json.loads(done.stdout)['apart']
    ours = [one for one in found if one.get('call') == 'futex' and one['rival']['tid'] == truth['medium'] and one['on_path']['tid'] == truth['low']]
    ns = sum(one['end'] - one['begin'] for one in ours)
    assert ours and all(one['kind'] == 'unbounded' for one in ours), found
    # Its account is asked for within its run: begin and end are not in it.
    assert truth['ran'] <= ns <= truth['ran'] * 1.05 + 2000000, (ns, truth)
    return 'inversions: %d ns of "medium", which says %d' % (ns, truth['ran'])


def main():
    sillage, only = os.path.abspath(sys.argv[1]), sys.argv[2:]
    if not os.access(TRACEFS + '/instances', os.W_OK) or not shutil.which('babeltrace2'):
        print('skipped: tracefs cannot be written here, or babeltrace2 is missing')
        return 77
    failed = 0
    with tempfile.TemporaryDirectory() as place:
        for test in (counts, small_buffers, dump, killed, full_disk, last, paths, beside, ends, late, own_names, placed, inversions, offline):
            # That moves all programs of the host: it runs alone, if it is asked for.
            if test.__name__ not in only and (only or test is offline):
                continue
            try:
                print('ok', test(sillage, place))
            except (AssertionError, subprocess.CalledProcessError, KeyError) as error:
                failed += 1
                print('not ok', test.__name__, error)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())

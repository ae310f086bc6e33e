#!/usr/bin/env python3
"""signals: SIGTERM and SIGINT end every command that reads, whatever it reads.

What is read here keeps a command busy for long: one packet of 256 MiB with an event in each byte, and
metadata of tens of MiB.  The signal is sent once the command has used some CPU time.  From then on it
may use about a second more, each of its threads; a busy machine does not count.  A command that waits
ends, too: for a pipe, for a relay or a server that accept and never answer, for new windows of a store.
None is taken for a run that has read all: its status says so, and a message.

usage: signals.py SILLAGE DATA [--short]      --short: each command once
"""
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
import guard  # noqa: E402

PACKET_BYTES = 256 << 20
MORE_S = 1.2  # of CPU time after the signal, for each thread
TSDL = '''/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; } := u8;
typealias integer { size = 32; align = 8; signed = false; } := u32;
trace { major = 1; minor = 8; uuid = "00000000-0000-0000-0000-000000000001"; byte_order = le;
	packet.header := struct { u32 magic; }; };
clock { name = c; freq = 1000000000; offset = 1700000000000000000; };
typealias integer { size = 64; align = 8; signed = false; map = clock.c.value; } := t64;
stream { packet.context := struct { t64 timestamp_begin; t64 timestamp_end; u32 content_size; u32 packet_size; };
	event.header := struct { u8 id; }; };
event { name = "e"; id = 0; fields := struct { }; };
'''
# The fields that commands want lead to other loops.
WANTED = TSDL.replace('"e"', '"sched_switch"')
END = signal.SIGTERM, signal.SIGINT


def write(path, name, *parts):
    os.makedirs(path, exist_ok=True)
    with open(os.path.join(path, name), 'wb') as file:
        for part in parts:
            file.write(part)


def long_packet(folder, name='packet', metadata=TSDL):
    """Its bytes are a hole of the file."""
    path = os.path.join(folder, name)
    write(path, 'metadata', metadata.encode())
    bits = (PACKET_BYTES * 8).to_bytes(4, 'little')
    write(path, 's', b'\xc1\x1f\xfc\xc1' + (5).to_bytes(8, 'little') + (2 * 10**9).to_bytes(8, 'little') + bits + bits)
    os.truncate(os.path.join(path, 's'), PACKET_BYTES)
    return path


def long_metadata(folder):
    path = os.path.join(folder, 'text')
    fields = ''.join(' u8 f%d;' % i for i in range(20))
    events = ('event { name = "e%d"; id = %d; fields := struct {%s }; };\n' % (i, i, fields) for i in range(1, 250000))
    write(path, 'metadata', TSDL.encode(), *(event.encode() for event in events))
    write(path, 's')
    return path


class Mute:
    """Accepts, and never answers."""

    def __init__(self):
        self.listener = socket.create_server(('127.0.0.1', 0))
        self.port, self.kept = self.listener.getsockname()[1], []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            self.kept.append(self.listener.accept())


def cpu_s(process):
    return guard.Process(process.pid).cpu_s


def wait_ready(process, used):
    """Until it has used so much CPU time; 0: until it sleeps, and has for a while."""
    asleep = guard.Asleep(lambda: guard.alone(process.pid), period_s=0.05)
    while process.poll() is None and (cpu_s(process) < used if used else asleep.now() < 0.3):
        time.sleep(0.01)
    asleep.stop()


def wait_end(process, most_s, asleep_s=MORE_S):
    """The CPU time after the signal.  It is killed where it does not end, or sleeps for longer than @asleep_s."""
    try:
        before = last = cpu_s(process)
    except OSError:
        return 0
    asleep = guard.Asleep(lambda: guard.alone(process.pid), period_s=0.05)
    while process.poll() is None:
        try:
            last = cpu_s(process)
        except OSError:
            continue
        if last - before > 4 * most_s or asleep.now() > asleep_s:
            process.kill()
            process.wait()
        time.sleep(0.01)
    asleep.stop()
    return last - before


def check(what, words, number, folder, used=0.4, threads=1, statuses=None, asleep_s=MORE_S, says=None, **options):
    """Whether the command ends in time; it must still run when the signal comes, if one does."""
    with open(os.path.join(folder, 'out'), 'wb') as out:
        process = subprocess.Popen(words, **{'stdout': out, 'stderr': out, **options})
        if number is not None:
            wait_ready(process, used)
            if process.poll() is not None:
                return '%s: ended before the signal, with %d' % (what, process.returncode)
            process.send_signal(number)
        more = wait_end(process, MORE_S * threads, max(asleep_s, MORE_S * threads))
    with open(os.path.join(folder, 'out'), errors='replace') as out:
        said = out.read()
    if process.returncode == -signal.SIGKILL:
        return '%s: does not end' % what
    if more > MORE_S * threads:
        return '%s: used %.1f s of CPU after the signal' % (what, more)
    if process.returncode not in (statuses or ((0, 1) if number is None else (-number, 128 + number))):
        return '%s: ended with %d; it said:\n%s' % (what, process.returncode, said[-1000:])
    if number is not None and process.returncode == 128 + number and not re.search('(?i)interrupt', said):
        return '%s: does not say that it was interrupted:\n%s' % (what, said[-1000:])
    if says and not re.search(says, said):
        return '%s: does not say "%s":\n%s' % (what, says, said[-1000:])
    return None


def busy(folder, packet, wanted):
    """(words, signals, threads, what it reads) of commands that decode."""
    for jobs, command in (('0', ['analyze', '-a', 'count']), ('2', ['map', '-o', os.devnull]),
                          ('2', ['analyze', '-a', 'all', '-i', '1s', '-f', 'json']), ('1', ['lami'])):
        words = command + ([] if command[0] == 'lami' else ['-j', jobs])
        yield words + [packet], 1 + int(jobs)
    for path in packet, wanted:
        yield ['export', '-o', os.path.join(folder, 'file'), path], 2
    for command in ['report'], ['report', '--discover'], ['overview'], ['compare', packet]:
        yield command + [wanted], 2


def mute(folder, data):
    """(words, statuses or None) of commands that wait for a peer; None of those that end as others do."""
    port = Mute().port
    relay, store, small = 'net://127.0.0.1:%d' % port, 'clickhouse://127.0.0.1:%d/x' % port, os.path.join(data, 'burst')
    url = relay + '/host/h/s'
    for command in 'analyze', 'report', 'overview', 'list':
        yield [command, url if command != 'list' else relay], None
    yield ['export', '-o', os.path.join(folder, 'file'), url], None
    yield ['compare', url, small], None
    yield ['live', url], (0,)
    yield ['live', relay], (0,)
    yield ['history', store], None
    yield ['history', '--follow', store], (0,)
    yield ['analyze', '-q', '-i', '1s', '--store', store, small], None
    yield ['replay', small, '--to', 'net://127.0.0.1:%d:%d' % (port, port)], None


def check_all(sillage, data, folder, is_short):
    packet, wanted = long_packet(folder), long_packet(folder, 'wanted', WANTED)
    numbers, used = ([END[:1], END[1:]], 0.1) if is_short else ([END, END], 0.4)
    for i, (words, threads) in enumerate(busy(folder, packet, wanted)):
        for number in numbers[i % 2]:
            yield check('%s and %s' % (' '.join(words), number.name), [sillage, *words], number, folder, used, threads)
    for i, (words, statuses) in enumerate(mute(folder, data)):
        for number in numbers[i % 2]:
            yield check('%s and %s' % (' '.join(words), number.name), [sillage, *words], number, folder, used=0, threads=1,
                        statuses=statuses)
    yield check('merge from a pipe', [sillage, 'merge', '-'], signal.SIGTERM, folder, used=0, stdin=subprocess.PIPE)
    # Of several traces, those that were not read are named.
    yield check('overview of two', [sillage, 'overview', wanted, os.path.join(data, 'burst')], signal.SIGTERM, folder, used, 2)
    # All is read, and what is made of it takes long; fast builds are at one of those behind.
    yield check('overview of many slices', [sillage, 'overview', '--slices', '1000'] + 8 * [os.path.join(data, 'containers')],
                signal.SIGTERM, folder, 4)
    # A packet that was read in part must not be taken for read.
    state = os.path.join(folder, 'state')
    yield check('analyze --state', [sillage, 'analyze', '-a', 'count', '--state', state, packet], signal.SIGTERM, folder,
                used, 2)
    if os.path.exists(state):
        yield 'a state was saved in the middle of a packet'
    fifo = os.path.join(folder, 'fifo')
    write(fifo, 'metadata', TSDL.encode())
    os.mkfifo(os.path.join(fifo, 's'))
    yield check('a pipe among the streams', [sillage, 'analyze', '-q', fifo], None, folder, used=0)
    if is_short:
        return
    text = long_metadata(folder)
    for words in (['analyze', '-a', 'count', '-j', '0'], ['map', '-o', os.devnull], ['report'], ['overview'], ['lami'],
                  ['export', '-o', os.path.join(folder, 'file')], ['compare', packet]):
        for number in END:
            yield check('%s of long metadata and %s' % (' '.join(words), number.name), [sillage, *words, text], number, folder,
                        threads=2)


def main():
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background has it ignored, and passes that on
    sillage, data, is_short = sys.argv[1], sys.argv[2], '--short' in sys.argv
    folder = tempfile.mkdtemp(prefix='sillage-signals-')
    try:
        wrong = [one for one in check_all(sillage, data, folder, is_short) if one]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print('\n'.join('not ok signals: ' + one for one in wrong) or 'ok signals: all end')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())

#!/usr/bin/env python3
"""signals: SIGTERM and SIGINT end every command that reads, whatever it reads.

What is read here keeps a command busy for long: one packet of 256 MiB with an event in each byte, and
metadata of tens of MiB.  The signal is sent once the command has used some CPU time.  From then on it
may use about a second more, each of its threads; a busy machine does not count.  A command that waits
for a pipe ends, too.

usage: signals.py SILLAGE
"""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
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
stream { packet.context := struct { u32 content_size; u32 packet_size; };
	event.header := struct { u8 id; }; };
event { name = "e"; id = 0; fields := struct { }; };
'''


def write(path, name, *parts):
    os.makedirs(path, exist_ok=True)
    with open(os.path.join(path, name), 'wb') as file:
        for part in parts:
            file.write(part)


def long_packet(folder):
    path = os.path.join(folder, 'packet')
    write(path, 'metadata', TSDL.encode())
    bits = (PACKET_BYTES * 8).to_bytes(4, 'little')
    write(path, 's', b'\xc1\x1f\xfc\xc1' + bits + bits)
    os.truncate(os.path.join(path, 's'), PACKET_BYTES)
    return path


def long_metadata(folder):
    path = os.path.join(folder, 'text')
    fields = ''.join(' u8 f%d;' % i for i in range(20))
    events = ('event { name = "e%d"; id = %d; fields := struct {%s }; };\n' % (i, i, fields) for i in range(1, 250000))
    write(path, 'metadata', TSDL.encode(), *(event.encode() for event in events))
    write(path, 's')
    return path


def cpu_s(process):
    return guard.Process(process.pid).cpu_s


def check(what, words, number, folder, used=0.4, threads=1, **options):
    """Whether the command ends in time; it must still run when the signal comes, if one does."""
    with open(os.path.join(folder, 'out'), 'wb') as out:
        process = subprocess.Popen(words, stdout=out, stderr=out, **options)
        while used > 0 and process.poll() is None and cpu_s(process) < used:
            time.sleep(0.01)
        time.sleep(0 if used > 0 or number is None else 0.5)
        if process.poll() is not None and number is not None:
            return '%s: ended before the signal, with %d' % (what, process.returncode)
        before = sum(one.cpu_s for one in guard.alone(process.pid))
        if number is not None:
            process.send_signal(number)
        asleep = guard.Asleep(lambda: guard.alone(process.pid))
        last = before
        while process.poll() is None:
            try:
                last = cpu_s(process)
            except OSError:
                continue
            if last - before > 4 * MORE_S * threads or asleep.now() > 5:
                process.kill()
                process.wait()
            time.sleep(0.01)
        asleep.stop()
    if process.returncode == -signal.SIGKILL:
        return '%s: does not end' % what
    if last - before > MORE_S * threads:
        return '%s: used %.1f s of CPU after the signal' % (what, last - before)
    if process.returncode not in ((0, 1) if number is None else (0, 1, -number, 128 + number)):
        return '%s: ended with %d' % (what, process.returncode)
    return None


def main():
    sillage, wrong = sys.argv[1], []
    folder = tempfile.mkdtemp(prefix='sillage-signals-')
    try:
        packet, text = long_packet(folder), long_metadata(folder)
        state = os.path.join(folder, 'state')
        for name, path in (('packet', packet), ('metadata', text)):
            for jobs, command, number in (('0', ['analyze', '-a', 'count'], signal.SIGINT),
                                          ('2', ['map', '-o', '/dev/null'], signal.SIGTERM),
                                          ('2', ['analyze', '-a', 'all', '-i', '1s', '-f', 'json'], signal.SIGTERM)):
                wrong.append(check('%s of a long %s, -j %s' % (' '.join(command), name, jobs),
                                   [sillage] + command + ['-j', jobs, path], number, folder, threads=1 + int(jobs)))
            wrong.append(check('report of a long ' + name, [sillage, 'report', path], signal.SIGTERM, folder))
        wrong.append(check('merge from a pipe', [sillage, 'merge', '-'], signal.SIGTERM, folder, used=0, stdin=subprocess.PIPE))
        # A packet that was read in part must not be taken for read.
        wrong.append(check('analyze --state', [sillage, 'analyze', '-a', 'count', '--state', state, packet],
                           signal.SIGTERM, folder, threads=2))
        if os.path.exists(state):
            wrong.append('a state was saved in the middle of a packet')
        fifo = os.path.join(folder, 'fifo')
        write(fifo, 'metadata', TSDL.encode())
        os.mkfifo(os.path.join(fifo, 's'))
        wrong.append(check('a pipe among the streams', [sillage, 'analyze', '-q', fifo], None, folder, used=0))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    wrong = [one for one in wrong if one]
    print('\n'.join(wrong) or 'all end')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())

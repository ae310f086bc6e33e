#!/usr/bin/env python3
"""setup: what `sillage setup` has recorded is what the analyses need.

Goal    A trace of which only the events and contexts that `setup -a X` enables keep their names gives
        the same figures of X as the whole trace.
        --run runs the commands that are printed; if one fails, the session is destroyed.
        Each command has the form that lttng's manual pages give, also for the kernel.
        --rate: buffers are the smallest of all that hold a rate, or what a trace has at most in that time.

usage: setup.py SILLAGE DATA
"""
import json
import os
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
TRACES = ('burst', 'io-mix', 'lost-events', 'migrate')
PERIOD = 'p = sched_switch; syscall_entry_read'

# A stand-in for lttng, which notes its words, and fails where it is told to.  Sessions of $FAKE_HAS are there before.
FAKE = '''#!/bin/sh
echo "$*" >> "$FAKE_LOG"
case "$*" in "--no-sessiond list "*) [ "$3" = "$FAKE_HAS" ] || { echo "Error: Session '$3' not found" >&2; exit 1; } ;; esac
case "$1 $2" in *"$FAKE_FAIL"*) [ -z "$FAKE_FAIL" ] || { echo "Error: refused" >&2; exit 1; } ;; esac
'''
# Options of each command, with what their value is like; '': the option has none.
FORMS = {
    'create': ({'--live': r'\d+', '--set-url': r'net6?://\S+'}, 1),
    'enable-channel': ({'-k': '', '-u': '', '-s': r'\S+', '--subbuf-size': r'\d+[KMG]', '--num-subbuf': r'\d+',
                        '--tracefile-size': r'\d+[KMG]', '--tracefile-count': r'\d+'}, 1),
    'add-context': ({'-k': '', '-u': '', '-s': r'\S+', '-c': r'\S+', '-t': r'\w+'}, 0),
    'enable-event': ({'-k': '', '-u': '', '--syscall': '', '--all': '', '-s': r'\S+', '-c': r'\S+'}, 1),
    'start': ({}, 1),
}


def metadata_text(path):
    """The text of a TSDL metadata, packets or not."""
    with open(path, 'rb') as file:
        data = file.read()
    if struct.unpack_from('<I', data)[0] != 0x75D11D57:
        return data.decode()
    text, at = b'', 0
    while at < len(data):
        content, packet = struct.unpack_from('<II', data, at + 24)
        text += data[at + 37:at + content // 8]
        at += packet // 8
    return text.decode()


def commands(sillage, *args, env=None):
    done = subprocess.run([sillage, 'setup', '--tracer', 'lttng'] + list(args), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
    lines = [line for line in done.stdout.decode().splitlines() if not line.startswith('#')]
    return done, [shlex.split(line) for line in lines]


def check_form(words):
    """As lttng-create(1), lttng-enable-channel(1) and the others have it."""
    assert words[0] == 'lttng', words
    options, at_most = FORMS[words[1]]
    rest = words[2:]
    plain, seen = [], set()
    while rest:
        word, rest = rest[0], rest[1:]
        if not word.startswith('-'):
            plain.append(word)
            continue
        name, _, value = word.partition('=')
        assert name in options and (name not in seen or name == '-t'), (word, words)
        seen.add(name)
        if options[name] and not value:
            value, rest = rest[0], rest[1:]
        assert re.fullmatch(options[name], value), (word, value)
    assert len(plain) + ('--all' in seen) == at_most, words
    assert len({'-k', '-u'} & seen) == (1 if '-k' in options else 0), words
    assert '--tracefile-count' not in seen or '--tracefile-size' in seen, words


def enabled(lines):
    """Names of events of the kernel, and contexts."""
    names, calls, contexts, every = set(), set(), set(), False
    for words in lines:
        if words[1] == 'add-context' and '-k' in words:
            contexts.update(after for word, after in zip(words, words[1:]) if word == '-t')
        if words[1] == 'enable-event' and '-k' in words:
            every |= '--all' in words
            if '--all' not in words:
                (calls if '--syscall' in words else names).update(words[-1].split(','))
    return names, calls, contexts, every


def only_of(text, lines):
    """The metadata with other names for what is not enabled."""
    names, calls, contexts, every = enabled(lines)

    def event(found):
        name = found.group(2)
        call = re.fullmatch(r'(?:compat_)?syscall_(?:entry|exit)_(.*)', name)
        keeps = (every or call.group(1) in calls) if call else any(
            re.fullmatch(one.replace('*', '.*'), name) for one in names)
        return found.group(0) if keeps else '%soff_%s"' % (found.group(1), name)

    def context(found):
        return re.sub(r'\b_(\w+);', lambda field: field.group(0) if field.group(1) in contexts
                      else '_off_%s;' % field.group(1), found.group(0))

    text = re.sub(r'(event \{\s*name = ")([^"]*)"', event, text)
    return re.sub(r'event\.context := struct \{.*?\}', context, text, flags=re.S)


def analyzed(sillage, trace, args):
    """The total, without what tells one directory from another."""
    done = subprocess.run([sillage, 'analyze', '-q', '-f', 'json'] + args + [trace], stdout=subprocess.PIPE, check=True)
    lines = [json.loads(line) for line in done.stdout.decode().splitlines()]
    total = [line for line in lines if line['type'] == 'total'][0]
    del total['trace']
    return total


def without_interrupts(total):
    """Their time in `cpu` is unknown where they are not recorded, and nobody is asked to record them for it."""
    for row in [total['cpu']] + total['cpu']['cpus'] if 'cpu' in total else ():
        row['irq_ns'] = row['used_ns'] = None
    return total


def without_wakers(total):
    """Where interrupts are not recorded, the thread that one of them stops is who wakes."""
    for row in total.get('sched', {}).get('longest', ()):
        row['waker_tid'] = None
    for rows in total.get('state', {}).values():
        for row in rows if isinstance(rows, list) else ():
            if row.get('on'):
                row['on'] = re.sub(r' last_woken_by=\d+', '', row['on'])
    return total


def check_figures(sillage, data, scratch, names):
    for name in TRACES:
        whole = os.path.join(data, name, 'kernel')
        text = metadata_text(os.path.join(whole, 'metadata'))
        for analysis, more in [(one, ()) for one in names] + [('cpu', ('-a', 'cpu,irq'))]:
            asked = ['-a', analysis] + (['--period', PERIOD] if analysis == 'periods' else []) + (
                ['--job', 'j = run'] if analysis == 'jobs' else [])
            done, lines = commands(sillage, *asked, *more)
            assert done.returncode == 0, done.stderr.decode()
            for words in lines:
                check_form(words)
            part = os.path.join(scratch, name, 'kernel')
            shutil.rmtree(os.path.dirname(part), ignore_errors=True)
            shutil.copytree(whole, part)
            changed = only_of(text, lines)
            assert 'name = "off_' in changed or analysis in ('files', 'syscalls', 'faults', 'io'), (name, analysis)
            with open(os.path.join(part, 'metadata'), 'w') as file:
                file.write(changed)
            expected = analyzed(sillage, whole, asked)
            if analysis == 'cpu':
                assert expected['cpu']['irq_ns'] is not None and expected['cpu']['used_ns'] is not None, name
            found = without_wakers(analyzed(sillage, part, asked))
            assert found == without_wakers(expected if more else without_interrupts(expected)), (
                '%s of %s differs if only what setup enables is recorded' % (analysis, name))
        print('ok figures of %s: %d analyses' % (name, len(names)))


def check_run(sillage, scratch):
    log = os.path.join(scratch, 'log')
    with open(os.path.join(scratch, 'lttng'), 'w') as file:
        file.write(FAKE)
    os.chmod(file.name, 0o755)
    env = dict(os.environ, PATH=scratch + ':' + os.environ['PATH'], FAKE_LOG=log, FAKE_FAIL='', FAKE_HAS='', TMPDIR=scratch)
    asked = ['-a', 'sched,syscalls,ust', '--ust', "it's:*", '--session', 's', '--relay', 'net://relay:1:2']

    def noted():
        """The commands of a run, which first asks whether there is such a session."""
        with open(log) as file:
            found = [line for line in file.read().splitlines()]
        os.remove(log)
        assert found[0] == '--no-sessiond list s', found
        return found[1:]

    printed = [' '.join(words[1:]) for words in commands(sillage, *asked)[1]]
    done, ran = commands(sillage, *asked, '--run', env=env)
    assert done.returncode == 0 and noted() == printed == [' '.join(words[1:]) for words in ran], done
    assert any("it's:*" in line for line in printed) and '--set-url=net://relay:1:2' in printed[0], printed
    env['FAKE_FAIL'] = 'enable-event'
    done, ran = commands(sillage, *asked, '--run', env=env)
    found = noted()
    assert done.returncode == 1 and 'refused' in done.stderr.decode(), done
    assert found[-1].endswith('destroy s') and 'start s' not in found, found
    # No kernel can be recorded: what is of programs is, and the session stays.
    env['FAKE_FAIL'] = 'enable-channel -k'
    done, ran = commands(sillage, *asked, '--run', env=env)
    found, first = noted(), next(line for line in printed if ' -k ' in line)
    assert done.returncode == 0 and 'only user space is recorded' in done.stderr.decode(), done
    assert found == [line for line in printed if ' -k ' not in line or line == first], found
    asked_kernel = ['-a', 'sched,syscalls', *asked[4:]]
    done, ran = commands(sillage, *asked_kernel, '--run', env=env)
    assert done.returncode == 1 and 'only user space' not in done.stderr.decode() and noted()[-1].endswith('destroy s'), done
    env.update(FAKE_FAIL='create', FAKE_HAS='s')
    done, ran = commands(sillage, *asked, '--run', env=env)
    found = noted()
    assert done.returncode == 1 and found == printed[:1], 'somebody else\'s session of this name was destroyed: %s' % found
    os.remove(os.path.join(scratch, 'lttng'))
    env['PATH'] = scratch
    done, _ = commands(sillage, *asked, '--run', env=env)
    assert done.returncode == 1 and 'lttng is not installed' in done.stderr.decode(), done
    left = [name for place in os.listdir(scratch) if place.startswith('sillage-') for name in os.listdir(os.path.join(scratch, place))]
    assert left == [], 'left in the place of runs: %s' % left
    print('ok --run')


def check_refused(sillage):
    for args, said in ((['-a', 'count'], '--ust PATTERN'), (['--session', 'a b'], 'is not a name'),
                       (['--session', '-x'], 'is not a name'), (['--relay', 'http://x'], 'is not net://'),
                       (['-a', 'nothing'], 'unknown'), (['--period', 'x'], 'expected ; and the event that ends it')):
        done, lines = commands(sillage, *args)
        assert done.returncode == 2 and not lines and said in done.stderr.decode(), (args, done)
    for args in (['-a', 'count', '--ust', 'a:*'], ['-a', 'periods', '--ust-span', 'a:b,a:c'], ['-a', 'ust']):
        lines = commands(sillage, *args)[1]
        assert lines and not any('-k' in words for words in lines), lines
        # Spans are told apart by thread and process: what --ust-span asks later needs no other recording.
        assert args[1] == 'count' or any({'vpid', 'vtid'} <= set(words) for words in lines), lines
    done, lines = commands(sillage, '-a', 'ust,periods')
    assert done.returncode == 2 and not lines and b'no period to measure' in done.stderr, done
    print('ok what is refused')


def units(text):
    """"4.58 MiB" in bytes, as far as its digits say."""
    number, unit = text.split()
    return float(number) * 1024 ** ('B', 'KiB', 'MiB', 'GiB').index(unit)


def fits(need, away_ns, timer_ns):
    """Of all powers of two, those that leave room: the least memory, then the fewest."""
    found = []
    for size in (1 << power for power in range(16, 27)):
        for count in (1 << power for power in range(2, 15)):
            if size * count <= 1 << 30 and count >= -(-need // size) + -(-away_ns // timer_ns) + 2:
                found.append((size * count, count, size))
    return min(found)[2:0:-1] if found else None


def indexed(trace):
    """Packets of each CPU's streams, of the index files: begin, end, bytes."""
    found = {}
    for name in os.listdir(os.path.join(trace, 'index')):
        with open(os.path.join(trace, 'index', name), 'rb') as file:
            data = file.read()
        size, = struct.unpack('>I', data[12:16])
        packets = []
        for at in range(16, len(data), size):
            _, _, content, begin, end = struct.unpack('>QQQQQ', data[at:at + 40])
            packets.append((begin, end, content // 8))
        found.setdefault(re.search(r'_(\d+)\.idx$', name).group(1), []).append(packets)
    return found


def most_of(cpus, away):
    """The most that a CPU has in a time that begins, or ends, where a packet does: each packet's share of it."""
    def share(packet, begin, end):
        length = packet[1] - packet[0]
        covered = max(0, min(end, packet[1]) - max(begin, packet[0]))
        return packet[2] * (covered / length if length else begin <= packet[0] <= end)

    most, all_of = 0, [packet for streams in cpus.values() for packets in streams for packet in packets]
    for streams in cpus.values():
        own = [packet for packets in streams for packet in packets]
        for begin in [packet[0] for packet in own] + [packet[1] - away for packet in own]:
            most = max(most, sum(share(packet, begin, begin + away) for packet in own))
    span = max(packet[1] for packet in all_of) - min(packet[0] for packet in all_of)
    return most * away / span if span < away else most


def check_rate(sillage, data, scratch):
    """--rate: what the channels hold is what its definition says, of a number and of a trace."""
    def asked(*args):
        done, lines = commands(sillage, '-a', 'cpu', '--ust', 'a:*', *args)
        assert done.returncode == 0 and not done.stderr, (args, done)
        for words in lines:
            check_form(words)
        sizes = {}
        for words in lines:
            if words[1] == 'enable-channel':
                text, count = (words[words.index(name) + 1] for name in ('--subbuf-size', '--num-subbuf'))
                sizes['-u' if '-u' in words else '-k'] = (int(text[:-1]) * {'K': 1 << 10, 'M': 1 << 20}[text[-1]], int(count))
        said = re.findall(r'^# (kernel|user space): (\S+ \S+) of buffers for each .*?, (\S+ \S+) with the (\d+) CPUs of this host; (.*)$',
                          done.stdout.decode(), re.M)
        for (what, each, all_of, cpus, _), (size, count) in zip(said, (sizes['-k'], sizes['-u'])):
            for text, number in ((each, size * count), (all_of, size * count * int(cpus))):
                assert abs(units(text) - number) <= number / 100, (what, text, number)
        return sizes, [rest for *_, rest in said]

    usual = {'-k': (1 << 20, 8), '-u': (512 << 10, 8)}
    assert asked() == (usual, []), asked()
    for events, away, timer in ((1, '1s', '1s'), (1000, '1s', '1s'), (100000, '1s', '1s'), (100000, '3s', '1s'), (2500000, '500ms', '1s'),
                                (1000000, '10s', '1s'), (100000, '10s', '100ms'), (4000, '1s', '1ms')):
        ns = {'ms': 10**6, 's': 10**9}
        away_ns, timer_ns = (int(re.match(r'\d+', one).group()) * ns[one.lstrip('0123456789')] for one in (away, timer))
        sizes, _ = asked('--rate', str(events), '--away', away, '--live-timer', timer)
        for domain, each in (('-k', 48), ('-u', 64)):
            need = events * each * away_ns // 10**9 + 1
            assert sizes[domain] == fits(need, away_ns, timer_ns), (events, away, timer, sizes[domain], fits(need, away_ns, timer_ns))
    for name in ('burst', 'small-packets', 'io-mix', 'lost-events'):
        for away, ns in (('10ms', 10**7), ('300ms', 3 * 10**8), ('1s', 10**9), ('60s', 6 * 10**10)):
            sizes, (kernel, user) = asked('--rate', os.path.join(data, name), '--away', away)
            expected = most_of(indexed(os.path.join(data, name, 'kernel')), ns)
            found = units(re.match(r'on one CPU (\S+ \S+) may come in ', kernel).group(1))
            assert abs(found - expected) <= expected / 100 + 1, (name, away, kernel, expected)
            assert sizes['-k'] in (fits(int(expected * 0.99999), ns, 10**9), fits(int(expected * 1.00001) + 2, ns, 10**9)), (name, away, sizes)
            assert sizes['-u'] == usual['-u'] and user == 'as without --rate, which has no such trace', (name, user)
    assert asked('--rate', os.path.join(data, 'ust'))[1][0].startswith('as without') and 'may come' in asked('--rate', os.path.join(data, 'ust'))[1][1]
    empty, untimed = os.path.join(scratch, 'none'), os.path.join(scratch, 'untimed')
    os.mkdir(empty)
    os.mkdir(untimed)  # a trace without a packet
    shutil.copy(os.path.join(data, 'burst', 'kernel', 'metadata'), untimed)
    for args, status, said in ((['--rate', '0'], 2, 'from 1 to'), (['--rate', 'x'], 2, 'neither a number'), (['--rate', ''], 2, 'neither a number'),
                               (['--rate', '4294967295'], 2, 'no buffers hold'), (['--rate', '99999999999999999999'], 2, 'from 1 to'),
                               (['--away', '2s'], 2, 'without --rate'), (['--rate', empty], 1, 'not a trace'),
                               (['--rate', '5', '--away', '10000h', '--live-timer', '1ms'], 2, 'no buffers hold'),
                               (['--rate', '5', '--live-timer', '0'], 2, '1us and more'), (['--live-timer', '999ns'], 2, '1us and more'),
                               (['--rate', untimed], 1, 'has no packets that tell when')):
        done, lines = commands(sillage, *args)
        text = done.stderr.decode()
        assert done.returncode == status and not lines and said in text and text.count('\n') == 1, (args, done)
    print('ok --rate')


def check_next(sillage):
    """The command that is printed for afterwards asks for the same, and is a command."""
    asked = ['--label', 'who = sched_switch key=next_tid name=next_comm', '--period', "stay = sched_in; sched_out",
             '--job', 'turn = run; deadline 1ms; group who(next_tid)', '--ust-span', 'a:b,a:c']
    done = subprocess.run([sillage, 'setup', '--tracer', 'lttng', '-a', 'periods,jobs'] + asked, stdout=subprocess.PIPE, check=True)
    found, = [line[len('# then: '):] for line in done.stdout.decode().splitlines() if line.startswith('# then: ')]
    words = shlex.split(found)
    assert all(words.count(word) >= asked.count(word) for word in asked if word not in ('--ust-span', 'a:b,a:c')), words
    words = [sillage] + words[1:-1] + ['--no-retry', 'net://127.0.0.1:1']
    done = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert done.returncode == 1 and b'Connection refused' in done.stderr, (words, done)
    print('ok what follows')


def check_user(sillage):
    """What is of programs alone needs nothing of the kernel, and no other events of theirs."""
    job = 'x = svc:a; svc:b; deadline 1ms; every 2ms'
    for words in (['--model', 'ros2'], ['--job', job], ['-a', 'jobs', '--job', job], ['-a', 'jobs', '--job', 'x = svc:a; svc:b; by id']):
        lines = commands(sillage, *words)[1]
        events = [words[-1] for words in lines if words[1] == 'enable-event']
        assert lines and not any('-k' in words for words in lines) and '*' not in ','.join(events).split(','), (words, lines)
    lines = commands(sillage, '-a', 'jobs', '--job', 'x = svc:a; sched_switch')[1]
    assert any('-k' in words for words in lines), lines


def main():
    sillage, data = (os.path.abspath(path) for path in sys.argv[1:3])
    listed = subprocess.run([sillage, 'analyze', '-a', 'help'], stdout=subprocess.PIPE, check=True).stdout.decode()
    names = [line.split()[0] for line in listed.splitlines()]
    assert 'sched' in names and 'ust' in names, names
    names = [name for name in names if name not in ('count', 'lost', 'ust')]
    scratch = tempfile.mkdtemp(prefix='sillage-setup-')
    try:
        check_refused(sillage)
        check_next(sillage)
        check_user(sillage)
        check_run(sillage, scratch)
        check_rate(sillage, data, scratch)
        check_figures(sillage, data, scratch, names)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == '__main__':
    main()

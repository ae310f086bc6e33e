#!/usr/bin/env python3
"""Programs in C, C++, Python and Java, traced with LTTng: their requests are as their own logs say.

Goal    Each request of each program is found: counts are equal, also by kind and status, and the sum,
        least and greatest time lie between what the program measured inside and outside its
        tracepoints.  Two instances of one program with equal ids at the same time are never mixed.
        Live equals what is recorded.

usage: programs.py SILLAGE APP DATA [x NAME]
"""
import collections
import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import peer  # noqa: E402
from peer import Skip, totals, Ust  # noqa: E402

JARS = ':'.join('/usr/share/java/lttng-ust-agent-%s.jar' % name for name in ('common', 'jul'))
JNI = '/usr/lib/%s-linux-gnu/jni' % os.uname().machine
REQUESTS = 200
SHOP = ('--period', 'all = shop:request_begin; shop:request_end; by id; group $ctx.procname',
        '--period', 'kind = shop:request_begin; shop:request_end; by id; group $ctx.procname, kind',
        '--period', 'status = shop:request_begin; shop:request_end; by id; group $ctx.procname, status')
LOGGED = '%s = {0} msg~/^begin id=(\\d+) kind=(?<kind>\\w+)/; {0} msg~/^end id=(\\d+) status=(?<status>\\d+)/; by $1%s'


def source(name):
    return os.path.join(HERE, 'programs', name)


def build(ust, *command):
    if not shutil.which(command[0]):
        raise Skip(command[0] + ' is not installed')
    done = subprocess.run(command, cwd=ust.home, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    assert done.returncode == 0, done.stdout.decode()


class Session:
    """Sent to a relay, followed live, and kept by the relay."""

    def __init__(self, t, ust, relay, *options):
        self.t, self.ust, self.relay, self.options = t, ust, relay, options
        ust.lttng('create', 'shop', '--live=100000', '--set-url=' + ust.control)

    def run(self, *commands):
        """Programs at the same time: the totals, live and recorded, which are equal."""
        self.ust.lttng('start', 'shop')
        live = self.t.live('-a', 'periods', '--from', 'beginning', *self.options,
                           '%s/host/%s/shop' % (self.relay.live, os.uname().nodename))
        programs = [subprocess.Popen(self.ust.user + list(command), env=self.ust.env, stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, stderr=subprocess.STDOUT) for command in commands]
        self.t.processes += programs
        for one in programs:
            said = one.stdout.readline()
            assert said == b'ready\n', said + one.stdout.read()
        for one in programs:
            one.stdin.close()
        for one in programs:
            said = one.stdout.read()
            one.wait()
            assert one.returncode == 0, (one.args, said)
        live.wait_said('attached to')
        self.ust.lttng('destroy', 'shop')
        total, = totals(live.finish())
        folder, = [place for place, names in self.relay.stored('shop') if 'metadata' in names]
        recorded = self.t.analyze(folder, '-a', 'periods', *self.options)
        assert total['periods'] == recorded['periods'], ('live differs from what is recorded', total, recorded)
        return {row['name']: row for row in total['periods']['by_name']}


def log_of(ust, name):
    return os.path.join(ust.home, name + '.log')


def noted(log):
    with open(log, encoding='utf-8') as file:
        lines = file.read().splitlines()
        assert len(lines) == REQUESTS, lines
        for line in lines:
            number, kind, status, *times = line.split()
            yield int(number), kind, status, [int(one) for one in times]


def check(rows, prefix, requests):
    """The row of @prefix and each of its groups."""
    inside = [times[2] - times[1] for *_, times in requests]
    outside = [times[3] - times[0] for *_, times in requests]
    row = rows[prefix]
    assert row['time']['count'] == len(requests), (prefix, row)
    time = row['time']
    for figure, of in ('sum_ns', sum), ('min_ns', min), ('max_ns', max):
        assert of(inside) <= time[figure] <= of(outside), (prefix, figure, of(inside), time, of(outside))


def check_groups(rows, form, requests):
    """The rows of each kind and of each status."""
    for place, what in (1, 'kind'), (2, 'status'):
        groups = collections.defaultdict(list)
        for one in requests:
            groups[one[place]].append(one)
        for value, some in groups.items():
            check(rows, form % (what, what, value), some)


def shop(t, ust, relay, compiler, language):
    names = ['%s-%d' % (language, number) for number in (1, 2)]
    for name in names:
        build(ust, *compiler, '-O2', '-I', HERE, source('requests.c'), '-o', name, '-llttng-ust', '-ldl')
    session = Session(t, ust, relay, *SHOP)
    ust.lttng('enable-event', '-u', '-s', 'shop', 'shop:*')
    ust.lttng('add-context', '-u', '-s', 'shop', '--type=vpid', '--type=vtid', '--type=procname')
    rows = session.run(*[(os.path.join(ust.home, name), log_of(ust, name), str(REQUESTS)) for name in names])
    for name in names:
        requests = list(noted(log_of(ust, name)))
        check(rows, 'all context.procname=' + name, requests)
        check_groups(rows, '%s context.procname=' + name + ' %s=%s', requests)


def test_c(t):
    """Two instances at once, whose requests overlap."""
    relay = t.relay()
    shop(t, Ust(t, relay), relay, ['cc'], 'c')


def test_cpp(t):
    """The same source by a compiler of C++."""
    relay = t.relay()
    shop(t, Ust(t, relay), relay, ['c++', '-x', 'c++'], 'cpp')


def agent(t, ust, relay, domain, event, command):
    """A program whose log an agent records."""
    session = Session(t, ust, relay, *[word for name, group in (('all', ''), ('kind', '; group $kind'), ('status', '; group $status'))
                                       for word in ('--period', LOGGED.format(event) % (name, group))])
    ust.lttng('enable-event', domain, '-s', 'shop', 'shop')
    rows = session.run((*command, log_of(ust, 'log'), str(REQUESTS)))
    requests = list(noted(log_of(ust, 'log')))
    check(rows, 'all', requests)
    check_groups(rows, '%s $%s=%s', requests)


def test_python(t):
    """Python's logging, by the agent that is a package of Debian."""
    if subprocess.run(['/usr/bin/python3', '-c', 'import lttngust'], check=False, stderr=subprocess.DEVNULL).returncode:
        raise Skip('python3-lttngust is not installed')
    relay = t.relay()
    ust = Ust(t, relay)
    agent(t, ust, relay, '-p', 'lttng_python:event', ('/usr/bin/python3', shutil.copy(source('requests.py'), ust.home)))


def test_java(t):
    """java.util.logging, by the agent that is a package of Debian."""
    if not os.path.exists(JARS.split(':', maxsplit=1)[0]):
        raise Skip('liblttng-ust-agent-java is not installed')
    relay = t.relay()
    ust = Ust(t, relay)
    build(ust, 'javac', '-cp', JARS, '-d', ust.home, source('Requests.java'))
    agent(t, ust, relay, '-j', 'lttng_jul:event',
          ('java', '-Djava.library.path=' + JNI, '-cp', JARS + ':' + ust.home, 'Requests'))


if __name__ == '__main__':
    sys.exit(peer.main(globals()))

#!/usr/bin/env python3
"""watch: a real program is recorded and shown, and nothing is left, however the run ends.

Goal    `watch` has a relay and a session of its own, and a session daemon if none runs.  They are gone
        after ^C, SIGTERM and kill -9; after kill -9 of all its processes, at the next start.  Sessions
        of others stay as they are.  What is missing on a host is said in one line.
        The kernel's commands go to a stand-in for lttng; the others to lttng itself.
        `live` says that a state dump is missed, or asks for it.

usage: watch.py SILLAGE APP DATA [x NAME]
"""
import os
import pty
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import peer  # noqa: E402
from peer import check_sums, events_seen, LONG, Skip, totals, wait_until  # noqa: E402

NAMES = {'sillage_test:scalars', 'sillage_test:texts', 'sillage_test:sequences'}
NOBODY = 65534

# A stand-in for lttng: it notes its words, fails where it is told to, and does nothing for the kernel.
FAKE = '''#!/bin/sh
echo "$*" >> "$FAKE_LOG"
case " $* " in *" $FAKE_HANG "*) [ -z "$FAKE_HANG" ] || { touch "$FAKE_LOG.hangs"; exec sleep 1000; } ;; esac
case " $* " in *" $FAKE_FAIL"*) [ -z "$FAKE_FAIL" ] || { echo "$FAKE_SAYS" >&2; exit 1; } ;; esac
case " $* " in *" -k "*|*" regenerate "*) exit 0 ;; esac
exec %s "$@"
'''


class Home:
    """A user with programs, and perhaps a session daemon, of its own."""

    def __init__(self, test, daemon=False, groups=None):
        for program in ('lttng', 'lttng-sessiond', 'lttng-relayd'):
            if not shutil.which(program):
                raise Skip(program + ' is not installed')
        self.test = test
        self.home = os.path.join(test.scratch, 'home-%d' % len(os.listdir(test.scratch)))
        self.tmp, self.bin = os.path.join(self.home, 'tmp'), os.path.join(self.home, 'bin')
        for path in self.home, self.tmp, self.bin:
            os.mkdir(path)
            os.chmod(path, 0o755)
        for path in test.sillage, test.app:
            # Not by Python: another thread's child could have the copy open for writing while it is started.
            subprocess.run(['cp', path, self.home], check=True)
        self.user = []
        if os.getuid() == 0:
            self.user = ['setpriv', '--reuid=%d' % NOBODY, '--regid=%d' % NOBODY,
                         '--groups=' + groups if groups else '--clear-groups', '--']
            for path in self.home, self.tmp:
                os.chown(path, NOBODY, NOBODY)
        # The last two: a daemon drops a program that does not answer for 5 s, else.
        self.env = dict(os.environ, HOME=self.home, LTTNG_HOME=self.home, TMPDIR=self.tmp,
                        LTTNG_UST_REGISTER_TIMEOUT='-1', LTTNG_APP_SOCKET_TIMEOUT='-1',
                        FAKE_LOG=os.path.join(self.tmp, 'log'), FAKE_FAIL='', FAKE_SAYS='', FAKE_HANG='')
        self.programs = []
        test.cleanups.append(self.close)
        if daemon:
            self.lttng_daemon()

    def start(self, *command, **options):
        process = subprocess.Popen(self.user + list(command), env=self.env, stdin=subprocess.DEVNULL, **options)
        self.test.processes.append(process)
        return process

    def lttng_daemon(self):
        self.programs.append(self.start('lttng-sessiond', stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).pid)
        wait_until(lambda: self.lttng('list').returncode == 0, 'lttng-sessiond does not answer')

    def lttng(self, *args):
        return peer.run(self.user + ['lttng', '--no-sessiond'] + list(args), env=self.env,
                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def sessions(self):
        return re.findall(r'<session><name>(.*?)</name>', self.lttng('--mi', 'xml', 'list').stdout.decode())

    def fake(self):
        """lttng is the stand-in from now on."""
        path = os.path.join(self.bin, 'lttng')
        with open(path, 'w') as file:
            file.write(FAKE % shutil.which('lttng'))
        os.chmod(path, 0o755)
        self.env['PATH'] = self.bin + ':' + os.environ['PATH']

    def noted(self):
        with open(self.env['FAKE_LOG']) as file:
            lines = file.read().splitlines()
        os.remove(self.env['FAKE_LOG'])
        return lines

    def app(self):
        process = self.start(os.path.join(self.home, 'app'), '100000000', '5000')
        self.programs.append(process.pid)
        return process

    def watch(self, *args):
        return Watch(self, *args)

    def ours(self):
        """Processes of this user's home, but those that the test has started: {pid: command}."""
        found, parents = {}, {}
        for pid in filter(str.isdigit, os.listdir('/proc')):
            try:
                with open('/proc/%s/environ' % pid, 'rb') as file:
                    is_ours = ('LTTNG_HOME=' + self.home).encode() in file.read()
                with open('/proc/%s/cmdline' % pid, 'rb') as file:
                    command = file.read().replace(b'\0', b' ').decode(errors='replace')
                with open('/proc/%s/status' % pid) as file:
                    parents[int(pid)] = int(re.search(r'PPid:\s+(\d+)', file.read()).group(1))
            except OSError:
                continue
            if is_ours and command:  # what has ended has no command any more
                found[int(pid)] = command

        def is_of_test(pid):  # or descends from its session daemon
            return pid in self.programs or (pid in parents and is_of_test(parents[pid]))

        return {pid: command for pid, command in found.items() if not is_of_test(pid)}

    def check_clean(self):
        """Nothing is left: processes, directories, sessions of `watch`."""
        wait_until(lambda: not self.ours() and not self.left(), lambda: 'left: %s %s' % (self.ours(), self.left()))
        assert not [name for name in self.sessions() if name.startswith('watch-')], self.sessions()

    def left(self):
        return [name for name in os.listdir(self.tmp) if name.startswith('sillage-')]

    def close(self):
        for pid in self.ours():
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass


class Watch(peer.Live):
    """A running `sillage watch -f json`."""

    def __init__(self, home, *args):
        base = os.path.join(home.test.scratch, 'watch-%d' % len(os.listdir(home.test.scratch)))
        self.out, self.err = base + '.out', base + '.err'
        self.known, self.offset = [], 0
        with open(self.out, 'w') as out, open(self.err, 'w') as err:
            self.process = home.start(os.path.join(home.home, 'sillage'), 'watch', '-f', 'json', '-i', '100ms',
                                      '--live-timer', '100ms', '--grace', LONG, *args, stdout=out, stderr=err)

    def wait_events(self, count=50):
        before = events_seen(self)
        self.wait_for(lambda live: events_seen(live) >= before + count)


UST = ('-a', 'count,ust', '--ust', 'sillage_test:*')


def test_shown(t):
    """The events of a program, and no others; ^C prints the total; the daemon ends with the run."""
    home = Home(t)
    home.app()
    watch = home.watch(*UST)
    watch.wait_events()
    assert any('lttng-sessiond' in command for command in home.ours().values()), home.ours()
    lines = watch.finish(signal.SIGINT)
    check_sums(lines)
    total = totals(lines)[0]
    assert total['trace']['session'].startswith('watch-') and set(total['count']['by_name']) == NAMES, total
    assert 'only user space' not in watch.said(), watch.said()
    home.check_clean()


def test_ends(t):
    """A signal, kill -9, and the end of the session: nothing is left, and others keep what they have."""
    home = Home(t, daemon=True)
    home.app()
    assert home.lttng('create', 'other', '--output=' + os.path.join(home.home, 'other')).returncode == 0
    for number in signal.SIGTERM, signal.SIGKILL, None:
        watch = home.watch(*UST)
        watch.wait_events()
        if number is None:
            name = [one for one in home.sessions() if one != 'other'][0]
            assert home.lttng('destroy', name).returncode == 0
        watch.finish(number, status=-number if number == signal.SIGKILL else 0)
        home.check_clean()
        assert home.sessions() == ['other'], home.sessions()


def test_all_killed(t):
    """kill -9 of all its processes: the next start removes what they left, and no other run's."""
    home = Home(t)
    home.app()
    lives, dies = home.watch(*UST), home.watch(*UST)
    lives.wait_events()
    dies.wait_events()
    victims = [dies.process.pid] + [pid for pid, command in home.ours().items() if 'sillage' in command.split()[0]
                                    and parent_of(pid) == dies.process.pid]
    assert len(victims) == 2, 'no guardian'
    for pid in reversed(victims):
        os.kill(pid, signal.SIGKILL)
    dies.finish(status=-signal.SIGKILL)
    left = home.sessions()
    assert len(left) == 2 and len(relays(home)) == 2, (left, home.ours())
    third = home.watch(*UST)
    third.wait_events()
    assert third.said().count('of a run that was killed') == 1, third.said()
    assert len(home.sessions()) == 2 and len(relays(home)) == 2, (home.sessions(), home.ours())
    lives.wait_events()
    lives.finish(signal.SIGINT)
    third.wait_events()
    third.finish(signal.SIGINT)
    home.check_clean()


def test_killed_alone(t):
    """Nobody else records: what a run left that was killed with its guardian does not hinder the next one."""
    home = Home(t)
    home.app()
    for with_daemon in False, True:
        dies = home.watch(*UST)
        dies.wait_events()
        kill_all(home, dies.process, 'lttng-sessiond' if with_daemon else None)
        dies.finish(status=-signal.SIGKILL)
        after = home.watch(*UST)
        after.wait_events()
        assert after.said().count('of a run that was killed') == 1, after.said()
        after.finish(signal.SIGINT)
        home.check_clean()


def kill_all(home, process, also=None):
    """A run and its guardian, in an order in which neither can act."""
    victims = [process.pid] + [pid for pid, command in home.ours().items()
                               if ('sillage' in command.split()[0] and parent_of(pid) == process.pid)
                               or (also and also in command.split()[0])]
    assert len(victims) > 1, 'no guardian'
    for pid in reversed(victims):
        os.kill(pid, signal.SIGKILL)


def test_setup_killed(t):
    """`setup --run` that is killed while a command hangs: its session is removed, at once or by the next run."""
    home, relay = Home(t, daemon=True), t.relay()
    home.fake()
    home.app()
    words = [os.path.join(home.home, 'sillage'), 'setup', '--run', '-a', 'ust', '--ust', 'sillage_test:*',
             '--relay', 'net://127.0.0.1:%d:%d' % (relay.port, relay.port + 1)]

    def hangs():
        home.env['FAKE_HANG'] = 'start'
        process = home.start(*words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(lambda: os.path.exists(home.env['FAKE_LOG'] + '.hangs'))
        os.remove(home.env['FAKE_LOG'] + '.hangs')
        home.env['FAKE_HANG'] = ''
        assert home.sessions() == ['sillage'], home.sessions()
        return process

    process = hangs()
    process.kill()
    wait_until(lambda: not home.sessions() and not home.left(), 'its guardian removes nothing')
    process = hangs()
    process.send_signal(signal.SIGTERM)
    process.wait()
    assert process.returncode == 128 + signal.SIGTERM and not home.sessions(), (process.returncode, home.sessions())
    process = hangs()
    kill_all(home, process)
    process.wait()
    assert home.sessions() == ['sillage'], home.sessions()
    for done, said in (0, 'removing the session sillage of a run that was killed'), (1, 'already exists'):
        after = peer.run(home.user + words, env=home.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert after.returncode == done and said in after.stderr.decode(), after
        assert home.sessions() == ['sillage'] and not home.left(), (home.sessions(), home.left())


def parent_of(pid):
    with open('/proc/%d/status' % pid) as file:
        return int(re.search(r'PPid:\s+(\d+)', file.read()).group(1))


def relays(home):
    return [pid for pid, command in home.ours().items() if command.startswith('lttng-relayd')]


def fails(home, *args, status=1):
    """What a run says that cannot begin; it leaves nothing."""
    watch = home.watch(*args)
    watch.finish(status=status)
    home.check_clean()
    return watch.said()


def test_absent(t):
    """Programs that are not there."""
    home = Home(t)
    for present, said in ((), 'lttng is not installed: package lttng-tools'), \
            (('lttng',), '`sudo systemctl start lttng-sessiond`'), \
            (('lttng', 'lttng-sessiond'), 'lttng-relayd (package lttng-tools) cannot be started'):
        for name in present:
            if not os.path.exists(os.path.join(home.bin, name)):
                os.symlink(shutil.which(name), os.path.join(home.bin, name))
        for name in 'sh', 'grep', 'setpriv':
            if not os.path.exists(os.path.join(home.bin, name)):
                os.symlink(shutil.which(name), os.path.join(home.bin, name))
        home.env['PATH'] = home.bin
        text = fails(home, *UST)
        home.env['PATH'] = os.environ['PATH']
        assert said in text and text.count('\n') == 1, text


def test_kernel(t):
    """The kernel's commands are those of `setup`; where they fail, the reason is said with what helps."""
    home = Home(t, daemon=True)
    home.fake()
    home.app()
    asked = ['-a', 'count,sched,irq,ust', '--ust', 'sillage_test:*']
    watch = home.watch(*asked)
    watch.wait_events()
    watch.finish(signal.SIGINT)
    home.check_clean()
    ran = [line for line in home.noted() if ' -k ' in line or ' -u ' in line]
    name = re.search(r'-s (watch-\w+)', ran[0]).group(1)
    printed = peer.run([t.sillage, 'setup', '--session', name] + asked, stdout=subprocess.PIPE).stdout.decode()
    printed = [' '.join(shlex.split(line)[1:]) for line in printed.splitlines() if not line.startswith('#')]
    bounded = [re.sub(r' --tracefile-size \S+ --tracefile-count \S+', '', line) for line in ran]
    assert bounded == [line for line in printed if ' -k ' in line or ' -u ' in line], (ran, printed)

    home.env['FAKE_FAIL'] = 'enable-channel -k'
    for says, said in (('Error: Channel c: Kernel tracer not available (session s)', 'lttng-modules-dkms'),
                       ('Error: requires a root lttng-sessiond daemon, as well as', 'usermod -aG tracing'),
                       ('Error: odd', 'Error: odd')):
        home.env['FAKE_SAYS'] = says
        watch = home.watch(*asked)
        watch.wait_events(1)
        watch.finish(signal.SIGINT)
        home.check_clean()
        assert 'only user space is recorded: ' in watch.said() and said in watch.said(), watch.said()
        assert not [line for line in home.noted() if 'enable-event -k' in line]
    text = fails(home, '-a', 'sched')
    assert 'Error: odd' in text and text.count('\n') == 1, text

    # An event that this kernel lacks: the others are recorded.
    home.env.update(FAKE_FAIL='enable-event -k -s NAME -c sillage sched_switch', FAKE_SAYS='Error: not found')
    home.noted()
    rewrite(home, 'NAME', '*')
    watch = home.watch(*asked)
    watch.wait_events(1)
    watch.finish(signal.SIGINT)
    home.check_clean()
    assert watch.said().count('the kernel has no event sched_switch') == 1 and 'only user' not in watch.said(), watch.said()
    ran = [line for line in home.noted() if 'enable-event -k' in line]
    assert any(line.endswith(' sched_waking') for line in ran) and any(' sched_switch,' in line for line in ran), ran


NO_KERNEL = 'Kernel tracer not available|Tracing the kernel requires a root'


def test_accepted(t):
    """lttng itself takes each command that `setup` prints: where there is no kernel tracer, that is all it says."""
    home, relay = Home(t, daemon=True), t.relay()
    out = peer.run([t.sillage, 'setup', '-a', 'all', '--ust', 'sillage_test:*', '--relay', 'net://127.0.0.1:%d:%d' % (relay.port, relay.port + 1), '--job', 'j = run', '--period',
                    'p = syscall_entry_read; syscall_exit_read'], stdout=subprocess.PIPE).stdout.decode()
    commands = [shlex.split(line)[1:] for line in out.splitlines() if not line.startswith('#')]
    assert {words[0] for words in commands} == {'create', 'enable-channel', 'add-context', 'enable-event', 'start'}, commands
    kernel = 0
    for words in commands:
        done = home.lttng(*words)
        said = done.stdout.decode().splitlines()
        if '-k' in words and done.returncode:
            # Of --syscall --all it may say nothing at all.
            assert all(re.match('Error: .*(%s)' % NO_KERNEL, line) for line in said), (words, said)
            kernel += 1
        else:
            assert done.returncode == 0 and not [line for line in said if re.match('Error|Warning', line)], (words, said)
    assert kernel in (0, len([words for words in commands if '-k' in words])), (kernel, commands)
    # It does tell what it does not take.
    for wrong in (['enable-channel', '-k', '-s', 'sillage', '--subbuf-size', '4Q', 'c'], ['add-context', '-k', '-s', 'sillage', '-c', 'sillage', '-t', 'pidd']):
        assert not re.search(NO_KERNEL, home.lttng(*wrong).stdout.decode()), wrong


def rewrite(home, old, new):
    """FAKE_FAIL as a pattern."""
    home.env['FAKE_FAIL'] = home.env['FAKE_FAIL'].replace(old, new)
    path = os.path.join(home.bin, 'lttng')
    with open(path) as file:
        text = file.read()
    with open(path, 'w') as file:
        file.write(text.replace('*" $FAKE_FAIL"*)', '*" "$FAKE_FAIL*)'))


def test_rights(t):
    """Real answers: no rights; a member of the group, but no daemon of root's."""
    if os.getuid() != 0:
        raise Skip('needs root, to be somebody else')
    tracing = peer.run(['getent', 'group', 'tracing'], stdout=subprocess.PIPE).stdout.decode().split(':')
    if len(tracing) < 3 or os.path.exists('/var/run/lttng/client-lttng-sessiond'):
        raise Skip('no group tracing, or a session daemon of root')
    for groups, said in (None, 'usermod -aG tracing'), (tracing[2], "root's session daemon does not run: `sudo systemctl"):
        text = fails(Home(t, groups=groups), '-a', 'cpu')
        assert said in text and text.count('\n') == 1, text


def test_interrupted(t):
    """^C while a command hangs."""
    home = Home(t, daemon=True)
    home.fake()
    home.env['FAKE_HANG'] = 'start'
    watch = home.watch(*UST)
    wait_until(lambda: os.path.exists(home.env['FAKE_LOG'] + '.hangs'))
    watch.finish(signal.SIGINT, status=130)
    home.check_clean()
    assert 'interrupted' in watch.said(), watch.said()


def test_refused(t):
    home = Home(t)
    assert '--ust PATTERN' in fails(home, '-a', 'count', status=2)
    assert 'unknown' in fails(home, '-a', 'nothing', status=2)
    os.mkdir(os.path.join(home.tmp, 'sillage-%d' % (NOBODY if home.user else os.getuid())), 0o755)
    watch = home.watch(*UST)
    watch.finish(status=1)
    assert 'is not a private directory of yours' in watch.said(), watch.said()
    done = peer.run(home.user + [t.sillage, 'watch'], env=home.env, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert done.returncode == 2 and b'needs a terminal, or -f' in done.stderr, done


def test_screen(t):
    """The full screen: it says what is not recorded, shows the program, and `q` leaves nothing."""
    home = Home(t)
    home.app()
    leader, follower = pty.openpty()
    env = dict(home.env, TERM='xterm', LINES='40', COLUMNS='100')
    process = subprocess.Popen(home.user + [os.path.join(home.home, 'sillage'), 'watch', '-a', 'cpu,ust',
                                            '--live-timer', '100ms', '-i', '200ms', '--trigger', 'ust.process.events > 1'],
                               env=env, stdin=follower, stdout=follower, stderr=follower)
    t.processes.append(process)
    os.close(follower)
    os.set_blocking(leader, False)
    seen = b''

    def shows(*words):
        nonlocal seen
        try:
            seen += os.read(leader, 1 << 16)
        except OSError:
            pass
        return all(word in seen for word in words)

    wait_until(lambda: shows(b'only user space is recorded', b'PID THREAD', b'app', b'trigger'), lambda: 'seen: %r' % seen)
    os.write(leader, b'q')
    wait_until(lambda: shows() and process.poll() is not None, 'it does not quit')
    os.close(leader)
    assert process.returncode == 0, process.returncode
    home.check_clean()


def test_setup(t):
    """`setup --run` with lttng itself: what it makes is live, and has the program's events."""
    home = Home(t, daemon=True)
    relay = t.relay()
    home.app()
    done = peer.run(home.user + [os.path.join(home.home, 'sillage'), 'setup', '--run', '-a', 'ust', '--ust', 'sillage_test:*',
                                 '--relay', 'net://127.0.0.1:%d:%d' % (relay.port, relay.port + 1), '--live-timer', '100ms'],
                    env=home.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.returncode == 0, done
    live = t.live('-a', 'count', '-i', '100ms', '--from', 'beginning', relay.live + '/host/*/sillage')
    live.wait_for(lambda one: events_seen(one) >= 50)
    live.finish(signal.SIGTERM)
    done = peer.run(home.user + [os.path.join(home.home, 'sillage'), 'setup', '--run', '-a', 'sched',
                                 '--relay', 'net://127.0.0.1:%d:%d' % (relay.port, relay.port + 1)], env=home.env,
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.returncode == 1 and b'already exists' in done.stderr and home.sessions() == ['sillage'], done
    done = peer.run(home.user + [os.path.join(home.home, 'sillage'), 'setup', '--run', '-a', 'sched', '--session', 'two',
                                 '--relay', 'net://127.0.0.1:%d:%d' % (relay.port, relay.port + 1)],
                    env=home.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.returncode == 1 and home.sessions() == ['sillage'], (done, home.sessions())


def has_packets(relay, session):
    """Whether each stream of the session has a packet at the relay."""
    sizes = [os.path.getsize(os.path.join(place, name)) for place, names in relay.stored(session)
             for name in names if not name.endswith('.idx') and name != 'metadata']
    return bool(sizes) and min(sizes) > 0


HOSTILE = "it's-%d; touch pwned #"  # the name of a session


def test_state_dump(t):
    """Attached after its start: said once; --regenerate asks for it, on this host only.  What is to be pasted has
    the session as one word."""
    home = Home(t)
    home.fake()
    relay = t.relay()
    for number, (host, asked, fail, said, ran) in enumerate((
            ('elsewhere', [], '', '; `lttng regenerate', []),
            (socket.gethostname(), [], '', 'attached after its start: names of threads', []),
            (socket.gethostname(), ['--regenerate'], '', 'its state is dumped again',
             ['--no-sessiond regenerate statedump -s ' + HOSTILE % 2]),
            (socket.gethostname(), ['--regenerate'], '--no-sessiond regenerate', 'cannot be had again: Error: refused', None),
            ('elsewhere', ['--regenerate'], '', 'it is not of this host: run there `lttng regenerate', []),
            (socket.gethostname(), ['--from', 'beginning'], '', '', []))):
        home.env.update(FAKE_FAIL=fail, FAKE_SAYS='Error: refused')
        open(home.env['FAKE_LOG'], 'w').close()
        name = HOSTILE % number
        # Slowly, so that packets come after the attaching.
        replay = t.replay(relay, 'small-packets', '--session', name, '--hostname', host, '--speed', '0.1', '--live-timer', '100ms',
                          '--linger', LONG)
        wait_until(lambda: has_packets(relay, name), 'nothing is sent')
        live = t.live('-a', 'cpu', *asked, relay.live + '/host/%s/%s' % (host, name), env=home.env)
        live.wait_said('attached to')
        live.wait_said(said)
        replay.terminate()
        live.finish()
        assert live.said().count('state') + live.said().count('after its start') <= 3, live.said()
        if said:
            assert live.said().count(said) == 1, live.said()
            for command in re.findall('`(lttng .*?)`', live.said()):
                assert shlex.split(command) == ['lttng', 'regenerate', 'statedump', '-s', name], command
        else:
            assert 'after its start' not in live.said(), live.said()
        noted = home.noted()
        assert ran is None or noted == ran, noted


if __name__ == '__main__':
    sys.exit(peer.main(globals()))

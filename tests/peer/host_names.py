#!/usr/bin/env python3
"""host_names: containers of this host have names in traces that only have the numbers of their PID namespaces.

Goal    With --containers auto a container that runs here is called what its control group says, in text and JSON, of
        `analyze`, and of `live` from a real relay; of the same trace without the option it has the name of its first
        process.  Of a trace of another host, or of another boot, it has that too, and it is said; never the name of a
        container of this host.  What a user's file says counts more.
Method  A recording of this kernel, whose events sillage_container are given a name that no reader knows, as LTTng's
        traces have none.  Its copies are given the name of another host, and the clock of another boot.

usage: host_names.py SILLAGE APP DATA [x NAME]
"""
import contextlib
import errno
import json
import os
import shutil
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import peer  # noqa: E402
import record  # noqa: E402
from peer import Skip, totals  # noqa: E402


def with_metadata(trace, copy, old, new):
    """A copy of the trace in whose metadata something is replaced by as many bytes."""
    assert len(old) == len(new), (old, new)
    shutil.copytree(trace, copy)
    for folder, _, files in os.walk(copy):
        if 'metadata' in files:
            with open(folder + '/metadata', 'rb+') as file:
                data = file.read()
                assert old in data, (old, data[:2000])
                file.seek(0)
                file.write(data.replace(old, new))
    return copy


def other_digits(text):
    return text.translate(bytes.maketrans(b'0123456789abcdef', b'123456789abcdef0'))


def row_of(sillage, trace, pid_ns, *words):
    done = subprocess.run([sillage, 'analyze', '-f', 'json', '-n', '0', '-a', 'cpu', '--per', 'container', *words, trace],
                          capture_output=True, text=True, check=True)
    total = [json.loads(line) for line in done.stdout.splitlines() if '"total"' in line][-1]
    rows = [row for row in total['cpu']['containers'] if row.get('pid_ns') == pid_ns]
    inside = {row['container'] for row in total['cpu']['processes'] if row.get('pid_ns') == pid_ns}
    assert len(rows) == 1 and rows[0]['run_ns'] > 0 and inside == {rows[0]['name']}, total['cpu']
    return rows[0]['name'], done.stderr


def begin_container(folders, place):
    """A process that runs now and then, the first of a namespace, in the groups; returns it and the namespace."""
    enter = '; '.join('echo $$ >%s/cgroup.procs' % folder for folder in folders)
    child = subprocess.Popen(['sh', '-c', enter + '; exec unshare -pf --mount-proc --kill-child sh -c '
                              '"stat -Lc %i /proc/self/ns/pid; while :; do i=0; while [ \\$i -lt 999 ]; do i=\\$((i + 1)); done; '
                              'sleep 0.01; done"'], stdout=subprocess.PIPE, text=True, cwd=place, start_new_session=True)
    return child, int(child.stdout.readline())


def names_of(line, pid_ns):
    return [row['name'] for row in line['cpu']['containers'] if row.get('pid_ns') == pid_ns]


def check_live(t, trace, pid_ns, name):
    """Live from a relay it is what it is recorded."""
    relay = t.relay()
    live = t.live('-a', 'cpu', '--per', 'container', '--containers', 'auto', '-n', '0', '--from', 'beginning', relay.live + '/host/h/again')
    t.play(live, relay, trace, '--session', 'again', '--hostname', 'h', '--speed', '0')
    assert names_of(totals(live.finish())[0], pid_ns) == [name]


def check_names(t, name, pid_ns):
    sillage, place = t.sillage, t.scratch
    status, said = record.run(sillage, '-o', place + '/own', '-a', 'cpu', '--duration', '300ms')
    assert status == 0, said
    trace = with_metadata(place + '/own', place + '/plain', b'sillage_container', b'another_container')
    assert row_of(sillage, place + '/own', pid_ns)[0] == name
    plain, said = row_of(sillage, trace, pid_ns)
    assert plain == 'sh' and 'auto' not in said, (plain, said)
    found, said = row_of(sillage, trace, pid_ns, '--containers', 'auto')
    assert found == name and 'auto' not in said, (found, said)
    check_live(t, trace, pid_ns, name)
    with open(place + '/names', 'w') as file:
        file.write('%d mine\n' % pid_ns)
    for words in (['auto', place + '/names'], [place + '/names', 'auto']):
        assert row_of(sillage, trace, pid_ns, '--containers', words[0], '--containers', words[1])[0] == 'mine'
    with open('/proc/sys/kernel/random/boot_id') as file:
        boot = file.read().strip().encode()
    host = os.uname().nodename.encode()
    for copy, old, new, why in (('host', b'hostname = "%s"' % host, b'hostname = "%s"' % (b'x' * len(host)), 'is of host'),
                                ('boot', boot, other_digits(boot), 'present boot')):
        other = with_metadata(trace, place + '/' + copy, old, new)
        found, said = row_of(sillage, other, pid_ns, '--containers', 'auto')
        assert found == 'sh' and said.count('gives no names') == 1 and why in said, (found, said)
    for words in (['history', '--containers', 'auto', place + '/none.db'], ['merge', '--containers', 'auto', '-'],
                  ['analyze', '--per', 'service', '--containers', 'auto', trace]):
        refused = subprocess.run([sillage, *words], capture_output=True, text=True, stdin=subprocess.DEVNULL)
        assert refused.returncode == 2 and '--containers' in refused.stderr, (words, refused)


def is_removed(path):
    try:
        os.rmdir(path)
    except OSError as error:
        return error.errno != errno.EBUSY
    return True


def test_containers(t):
    name = 'sillage-here-%d' % os.getpid()
    groups = record.groups_of('lxc.payload.' + name)
    if not os.access(record.TRACEFS + '/instances', os.W_OK) or not groups:
        raise Skip('tracefs or control groups cannot be written here')
    made, child = record.make_groups(groups[0]), None
    try:
        child, pid_ns = begin_container(groups[0], t.scratch)
        check_names(t, name, pid_ns)
    finally:
        if child:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()
        for path in reversed(made):  # the kernel has the last of its processes for a moment
            with contextlib.suppress(OSError):
                peer.wait_until(lambda path=path: is_removed(path), path + ' stays')


if __name__ == '__main__':
    sys.exit(peer.main(globals()))

#!/usr/bin/env python3
"""newcomer: what somebody does who has a fresh Debian 12 machine and the documents, and knows nothing else.

Goal    On a clean image, a clone and README's own commands install, build and show sillage; then each console block
        of doc/tutorial.md, README.md and doc/ci.md, in order and in one shell, prints what stands there.
Method  mmdebstrap makes the image: the smallest Debian with git.  Each step runs in it with a root, mounts and
        processes of its own (unshare), so that they are gone with it, whatever ends it, and nothing of this machine is
        mounted there.  The network is this machine's.

With --quick `./check --quick` is run whole; else it installs what it needs, and all that the build can have has to be found.

usage: newcomer.py [--quick] ROOT
"""
import ctypes
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

sys.dont_write_bytecode = True
import tutorial

MIRROR = 'http://deb.debian.org/debian'
CLONE = '/srv/sillage'
PR_SET_PDEATHSIG = 1
ENVIRONMENT = ['HOME=/root', 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', 'TERM=xterm', 'LANG=C.UTF-8'] + [
    '%s=%s' % (name, os.environ[name]) for name in ('http_proxy', 'https_proxy', 'no_proxy') if name in os.environ]
ALONE = ['unshare', '--mount', '--pid', '--fork', '--kill-child', '--propagation', 'private']
MOUNTS = '''set -e
mount -t proc proc "$1/proc"
mount -t tmpfs tmpfs "$1/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$1/dev/pts"
image=$1
shift
exec chroot "$image" env -i "$@"
'''
# What the image lacks that each installed machine has; a chroot starts no services.
HOOK = '''printf '127.0.0.1 localhost\\n' >"$1/etc/hosts"
printf '#!/bin/sh\\nexit 101\\n' >"$1/usr/sbin/policy-rc.d"
chmod +x "$1/usr/sbin/policy-rc.d"
'''


def why_not():
    """What is missing here, or None."""
    for program in ('mmdebstrap', 'unshare', 'chroot', 'git'):
        if not shutil.which(program):
            return '%s is not installed' % program
    if os.geteuid() != 0 or subprocess.run([*ALONE, 'true'], stderr=subprocess.DEVNULL, check=False).returncode != 0:
        return 'no right to have a root and mounts of its own'
    try:
        urllib.request.urlopen(MIRROR + '/dists/bookworm/Release', timeout=30).close()
    except (urllib.error.URLError, OSError) as error:
        return 'no network: %s' % error
    return None


def ends_with_us():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def alone(*command, **options):
    """Runs a command with mounts and processes of its own, which do not outlive it or this program."""
    return subprocess.run([*ALONE, *command], stdin=subprocess.DEVNULL, preexec_fn=ends_with_us, check=False, **options)


class Machine:
    def __init__(self, scratch):
        self.image = os.path.join(scratch, 'image')
        hook = os.path.join(scratch, 'hook')
        with open(hook, 'w', encoding='utf-8') as file:
            file.write('#!/bin/sh\nset -e\n' + HOOK)
        os.chmod(hook, 0o755)
        made = alone('mmdebstrap', '--mode=root', '--quiet', '--variant=minbase', '--include=git,ca-certificates', '--customize-hook=' + hook,
                     '--format=directory', 'bookworm', self.image, MIRROR, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        assert made.returncode == 0, made.stdout.decode()

    def run(self, script):
        """Its status and the lines that it printed."""
        done = alone('bash', '-c', MOUNTS, 'bash', self.image, *ENVIRONMENT, 'bash', '-c', 'cd %s || exit 1\n%s' % (CLONE, script),
                     stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.returncode, [line.rstrip() for line in done.stdout.decode().splitlines()]

    def succeeds(self, script):
        status, lines = self.run(script)
        assert status == 0, '%s: status %d\n    %s' % (script, status, '\n    '.join(lines[-40:]))
        print('ok', script, flush=True)
        return lines


def read(root, *path):
    with open(os.path.join(root, *path), encoding='utf-8') as file:
        return file.read()


def clone(machine, root, scratch):
    """What is committed."""
    bundle = os.path.join(scratch, 'sillage.bundle')
    subprocess.run(['git', '-C', root, 'bundle', 'create', '--quiet', bundle, 'HEAD'], check=True)
    os.mkdir(machine.image + CLONE)
    shutil.copy(bundle, machine.image + CLONE + '.bundle')
    machine.succeeds('git clone --quiet ../sillage.bundle . && test -x demo')


def first_commands(machine, root, is_quick):
    """README's two commands to start with, and its build."""
    said = re.findall(r'^(\./\w+) +# ', read(root, 'README.md'), re.M)
    assert said == ['./demo', './check'], said
    lines = machine.succeeds('./demo')
    assert sum(line.startswith('testhost/burst/kernel  ') for line in lines) >= 4 and lines[-1].startswith('demo: done'), lines[-20:]
    assert any(re.match(r'cpu  busy [\d.]+ %  idle', line) for line in lines), lines[-20:]
    yield
    if is_quick:
        lines = machine.succeeds('./check --quick')
        print('\n'.join([line for line in lines if ' SKIP ' in line] + lines[-4:]))
        return
    status, lines = machine.run('./check what-is-needed')
    assert status == 2 and lines[-1].startswith('usage: ./check'), lines[-20:]
    found = machine.succeeds('meson setup build-all')
    missing = [line for line in found if ': NO' in line and not re.search('Compiler for|supports ', line)]
    assert not missing, missing


def blocks(root, name):
    """Commands and what they print, of all blocks in order; those of a session on a host of theirs are left out."""
    for block in re.findall(r'^```(?:console)?\n(\$ (?:.*\n)*?)```$', read(root, *name.split('/')), re.M):
        commands = re.findall(r'^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)', block, re.M)
        yield from ((command, wanted.splitlines()) for command, wanted in commands if 'net://' not in command and 'sillage-captures' not in command)


def documents(machine, root):
    """In the order in which a newcomer reads; faults."""
    asked, faults = [], []
    for name in ('doc/tutorial.md', 'README.md', 'doc/ci.md'):
        asked += [(name, *one) for one in blocks(root, name)]
    got = tutorial.outputs([one[1:] for one in asked], lambda script: machine.run(script)[1])
    assert len(got) == len(asked) >= 14, (len(got), len(asked), got[-1:])
    for (name, command, wanted), lines in zip(asked, got):
        why = tutorial.differs(wanted, lines) if wanted else None
        absent = [line for line in lines if 'command not found' in line]
        if why or absent:
            faults.append('%s: %s\n    %s\n    %s' % (name, command, why, '\n    '.join(absent or lines[:5])))
    print('%s: %d commands of the documents, %d faults' % ('not ok' if faults else 'ok', len(asked), len(faults)), flush=True)
    return faults


def remove(scratch):
    """The image, in which nothing is mounted any more: else it stays, and that is an error."""
    with open('/proc/self/mountinfo', encoding='utf-8') as file:
        mounted = [line.split()[4] for line in file if line.split()[4].startswith(scratch + '/')]
    assert not mounted, 'still mounted, and not removed: %s' % mounted
    shutil.rmtree(scratch)


def main():
    is_quick, root = '--quick' in sys.argv[1:], os.path.abspath(sys.argv[-1])
    why = why_not()
    if not why and not os.path.exists(os.path.join(root, '.git')):
        why = 'no clone can be made of what is no repository'
    if why:
        print('skipped: ' + why)
        return 77
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    scratch = tempfile.mkdtemp(prefix='sillage-newcomer-', dir=os.environ.get('TMPDIR', '/var/tmp'))
    try:
        machine = Machine(scratch)
        clone(machine, root, scratch)
        steps = first_commands(machine, root, is_quick)
        next(steps)
        faults = documents(machine, root)
        list(steps)
    finally:
        remove(scratch)
    for fault in faults:
        print('not ok ' + fault)
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(main())

#!/usr/bin/env python3
"""new-analysis: what contrib/new-analysis writes builds, and passes the tests that it names.

In a copy of the files that git knows, built without optimisation and without tests.

usage: new_analysis.py ROOT COMPILER...
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

NAME, EVENT = 'sample', 'syscall_entry_futex'
FEW = '4'  # generated traces: a new analysis has no figure that needs more


def copied(root, into):
    """Whether there was anything to copy."""
    listed = subprocess.run(['git', '-C', root, 'ls-files', '-z', '--cached', '--others', '--exclude-standard'],
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    names = [name for name in listed.stdout.decode().split('\0') if name and os.path.exists(os.path.join(root, name))]
    for name in names:
        os.makedirs(os.path.dirname(os.path.join(into, name)), exist_ok=True)
        shutil.copy(os.path.join(root, name), os.path.join(into, name))
    return len(names) > 0


def succeeds(copy, *command, **more):
    done = subprocess.run(command, cwd=copy, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    if done.returncode != 0:
        raise SystemExit('not ok: %s\n%s' % (' '.join(command), done.stdout[-4000:]))
    return done.stdout


def diff_of(copy):
    """Lines that were added, by file; none goes."""
    added, name = {}, None
    for line in succeeds(copy, 'git', 'diff', '-U0', 'HEAD').splitlines():
        if line.startswith('+++ '):
            name = line[6:]
        elif line.startswith('+'):
            added.setdefault(name, []).append(line[1:])
    return added


def check_places(copy):
    added = diff_of(copy)
    wanted = {'README.md', 'analyses/meson.build', 'analyses/%s.c' % NAME, 'doc/definitions.md', 'doc/json.md',
              'doc/sillage.1.scd', 'doc/store.md'}
    assert set(added) == wanted, 'other files are changed: %s' % sorted(set(added) ^ wanted)
    with open(os.path.join(copy, 'README.md'), encoding='utf-8') as file:
        table = re.search(r'^\| analysis \| shows \|\n(?:\|.*\n)+', file.read(), re.M).group()
    assert table.endswith('| `%s` | events by thread |\n' % NAME), table[-200:]


def check_tests(copy, sillage):
    test = lambda *names: os.path.join(copy, 'tests', *names)
    trace = test('data', 'migrate', 'kernel')
    for command in ([test('docs.py'), sillage, copy], [test('property', 'coverage.py'), sillage],
                    [test('property', 'laws.py'), sillage, '--count', FEW], [test('reference', 'reference.py'), sillage, trace],
                    [os.path.join(copy, 'contrib', 'tidy.py'), copy]):
        succeeds(copy, sys.executable, *command)
    assert NAME in succeeds(copy, sillage, 'analyze', '-a', 'help')
    assert '"%s":{"threads":[{' % NAME in succeeds(copy, sillage, 'analyze', '-q', '-f', 'json', '-a', NAME, test('data', 'io-mix'))


def main():
    root, compiler = sys.argv[1], sys.argv[2:]
    with tempfile.TemporaryDirectory(prefix='sillage-new-') as copy:
        if not copied(root, copy):
            print('skipped: not a git checkout')
            return 77
        git = ['git', '-c', 'user.name=test', '-c', 'user.email=test@localhost']
        for command in (['init', '-q'], ['add', '-A'], ['commit', '-q', '-m', 'before']):
            succeeds(copy, *git, *command)
        succeeds(copy, sys.executable, 'contrib/new-analysis', NAME, EVENT)
        succeeds(copy, 'git', 'add', '-A')
        check_places(copy)
        env = dict(os.environ, CC=' '.join(compiler))
        succeeds(copy, 'meson', 'setup', 'build', '-Doptimization=0', '-Ddebug=false', '-Dtests=false', env=env)
        succeeds(copy, 'ninja', '-C', 'build', 'sillage')
        check_tests(copy, os.path.join(copy, 'build', 'sillage'))
    print('ok new-analysis: %s builds, and passes its tests' % NAME)
    return 0


if __name__ == '__main__':
    sys.exit(main())

#!/usr/bin/env python3
"""tidy: the rules of the house that a compiler does not check.

Include direction per folder, length of functions, an opening comment in every C file, no
trailing blanks, no paths of one machine, the form that Debian 12's clang-format (14) gives, and
nothing binary but what tests read.
usage: tidy.py ROOT
"""
import os
import re
import shutil
import subprocess
import sys

MAY_INCLUDE = {
    'src/base': ('base/',),
    'src/ctf': ('base/', 'ctf/'),
    'src/engine': ('base/', 'ctf/', 'engine/'),
    'src/recorded': ('base/', 'ctf/', 'engine/', 'recorded/'),
    'relay': ('base/', 'relay/'),
    'analyses': ('base/', 'ctf/', 'engine/', 'analyses/', 'analyses.inc'),
    'src/deep': ('base/', 'ctf/', 'engine/', 'recorded/', 'deep/'),
    'live': ('base/', 'ctf/', 'engine/', 'recorded/', 'relay/', 'live/', 'version.h'),
    'src/cmd': ('base/', 'ctf/', 'engine/', 'recorded/', 'live/', 'deep/', 'cmd/', 'options.h', 'version.h'),
}
FUNCTION_LINES_MAX = 70
FILE_LINES_MAX = 1000
BINARY = ('tests/data/', 'tests/fuzz/corpus/', 'doc/pictures/report.png')
MACHINE = re.compile(r'(^|[^\w.])/(root|work)/')


def check_file(path, text):
    folder = os.path.dirname(path)
    while folder and folder not in MAY_INCLUDE:
        folder = os.path.dirname(folder)
    allowed = MAY_INCLUDE.get(folder)
    if not text.startswith('/*\n'):
        yield 'does not open with a comment that says what it is'
    for number, line in enumerate(text.split('\n'), 1):
        found = re.match(r'#include "(.*)"', line)
        if found and allowed and not found.group(1).startswith(allowed):
            yield 'line %d: %s may not include %s' % (number, folder, found.group(1))
        if line != line.rstrip():
            yield 'line %d: trailing blanks' % number
        if MACHINE.search(line):
            yield 'line %d: a path of one machine' % number
    if text.count('\n') > FILE_LINES_MAX:
        yield 'longer than %d lines' % FILE_LINES_MAX


def function_lengths(text):
    begin = None
    for number, line in enumerate(text.split('\n'), 1):
        if line == '{':
            begin = number
        elif line == '}' and begin:
            yield begin, number - begin + 1
            begin = None


def unformatted(root, names):
    """Files that clang-format would change; other versions than 14 differ in details."""
    version = shutil.which('clang-format') and subprocess.run(
        ['clang-format', '--version'], stdout=subprocess.PIPE).stdout.decode()
    if not version or 'version 14.' not in version:
        print('# no clang-format 14: the form is not checked')
        return
    for path in names:
        if os.path.basename(path) != 'app-tracepoints.h' and os.path.exists(os.path.join(root, path)):
            done = subprocess.run(['clang-format', '--dry-run', '-Werror', path], cwd=root,
                                  stderr=subprocess.DEVNULL)
            if done.returncode != 0:
                yield path


def binaries(root):
    """Those that are not for tests: something that a program made, and left."""
    for line in subprocess.run(['git', '-C', root, 'ls-files', '--eol'], stdout=subprocess.PIPE).stdout.decode().splitlines():
        form, path = line.split('\t')
        if form.startswith('i/-text') and not path.startswith(BINARY):
            yield path


def main():
    root = sys.argv[1]
    files = subprocess.run(['git', '-C', root, 'ls-files', '*.c', '*.h'], stdout=subprocess.PIPE)
    names = files.stdout.decode().split() if files.returncode == 0 else []
    if not names:
        print('skipped: not a git checkout')
        return 77
    bad = 0
    for path in names:
        full = os.path.join(root, path)
        if not os.path.exists(full):
            continue
        with open(full) as file:
            text = file.read()
        complaints = list(check_file(path, text))
        if not path.startswith('tests/'):
            complaints += ['line %d: a function of %d lines' % found for found in function_lengths(text)
                           if found[1] > FUNCTION_LINES_MAX]
        for complaint in complaints:
            print('%s: %s' % (path, complaint))
            bad += 1
    for path in unformatted(root, names):
        print('%s: not as clang-format has it' % path)
        bad += 1
    for path in binaries(root):
        print('%s: a binary file' % path)
        bad += 1
    print('%s tidy: %d files' % ('not ok' if bad else 'ok', len(names)))
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())

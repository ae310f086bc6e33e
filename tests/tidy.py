#!/usr/bin/env python3
"""tidy: what contrib/tidy.py is to find, it finds.

Each fault is put into a copy of the tree, all at once: an include upwards, which makes a circle too, a function that
is too long, in a file that is too long, a dropped word, a wide document, a room with too many modules, one without
assertions, a room's own header that another one includes, names that stand in two files, headers without a guard, and hooks of an
analysis.

usage: tidy.py ROOT
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile


def edit(path, change):
    with open(path, encoding='utf-8') as file:
        text = file.read()
    with open(path, 'w', encoding='utf-8') as file:
        file.write(change(text))


def plant(root):
    place = lambda *names: os.path.join(root, *names)
    edit(place('src', 'base', 'err.c'), lambda text: text + '\n#include "engine/engine.h"\n')
    edit(place('src', 'base', 'mem.c'), lambda text: text + '\nvoid mem_long(void)\n{\n' + '\tmem_free();\n' * 700 + '}\n')
    edit(place('src', 'fleet', 'fleet.c'), lambda text: text + '\n#include "store/sqlite/sqlite-write-state.h"\n'
         'struct deep_report {\n};\nvoid mem_long(void)\n{\n}\n')
    edit(place('src', 'query', 'model.c'), lambda text: text + '\nint model_open(void)\n{\n\treturn open("x",\n\t\tO_RDONLY);\n}\n')
    edit(place('src', 'query', 'pattern.c'), lambda text: text + '\nvoid pattern_show(const char *name)\n{\n\tputs(name);\n}\n')
    edit(place('doc', 'ci.md'), lambda text: text + '\nThe shelf of ' + 'words ' * 30 + '\n')
    edit(place('meson.build'), lambda text: text + '# ' + 'words ' * 20 + '\n')
    edit(place('src', 'engine', 'contract', 'analysis.h'),
         lambda text: text.replace('\nstruct analysis {\n', '\nstruct analysis {\n' + '\tvoid (*on_more)(void *state);\n' * 21))
    for i in range(20):
        with open(place('src', 'kernel', 'more-%d.h' % i), 'w') as file:
            file.write('/*\n * more: a module.\n */\n')
    for folder, _, names in os.walk(place('src', 'ctf')):
        for name in names:
            edit(os.path.join(folder, name), lambda text: re.sub(r'\bassert(_hot)?\(', 'ignore(', text))


WANTED = ('src/base/err.c: line \\d+: src/base may not include engine/engine.h', 'src/base includes itself by way of',
          'src/base/mem.c: line \\d+: a function of 70\\d lines', 'src/base/mem.c: longer than \\d+ lines',
          'src/query/model.c: line \\d+: open\\(\\) may wait', 'src/query/pattern.c: line \\d+: puts reaches the terminal', 'doc/ci.md: line \\d+: \\d+ columns wide', '^meson.build: line \\d+: \\d+ columns wide', 'src/kernel has \\d+ modules, at most',
          'analysis.h: an analysis has 3\\d hooks, at most', 'analysis.h: 1\\d\\d lines of contract, at most',
          'src/ctf has 0.\\d+ assertions a function, at least', 'doc/ci.md: .*says "shelf"',
          'src/fleet/fleet.c: store/sqlite/sqlite-write-state.h belongs to its room',
          'struct deep_report stands in src/deep/report/report.h and src/fleet/fleet.c',
          'mem_long stands in src/base/mem.c and src/fleet/fleet.c', 'src/kernel/more-0.h: has no #pragma once')


def main():
    root = sys.argv[1]
    listed = subprocess.run(['git', '-C', root, 'ls-files'], stdout=subprocess.PIPE)
    names = [name for name in listed.stdout.decode().splitlines() if name.endswith(('.c', '.h', '.md', '.scd', '.py', 'meson.build'))]
    if not names:
        print('skipped: not a git checkout')
        return 77
    with tempfile.TemporaryDirectory(prefix='sillage-tidy-') as copy:
        for name in names:
            os.makedirs(os.path.dirname(os.path.join(copy, name)), exist_ok=True)
            shutil.copy(os.path.join(root, name), os.path.join(copy, name))
        plant(copy)
        for command in (['init', '-q'], ['add', '-A']):
            subprocess.run(['git', '-C', copy] + command, check=True)
        os.mkdir(os.path.join(copy, 'bin'))  # without clang-format, which has nothing to do with it
        os.symlink(shutil.which('git'), os.path.join(copy, 'bin', 'git'))
        done = subprocess.run([sys.executable, os.path.join(root, 'contrib', 'tidy.py'), copy], stdout=subprocess.PIPE,
                              env=dict(os.environ, PATH=os.path.join(copy, 'bin')))
    said = done.stdout.decode()
    lacks = [pattern for pattern in WANTED if not re.search(pattern, said, re.M)]
    for pattern in lacks:
        print('not ok: nothing says ' + pattern)
    if done.returncode != 1:
        print('not ok: exit status %d' % done.returncode)
    print('%s tidy finds %d of %d faults' % ('not ok' if lacks else 'ok', len(WANTED) - len(lacks), len(WANTED)))
    return 1 if lacks or done.returncode != 1 else 0


if __name__ == '__main__':
    sys.exit(main())

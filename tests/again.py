#!/usr/bin/env python3
"""again: ./check counts a test that fails twice as failed, and names one that failed beside others only.

Method  The functions of ./check run the tests of a small project of their own.

usage: again.py ROOT
"""
import os
import re
import subprocess
import sys
import tempfile

PROJECT = '''project('small')
sh = find_program('sh')
foreach name, script : {'good': 'true', 'bad': 'echo what was wrong; false', 'lucky': 'test -e here || { touch here; echo busy; false; }',
                        'gone': 'test -e there && exit 77; touch there; false',
                        'race': 'test -e race || { touch race; echo ThreadSanitizer: data race; false; }'}
    test(name, sh, args: ['-c', script])
endforeach
'''
SHELL = '''cd ROOT && . FUNCTIONS
tests_of WORK/build testlog WORK/log
count WORK/log
again WORK/build WORK/log
echo "$passed passed, $failed failed, $skipped skipped, unsure:$unsure"
'''


def main():
    root = os.path.abspath(sys.argv[1])
    with open(os.path.join(root, 'check'), encoding='utf-8') as file:
        text = file.read()
    wanted = re.findall(r'^(?:passed=0 [^\n]*|unsure=""[^\n]*|again_max=[^\n]*)$|^(?:count|tests_of|again)\(\) \{.*?^\}$', text, re.M | re.S)
    assert len(wanted) == 6, wanted
    with tempfile.TemporaryDirectory(prefix='sillage-again-') as work:
        for name, content in ('meson.build', PROJECT), ('functions', '\n'.join(wanted)):
            with open(os.path.join(work, name), 'w', encoding='utf-8') as file:
                file.write(content)
        subprocess.run(['meson', 'setup', os.path.join(work, 'build'), work], stdout=subprocess.DEVNULL, check=True)
        script = SHELL.replace('ROOT', root).replace('FUNCTIONS', os.path.join(work, 'functions')).replace('WORK', work)
        done = subprocess.run(['bash', '-uc', script], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    lines = done.stdout.splitlines()
    assert lines and lines[-1] == '2 passed, 3 failed, 0 skipped, unsure: build/lucky', done.stdout
    assert 'check: failed: bad\tFAIL: what was wrong' in lines, done.stdout
    assert 'check: failed: lucky\tFAIL: busy' in lines and 'check: failed alone, too: bad\tFAIL: what was wrong' in lines, done.stdout
    print('ok')


if __name__ == '__main__':
    main()

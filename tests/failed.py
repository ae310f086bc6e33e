#!/usr/bin/env python3
"""failed: which tests of one run of `meson test` failed, each with the end of what it said.

usage: failed.py LOG...        LOG: a testlog.json; of a test in several logs, the last one that did not
                               skip it counts

Prints a line for each: its name, a tab, and the last lines that it wrote, joined, so that a log from
which only a few lines are kept still says what was wrong.
"""
import json
import sys

GOOD = 'OK', 'SKIP', 'EXPECTEDFAIL'
SAID_MAX = 600  # characters


def said(test):
    lines = [line.strip() for text in (test.get('stdout'), test.get('stderr')) for line in (text or '').split('\n')]
    text = ' | '.join(line for line in lines if line and not line.startswith('guard:'))
    return text if len(text) <= SAID_MAX else '... ' + text[-SAID_MAX:]


def main():
    last = {}
    for path in sys.argv[1:]:
        with open(path, encoding='utf-8') as file:
            last.update((test['name'], test) for test in map(json.loads, file)
                        if test['name'] not in last or test['result'] != 'SKIP')
    for name, test in last.items():
        if test['result'] not in GOOD:
            print('%s\t%s: %s' % (name.rsplit(' / ', 1)[-1], test['result'], said(test)))


if __name__ == '__main__':
    main()

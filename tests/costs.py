#!/usr/bin/env python3
"""costs: what the tests of one run of `meson test` cost, as their guards said it.

usage: costs.py LOG [N]        LOG: meson-logs/testlog.json; the N most costly by name
"""
import json
import re
import sys

SAID = re.compile(r'^guard: (\d+\.\d+) s of CPU$', re.M)


def main():
    with open(sys.argv[1], encoding='utf-8') as file:
        tests = [json.loads(line) for line in file]
    costs = []
    for test in tests:
        said = SAID.findall(test.get('stdout') or '')
        costs.append((float(said[-1]) if said else 0.0, test['name'].rsplit(' / ', 1)[-1]))
    costs.sort(reverse=True)
    most = int(sys.argv[2]) if len(sys.argv) > 2 else len(costs)
    print('   tests: %.0f s of CPU, of that %s' % (
        sum(cost for cost, _ in costs), ', '.join('%s %.0f' % (name, cost) for cost, name in costs[:most])))


if __name__ == '__main__':
    main()

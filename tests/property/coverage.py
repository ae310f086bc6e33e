#!/usr/bin/env python3
"""coverage: each analysis gets events from generated traces.

Goal    The laws (laws.py) prove nothing of an analysis whose events generated.py does not make.  So
        each analysis that sillage lists has a figure other than 0, and a row in each of its lists.
Method  Traces with fixed seeds, half of them with losses, some of user programs.  All analyses run
        on each, and what is not 0 in any of them counts.

usage: coverage.py SILLAGE [COUNT]
"""
import json
import os
import random
import sys
import tempfile

import cuts
import generated
import laws
import options

COUNT = 40  # traces


def reports(sillage, scratch, count):
    """The totals of all analyses of each trace."""
    for seed in range(count):
        rng, path = random.Random(seed), os.path.join(scratch, 'trace-%d' % seed)
        is_ust = seed % 4 == 3
        (generated.make_ust if is_ust else generated.make)(rng, path, seed % 2 == 1)
        asked = laws.asked_of(laws.UST_PERIODS if is_ust else laws.PERIODS)
        lines = [json.loads(line) for line in cuts.report(sillage, path, '1G', 0, asked)]
        yield [line for line in lines if line['type'] == 'total'][0]


def missing(names, totals):
    """What nothing came for: analyses, and lists of those."""
    for name in names:
        said = [{key: value for key, value in total[name].items() if key != 'missing'}
                for total in totals if name in total]
        if not any(laws.sums_of(one) for one in said):
            yield name
        lists = {key for one in said for key, value in one.items() if isinstance(value, list)}
        for key in sorted(lists):
            if not any(one[key] for one in said):
                yield '%s.%s' % (name, key)


def main():
    sillage, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else COUNT
    names = options.analyses(sillage)
    with tempfile.TemporaryDirectory() as scratch:
        totals = list(reports(sillage, scratch, count))
    nothing = list(missing(names, totals))
    for name in nothing:
        print('not ok: no generated trace has anything for %s: extend generated.py' % name)
    print('%s: %d analyses, %d generated traces' % ('not ok' if nothing else 'ok', len(names), count))
    return 1 if nothing else 0


if __name__ == '__main__':
    sys.exit(main())

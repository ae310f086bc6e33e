#!/usr/bin/env python3
"""lami: what Trace Compass gets is what LAMI says, and what lttng-analyses finds.

Goal    Rows have the columns and classes that the description announces; interrupt statistics are,
        value by value, those of lttng-irqstats-mi where that is installed and TRACE is there.

usage: lami.py SILLAGE OWN [TRACE]
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile


def said(*command):
    # What meson sets to find uses of memory that was not set makes babeltrace 1 crash.
    env = {name: value for name, value in os.environ.items() if name != 'MALLOC_PERTURB_'}
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env,
                                     check=True).stdout.decode())


def check_shape(sillage, trace):
    assert subprocess.run([sillage, 'lami', '--mi-version'], stdout=subprocess.PIPE).stdout == b'1.0\n'
    assert subprocess.run([sillage, 'lami', '--test-compatibility', trace]).returncode == 0
    assert subprocess.run([sillage, 'lami', '--test-compatibility', '/nowhere'],
                          stderr=subprocess.DEVNULL).returncode == 1
    tables = said(sillage, 'lami', '-a', 'all', '--metadata')['table-classes']
    results = said(sillage, 'lami', '-q', '-a', 'all', '--output-progress', trace)['results']
    assert len(results) > 20, len(results)
    for result in results:
        columns = tables[result['class']]['column-descriptions']
        assert result['time-range']['begin']['value'] < result['time-range']['end']['value']
        for row in result['data']:
            assert len(row) == len(columns), (result['class'], row, columns)
            for cell, column in zip(row, columns):
                assert cell is None or cell['class'] == column['class'], (cell, column)


def irqs(rows, count, first):
    """{nr: (count, min, mean, max, stdev)}"""
    return {row[0]['nr']: [row[first]['value']] + [round(cell['value']) if cell else None
                                                  for cell in row[first + 1:first + count]] for row in rows}


def check_against(sillage, trace):
    theirs_program = shutil.which('lttng-irqstats-mi', path='/usr/bin')
    if not trace or not theirs_program:
        return 'lttng-irqstats-mi or the trace is not here'
    scratch = tempfile.mkdtemp()
    try:
        shutil.copytree(trace, os.path.join(scratch, 'kernel'))
        theirs = said('/usr/bin/python3', theirs_program, '--skip-validation', scratch)['results']
        ours = said(sillage, 'lami', '-q', '-a', 'irq', trace)['results']
    finally:
        shutil.rmtree(scratch)
    hard = [result for result in theirs if result['class'] == 'hard-stats'][0]['data']
    found = [result for result in ours if result['class'] == 'irq-hard'][0]['data']
    assert irqs(found, 5, 2) == irqs(hard, 5, 1), (irqs(found, 5, 2), irqs(hard, 5, 1))
    return 'as lttng-irqstats-mi: %s' % sorted(irqs(found, 5, 2))


if __name__ == '__main__':
    check_shape(sys.argv[1], sys.argv[2])
    print('ok lami: ' + check_against(sys.argv[1], sys.argv[3] if len(sys.argv) > 3 else None))

#!/usr/bin/env python3
"""page: the report as a page, in a real browser.

Goal    It loads without a word on the console, and shows what the same report says in JSON.
Method  Headless Chromium prints the document as it is when its scripts have run.

usage: page.py SILLAGE TRACE...
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

ARGS = ('--job', 'sched_in; sched_out', '--deadline', '1ms', '--worst', '2')


def browse(browser, page, scratch):
    done = subprocess.run([browser, '--headless=new', '--no-sandbox', '--disable-gpu', '--enable-logging=stderr',
                           '--user-data-dir=' + os.path.join(scratch, 'profile'), '--virtual-time-budget=10000',
                           '--dump-dom', 'file://' + page],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    said = [line for line in done.stderr.decode(errors='replace').splitlines() if 'CONSOLE' in line]
    return done.stdout.decode(), said


def table(document, title):
    """How many rows the table under a heading says it has, and how many it has."""
    found = re.search(r'<h2>%s</h2>.*?<table data-rows="(\d+)">(.*?)</table>' % title, document, re.S)
    assert found, 'no table "%s"' % title
    return int(found.group(1)), found.group(2).count('<tr>') - 1


def check(sillage, browser, trace, scratch):
    out = subprocess.run([sillage, 'report', '-f', 'json', '-n', '10', *ARGS, trace], stdout=subprocess.PIPE, check=True)
    report = json.loads(out.stdout.decode())
    page = os.path.join(scratch, 'report.html')
    subprocess.run([sillage, 'report', '-f', 'html', '-n', '10', '-o', page, *ARGS, trace], check=True)
    document, said = browse(browser, page, scratch)
    assert not said, said
    assert 'data-state="ready"' in document, 'it did not come to its end'
    for title, key in (('Who ran', 'threads'), ('Who waited longest for a CPU', 'waits'), ('Who had its CPU', 'rivals')):
        wanted = len(report[key])
        assert table(document, title) == (wanted, wanted), (title, table(document, title), wanted)
    assert table(document, 'Where the time of .*? went')[0] == len(report['path']['parts'])
    lanes = int(re.search(r'data-lanes="(\d+)"', document).group(1))
    assert lanes > len(report['cpus']) + 2, lanes
    bars = int(re.search(r'data-bars="(\d+)"', document).group(1))
    assert bars == min(report['jobs']['count'], 5000) + min(report['jobs']['open_count'], 5000), bars
    for i, one in enumerate(report['jobs']['worst']):
        title = 'Worst execution %d: .*?' % (i + 1)
        assert table(document, title)[0] == len(one['path']['parts']), title
    if report['victims']:
        assert table(document, 'Who was delayed by less urgent threads')[0] == len(report['victims'])
    name = report['path']['thread']['comm'] + ' (%d)' % report['path']['thread']['tid']
    assert '<h2>Where the time of %s went</h2>' % name in document, name
    return lanes


def main():
    browser = shutil.which('chromium') or shutil.which('chromium-browser')
    if not browser:
        print('skipped: chromium is not installed')
        return 77
    for trace in sys.argv[2:]:
        scratch = tempfile.mkdtemp(prefix='sillage-page-')
        try:
            lanes = check(sys.argv[1], browser, trace, scratch)
            print('ok page: %s, %d lanes' % (os.path.basename(os.path.dirname(trace)), lanes))
        except AssertionError as failure:
            print('not ok page: %s: %s' % (trace, failure))
            return 1
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    return 0


if __name__ == '__main__':
    sys.exit(main())

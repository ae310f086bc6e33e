#!/usr/bin/env python3
"""demo: ./demo prints the address of its page, which answers with the page and its windows while it runs.

usage: demo.py SILLAGE DEMO
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

POLL_S = 0.02


def get(address, process):
    """What is there, or None once the demo is over."""
    while process.poll() is None:
        try:
            return urllib.request.urlopen(address)
        except urllib.error.URLError:
            time.sleep(POLL_S)
    return None


def first_window(address, process):
    """The page and the first window that it gets, or None."""
    page = get(address, process)
    if not page:
        return None
    body, events = page.read().decode(), get(address + 'events', process)
    for line in events or ():
        if line.startswith(b'data: ') and b'"type":"window"' in line:
            return body, json.loads(line[6:])
    return None


def read(out):
    return os.pread(out.fileno(), 1 << 20, 0).decode()


def address(out, process):
    """Where it says that the page is."""
    while True:
        found = re.search(r'http://localhost:\d+/(?=.*\n)', read(out))
        if found:
            return found[0]
        assert process.poll() is None, read(out)
        time.sleep(POLL_S)


def main():
    if not shutil.which('lttng-relayd'):
        print('skipped: lttng-relayd is not installed')
        return 77
    sillage, demo = map(os.path.abspath, sys.argv[1:])
    with tempfile.TemporaryFile() as out:
        # Not by a pipe: nobody reads it while the page is looked at.
        with subprocess.Popen([demo, sillage], stdout=out, stderr=subprocess.STDOUT, cwd='/') as process:
            said = address(out, process)
            found = first_window(said, process)
        text = read(out)
    # Windows of a second, and the total of each session.
    assert process.returncode == 0 and text.count('testhost/burst/kernel  ') >= 4 and 'demo: done' in text, (process.returncode, text[-2000:])
    assert found, 'nothing answered at %s' % said
    body, window = found
    assert '<title>sillage live</title>' in body and 'page.js' in body, body[:400]
    assert (window['trace']['host'], window['trace']['session']) == ('testhost', 'burst') and window['cpu']['cpus'], window['trace']
    print('ok demo: %s answered' % said)
    return 0


if __name__ == '__main__':
    sys.exit(main())

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
import time
import urllib.error
import urllib.request

TRIES = 5  # a busy machine may look at the page when it is over
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


def main():
    if not shutil.which('lttng-relayd'):
        print('skipped: lttng-relayd is not installed')
        return 77
    sillage, demo = map(os.path.abspath, sys.argv[1:])
    for _ in range(TRIES):
        with subprocess.Popen([demo, sillage], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd='/') as process:
            head = b''
            for line in process.stdout:
                head += line
                if b'://localhost' in line:
                    break
            said = re.search(r'http://localhost:\d+/', head.decode())
            assert said, 'no address: %s' % head.decode()
            found = first_window(said[0], process)
            tail = process.stdout.read().decode()
        # Three windows or four, as the second begins, and the total.
        assert process.returncode == 0 and tail.count('testhost/burst/kernel  ') >= 4 and 'demo: done' in tail, (process.returncode, tail[-2000:])
        if found:
            break
    assert found, 'nothing answered at %s' % said[0]
    body, window = found
    assert '<title>sillage live</title>' in body and 'page.js' in body, body[:400]
    assert (window['trace']['host'], window['trace']['session']) == ('testhost', 'burst') and window['cpu']['cpus'], window['trace']
    print('ok demo: %s answered' % said[0])
    return 0


if __name__ == '__main__':
    sys.exit(main())

#!/usr/bin/env python3
"""demo: ./demo prints the address of its page, which answers with the page and its windows while it runs.

It shows how far its build is, and whatever ends it, nothing of it is left.

usage: demo.py SILLAGE DEMO
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
import guard  # noqa: E402

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


def check_words(demo):
    """--help is help, and what is no program is refused: nothing is built or installed."""
    for word, status, wanted in (('--help', 0, './demo PROGRAM'), ('-x', 2, './demo PROGRAM'), ('/nowhere', 2, 'no program')):
        done = subprocess.run([demo, word], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
        assert done.returncode == status and wanted in done.stdout.decode() and 'demo: builds' not in done.stdout.decode(), (word, done)


def run_shown(demo, sillage):
    """All of it, with the page."""
    with tempfile.TemporaryFile() as out:
        # Not by a pipe, which would be full while the page is looked at.
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


TOOLS = {
    'dpkg-query': 'echo "install ok installed"',
    'meson': 'mkdir -p build && touch build/build.ninja',
    'ninja': 'echo "${NINJA_STATUS}Compiling"; cp "$SILLAGE" build/sillage',
}


def run_built(demo, sillage, scratch):
    """In a folder without a build, by tools that do as if: what ninja prints is seen.  Then a signal ends it."""
    root, tools, temporary = (os.path.join(scratch, name) for name in ('root', 'tools', 'tmp'))
    shutil.copytree(os.path.join(os.path.dirname(demo), 'tests', 'data', 'burst'), os.path.join(root, 'tests', 'data', 'burst'))
    shutil.copy(demo, root)
    for place in (tools, temporary):
        os.mkdir(place)
    for name, text in TOOLS.items():
        with open(os.path.join(tools, name), 'w') as file:
            file.write('#!/bin/sh\n%s\n' % text)
        os.chmod(file.name, 0o755)
    environment = dict(os.environ, PATH=tools + ':' + os.environ['PATH'], SILLAGE=sillage, TMPDIR=temporary)
    for number, status in ((signal.SIGTERM, 143), (signal.SIGINT, 130)):
        with tempfile.TemporaryFile() as out:
            process = subprocess.Popen([os.path.join(root, 'demo')], stdout=out, stderr=subprocess.STDOUT, env=environment)
            said = address(out, process)
            assert first_window(said, process), read(out)
            assert 'demo: builds, ' in read(out) and 'Compiling' in read(out), read(out)
            process.send_signal(number)
            found = process.wait()
            left = [one.name for one in guard.descendants(os.getpid()) if one.state != 'Z']
            assert found == status and not left and not os.listdir(temporary), (found, left, os.listdir(temporary), read(out))
    print('ok demo: shows its build; a signal ends it, and nothing is left')


def main():
    guard.adopt()
    if not shutil.which('lttng-relayd'):
        print('skipped: lttng-relayd is not installed')
        return 77
    sillage, demo = map(os.path.abspath, sys.argv[1:])
    check_words(demo)
    run_shown(demo, sillage)
    with tempfile.TemporaryDirectory() as scratch:
        run_built(demo, sillage, scratch)
    return 0


if __name__ == '__main__':
    sys.exit(main())

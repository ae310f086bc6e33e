#!/usr/bin/env python3
"""service: the live commands of doc/service.md, with its service, LTTng itself and a relay.

Each block `sh` is taken from the document; only the URL is another one, and a run that would go on is told to end.  What
needs no session is run by tests/tutorial.py.

usage: service.py SILLAGE SHOP DATA [x NAME]
"""
import glob
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import peer  # noqa: E402
import watch  # noqa: E402

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')
CALLS = {'shop:request', 'shop:span lookup', 'shop:span stock', 'shop:tick'}


def blocks():
    with open(os.path.join(ROOT, 'doc', 'service.md'), encoding='utf-8') as file:
        found = re.findall(r'^```sh\n((?:.*\n)*?)```$', file.read(), re.M)
    assert len(found) == 4, 'the document has %d blocks of a live session' % len(found)
    return [[shlex.split(line) for line in block.replace('\\\n', '').splitlines()] for block in found]


def shop(home):
    """The service, which goes on."""
    process = home.start(os.path.join(home.home, os.path.basename(home.test.app)))
    home.programs.append(process.pid)


def own(home, words):
    """The program is the one in that user's home."""
    return [os.path.join(home.home, words[0])] + words[1:] if words[0] == 'sillage' else words


def run(home, words, *more, status=0):
    """A command of the document, by that user."""
    done = peer.run(home.user + own(home, words) + list(more), env=home.env, cwd=home.tmp, stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.returncode == status, (words, more, done)
    return done.stdout.decode()


def names_of(total):
    return {row['name'] for row in total['calls']['by_name'] if row['calls']}


def test_build(t):
    """The line that compiles it does."""
    (words,), _, _, _ = blocks()
    if not shutil.which(words[0]):
        raise peer.Skip(words[0] + ' is not installed')
    out = os.path.join(t.scratch, 'built')
    words[words.index('-o') + 1] = out
    done = peer.run(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0 and os.access(out, os.X_OK), done


def test_watch(t):
    """It shows calls, and records and misses nothing of the kernel."""
    _, (words,), _, _ = blocks()
    home = watch.Home(t, daemon=True)
    home.fake()
    shop(home)
    assert words[:2] == ['sillage', 'watch']
    run = home.watch(*words[2:])
    run.wait_for(lambda one: any(CALLS <= names_of(line) for line in one.lines() if line['type'] == 'window'))
    total, = peer.totals(run.finish(signal.SIGINT))
    assert set(total['count']['by_name']) >= {'shop:request_begin'} and 'cpu' not in total, list(total)
    assert 'not recorded' not in run.said() and 'only user space' not in run.said(), run.said()
    assert not [line for line in home.noted() if ' -k ' in ' %s ' % line], 'the kernel was to be recorded'
    home.check_clean()


def test_record(t):
    """setup makes a session, live prints windows of it, and a trigger leaves a trace that has the slow request."""
    _, _, (setup, live, destroy), (alert,) = blocks()
    home, relay = watch.Home(t, daemon=True), t.relay()
    shop(home)
    run(home, setup, '--relay', 'net://127.0.0.1:%d:%d' % (relay.port, relay.port + 1), '--live-timer', '100ms')
    at = lambda words: [relay.live if word == 'net://localhost' else word for word in words]
    assert relay.live in at(live) and relay.live in at(alert)
    text = run(home, at(live), '--grace', peer.LONG)
    assert len(re.findall(r'^calls  calls ', text, re.M)) >= 3 and 'shop:request ' in text and 'not recorded' not in text, text
    following = home.start(*own(home, at(alert)), '--grace', peer.LONG, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=home.tmp)
    captures = os.path.join(home.tmp, alert[alert.index('--capture-dir') + 1], '*')
    peer.wait_until(lambda: glob.glob(os.path.join(captures, 'capture.json')), 'nothing was captured')
    following.send_signal(signal.SIGINT)
    assert peer.ended(following) == 0
    run(home, destroy)
    out = run(home, ['sillage', 'analyze', '-q', '-f', 'json', sorted(glob.glob(captures))[0]])
    total, = peer.totals([json.loads(line) for line in out.splitlines()])
    slow = [row['time']['max_ns'] for row in total['calls']['by_name'] if row['name'] == 'req PUT']
    assert slow and slow[0] > 15e6, (slow, names_of(total))


if __name__ == '__main__':
    sys.exit(peer.main(globals()))

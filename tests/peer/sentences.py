#!/usr/bin/env python3
"""sentences: live commands that doc/tutorial.md names, in sentences and in blocks, on a real lttng-relayd.

Each is taken from the document: only the URL is another one.  tests/tutorial.py runs what needs no session, and knows
which commands of sentences are run here.

usage: sentences.py SILLAGE APP DATA [x NAME]
"""
import glob
import json
import os
import re
import shlex
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
import peer  # noqa: E402
import tutorial  # noqa: E402
import watch  # noqa: E402

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')


def sentence(word):
    """The words of the command of that name."""
    assert set(tutorial.LIVE) <= set(tutorial.sentences(ROOT))
    command, = [one for one in tutorial.LIVE if one.split()[1] == word]
    return shlex.split(command)[1:]


def at(relay, words):
    return [relay.live if word == 'net://localhost' else word for word in words]


class Shown(peer.Live):
    """A command of the tutorial, with the text that it prints."""

    def __init__(self, t, *words):
        base = os.path.join(t.scratch, 'shown')
        self.out, self.err = base + '.out', base + '.err'
        with open(self.out, 'w') as out, open(self.err, 'w') as err:
            self.process = subprocess.Popen([t.sillage, *words], cwd=t.scratch, stdout=out, stderr=err, env=dict(os.environ, TZ='UTC'))
        t.processes.append(self.process)

    def lines(self):
        return self.text().splitlines()

    def text(self):
        with open(self.out) as out:
            return out.read()


def test_live(t):
    """It prints a window a second: both analyses, with figures of a thread that the trace has."""
    relay = t.relay()
    live = Shown(t, *at(relay, sentence('live')))
    t.replay(relay, 'burst', '--session', 's', '--hostname', 'h', '--as-now', '--loop', '1000', '--wait-viewer', '--live-timer', '100ms')
    heads = r'^h/s/kernel  \d\d:\d\d:(\d\d)\.000 \.\. \d\d:\d\d:(\d\d)\.000 '
    live.wait_for(lambda one: len(re.findall(heads, one.text(), re.M)) >= 3)
    for begin, end in re.findall(heads, live.text(), re.M):
        assert int(end) == (int(begin) + 1) % 60, (begin, end)
    live.finish(signal.SIGINT)
    assert re.search(r'^cpu  busy [1-9][\d.]* %  idle', live.text(), re.M) and re.search(r'^sched  wake-ups [1-9]', live.text(), re.M)
    assert 'burst-1 (18723)' in live.text()


def test_top(t):
    """It fills the screen."""
    relay = t.relay()
    screen = peer.Screen(t, t.sillage, *at(relay, sentence('top')))
    t.replay(relay, 'burst', '--session', 's', '--hostname', 'h', '--as-now', '--loop', '1000', '--wait-viewer', '--live-timer', '100ms')
    text = screen.wait_for('burst-1 (18723)')
    assert 'h/s/kernel' in text and '  0 [' in text and '  1 [' in text and 'THREAD (TID)' in text, text
    screen.keys('q')
    screen.wait_for('status 0')


def test_watch(t):
    """It sets up a relay and a session, runs for the kernel what `setup` prints, and removes all."""
    home = watch.Home(t, daemon=True)
    home.fake()
    home.env['FAKE_HANG'] = 'start'  # lttng itself has none of the kernel's channels, so it would refuse
    words = sentence('watch')
    run = home.watch(*words[1:])
    peer.wait_until(lambda: os.path.exists(home.env['FAKE_LOG'] + '.hangs'), run.said)
    run.finish(signal.SIGINT, status=130)
    home.check_clean()
    ran = [line for line in home.noted() if ' -k ' in line]
    name = re.search(r'-s (watch-\w+)', ran[0]).group(1)
    printed = peer.run([t.sillage, 'setup', '--session', name, *words[1:]], stdout=subprocess.PIPE).stdout.decode()
    printed = [' '.join(shlex.split(line)[1:]) for line in printed.splitlines() if ' -k ' in line]
    assert [re.sub(r' --tracefile-size \S+ --tracefile-count \S+', '', line) for line in ran] == printed and printed, (ran, printed)


def test_job(t):
    """The block on a job that misses its deadline: captures the seconds around a miss, with a report that explains it."""
    with open(os.path.join(ROOT, 'doc', 'tutorial.md'), encoding='utf-8') as file:
        block, = re.findall(r'^```sh\n((?:.*\n)*?)```$', file.read(), re.M)
    words = shlex.split(block.replace('\\\n', ''))
    assert words[0] == 'sillage' and 'net://localhost' in words
    relay = t.relay()
    live = Shown(t, *at(relay, words[1:]))
    t.replay(relay, 'timer-jobs-timerfd', '--session', 's', '--hostname', 'h', '--as-now', '--loop', '1000', '--wait-viewer', '--live-timer', '100ms')
    reports = os.path.join(t.scratch, words[words.index('--capture-dir') + 1], '*', 'report.html')
    live.wait_for(lambda _: glob.glob(reports))
    live.wait_for(lambda one: '! jobs.misses > 0' in one.text() + one.said())
    live.wait_said('captured ')
    live.finish(signal.SIGINT)
    folder = os.path.dirname(sorted(glob.glob(reports))[0])
    with open(os.path.join(folder, 'report.html'), encoding='utf-8') as file:
        page = file.read()
    assert 'jobs.misses &gt; 0' in page or 'jobs.misses > 0' in page, page[:300]
    # The miss is in it: an execution of `job`, as the trace of the capture has them.
    job = words[words.index('--job') + 1].split(' = ')[1].split('; every')[0]
    out = subprocess.run([t.sillage, 'report', '-q', '-f', 'json', '--thread', 'job', '--job', job, '--every', '4ms', '--deadline', '4ms', folder],
                         stdout=subprocess.PIPE, check=True).stdout
    jobs = json.loads(out.decode().splitlines()[0])['jobs']
    assert jobs['misses'] > 0 and jobs['count'] > 10, jobs


if __name__ == '__main__':
    sys.exit(peer.main(globals()))

#!/usr/bin/env python3
"""guard: runs one test and ends it if it hangs.  A busy machine cannot make that happen.

A limit in seconds on the wall also counts the time in which other programs had the CPUs.  The guard
counts two things that do not depend on the load:

Asleep  samples in which every process of the test slept.  A process that waits for a CPU is runnable
        and a process that waits for a disk is not interruptible: neither sleeps.  Tests sleep while
        they wait for timers and replays, the longest about a minute.
CPU     time that all processes of the test used together, against a loop without end.  The longest
        test uses a few minutes, with sanitizers too.

The processes are the descendants of the guard, daemons included: it adopts them as their init would.
At the end of the test it kills those that are left, and prints the CPU time that all of them used: a
figure of what a test costs that the load does not change.

usage: guard.py PROGRAM [ARGUMENT...]
"""
import ctypes
import os
import resource
import signal
import sys
import threading
import time

SAMPLE_S = 1  # it reads all of /proc
ASLEEP_MAX_S = 15 * 60
CPU_MAX_S = 60 * 60
LOST_S = 10  # from the message of a hang to the end by force
PR_SET_CHILD_SUBREAPER = 36
TICKS_PER_S = os.sysconf('SC_CLK_TCK')


class Process:
    """One line of /proc: its parent, whether it sleeps, the CPU time of it and of its ended children."""

    def __init__(self, pid):
        self.pid = pid
        with open('/proc/%d/stat' % pid) as file:
            text = file.read()
        words = text[text.rindex(')') + 2:].split()
        self.name = text[text.index('(') + 1:text.rindex(')')]
        self.state, self.parent = words[0], int(words[1])
        self.cpu_s = sum(map(int, words[11:15])) / TICKS_PER_S

    def sleeps(self):
        """Whether all its threads do.  One that has ended counts as asleep."""
        for task in os.listdir('/proc/%d/task' % self.pid):
            with open('/proc/%d/task/%s/stat' % (self.pid, task)) as file:
                text = file.read()
            if text[text.rindex(')') + 2] in 'RD':
                return False
        return True


def alone(pid):
    """For Asleep: that process, or none once it has ended."""
    try:
        return [Process(pid)]
    except OSError:
        return []


def peak_bytes(pid):
    """The most memory that it had so far; 0: it has ended."""
    try:
        with open('/proc/%d/status' % pid) as file:
            for line in file:
                if line.startswith('VmHWM:'):
                    return int(line.split()[1]) << 10
    except OSError:
        pass
    return 0


def descendants(root):
    children = {}
    for name in os.listdir('/proc'):
        if name.isdigit():
            try:
                process = Process(int(name))
            except OSError:
                continue  # it ended meanwhile
            children.setdefault(process.parent, []).append(process)
    found, pending = [], [root]
    while pending:
        new = children.get(pending.pop(), [])
        found += new
        pending += [process.pid for process in new]
    return found


def all_sleep(processes):
    for process in processes:
        try:
            if not process.sleeps():
                return False
        except OSError:
            return False  # it ended just now: something happens
    return True


def adopt():
    """Descendants whose parent ends become children of this process."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


class Asleep:
    """A clock for limits: it advances only while all descendants of this process, or all of
    @processes() if given, sleep.  Read it by now(), in seconds."""

    def __init__(self, processes=None, period_s=0.1):
        self.processes = processes or (lambda: descendants(os.getpid()))
        self.period_s, self.samples, self.is_over = period_s, 0, False
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while not self.is_over:
            time.sleep(self.period_s)
            self.samples += all_sleep(self.processes())

    def now(self):
        return self.samples * self.period_s

    def stop(self):
        self.is_over = True


def wait_asleep(process, seconds):
    """Until that child has slept so long since now, or has ended: it is done with what it had to do before.
    What a busy machine takes longer for is not counted."""
    asleep = Asleep(lambda: alone(process.pid), period_s=0.05)
    while process.poll() is None and asleep.now() < seconds:
        time.sleep(0.02)
    asleep.stop()


def report(why, processes):
    print('guard: a hang: %s' % why)
    for process in processes:
        try:
            with open('/proc/%d/cmdline' % process.pid) as file:
                command = file.read().replace('\0', ' ')[:200]
            with open('/proc/%d/wchan' % process.pid) as file:
                place = file.read()
        except OSError:
            continue
        print('guard: %d %s %s %.1f s of CPU: %s' % (process.pid, process.state, place, process.cpu_s, command))
    sys.stdout.flush()


def reap(test):
    """The status of the test if it is among the processes that have ended."""
    status = None
    while True:
        try:
            pid, found = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return status
        if pid == 0:
            return status
        status = found if pid == test else status


def kill(processes):
    for process in processes:
        try:
            os.kill(process.pid, signal.SIGKILL)
        except OSError:
            pass


def watch(test):
    """Its wait status, once it has ended."""
    asleep, ends_at = 0, None
    while True:
        was_woken = signal.sigtimedwait([signal.SIGCHLD], SAMPLE_S)
        status = reap(test)
        if status is not None:
            return status
        if was_woken:
            continue
        processes = descendants(os.getpid())
        if ends_at:
            if time.monotonic() > ends_at:
                kill(processes)
            continue
        asleep += all_sleep(processes)
        why = None
        if asleep * SAMPLE_S > ASLEEP_MAX_S:
            why = 'all processes slept for %d s' % ASLEEP_MAX_S
        elif sum(process.cpu_s for process in processes) > CPU_MAX_S:
            why = 'its processes used %d s of CPU' % CPU_MAX_S
        if why:
            report(why, processes)
            os.kill(test, signal.SIGABRT)  # a Python test prints what its threads wait for
            ends_at = time.monotonic() + LOST_S


def main():
    adopt()
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
    os.environ['PYTHONFAULTHANDLER'] = '1'
    test = os.fork()
    if test == 0:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
        try:
            os.execvp(sys.argv[1], sys.argv[1:])
        except OSError as error:
            print('guard: %s: %s' % (sys.argv[1], error))
            os._exit(127)
    status = watch(test)
    left = descendants(os.getpid())
    while left:
        kill(left)
        reap(test)
        time.sleep(0.01)
        left = descendants(os.getpid())
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    print('guard: %.2f s of CPU' % (usage.ru_utime + usage.ru_stime), flush=True)
    if os.WIFSIGNALED(status):
        print('guard: ended by signal %d' % os.WTERMSIG(status))
        return 128 + os.WTERMSIG(status)
    return os.WEXITSTATUS(status)


if __name__ == '__main__':
    sys.exit(main())

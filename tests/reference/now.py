"""now: the state of each thread when a window ends, by a plain program (doc/definitions.md, 4.16).

Part of the reference (sequential.py): phases are those of its Sched, who runs is the reference's.
"""
import collections
import re

from files import number

CALL = re.compile(r'^(compat_)?(syscall_entry_|syscall_exit_|sys_)(.+)$')
STATES = ('running', 'runnable', 'blocked', 'stopped', 'unknown')
PHASES = {'running': 'running', 'new': 'runnable', 'wait': 'runnable', 'preempted': 'runnable', 'blocked': 'blocked'}
OBJECTS = {name: kind for kind, names in (
    ('timer', 'nanosleep clock_nanosleep'), ('child', 'wait wait4 waitid waitpid vfork'),
    ('signal', 'pause rt_sigsuspend rt_sigtimedwait sigsuspend'),
    ('events', 'epoll_wait epoll_pwait epoll_pwait2 io_getevents io_pgetevents io_uring_enter poll ppoll pselect6 select'),
    ('message', 'msgrcv msgsnd semop semtimedop'), ('', 'futex_waitv restart_syscall')) for name in names.split()}
KINDS = {name: kind for kind, names in (
    ('socket', 'accept accept4 connect recvfrom recvmsg recvmmsg sendto sendmsg sendmmsg'),
    ('mqueue', 'mq_timedreceive mq_timedsend')) for name in names.split()}
DESCRIPTORS = ('fd', 'mqdes', 'fd_in', 'in_fd', 'fdin', 'fildes')
LOCKS, WAITS = (6, 13), (0, 6, 9, 11, 13)  # operations of futex()
LISTED = 10
BY_BYTES = 96  # of what a call waits for, with a zero behind it


class Now:
    def __init__(self, reference, sched, files):
        self.reference, self.sched, self.files = reference, sched, files
        self.seen, self.since, self.stopped, self.lost = set(), {}, set(), {}
        self.dumped, self.pid = {}, {}
        self.woken = collections.defaultdict(list)  # when a thread was woken that seemed to run
        self.calls = {}  # (name, since, what it waits for, futex or None), or None: in no call; absent: not known
        self.futexes = {}  # of (process, address): who woke there last; of locks: the owner, and since when
        self.owners = {}

    # ---- events ----

    def started(self, ns, thread):
        self.seen.add(thread)
        self.since[thread] = ns

    def switch(self, ns, prev, elsewhere, state, next_):
        for thread in prev, next_:
            if thread:
                self.seen.add(thread)
                self.dumped.pop(thread, None)
        if prev and not elsewhere:
            self.since[prev] = ns
            self.stopped.discard(prev)
            if self.sched.leaves(state) == 'sleep' and state & 12 and not state & 3:
                self.stopped.add(prev)
        if next_:
            self.since[next_] = ns

    def forked(self, ns, thread, pid):
        self.seen.add(thread)
        self.since[thread] = ns
        self.knows(thread, pid)

    def knows(self, thread, pid):
        if pid and pid > 0:
            self.pid[thread] = pid

    def dump(self, ns, thread, text):
        self.seen.add(thread)
        self.knows(thread, number(text, 'pid'))
        if number(text, 'status') == 5 and self.sched.phase.get(thread) is None and thread not in self.dumped:
            self.dumped[thread] = ns

    def woken_by(self, name, text):
        """The thread that the event wakes, or None."""
        tid = number(text, 'tid')
        if not name.startswith('sched_w') and name != 'sched_ttwu' or not tid or number(text, 'success') == 0:
            return None
        return self.reference.thread(tid)

    def before_wake(self, name, cpu, text):
        """What a wake-up ends: a sleep at a futex."""
        thread = self.woken_by(name, text)
        if not thread:
            return None
        self.seen.add(thread)
        call = self.calls.get(thread)
        sleeps = self.state_of(thread) in ('blocked', 'stopped')
        return thread, self.sched.phase.get(thread), sleeps and call and call[3], call and call[4]

    def after_wake(self, ns, before, name, cpu, text):
        if not before:
            return
        thread, phase, futex, is_lock = before
        was = self.dumped.get(thread)
        if self.sched.phase.get(thread) != phase or (name == self.sched.source and was is not None):
            self.dumped.pop(thread, None)
        if name == self.sched.source and phase == 'running':
            self.woken[thread].append(ns)
        if name != self.sched.source or self.sched.phase.get(thread) != 'wait' or self.sched.since.get(thread) != ns:
            return
        waker = self.sched.who(cpu, text)
        if futex and phase in ('blocked', None) and waker > 0:
            if is_lock and self.owners.get(futex, (0, 0))[1] == waker:
                self.owners[futex] = ns, thread.tid
            self.futexes[futex] = waker

    def event(self, ns, name, thread, text):
        found = CALL.match(name)
        if name == 'sched_pi_setprio' and thread in self.calls:
            self.lend(self.calls[thread], text)
        if name in ('timer_hrtimer_start', 'hrtimer_start') and self.calls.get(thread):
            call = self.calls[thread]
            if call[2] == 'timer' and number(text, 'expires'):
                call[2] = 'timer=%d' % (number(text, 'expires') & 2**64 - 1)
        if not (found or name == 'exit_syscall') or thread is None or thread.tid is None:
            return
        self.seen.add(thread)
        if not found or found.group(2) == 'syscall_exit_':
            self.calls[thread] = None
        else:
            self.calls[thread] = [found.group(3) + ('/32' if found.group(1) else ''), ns] + self.object_of(
                thread, found.group(3), text)

    @staticmethod
    def lend(call, text):
        if call and call[4] and not call[5] and number(text, 'newprio') < number(text, 'oldprio'):
            call[5] = number(text, 'tid')

    def object_of(self, thread, name, text):
        """What is waited for; of a futex (process, address), whether it is a lock that knows its owner, who that is."""
        name = re.sub('_time(32|64)$', '', name)
        self.knows(thread, number(text, 'context_pid'))
        if name in ('futex', 'futex_wait'):
            op, address = number(text, 'op'), number(text, 'uaddr')
            op = (number(text, 'flags') or 0) & 128 if op is None else op
            if address is None or op & 127 not in WAITS:
                return ['', None, False, 0]
            key = (self.pid.get(thread, ('thread', thread.tid)) if op & 128 else -1, address & 2**64 - 1)
            return ['futex', key, op & 127 in LOCKS, 0]
        if name in OBJECTS:
            return [OBJECTS[name], None, False, 0]
        fds = [number(text, field) for field in DESCRIPTORS]
        fds = [fd for fd in fds if fd is not None and fd >= 0]
        return ['%s=%d' % (KINDS.get(name, 'fd'), fds[0]) if fds else '', None, False, 0]

    def hole(self, begin):
        self.lost = dict.fromkeys(self.seen, begin)
        self.calls.clear()
        self.dumped.clear()
        self.stopped.clear()

    # ---- the end of a window ----

    def left(self, thread, end):
        """When the CPU did that the thread runs on; None: it is there."""
        whole = self.reference
        for cpu, tid in whole.current.items():
            if tid == thread.tid and whole.coverage and self.sched.phase.get(thread) == 'running':
                left = whole.coverage.leaves(cpu, whole.last)
                return left if left is not None and left < end else None
        return None

    def state_of(self, thread):
        state = PHASES.get(self.sched.phase.get(thread), 'blocked' if thread in self.dumped else 'unknown')
        return 'stopped' if state == 'blocked' and thread in self.stopped else state

    def age(self, thread, state, end):
        """0: it was not seen yet."""
        if state == 'unknown':
            return end - self.lost.get(thread, end)
        if thread in self.dumped and self.sched.phase.get(thread) is None:
            return end - self.dumped[thread]
        since = self.since if state == 'running' or self.sched.phase[thread] != 'wait' else self.sched.since
        return end - since[thread]

    def path(self, thread, call):
        """What the descriptor led to at the entry; a socket of which no more is known has none."""
        found = re.match('(fd|socket|mqueue)=([0-9]+)$', call[2])
        table = self.files.tables.get(self.files.key(thread)) if found else None
        entry = table.entries.get(int(found.group(2))) if table else None
        kind, path = entry and entry.at(call[1]) or ('unknown', '')
        room = BY_BYTES - len(call[2]) - len(' path=..') - 1
        return '' if kind in ('unknown', 'socket') else ' path=' + (path if len(path) <= room else '..' + path[-room:])

    def on(self, thread, call, waiters):
        what, key = call[2], call[3]
        if not key:
            return what + self.path(thread, call)
        what = 'futex=0x%x waiters=%d' % (key[1], len(waiters[key]))
        if key in self.futexes:
            what += ' last_woken_by=%d' % self.futexes[key]
        since, owner = self.owners.get(key, (0, 0))
        if owner and waiters[key] and since >= min(waiting[1] for waiting in waiters[key]):
            what += ' owner=%d' % owner
        return what

    def end_window(self, end, book):
        alive = [thread for thread in self.reference.threads.values()
                 if thread in self.seen and thread.ended is None and thread.tid is not None
                 and self.sched.phase.get(thread) != 'dead']
        waiters, now = collections.defaultdict(list), collections.defaultdict(list)
        for thread in alive:
            call = self.calls.get(thread)
            if call and call[3] and self.state_of(thread) == 'blocked':
                waiters[call[3]].append(call)
        for key, calls in waiters.items():
            for call in sorted(calls, key=lambda one: one[1]):
                if call[5] and call[1] >= self.owners.get(key, (0, 0))[0]:
                    self.owners[key] = call[1], call[5]
        for thread in alive:
            state, call, left = self.state_of(thread), self.calls.get(thread), self.left(thread, end)
            woken = [ns for ns in self.woken[thread] if left is not None and ns > left]
            if woken:
                now['threads'].append((thread.tid, 'runnable', end - woken[0], 0))
                now['runnable'].append((end - woken[0], thread.tid, '', ''))
                continue
            if left is not None:
                now['threads'].append((thread.tid, 'unknown', end - left, 0))
                continue
            age = self.age(thread, state, end)
            now['threads'].append((thread.tid, state, age, end - call[1] if call else 0))
            on = self.on(thread, call, waiters) if call else ''
            if call:
                now['open'].append((end - call[1], thread.tid, call[0], on))
            if state in ('blocked', 'stopped'):
                name = call[0] if call else '(none)' if thread in self.calls else ''
                now['blocked'].append((age, thread.tid, name, on))
            elif state != 'unknown':
                now[state].append((age, thread.tid, '', ''))
        book.now = now


def differences(line, book):
    state = line.get('state')
    if state is None:
        return
    ours = collections.Counter()
    for row in state['threads']:
        for which in STATES:
            if row[which + '_threads']:
                ours[row['tid'], which, row[which + '_ns'], row['call_ns'] or 0] += 1
    wanted = collections.Counter(book.now['threads'])
    if ours != wanted:
        yield 'state: threads %s, the reference has %s' % (sorted((ours - wanted).elements())[:4],
                                                           sorted((wanted - ours).elements())[:4])
    for which in STATES:
        of_state = [row for row in book.now['threads'] if row[1] == which]
        if (state[which + '_threads'] or 0) != len(of_state):
            yield 'state: %s %s, the reference has %d' % (which, state[which + '_threads'], len(of_state))
    counts = len(book.now['open']), sum(not name for _, _, name, _ in book.now['blocked'])
    if (state['open_calls'] or 0, state['unknown_calls'] or 0) != counts:
        yield 'state: %s open calls, %s not known, the reference has %s' % (state['open_calls'], state['unknown_calls'], counts)
    calls = collections.defaultdict(list)
    for age, _, name, _ in book.now['open']:
        calls[name].append(age)
    if {row['name']: (row['open'], row['age_ns']) for row in state.get('calls', ())} != {
            name: (len(ages), max(ages)) for name, ages in calls.items()}:
        yield 'state: calls %s, the reference has %s' % (state.get('calls'), dict(calls))
    for which in 'open', 'blocked', 'running', 'runnable':
        if which in state:
            rows = [(row['ns'], row['tid'], row.get('call', ''), row.get('on', '')) for row in state[which]]
            all_ = sorted(book.now[which], key=lambda one: (which == 'blocked' and not one[2], -one[0], one[1]))
            if [row[:2] for row in rows] != [row[:2] for row in all_[:LISTED]] or set(rows) - set(all_):
                yield 'state: %s %s, the reference has %s' % (which, sorted(set(rows) - set(all_))[:3] or rows[:3],
                                                              sorted(set(all_) - set(rows))[:3])

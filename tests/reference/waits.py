"""waits: how long threads did what, by a plain program (doc/definitions.md, 4.18).

Part of the reference (sequential.py): what a thread does is what now.py says of it.
"""


class Waits:
    def __init__(self, reference, now, books):
        self.reference, self.now, self.books = reference, now, books
        self.cpus = {}  # where threads ran last
        self.counted = {}  # ns: up to there the time of a thread is in the books; absent: it was not seen yet

    def column(self, thread):
        """What it does; None: it is dead."""
        phase, state = self.now.sched.phase.get(thread), self.now.state_of(thread)
        if phase in ('dead', 'preempted'):
            return None if phase == 'dead' else 'preempted'
        call = self.now.calls.get(thread)
        if state == 'blocked' and thread not in self.now.calls:
            return 'asleep'
        if state == 'blocked':
            return call[2].partition('=')[0] or ('futex' if call[3] else 'other') if call else 'other'
        return {'running': 'run', 'runnable': 'wait'}.get(state, state)

    def add(self, ns, thread, column):
        since = self.counted[thread]
        if ns > since and column:
            book = self.books[since // self.reference.interval]
            book.add('waits', column + '_ns', by=ns - since)
            book.add('waits', 'threads', thread, column + '_ns', by=ns - since)
            if column in ('wait', 'preempted') and thread in self.cpus:
                book.add('waits', 'cpus', self.cpus[thread], column + '_ns', by=ns - since)
        self.counted[thread] = max(ns, since)

    def runs(self, ns, cpu, *threads):
        """They ran there, or do; what was counted before is that of the CPU before."""
        self.cpus.update(dict.fromkeys([thread for thread in threads if thread], cpu))
        self.count(ns, *threads)

    def count(self, ns, *threads):
        """They did until @ns what they did; those that are seen from now on did nothing before."""
        for thread in threads:
            if not thread or thread.tid is None or thread not in self.now.seen:
                continue
            if thread not in self.counted:
                self.counted[thread] = ns
                continue
            left = self.now.left(thread, ns)
            if left is None:
                self.add(ns, thread, self.column(thread))
                continue
            self.add(max(left, self.counted[thread]), thread, 'run')
            woken = [at for at in self.now.woken[thread] if left < at < ns]
            if woken:
                self.add(woken[0], thread, 'unknown')
            self.add(ns, thread, 'wait' if woken else 'unknown')

    def count_all(self, ns):
        self.count(ns, *(thread for thread in self.counted if thread.ended is None))

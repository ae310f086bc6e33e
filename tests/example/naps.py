"""naps: a plain program for the figures of naps.c; see example.py."""
from files import number


class Plain:
    LONGEST = ('waker_tid',)

    def __init__(self, reference, names):
        self.reference, self.begin = reference, {}  # by thread
        self.source = [name for name in ('sched_ttwu', 'sched_waking', 'sched_wakeup') if name in names][:1]

    def switch(self, ns, cpu, prev, how, next_, book):
        if prev:
            self.begin.pop(prev, None)
            if how == 'sleep':
                self.begin[prev] = ns
        if next_ and self.begin.pop(next_, ns) < ns:  # else it came from another CPU in the same moment
            book.add('naps', 'unwoken')

    def event(self, ns, name, cpu, text, thread, book):
        if [name] != self.source or not number(text, 'tid') or number(text, 'success') == 0:
            return
        woken = self.reference.thread(number(text, 'tid'))
        if self.begin.get(woken, ns) < ns:  # in the ns in which it leaves its CPU, it still runs
            took = ns - self.begin.pop(woken)
            book.sample('naps', 'naps', ns=took)
            book.sample('naps', 'threads', woken, 'naps', ns=took)
            waker = self.reference.others.contexts.waker(cpu, text, self.reference.current.get(cpu))
            book.longest['naps'].append((took, ns, woken, (waker,)))

    def hole(self):
        self.begin.clear()

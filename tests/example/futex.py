"""futex: a plain program for the figures of futex.c; see example.py."""
from files import number

ESSENTIAL = {'sched_switch', 'syscall_entry_futex', 'syscall_exit_futex'}


class Plain:
    LONGEST = ('waker_tid',)

    def __init__(self, reference, names):
        self.reference, self.in_call, self.begin = reference, set(), {}  # by thread
        self.source = [name for name in ('sched_ttwu', 'sched_waking', 'sched_wakeup') if name in names][:1]
        self.is_known = ESSENTIAL <= names

    def switch(self, ns, cpu, prev, how, next_, book):
        if prev:
            self.begin.pop(prev, None)
            if how == 'sleep' and prev in self.in_call:
                self.begin[prev] = ns
        if next_ and self.begin.pop(next_, ns) < ns:  # else it came from another CPU in the same moment
            book.add('futex', 'unwoken')

    def event(self, ns, name, cpu, text, thread, book):
        if name == 'syscall_entry_futex' and self.is_known:
            self.in_call.add(thread)
        elif name == 'syscall_exit_futex':
            self.in_call.discard(thread)
        elif [name] == self.source and number(text, 'tid') and number(text, 'success') != 0:
            woken = self.reference.thread(number(text, 'tid'))
            if self.begin.get(woken, ns) < ns:  # in the ns in which it leaves its CPU, it still runs
                waker = self.reference.others.contexts.waker(cpu, text, self.reference.current.get(cpu))
                self.wake(ns, woken, waker, ns - self.begin.pop(woken), book)

    @staticmethod
    def wake(ns, woken, waker, took, book):
        book.sample('futex', 'sleeps', ns=took)
        book.sample('futex', 'threads', woken, 'sleeps', ns=took)
        if waker > 0:
            book.add('futex', 'wakers', waker, 'sleeps')
            book.add('futex', 'wakers', waker, 'sleeps_ns', by=took)
        else:
            book.add('futex', 'by_no_thread')
        book.longest['futex'].append((took, ns, woken, (waker,)))

    def hole(self):
        self.in_call.clear()
        self.begin.clear()

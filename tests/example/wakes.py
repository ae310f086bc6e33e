"""wakes: a plain program for the figures of wakes.c; see example.py."""
from files import number


class Plain:
    LONGEST = ()

    def __init__(self, reference, names):
        pass

    def switch(self, ns, cpu, prev, how, next_, book):
        pass

    def event(self, ns, name, cpu, text, thread, book):
        if name == 'sched_wakeup':
            book.add('wakes', 'cpus', number(text, 'target_cpu'), 'wakeups')

    def hole(self):
        pass

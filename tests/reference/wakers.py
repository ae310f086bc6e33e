"""wakers: whether a thread wakes or an interrupt, event by event (doc/definitions.md, 4.4)."""
import collections

from files import number, string

PAIRS = {'irq_handler': 'hard', 'timer_hrtimer_expire': 'hard', 'hrtimer_expire': 'hard',
         'irq_softirq': 'soft', 'softirq': 'soft'}
VECTORS = 'x86_irq_vectors_'


class Contexts:
    """The interrupts that are open on each CPU, by channel; the text of an event may say which that is."""

    def __init__(self, names, is_rt, silences=None):
        self.kinds = {pair: kind for pair, kind in PAIRS.items()
                      if {pair + '_entry', pair + '_exit'} <= set(names) and not (is_rt and kind == 'soft')}
        self.open, self.serves = collections.Counter(), {}  # by kind and place; CPUs whose thread is ksoftirqd
        self.silences = {place: list(ends) for place, ends in (silences or {}).items()}

    @staticmethod
    def place(cpu, text):
        return cpu, number(text, 'channel_') or 0

    def go_to(self, ns, cpu, text):
        """An event comes there.  None is open any more where the channel was silent for more than a second."""
        place = self.place(cpu, text)
        ends = self.silences.get(place, [])
        while ends and ends[0] <= ns:
            self.open['hard', place] = self.open['soft', place] = 0
            ends.pop(0)

    def event(self, name, cpu, text):
        if name == 'sched_process_exec' and number(text, 'tid') != number(text, 'old_tid') and number(text, 'old_tid'):
            self.switch(cpu, text)  # under another tid: that tells who runs, too
        pair, _, end = name.rpartition('_')
        kind = 'hard' if name.startswith(VECTORS) else self.kinds.get(pair)
        place = self.place(cpu, text)
        if kind and end == 'entry':
            self.open[kind, place] += 1
        elif kind and end == 'exit' and self.open[kind, place] > 0:
            self.open[kind, place] -= 1

    def first(self, cpu, text):
        """The first switch there, of which only the thread that leaves is looked at."""
        self.serves[cpu] = (string(text, 'prev_comm') or '').startswith('ksoftirq')

    def switch(self, cpu, text):
        self.open['hard', self.place(cpu, text)] = self.open['soft', self.place(cpu, text)] = 0
        self.serves[cpu] = (string(text, 'next_comm') or '').startswith('ksoftirq')

    def hole(self):
        self.open.clear()

    def waker(self, cpu, text, tid):
        """@tid: who runs there, None: unknown.  0: no thread woke, -1: it is unknown."""
        place = self.place(cpu, text)
        if self.open['hard', place] or (self.open['soft', place] and tid and not self.serves.get(cpu)):
            return 0
        return -1 if tid is None else tid

"""sleeps: in which call threads slept and what woke them, by a plain program that reads what babeltrace2 prints."""
import sequential


class Sleeps:
    """Who was in which call when it slept, and what woke it, one event after another."""

    def __init__(self, events):
        self.runs, self.nested, self.call, self.slept, self.woken = {}, {}, {}, {}, {}
        names = {name for _, name, _, _ in events}
        self.wakes = 'sched_waking' if 'sched_waking' in names else 'sched_wakeup'
        for _, name, cpu, text in events:
            if name == 'sched_switch':  # who it takes the CPU from ran there before
                self.runs.setdefault(cpu, sequential.number(text, 'prev_tid'))
        for ns, name, cpu, text in events:
            self.event(ns, name, cpu, text)

    def event(self, ns, name, cpu, text):
        tid, edge = self.runs.get(cpu), name.rpartition('_')[2]
        if name == 'sched_switch':
            prev = sequential.number(text, 'prev_tid')
            self.slept[prev, ns] = self.call.get(prev)
            self.runs[cpu] = sequential.number(text, 'next_tid')
        elif name.startswith('syscall_entry_'):
            self.call[tid] = name[len('syscall_entry_'):] + (' 0x%x' % sequential.number(text, 'uaddr') if name.endswith('_futex') else '')
        elif name.startswith('syscall_exit_'):
            self.call.pop(tid, None)
        elif edge in ('entry', 'exit'):  # of interrupts, timers and the like
            self.nested[cpu] = max(0, self.nested.get(cpu, 0) + (1 if edge == 'entry' else -1))
        elif name == self.wakes:
            self.woken[sequential.number(text, 'tid'), ns] = None if self.nested.get(cpu) or not tid else tid

"""power_plain: idle states and frequencies of CPUs, and what wakes them, by a plain program (doc/definitions.md, 4.19).

Part of the reference (sequential.py), and of power.py.
"""
import re

EXIT = 2 ** 32 - 1
TIMERS = re.compile(r'^(timer_)?hrtimer_expire_entry$|^(x86_irq_vectors_)?local_timer_entry$')
CALLED = re.compile(r'^(x86_irq_vectors_)?(reschedule|call_function_single)_entry$')


def field(text, name):
    """The last of this name: contexts come first."""
    found = re.findall(r'\b%s = (-?\d+)' % name, text)
    return int(found[-1]) & EXIT if found else None


class Cpu:
    def __init__(self):
        self.mode = self.khz = self.state = self.since = self.stay = None  # mode: idle, awake, None: unknown
        self.entered = self.woken = False
        self.cause, self.handler, self.wakes = None, False, False
        self.blind = 0


class Power:
    def __init__(self, books, interval, left=lambda cpu: None, heard=lambda cpu: None):
        """@left(cpu): when it did, None: it is there; @heard(cpu): the end of its last packet."""
        self.books, self.interval, self.left, self.heard = books, interval, left, heard
        self.cpus, self.known, self.blind = {}, {}, 0

    def cpu(self, number):
        return self.cpus.setdefault(number, Cpu())

    # ---- time ----

    def account(self, ns, number):
        cpu = self.cpu(number)
        since, cpu.since = cpu.since, max(ns, cpu.since or 0)
        if since is None or ns <= since:
            return
        window, took = since // self.interval, ns - since
        book, known = self.books[window], self.known.setdefault((window, number), [0, 0])
        if cpu.mode:
            book.add('power', cpu.mode + '_ns', by=took)
            book.add('power', 'cpus', number, cpu.mode + '_ns', by=took)
            known[0] += took
        if cpu.mode == 'idle':
            book.add('power', 'idle', (number, cpu.state), 'ns', by=took)
        if cpu.khz is not None:
            book.add('power', 'frequencies', (number, cpu.khz), 'ns', by=took)
            book.add('power', 'frequencies', (number, cpu.khz), 'awake_ns', by=took if cpu.mode == 'awake' else 0)
            known[1] += took

    def end_window(self, end, window, there):
        """@there: for how long each CPU was, as far as that is known."""
        for number in set(self.cpus) | set(there):
            left = self.left(number)
            self.account(end if left is None else min(end, left), number)
            if left is not None and left < end:
                self.cpu(number).mode = self.cpu(number).khz = None
            known = self.known.pop((window, number), (0, 0))
            for key, ns in zip(('unknown_ns', 'unknown_khz_ns'), known):
                if there.get(number, 0) > ns:
                    self.books[window].add('power', key, by=there[number] - ns)
                    self.books[window].add('power', 'cpus', number, key, by=there[number] - ns)

    # ---- wake-ups ----

    def decide(self, number, cause, book):
        cpu = self.cpu(number)
        kind = cause if isinstance(cause, str) else 'interrupt'
        book.add('power', 'by_' + kind)
        book.add('power', 'cpus', number, 'by_' + kind)
        row = '(%s)' % cause if kind == cause else cause
        book.add('power', 'causes', row, 'wakeups')
        if cpu.stay is not None:
            book.sample('power', 'causes', row, 'idle', ns=cpu.stay)
        cpu.woken = False

    def settle(self, number, book):
        cpu = self.cpu(number)
        if cpu.woken:
            self.decide(number, cpu.cause or 'unknown', book)

    def end_stay(self, ns, number, book):
        cpu = self.cpu(number)
        cpu.stay = ns - cpu.entered if cpu.mode == 'idle' else None
        if cpu.stay is not None:
            book.sample('power', 'idle', (number, cpu.state), 'stay', ns=cpu.stay)
        cpu.stay = cpu.stay or None

    def idle(self, ns, number, state, book):
        cpu = self.cpu(number)
        if ns < cpu.blind:
            return
        self.account(ns, number)
        if state != EXIT:
            self.settle(number, book)
            self.end_stay(ns, number, book)
            cpu.cause, cpu.handler, cpu.wakes = None, False, False
            cpu.mode, cpu.state, cpu.entered = 'idle', state, ns
        elif cpu.mode != 'awake':
            self.end_stay(ns, number, book)
            book.add('power', 'wakeups')
            book.add('power', 'cpus', number, 'wakeups')
            was, cpu.mode, cpu.woken = cpu.mode, 'awake', True
            if not was or cpu.cause:
                self.settle(number, book)

    def cause(self, ns, name, number, text, book):
        cpu = self.cpu(number)
        if cpu.mode != 'idle' and not cpu.woken:
            return
        is_first = not cpu.handler and not (cpu.woken and cpu.cause)
        if name == 'irq_handler_entry':
            if is_first:
                said = re.search(r'\bname = "((?:[^"\\]|\\.)*)"', text)
                cpu.cause, cpu.handler = (field(text, 'irq'), said.group(1) if said else ''), True
        elif name == 'irq_handler_exit':
            cpu.handler = False
        elif TIMERS.match(name):
            cpu.cause, cpu.handler = 'timer', False
        elif CALLED.match(name):
            cpu.cause = 'task' if is_first else cpu.cause
        elif name == 'sched_waking':
            cpu.wakes |= not cpu.cause
        elif name == 'sched_switch' and field(text, 'next_tid'):
            if cpu.mode == 'idle':
                self.account(ns, number)
                cpu.mode = None
            else:
                self.decide(number, cpu.cause or ('unknown' if cpu.wakes else 'task'), book)
        if name != 'irq_handler_entry' and cpu.cause and not cpu.handler:
            self.settle(number, book)

    # ---- events ----

    def event(self, ns, name, number, text):
        book = self.books[ns // self.interval]
        if name == 'power_cpu_idle':
            if field(text, 'cpu_id') == number:
                self.idle(ns, number, field(text, 'state'), book)
        elif name == 'power_cpu_frequency':
            about, heard = field(text, 'cpu_id'), self.heard(field(text, 'cpu_id'))
            if ns < self.blind or (heard is not None and heard < ns):
                return
            self.account(ns, about)
            cpu, khz = self.cpu(about), field(text, 'state')
            if cpu.khz != khz:
                book.add('power', 'frequencies', (about, khz), 'changes')
            cpu.khz = khz
        else:
            self.cause(ns, name, number, text, book)

    def lose(self, ns, number):
        cpu = self.cpu(number)
        self.account(ns, number)
        cpu.cause, cpu.handler, cpu.wakes = None, False, False
        self.settle(number, self.books[ns // self.interval])
        cpu.mode = None

    def lost(self, ns, number, until):
        """Events of a channel that has power events."""
        for other, cpu in self.cpus.items():
            self.account(ns, other)
            cpu.khz = None
        self.lose(ns, number)
        self.blind = max(self.blind, until)
        self.cpu(number).blind = max(self.cpu(number).blind, until)

    def hole(self, ns):
        for number, cpu in self.cpus.items():
            heard = self.heard(number)
            until = ns if heard is None else min(ns, heard)
            self.account(until, number)
            cpu.khz = None
            self.lose(until, number)

"""sequential: sched, waits, syscalls, irq, power, memory, net, block and faults by plain programs, for reference.py.

Each class sees the events one after the other and follows the definitions literally; samples
are kept, all of them.  What they find goes to a Book by window: sums, and lists of samples.
"""
import collections
import math
import re

import files
import now
import power_plain
import waits
import wakers
from files import number, string


class Book:
    """Sums and samples by path; threads stand in paths as themselves."""

    def __init__(self):
        self.sums = collections.Counter()
        self.samples = collections.defaultdict(list)
        self.last = collections.Counter()  # as it is when a window ends
        self.most = collections.Counter()
        self.longest = collections.defaultdict(list)  # (ns, end, thread, what else)
        self.now = collections.defaultdict(list)  # how threads are when a window ends (now.py)

    def add(self, *path, by=1):
        self.sums[path] += by

    def sample(self, *path, ns):
        self.samples[path].append(ns)

    def fix(self, tid_of):
        """The window, or the trace, is over: instances have the tids that threads had then; or that an event had."""
        for name, instances in self.longest.items():
            self.longest[name] = [(ns, end, (thread or None) if isinstance(thread, int) else tid_of(thread), more)
                                  for ns, end, thread, more in instances]


def merged(books):
    whole = Book()
    for book in books:
        whole.sums.update(book.sums)
        for path, samples in book.samples.items():
            whole.samples[path] += samples
        for path, value in book.most.items():
            whole.most[path] = max(whole.most[path], value)
        for name, instances in book.longest.items():
            whole.longest[name] += instances
        whole.last, whole.now = book.last, book.now
    return whole


class Sched:
    STATES = (((4, 14), 0x100), ((4, 8), 4096), ((4, 2), 2048), ((3, 9), 1024), ((3, 2), 512))

    def __init__(self, reference, release, names, contexts=None):
        self.reference, self.release = reference, release
        self.names = names
        for source in ('sched_ttwu', 'sched_waking', 'sched_wakeup'):
            if source in names:
                self.source = source
                break
        else:
            self.source = None
        self.phase, self.since, self.pending, self.left = {}, {}, {}, {}
        self.tentative, self.waker, self.contexts = set(), {}, contexts

    def started(self, thread):
        self.phase[thread] = 'running'

    def leaves(self, state):
        if self.release >= (4, 14):
            return 'dead' if state & 0x30 else 'sleep' if state & 0xCF else 'ready'
        if state & 0x70 and not state & 3:
            return 'dead'
        if state & 0x8F or (state == 512 and self.release >= (3, 9)):
            return 'sleep'
        return 'ready'

    def stops(self, state):
        """Asleep, but in no wait: stopped, traced, parked, or for a core dump."""
        waits = state & 3 and not ((4, 2) <= self.release < (4, 14) and state & 1024)
        return self.leaves(state) == 'sleep' and not waits

    def is_preempted(self, state):
        marks = [mark for release, mark in self.STATES if self.release >= release]
        return bool(marks and state & marks[0]) and self.leaves(state) == 'ready'

    def switch(self, ns, cpu, prev, elsewhere, state, next_, prio, book):
        if prev and not elsewhere:
            how = self.leaves(state)
            phase = {'dead': 'dead', 'ready': 'preempted', 'sleep': 'blocked'}[how]
            if how == 'sleep' and prev in self.pending:
                phase = 'wait'
                if 'sched_wakeup' not in self.names:
                    self.tentative.add(prev)
            self.phase[prev], self.since[prev], self.left[prev] = phase, ns, ns
            self.pending.pop(prev, None)
        if next_:
            self.runs(ns, cpu, next_, prio, book)

    def runs(self, ns, cpu, thread, prio, book):
        phase = self.phase.get(thread)
        if phase in ('blocked', 'wait', 'preempted') and self.left.get(thread) == ns:
            phase = 'running'  # it came from another CPU in the same moment
        if phase in ('new', 'wait', 'preempted'):
            waited = ns - self.since[thread]
            if phase == 'new':
                book.sample('sched', 'fork', ns=waited)
            else:
                kind = 'wake' if phase == 'wait' else 'requeue'
                book.sample('sched', kind, ns=waited)
                book.sample('sched', 'threads', thread, kind, ns=waited)
                book.add('sched', 'threads', thread, 'waited_ns', by=waited)
                book.add('sched', 'cpus', cpu, 'waited_ns', by=waited)
                if phase == 'wait':
                    book.sample('sched', 'cpus', cpu, 'wake', ns=waited)
                    book.sample('sched', 'prios', prio, 'wake', ns=waited)
                    book.longest['sched'].append((waited, ns, thread, (cpu, prio, self.waker[thread])))
        elif phase == 'blocked':
            book.add('sched', 'unexplained')
        self.phase[thread] = 'running'
        self.pending.pop(thread, None)
        self.tentative.discard(thread)

    def fork(self, ns, thread):
        self.phase[thread], self.since[thread] = 'new', ns

    def hole(self):
        """Nothing was traced for a while: any thread may have done anything."""
        self.phase = {thread: phase for thread, phase in self.phase.items() if phase == 'dead'}
        for of_threads in self.pending, self.tentative, self.left:
            of_threads.clear()

    def event(self, ns, name, cpu, text, book):
        if name not in ('sched_ttwu', 'sched_waking', 'sched_wakeup', 'sched_wakeup_new'):
            return
        tid = number(text, 'tid')
        if not tid or number(text, 'success') == 0:
            return
        thread = self.reference.thread(tid)
        phase = self.phase.get(thread)
        if name == 'sched_wakeup_new':
            if phase is None:
                self.phase[thread], self.since[thread] = 'new', ns
        elif name == self.source:
            book.add('sched', 'wakeups')
            self.wake(ns, cpu, tid, thread, phase, text, book)
        elif name == 'sched_wakeup':
            self.pending.pop(thread, None)

    def wake(self, ns, cpu, tid, thread, phase, text, book):
        where = [c for c, current in self.reference.current.items() if current == tid]
        if where:
            if cpu not in where:
                self.pending[thread], self.waker[thread] = ns, self.who(cpu, text)
                book.add('sched', 'races')
        elif phase in (None, 'blocked') or thread in self.tentative:
            self.phase[thread], self.since[thread] = 'wait', ns
            self.waker[thread] = self.who(cpu, text)
            self.tentative.discard(thread)

    def who(self, cpu, text):
        return self.contexts.waker(cpu, text, self.reference.current.get(cpu))


class Syscalls:
    EVENT = re.compile(r'^(compat_)?(syscall_entry_|syscall_exit_|sys_)(.+)$')

    def __init__(self):
        self.open, self.left = {}, {}
        self.dead = set()

    def switch(self, ns, prev, elsewhere, dead, next_):
        if next_ in self.open and next_ in self.left:
            self.open[next_][2] += ns - self.left[next_]
        self.left.pop(next_, None)
        if prev and not elsewhere:
            self.left[prev] = ns
        if prev and dead:
            self.dead.add(prev)

    def event(self, ns, name, thread, text, book):
        found = self.EVENT.match(name)
        if not (found or name == 'exit_syscall') or thread is None:
            return
        call = found and found.group(3) + ('/32' if found.group(1) else '')
        if found and found.group(2) != 'syscall_exit_':
            if thread in self.open:
                book.add('syscalls', 'overwritten')
            self.open[thread] = [call, ns, 0, False]
            return
        ret, opened = number(text, 'ret'), self.open.pop(thread, None)
        if opened and call in (None, opened[0]):
            self.done(ns, thread, opened, ret, book)
        elif not opened and found and found.group(3) in ('clone', 'fork', 'vfork', 'clone3') and ret == 0:
            book.add('syscalls', 'child_returns')
        else:
            book.add('syscalls', 'orphans')

    @staticmethod
    def done(ns, thread, opened, ret, book):
        call, entry, off, is_tainted = opened
        error = files.failed(ret) and call.split('/')[0] not in ('rt_sigreturn', 'sigreturn')
        for path in ((), ('by_name', call), ('threads', thread)):
            book.add('syscalls', *path, 'calls')
            book.add('syscalls', *path, 'errors', by=error)
            if not is_tainted:
                book.sample('syscalls', *path, 'time', ns=ns - entry)
            if path and not is_tainted:
                book.add('syscalls', *path, 'off_cpu_ns', by=off)
        book.add('syscalls', 'untimed', by=is_tainted)
        if not is_tainted:
            book.longest['syscalls'].append((ns - entry, ns, thread, (call, ret)))
        if error:
            book.add('syscalls', 'by_error', (-ret, call), 'count')

    def hole(self):
        """Calls that are open may have ended, and others of their kind begun."""
        self.open = {thread: opened[:3] + [True] for thread, opened in self.open.items() if thread.tid is not None}

    def end_window(self, end, book):
        for thread in list(self.open):
            if thread.tid is None:
                continue
            if thread in self.dead:
                del self.open[thread]
                book.add('syscalls', 'never_returned')
            else:
                book.last['syscalls', 'in_flight'] += 1
                age = end - self.open[thread][1]
                book.last['syscalls', 'oldest_ns'] = max(book.last['syscalls', 'oldest_ns'], age)


class Irq:
    SOFT = re.compile(r'^(?:irq_)?softirq_(raise|entry|exit)$')

    def __init__(self):
        self.stacks, self.raised = collections.defaultdict(list), {}

    def event(self, ns, name, cpu, text, book):
        soft = self.SOFT.match(name)
        if soft:
            vec, what = number(text, 'vec'), soft.group(1)
            if what == 'raise':
                self.raised.setdefault((cpu, vec), ns)
            elif what == 'entry':
                self.room(cpu, book)
                if (cpu, vec) in self.raised:
                    book.sample('irq', 'soft', vec, 'raise', ns=ns - self.raised.pop((cpu, vec)))
                self.stacks[cpu].append([ns, 'soft', vec, 0])
            else:
                self.leave(ns, cpu, 'soft', vec, 1, book)
        elif name == 'irq_handler_entry':
            key = (number(text, 'irq'), string(text, 'name'))
            self.room(cpu, book)
            self.stacks[cpu].append([ns, 'hard', key, 0])
        elif name == 'irq_handler_exit':
            self.leave(ns, cpu, 'hard', number(text, 'irq'), number(text, 'ret'), book)

    def hole(self, book):
        book.add('irq', 'unmatched', by=sum(map(len, self.stacks.values())))
        self.stacks.clear()
        self.raised.clear()

    def room(self, cpu, book):
        """More than 8 levels: the exit of the oldest is missing."""
        if len(self.stacks[cpu]) == 8:
            book.add('irq', 'unmatched')
            del self.stacks[cpu][0]

    def leave(self, ns, cpu, kind, which, ret, book):
        stack = self.stacks[cpu]
        matching = [i for i, (_, k, key, _) in enumerate(stack)
                    if k == kind and (key if kind == 'soft' else key[0]) == which]
        if not matching:
            book.add('irq', 'unmatched')
            return
        entry, _, key, nested = stack[matching[-1]]
        book.add('irq', 'unmatched', by=len(stack) - matching[-1] - 1)
        del stack[matching[-1]:]
        book.sample('irq', kind, key, 'time', ns=ns - entry)
        book.add('irq', kind + '_ns', by=ns - entry - nested)
        book.add('irq', 'cpus', cpu, kind + '_ns', by=ns - entry - nested)
        if kind == 'hard':
            book.add('irq', 'hard', key, 'unhandled', by=ret == 0)
        if stack:
            stack[-1][3] += ns - entry


class Memory:
    PAGES = re.compile(r'^(?:kmem_)?mm_page_(alloc|free|free_batched)$')

    def __init__(self):
        self.begun = {}

    def event(self, ns, name, thread, text, book):
        found = self.PAGES.match(name)
        if name == 'mm_vmscan_wakeup_kswapd':
            book.add('memory', 'kswapd_wakes')
        elif name == 'mm_vmscan_direct_reclaim_begin' and thread is not None:
            self.begun[thread] = ns
        elif name == 'mm_vmscan_direct_reclaim_end' and thread in self.begun:
            took = ns - self.begun.pop(thread)
            book.sample('memory', 'reclaim', ns=took)
            book.add('memory', 'threads', thread, 'reclaim_ns', by=took)
        if not found:
            return
        order = number(text, 'order')
        pages, kind = 1 << (order or 0), found.group(1)
        column = {'alloc': 'allocated_pages', 'free': 'freed_pages',
                  'free_batched': 'freed_batched_pages'}[kind]
        if kind == 'alloc' and (number(text, 'page') == 0 or
                                number(text, 'pfn') in (2**64 - 1, -1)):
            column, pages = 'failed', 1
        book.add('memory', column, by=pages)
        if kind != 'free_batched':
            if thread is not None:
                book.add('memory', 'threads', thread, column, by=pages)
            if column != 'failed':
                book.add('memory', 'orders', order, 'allocations' if kind == 'alloc' else 'frees')


class Net:
    def event(self, name, text, book):
        if name in ('net_if_receive_skb', 'netif_receive_skb'):
            interface = string(text, 'name')
            book.add('net', 'interfaces', interface, 'rx_packets')
            book.add('net', 'interfaces', interface, 'rx_bytes', by=number(text, 'len'))
        elif name == 'net_dev_xmit':
            interface = string(text, 'name')
            if number(text, 'rc') not in (0, 2):  # 2: taken, with congestion; 16, 32: it comes again
                book.add('net', 'interfaces', interface, 'tx_busy' if number(text, 'rc') in (16, 32) else 'tx_drops')
                return
            book.add('net', 'interfaces', interface, 'tx_packets')
            book.add('net', 'interfaces', interface, 'tx_bytes', by=number(text, 'len'))


class Request:
    """One that is open: waiting (inserted), in flight, or requeued."""

    def __init__(self, ns, sector, count, rwbs, tid):
        self.since, self.sector, self.count, self.left, self.rwbs, self.tid = ns, sector, count, count, rwbs, tid
        self.insert, self.phase, self.is_cut, self.failed = None, None, False, False

    def kind(self):
        if self.count > 0:
            return 'at', self.rwbs & 7
        return ('flush',) if self.rwbs & (256 | 1024) else ('command', self.rwbs & 7)

    def has_place(self):
        return self.count > 0 and self.rwbs & 7 != 0

    def within(self, other):
        return other.sector <= self.sector and self.sector + self.count <= other.sector + other.count


class Block:
    """By definitions.md, 4.7: the requests of each device in a list, as they came."""
    TOO_LONG, TOO_EARLY, NO_SECTOR = 300 * 10**9, 100_000, 2**64 - 1

    def __init__(self, reference, names):
        self.reference, self.repeats = reference, 'block_rq_requeue' not in names
        self.names, self.since, self.orphans = {}, {}, collections.defaultdict(list)
        self.open = collections.defaultdict(list)

    def depth(self, dev):
        return sum(one.phase == 'flight' and not one.is_cut for one in self.open[dev])

    def path(self, dev):
        return ('block', 'disks', self.names.get(dev, '(%d,%d)' % (dev >> 20, dev & 0xFFFFF)))

    def advance(self, ns, dev, book):
        """Time goes on: what is open for too long is forgotten at its time."""
        while self.open[dev] and ns - self.open[dev][0].since >= self.TOO_LONG:
            oldest = self.open[dev][0]
            self.account(oldest.since + self.TOO_LONG, dev, book)
            self.open[dev].pop(0)
            book.add('block', 'cut', by=oldest.phase != 'waiting' and not oldest.is_cut)
        self.account(ns, dev, book)

    def account(self, ns, dev, book):
        depth, since = self.depth(dev), self.since.get(dev, ns)
        if depth and ns > since:
            book.add(*self.path(dev), 'busy_ns', by=ns - since)
            book.add(*self.path(dev), 'depth_ns', by=depth * (ns - since))
            self.deepest(dev, depth, book)
        self.since[dev] = max(ns, since)

    def deepest(self, dev, depth, book):
        path = self.path(dev) + ('depth_max',)
        book.most[path] = max(book.most[path], depth)

    def find(self, dev, like, *phases):
        alike = [one for one in self.open[dev] if one.phase in phases and one.kind() == like.kind() and
                 (not like.has_place() or one.sector == like.sector)]
        if like.kind() == ('at', 0):
            alike = [one for one in alike if one.sector == like.sector] or alike
        alike = [one for one in alike if one.left == like.count] or alike
        return ([one for one in alike if not one.is_cut] + alike + [None])[0]

    def event(self, ns, name, text, book):
        if name == 'lttng_statedump_block_device':
            self.names[number(text, 'dev')] = string(text, 'diskname')
        what = name[len('block_rq_'):] if name.startswith('block_rq_') else None
        if what not in ('insert', 'issue', 'complete', 'requeue'):
            return
        dev = number(text, 'dev')
        asked = Request(ns, number(text, 'sector') % 2**64, number(text, 'nr_sector'), number(text, 'rwbs'),
                        number(text, 'tid') or 0)
        self.advance(ns, dev, book)
        getattr(self, what)(dev, asked, text, book)
        self.deepest(dev, self.depth(dev), book)

    def add(self, dev, request, phase):
        request.phase = phase
        self.open[dev].append(request)

    def insert(self, dev, asked, _text, _book):
        if not self.find(dev, asked, 'requeued'):
            self.add(dev, asked, 'waiting')

    def take_inserted(self, dev, asked):
        """The same one, or all of which it was put together."""
        same = self.find(dev, asked, 'waiting')
        if same and (same.count >= asked.count or not asked.has_place()):
            taken = [same]
        else:
            taken = [one for one in self.open[dev] if one.phase == 'waiting' and asked.has_place() and
                     one.kind() == asked.kind() and one.within(asked)]
        if taken:
            asked.insert, asked.tid = taken[0].since, taken[0].tid or asked.tid
        self.open[dev] = [one for one in self.open[dev] if one not in taken]

    def issue(self, dev, asked, text, book):
        again = self.find(dev, asked, 'requeued')
        if not again and self.repeats:
            again = self.find(dev, asked, 'flight')
            again = again if again and again.left == asked.count else None
        self.take_inserted(dev, asked)
        if again:
            again.phase = 'flight'
            return
        if asked.insert is not None:
            book.sample(*self.path(dev), 'queued', ns=asked.since - asked.insert)
        asked.is_cut = self.ended_early(dev, asked)
        book.add('block', 'cut', by=asked.is_cut)
        self.add(dev, asked, 'flight')
        thread = self.reference.thread(number(text, 'tid')) if number(text, 'tid') else None
        if thread:
            book.add('block', 'threads', thread, 'requests')
            moved = self.moved(asked)
            if moved:
                book.add('block', 'threads', thread, moved + '_bytes', by=asked.count * 512)

    def ended_early(self, dev, asked):
        for orphan in self.orphans[dev]:
            if asked.since - orphan.since <= self.TOO_EARLY and orphan.kind() == asked.kind() and (
                    not asked.has_place() or (orphan.sector, orphan.count) == (asked.sector, asked.count)):
                self.orphans[dev].remove(orphan)
                return True
        return False

    def requeue(self, dev, asked, _text, book):
        found = self.find(dev, asked, 'flight')
        if found:
            found.phase = 'requeued'
            book.add('block', 'requeues')

    def ended(self, dev, part):
        """What a completion is of."""
        def any_of(like):
            return self.find(dev, like, 'flight') or self.find(dev, like, 'requeued') or self.find(dev, like, 'waiting')

        if part.sector != self.NO_SECTOR:
            return any_of(part)
        return any_of(Request(0, part.sector, 0, part.rwbs, 0)) or (any_of(part) if part.count else None)

    def complete(self, dev, part, text, book):
        found, failed = self.ended(dev, part), bool(number(text, 'error') or number(text, 'errors'))
        if not found or found.phase == 'waiting':
            if found:
                self.open[dev].remove(found)
            self.orphans[dev] = [part] + self.orphans[dev][:3]
            is_empty = part.count == 0 and part.rwbs & 7 and part.sector != self.NO_SECTOR
            book.add('block', 'orphans', by=not is_empty)
            return
        found.failed |= failed
        if found.has_place() and part.count < found.left:
            found.sector, found.left = found.sector + part.count, found.left - part.count
            return
        self.open[dev].remove(found)
        self.done(part.since, dev, found, book)

    @staticmethod
    def moved(request):
        if request.rwbs & 2 or request.kind() == ('flush',):
            return None
        return 'write' if request.rwbs & 1 else 'read' if request.rwbs & 4 else None

    def done(self, ns, dev, request, book):
        took, size, moved = ns - request.since, request.count * 512, self.moved(request)
        book.add('block', 'requests')
        book.add(*self.path(dev), 'requests')
        book.add(*self.path(dev), 'errors', by=request.failed)
        if request.rwbs & 2:
            book.add('block', 'discards')
        elif request.kind() == ('flush',):
            book.add('block', 'flushes')
        if moved:
            book.add(*self.path(dev), moved + '_bytes', by=size)
        if request.is_cut:
            return
        book.sample(*self.path(dev), 'time', ns=took)
        if moved:
            book.sample(*self.path(dev), moved + '_time', ns=took)
        book.longest['block'].append((took, ns, request.tid, (self.path(dev)[2], size)))

    def cut(self, ns, book):
        """Completions may be missing: at a loss, at its end, and in a hole."""
        for dev in list(self.open):
            self.advance(ns, dev, book)
            self.open[dev] = [one for one in self.open[dev] if one.phase != 'waiting']
            for one in self.open[dev]:
                book.add('block', 'cut', by=not one.is_cut)
                one.is_cut = True

    def end_window(self, end, book):
        for dev in list(self.open):
            self.advance(end, dev, book)
            book.last[self.path(dev) + ('in_flight',)] = self.depth(dev)


class Faults:
    """Of user code: minor if its thread goes on, major if it sleeps first."""

    def __init__(self, names):
        self.has_calls = 'syscall_entry_futex' in names
        self.open, self.asleep = {}, {}  # when it began; when the thread went to sleep

    @staticmethod
    def count(thread, column, book):
        book.add('faults', column)
        if thread is not None:
            book.add('faults', 'threads', thread, column)

    def goes_on(self, thread, book):
        if self.open.pop(thread, None) is not None:
            self.count(thread, 'minor', book)

    def event(self, ns, name, thread, text, book):
        call = Syscalls.EVENT.match(name)
        if (call and call.group(2) != 'syscall_exit_') or name == 'signal_deliver':
            self.goes_on(thread, book)
        elif name == 'x86_exceptions_page_fault_kernel':
            self.count(thread, 'kernel', book)
        elif name == 'x86_exceptions_page_fault_user':
            self.goes_on(thread, book)
            self.count(thread, 'user', book)
            if self.has_calls:
                self.open[thread] = ns

    def switch(self, ns, cpu, prev, sleeps, next_, book):
        self.asleep.pop(prev, None)
        if prev and sleeps:
            self.asleep[prev] = ns
        slept = self.asleep.pop(next_, ns) < ns  # not if it came from another CPU in the same moment
        if slept and next_ in self.open:
            took = ns - self.open.pop(next_)
            self.count(next_, 'major', book)
            book.sample('faults', 'major_time', ns=took)
            book.add('faults', 'threads', next_, 'major_ns', by=took)
            book.longest['faults'].append((took, ns, next_, (cpu,)))


class Sequential:
    """All of them."""
    HAS_ALL = True  # also what those that choose threads, or analyses, do without: waits and power

    def __init__(self, reference, release, names):
        self.reference, self.books, self.names = reference, collections.defaultdict(Book), names
        self.contexts = wakers.Contexts(names, False, reference.coverage and reference.coverage.silences)
        self.sched, self.syscalls = Sched(reference, release, names, self.contexts), Syscalls()
        self.irq, self.memory, self.net, self.block = Irq(), Memory(), Net(), Block(reference, names)
        self.files, self.faults = files.Files(), Faults(names)
        self.changing = files.Files(files.CHANGING)
        self.now = now.Now(reference, self.sched, self.changing)
        rest = self.books if self.HAS_ALL else collections.defaultdict(Book)
        self.power = power_plain.Power(rest, reference.interval, self.left, self.heard)
        self.waits = waits.Waits(reference, self.now, rest)

    def left(self, cpu):
        """When a CPU did of which it was known what it ran."""
        whole = self.reference
        is_known = whole.coverage and (cpu in whole.left or whole.current.get(cpu) is not None)
        return whole.coverage.leaves(cpu, whole.last) if is_known else None

    def heard(self, cpu):
        return self.reference.coverage.ends.get(cpu) if self.reference.coverage else None

    def there(self, end, number_):
        """For how long each CPU was in a window."""
        whole = self.reference
        if not {'power_cpu_idle', 'power_cpu_frequency'} & self.names:
            return {}
        begin = max(number_ * whole.interval, whole.begin)
        cpus = set(whole.coverage.ends if whole.coverage else ()) | set(whole.current)
        lefts = {cpu: self.left(cpu) for cpu in cpus}
        return {cpu: max(0, (end if left is None else min(end, left)) - begin) for cpu, left in lefts.items()}

    def is_elsewhere(self, prev, cpu):
        """It may have come to another CPU in the same moment."""
        return prev and any(current == prev.tid for c, current in self.reference.current.items() if c != cpu)

    def stays(self, ns, prev, elsewhere):
        """It does not come to another CPU in the same moment, whichever of both switches is read first."""
        return prev and not elsewhere and (ns, prev.tid) not in self.reference.entered

    def switch(self, ns, cpu, prev, next_, text):
        state = number(text, 'prev_state')
        book = self.books[ns // self.reference.interval]
        elsewhere = self.is_elsewhere(prev, cpu)
        self.contexts.switch(cpu, text)
        self.power.event(ns, 'sched_switch', cpu, text)
        self.waits.count(ns, prev, next_)
        self.sched.switch(ns, cpu, prev, elsewhere, state, next_, number(text, 'next_prio'), book)
        self.now.switch(ns, prev, elsewhere, state, next_)
        self.waits.runs(ns, cpu, None if elsewhere else prev, next_)
        self.syscalls.switch(ns, prev, elsewhere, self.sched.leaves(state) == 'dead', next_)
        if self.stays(ns, prev, elsewhere) and self.sched.stops(state):
            self.faults.goes_on(prev, book)
        self.faults.switch(ns, cpu, prev if not elsewhere else None, self.sched.leaves(state) == 'sleep', next_, book)

    def is_found(self, ns, cpu, thread):
        """It runs there, from now on as far as is known."""
        self.waits.count(ns, thread)
        self.sched.phase[thread] = 'running'
        self.waits.runs(ns, cpu, thread)

    def died(self, ns, thread):
        self.waits.count(ns, thread)
        self.syscalls.dead.add(thread)
        self.files.died(ns, thread)
        self.changing.died(ns, thread)

    def event(self, ns, name, cpu, text, thread):
        book = self.books[ns // self.reference.interval]
        self.contexts.event(name, cpu, text)
        woken = self.now.woken_by(name, text)
        self.waits.count(ns, thread, woken)
        before = self.now.before_wake(name, cpu, text)
        self.sched.event(ns, name, cpu, text, book)
        self.now.after_wake(ns, before, name, cpu, text)
        self.now.event(ns, name, thread, text)
        self.waits.count(ns, thread, woken)
        self.syscalls.event(ns, name, thread, text, book)
        self.irq.event(ns, name, cpu, text, book)
        self.power.event(ns, name, cpu, text)
        self.memory.event(ns, name, thread, text, book)
        self.net.event(name, text, book)
        self.block.event(ns, name, text, book)
        self.files.event(ns, name, thread, text, book)
        self.changing.event(ns, name, thread, text, Book())
        self.faults.event(ns, name, thread, text, book)

    def hole(self, begin):
        """Nothing is known from @begin on."""
        book = self.books[begin // self.reference.interval]
        self.waits.count_all(begin)
        self.contexts.hole()
        self.sched.hole()
        self.now.hole(begin)
        self.syscalls.hole()
        self.irq.hole(book)
        self.power.hole(begin)
        self.memory.begun.clear()
        self.block.cut(begin, book)
        self.files.hole()
        self.changing.hole()
        self.faults.open.clear()

    def end_window(self, end, number_):
        self.files.settle()
        self.changing.settle()
        self.waits.count_all(end)
        self.power.end_window(end, number_, self.there(end, number_))
        self.now.end_window(end, self.books[number_])
        self.syscalls.end_window(end, self.books[number_])
        self.block.end_window(end, self.books[number_])


# ---- comparing ----

IDS = ('cpu', 'irq', 'vec', 'prio', 'order', 'errno', 'name', 'fd', 'path', 'state', 'khz')
NAMES = ('vec_name', 'errno_name', 'comm', 'pid', 'tid')
ANALYSES = ('sched', 'waits', 'syscalls', 'irq', 'power', 'memory', 'net', 'block', 'files', 'faults')


def flat(line):
    """({path: number}, {path: spread}) of a report's line; threads of one tid are added up."""
    sums, spreads = collections.Counter(), collections.defaultdict(list)

    def figures(path, row):
        for key, value in row.items():
            if isinstance(value, dict):
                if value['count']:
                    spreads[path + (key,)].append(value)
            elif key not in NAMES and value is not None:  # None: not recorded, so it must be 0 here
                sums[path + (key,)] += value

    for analysis in ANALYSES:
        for key, value in line[analysis].items():
            if key == 'missing':
                continue
            if not isinstance(value, list):
                figures((analysis,), {key: value})
            elif key not in ('processes', 'longest'):
                for row in value:
                    ids = tuple(row[name] for name in IDS if name in row)
                    ids = (row['pid'],) + ids if key == 'fds' else ids
                    which = row.get('tid') if key == 'threads' else ids[0] if len(ids) == 1 else ids
                    if which is not None:
                        figures((analysis, key, which),
                                {name: figure for name, figure in row.items() if name not in IDS})
    return {path: value for path, value in sums.items() if value}, spreads


def deviation(samples):
    n, total = len(samples), sum(samples)
    square = sum(value * value for value in samples)
    return math.sqrt(max(0, (square * n - total * total) / n / (n - 1)))


def spread_differs(spread, samples):
    samples = sorted(samples)
    n = len(samples)
    exact = {'count': n, 'sum_ns': sum(samples), 'min_ns': samples[0], 'max_ns': samples[-1]}
    for key, value in exact.items():
        if spread[key] != value:
            return '%s is %s, not %s' % (key, spread[key], value)
    if abs(spread['mean_ns'] - sum(samples) / n) > 0.001 + 1e-12 * sum(samples):
        return 'mean'
    if n > 1 and abs(spread['stdev_ns'] - deviation(samples)) > 0.001 + 1e-9 * deviation(samples):
        return 'stdev is %s, not %s' % (spread['stdev_ns'], deviation(samples))
    for key, per_mille in (('p50_ns', 500), ('p95_ns', 950), ('p99_ns', 990), ('p999_ns', 999)):
        truth = samples[max(0, -(-n * per_mille // 1000) - 1)]
        if not truth <= spread[key] <= truth + truth // 64 + 1:
            return '%s is %s, the sample is %s' % (key, spread[key], truth)
    if 'log2' in spread:
        powers = collections.Counter(str(max(value, 1).bit_length() - 1) for value in samples)
        if spread['log2'] != dict(powers):
            return 'log2 is %s, not %s' % (spread['log2'], dict(powers))
    return None


LONGEST = {'sched': ('cpu', 'prio', 'waker_tid'), 'syscalls': ('name', 'ret'), 'faults': ('cpu',),
           'block': ('disk', 'bytes')}


def longest_differ(line, book):
    for name, keys in LONGEST.items():
        ours = [(row['ns'], row['end'], row.get('tid'), tuple(row[key] for key in keys))
                for row in line[name].get('longest', ())]
        all_ = sorted(book.longest[name], key=lambda one: (-one[0], one[1], -1 if one[2] is None else one[2]))
        if [one[:3] for one in ours] != [one[:3] for one in all_[:10]] or set(ours) - set(all_):
            yield '%s longest: %s, the reference has %s' % (name, ours[:4], all_[:4])


def differences(line, book, tid_of):
    """What a line and a book do not agree on."""
    def plain(path):
        return tuple(tid_of(part) if hasattr(part, 'born') else part for part in path)

    yield from longest_differ(line, book)
    yield from now.differences(line, book)
    ours, spreads = flat(line)
    wanted, samples = collections.Counter(), collections.defaultdict(list)
    for path, value in list(book.sums.items()) + list(book.last.items()) + list(book.most.items()):
        wanted[plain(path)] += value
    for path, values in book.samples.items():
        samples[plain(path)] += values
    wanted = {path: value for path, value in wanted.items() if None not in path}  # unknown threads
    samples = collections.defaultdict(list, {path: some for path, some in samples.items() if None not in path})
    wanted = collections.Counter(wanted)
    for path in sorted(set(ours) | {path for path, value in wanted.items() if value}, key=str):
        if ours.get(path, 0) != wanted[path]:
            yield '%s is %s, the reference has %s' % (path, ours.get(path, 0), wanted[path])
    for path in sorted(set(spreads) | set(samples), key=str):
        if len(spreads[path]) > 1:  # a tid that several threads had
            found = sum(spread['sum_ns'] for spread in spreads[path]) != sum(samples[path]) and 'sum'
        elif not spreads[path] or not samples[path]:
            found = 'only one has it'
        else:
            found = spread_differs(spreads[path][0], samples[path])
        if found:
            yield '%s: %s' % (path, found)

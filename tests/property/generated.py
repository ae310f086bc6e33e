"""generated: traces of what a kernel could do, and of user programs, for laws.py and others.

A random schedule: threads migrate, are preempted, fork, die, come back under an old tid, exec (also
where a thread is not the leader), change name and priority, and make calls.  They are woken before
and after they sleep, also in page faults.  There are nested interrupts, pages, packets and block
requests; CPUs with ties in time, and empty streams; calls, interrupts and other kinds of events in a
channel of their own, or a call that is not traced; times that no packet covers; CPUs that leave, and
channels that end before others of their CPU; event headers of LTTng and others, packed or aligned, in either byte order; contexts that name the thread that runs.

A new analysis needs its events here: coverage.py fails if it gets none.
"""
import collections
import itertools
import os
import random
import re
import struct

import synthetic

STREAM = synthetic.HEADER[synthetic.HEADER.index('stream {'):]
# Event headers: the usual two of LTTng, which have ways of their own through the decoder, and another.
PLAIN = 'struct { uint16_t id; stamp_t timestamp; }'
USUAL = '''struct {
		enum : integer { size = %d; align = %d; signed = false; } { compact = 0 ... %d, extended = %d } id;
		variant <id> {
			struct { integer { size = %d; align = %d; signed = false; map = clock.mono.value; } timestamp; } compact;
			struct { uint32_t id; stamp_t timestamp; } extended;
		} v;
	} align(8)'''
HEADERS = {'plain': PLAIN, 'compact': USUAL % (5, 1, 30, 31, 27, 1), 'large': USUAL % (16, 8, 65534, 65535, 32, 8)}
Layout = collections.namedtuple('Layout', 'header, order, is_aligned', defaults=('<', False))
ARGUMENTS = {
    'read': (('s32', 'fd'),), 'write': (('s32', 'fd'),), 'sendto': (('s32', 'fd'),), 'rt_sigreturn': (),
    'recvfrom': (('s32', 'fd'), ('s64', 'size'), ('s32', 'flags')), 'recvmsg': (('s32', 'fd'), ('s32', 'flags')),
    'sendfile': (('s32', 'out_fd'), ('s32', 'in_fd')), 'fsync': (('s32', 'fd'),),
    'futex': (('s64', 'uaddr'), ('s32', 'op')), 'mq_timedsend': (('s32', 'msg_len'),), 'clone': (), 'poll': (), 'eventfd2': (('s32', 'flags'),),
    'openat': (('s32', 'dfd'), ('text', 'filename'), ('s32', 'flags')),
    'socket': (('s32', 'family'), ('s32', 'type')), 'close': (('s32', 'fd'),),
    'dup': (('s32', 'fildes'),), 'dup3': (('s32', 'oldfd'), ('s32', 'newfd'), ('s32', 'flags')),
    'fcntl': (('s32', 'fd'), ('s32', 'cmd'), ('s64', 'arg')),
    'chdir': (('text', 'filename'),), 'fchdir': (('s32', 'fd'),),
    'close_range': (('s32', 'fd'), ('s32', 'max_fd'), ('s32', 'flags')),
}
CALLS = tuple(ARGUMENTS)
ARGUMENTS['nanosleep'] = ()  # in the place of some that poll
LONG_NAME = '/a/name/that/is/longer/than/a/key/of/an/item/'
FIELDS = {
    'sched_switch': dict(synthetic.EVENTS)['sched_switch'],
    'sched_process_fork': (('comm', 'child_comm'), ('row', 'vtids'), ('s32', 'child_tid'), ('s32', 'child_pid'),
                           ('s32', 'parent_pid'), ('s64', 'parent_ns_inum'), ('s64', 'child_ns_inum')),
    'lttng_statedump_process_pid_ns': (('s32', 'tid'), ('s32', 'vtid'), ('s32', 'vpid'), ('s32', 'ns_level'),
                                       ('s64', 'ns_inum')),
    'sched_process_exec': (('text', 'filename'), ('s32', 'tid'), ('s32', 'old_tid')),
    'lttng_statedump_process_state': (('s32', 'tid'), ('s32', 'pid'), ('comm', 'name'), ('s32', 'status')),
    'sched_pi_setprio': (('s32', 'tid'), ('s32', 'oldprio'), ('s32', 'newprio')),
    'sched_waking': (('s32', 'tid'), ('s32', 'target_cpu')),
    'sched_wakeup': (('s32', 'tid'), ('s32', 'target_cpu')),
    'sched_migrate_task': (('s32', 'tid'), ('s32', 'dest_cpu')),
    'irq_handler_entry': (('s32', 'irq'), ('text', 'name')),
    'irq_handler_exit': (('s32', 'irq'), ('s32', 'ret')),
    'irq_softirq_raise': (('s32', 'vec'),),
    'irq_softirq_entry': (('s32', 'vec'),),
    'irq_softirq_exit': (('s32', 'vec'),),
    'kmem_mm_page_alloc': (('s32', 'order'), ('s64', 'pfn')),
    'kmem_mm_page_free': (('s32', 'order'), ('s64', 'pfn')),
    'mm_page_free_batched': (('s64', 'pfn'),),
    'mm_vmscan_wakeup_kswapd': (('s32', 'order'),),
    'mm_vmscan_direct_reclaim_begin': (('s32', 'order'),),
    'mm_vmscan_direct_reclaim_end': (('s64', 'nr_reclaimed'),),
    'net_if_receive_skb': (('s32', 'len'), ('text', 'name')),
    'net_dev_xmit': (('s32', 'rc'), ('s32', 'len'), ('text', 'name')),
    'block_rq_requeue': (('s32', 'dev'), ('s64', 'sector'), ('s32', 'nr_sector'), ('s32', 'rwbs')),
}
FIELDS['block_rq_complete'] = FIELDS['block_rq_requeue'] + (('s32', 'error'),)
FIELDS['block_rq_insert'] = FIELDS['block_rq_issue'] = FIELDS['block_rq_requeue'] + (('s32', 'tid'),)
FIELDS['x86_exceptions_page_fault_user'] = (('s64', 'address'), ('s64', 'ip'), ('s64', 'error_code'))
FIELDS['x86_exceptions_page_fault_kernel'] = FIELDS['x86_exceptions_page_fault_user']
FIELDS['timer_hrtimer_start'] = (('s64', 'hrtimer'), ('s64', 'expires'), ('s64', 'softexpires'))
FIELDS['timer_hrtimer_expire_entry'] = (('s64', 'hrtimer'), ('s64', 'now'))
FIELDS['timer_hrtimer_expire_exit'] = (('s64', 'hrtimer'),)
FIELDS['signal_generate'] = (('s32', 'sig'), ('s32', 'pid'), ('s32', 'result'))
FIELDS['signal_deliver'] = (('s32', 'sig'), ('s32', 'errno'), ('s32', 'code'))
FIELDS['power_cpu_idle'] = FIELDS['power_cpu_frequency'] = (('s32', 'state'), ('s32', 'cpu_id'))
FIELDS['sched_process_exit'] = (('s32', 'tid'),)
FIELDS['lttng_statedump_start'] = ()
FIELDS['lttng_statedump_file_descriptor'] = (('s32', 'pid'), ('s32', 'fd'), ('s32', 'flags'), ('text', 'filename'))
for _call in ARGUMENTS:
    for _entry in 'syscall_entry_', 'compat_syscall_entry_', 'sys_':
        FIELDS[_entry + _call] = ARGUMENTS[_call]
    for _exit in 'syscall_exit_', 'compat_syscall_exit_':
        FIELDS[_exit + _call] = (('s64', 'ret'),)
FIELDS['exit_syscall'] = (('s64', 'ret'),)
FIELDS['sched_wakeup_new'] = FIELDS['sched_wakeup']
FIELDS['lttng_statedump_block_device'] = (('s32', 'dev'), ('text', 'diskname'))
UST_FIELDS = {'app:begin': (('s32', 'id'),), 'app:end': (('s32', 'id'),), 'app:log': (('text', 'msg'),),
              'lib:call': (), 'lib:size': (('s64', 'size'),),
              'lib:workStart': (), 'lib:workStop': (('s64', 'ret'),), 'db:get_entry': (('text', 'name'), ('s32', 'handle')),
              'db:get_exit': (('text', 'name'), ('s32', 'handle')), 'db:put_entry': (('s32', 'ptr'),), 'db:put_exit': (('s32', 'ptr'),),
              'db:put_leave': (), 'lttng_jul:event': (('text', 'logger_name'), ('s32', 'int_loglevel')),
              'lttng_python:event': (('text', 'logger_name'), ('s32', 'int_loglevel')),
              'lttng_ust_cyg_profile:func_entry': (('s64', 'addr'),), 'lttng_ust_cyg_profile:func_exit': (('s64', 'addr'),)}
LEVELS = {'app:begin': 6, 'app:end': 6, 'app:log': 13, 'lib:size': 3, 'lttng_jul:event': 13, 'lttng_python:event': 13}
AGENTS = {'lttng_jul:event': 1000000, 'lttng_python:event': 3000000}  # what is added to their levels
IDS = {name: i for i, name in enumerate({**FIELDS, **UST_FIELDS})}
CONTEXTS = (('s32', 'tid'), ('s32', 'pid'), ('comm', 'procname'))
UST_CONTEXTS = (('s32', 'vtid'), ('s32', 'vpid'), ('comm', 'procname'))
START = 10**18  # ns
PAUSES = (900_000_000, 10**9, 10**9 + 1, 1_300_000_000, 2_100_000_000)  # beyond 1 s they are holes
STATES = (1, 1, 1, 1, 2, 2, 0, 0, 0x100, 0x100, 4, 8, 0x80)  # a thread sleeps (1, 2), is preempted, or is stopped


def choose_layout(rng):
    return Layout(rng.choice(list(HEADERS)), rng.choice('<<<>'), rng.random() < 0.3)


DECLARED = {'comm': synthetic.FIELD['comm'] + ' _%s[16]; ', 'text': 'string _%s; ',
            'row': 'uint8_t __%s_length; ' + synthetic.FIELD['s32'] + ' _%s[__%s_length]; '}


def struct_of(fields):
    declared = ((DECLARED.get(kind) or synthetic.FIELD[kind] + ' _%s; ', field) for kind, field in fields)
    return 'struct { %s}' % ''.join(text % ((field,) * text.count('%s')) for text, field in declared)


def align_all(text):
    """Integers of whole bytes to their size."""
    return re.sub(r'size = (8|16|32|64); align = 8;', r'size = \1; align = \1;', text)


def metadata(layout, contexts=((), ()), domain='kernel', calls=CALLS):
    """@contexts: of the events of each stream class.  @calls: those that are traced."""
    text = (synthetic.HEADER[:synthetic.HEADER.index('stream {')] % 0).replace('"kernel"', '"%s"' % domain)
    for stream, fields in enumerate(contexts):
        context = 'event.context := %s;\n};' % struct_of(fields) if fields else '};'
        text += STREAM.replace('id = 0', 'id = %d' % stream, 1).replace(PLAIN, HEADERS[layout.header])[:-3] + context + '\n'
    for stream, (name, fields) in itertools.product((0, 1), (FIELDS if domain == 'kernel' else UST_FIELDS).items()):
        if stream == 1 and name == 'sched_switch':
            continue  # in one channel only
        if name.endswith(CALLS) and not name.endswith(calls):
            continue
        level = 'loglevel = %d; ' % LEVELS[name] if name in LEVELS else ''
        text += 'event { name = "%s"; id = %d; stream_id = %d; %sfields := %s; };\n' % (
            name, IDS[name], stream, level, struct_of(fields))
    text = text.replace('byte_order = le', 'byte_order = ' + ('le' if layout.order == '<' else 'be'))
    return align_all(text) if layout.is_aligned else text


HOST = 4026531836


def namespace(pid):
    """The PID namespace of a process: one of three, of which the first is the host's."""
    return HOST + 7 * (pid % 3)


class Thread:
    def __init__(self, tid, pid, comm):
        self.tid, self.pid, self.comm = tid, pid, comm
        self.prio, self.call, self.former, self.cpu = 20, None, None, None


def aside(rng, what=''):
    """Numbers of their own, that take nothing from @rng."""
    return random.Random(what + repr(rng.getstate()[1][:9]))


class Schedule:
    """Events as they could come from a kernel: (ts, name, cpu, values by field)."""

    def __init__(self, rng):
        self.rng, self.now, self.events = rng, START + rng.randrange(10**9), []
        self.last = {}
        self.tids = list(range(2, rng.choice((6, 12, 40))))
        self.calls = CALLS if rng.random() < 0.8 else tuple(call for call in CALLS if call != 'futex')
        self.styles = rng.choice((('',), ('',), ('', 'compat_'), ('old',), ('', 'compat_', 'old')))  # of calls
        self.alive = {tid: Thread(tid, tid, 'first%d' % tid) for tid in self.tids[:3]}
        self.running = {cpu: None for cpu in range(rng.randrange(1, 6))}
        for thread in list(self.alive.values())[:1]:
            self.running[0], thread.cpu = thread, 0
        for disk in (8 << 20, 'sda'), (8 << 20 | 16, 'sdb'):  # a reference knows one name of each
            if rng.random() < 0.3:
                self.add(0, 'lttng_statedump_block_device', *disk)
        self.stops = []  # after these times nothing is traced for a while
        self.there = list(self.running)  # CPUs that have not left
        apart = aside(rng)
        steps = rng.randrange(30, 600)
        pauses = apart.sample(range(steps), apart.choice((0, 0, 1, 3)))
        self.leaving = aside(rng, 'leaving')
        leaves = {self.leaving.randrange(steps) for _ in range(self.leaving.choice((0, 0, 0, 1, 3)))}
        for i in range(steps):
            if i in pauses:
                self.stops.append(self.now)
                self.now += apart.choice(PAUSES)
            if i in leaves and len(self.there) > 1:
                self.leave(self.leaving.choice(self.there))
            if apart.random() < 0.08:
                self.release(apart, apart.choice(self.there))
            self.idle(aside(self.rng, 'idle'))
            self.step()
        for cpu in self.there:  # each CPU shows who was there
            self.switch(cpu)

    def leave(self, cpu):
        """Nothing comes from that CPU any more.  Who runs there stays."""
        if self.leaving.random() < 0.7:
            self.switch(cpu)
        self.there.remove(cpu)

    def step(self):
        self.now += self.rng.choice((0, 0, 1, 7, 1000, 50_000, 3_000_000, 90_000_000))
        cpu = self.rng.choice(self.there)
        action = self.rng.choices(
            (self.switch, self.call, self.fork, self.exec, self.rename, self.dump, self.wake,
             self.interrupt, self.page, self.packet, self.request, self.fault),
            (10, 12, 2, 1, 1, 1, 6, 5, 2, 2, 3, 5))[0]
        if action in (self.switch, self.wake, self.interrupt, self.request) or self.running[cpu]:
            action(cpu)

    def add(self, cpu, name, *values):
        self.now += self.last.get(cpu) == self.now  # a CPU does one thing at a time
        self.last[cpu] = self.now
        runs = self.running[cpu] or Thread(0, 0, 'swapper')
        self.events.append((self.now, name, cpu, values, {'tid': runs.tid, 'pid': runs.pid, 'procname': runs.comm}))

    def switch(self, cpu, dead=False):
        prev = self.running[cpu]
        ready = [thread for thread in self.alive.values() if thread.cpu is None]
        next_ = self.rng.choice(ready + [None])
        if next_ is prev is None:
            return
        dead = prev is not None and len(self.alive) > 2 and self.rng.random() < 0.15
        if dead and self.rng.random() < 0.7:
            self.add(cpu, 'sched_process_exit', prev.tid)
        state = 64 if dead else self.rng.choice(STATES)
        self.add(cpu, 'sched_switch', prev.comm if prev else 'swapper', prev.tid if prev else 0,
                 prev.prio if prev else 20, state,
                 next_.comm if next_ else 'swapper', next_.tid if next_ else 0, next_.prio if next_ else 20)
        if prev:
            prev.cpu = None
            if dead:
                del self.alive[prev.tid]
        self.running[cpu] = next_
        if next_:
            next_.cpu = cpu

    def call(self, cpu):
        thread = self.running[cpu]
        if thread.call and self.rng.random() < 0.8:
            calls, odds = (thread.call, thread.former or thread.call, self.rng.choice(self.calls)), (65, 30, 5)
            call, style = self.rng.choices(calls, odds)[0], self.rng.choice(self.styles)
            self.add(cpu, 'exit_syscall' if style == 'old' else style + 'syscall_exit_' + call,
                     self.rng.choice((-11, -9, -512, 0, 1, 2, 3, 3, 4096)))
            thread.call = None
        else:
            thread.former, thread.call = thread.call or thread.former, self.rng.choice(self.calls)
            if thread.call == 'poll' and aside(self.rng, 'sleeps').random() < 0.6:
                thread.call = 'nanosleep'
            style = self.rng.choice(self.styles)
            self.add(cpu, ('sys_' if style == 'old' else style + 'syscall_entry_') + thread.call,
                     *(self.argument(kind, field) for kind, field in ARGUMENTS[thread.call]))
            apart = aside(self.rng, 'lends')
            if thread.call == 'futex' and apart.random() < 0.5:
                self.add(cpu, 'sched_pi_setprio', apart.choice(list(self.alive)), 20, apart.choice((-2, 20, 30)))
            if thread.call == 'nanosleep':
                for timer in range(apart.randrange(3)):  # an interrupt may set another one
                    self.add(cpu, 'timer_hrtimer_start', timer << 12, self.now - START + 10**apart.randrange(7), self.now - START)

    def argument(self, kind, field):
        if field in ('uaddr', 'op'):
            return aside(self.rng, field).choice({'uaddr': (0x7F00, 0x7F08), 'op': (128, 128, 0, 6, 6 | 128, 137, 129)}[field])
        if kind == 'text':
            return self.rng.choice(('/etc/passwd', 'relative', '../up/.', 'socket:[5]', 'pipe:[7]', LONG_NAME + 'a', LONG_NAME + 'b'))
        return self.rng.choice({
            'flags': (0, 4, 2, 0x20, 0o2000000), 'size': (0, 2, 4096), 'type': (1, 0o2000001), 'family': (1, 2, 10, 16),
            'cmd': (0, 1, 2, 1030), 'arg': (0, 1), 'msg_len': (5, 77), 'dfd': (-100, 3)}.get(field, (0, 1, 2, 3, 4)))

    def queue(self, tid):
        """The CPU that a thread will wait for, one or the other."""
        return self.there[(tid + self.now) % len(self.there)]

    def wake(self, cpu):
        """Perhaps of one who runs: on another CPU (a race), or here."""
        thread = self.rng.choice(list(self.alive.values()))
        self.now += 1  # what a wake-up means is no matter of order within a moment
        self.add(cpu, self.rng.choice(('sched_waking', 'sched_waking', 'sched_wakeup')), thread.tid, self.queue(thread.tid))
        if thread.tid % 3 == 0:
            self.now += 1
            self.add(cpu, 'sched_migrate_task', thread.tid, self.queue(thread.tid))
        self.now += 1

    def release(self, rng, cpu):
        """What releases threads: a timer that wakes one or nobody, or a signal with its wake-up."""
        thread, timer = rng.choice(list(self.alive.values())), rng.randrange(4) << 8
        if not self.events or self.now - self.events[0][0] < 10:
            return  # a report has no arrivals before its range
        self.now += 1
        if rng.random() < 0.3:
            if rng.random() < 0.6:
                self.add(cpu, 'sched_waking', thread.tid, self.queue(thread.tid))
                self.now += 1
            self.add(cpu, 'signal_generate', rng.choice((10, 14)), thread.tid, rng.choice((0, 0, 0, 1)))
            self.now += 1
            return
        if rng.random() < 0.7:
            self.add(rng.choice(self.there), 'timer_hrtimer_start', timer, self.now - START, self.now - START - 5)
            self.now += 1 + rng.choice((0, 1000, 400_000))
        self.add(cpu, 'timer_hrtimer_expire_entry', timer, self.now - START)
        self.now += 1
        if rng.random() < 0.6:
            self.add(cpu, 'sched_waking', thread.tid, self.queue(thread.tid))
            self.now += 1
        if rng.random() < 0.9:
            self.add(cpu, 'timer_hrtimer_expire_exit', timer)
            self.now += 1

    def idle(self, rng):
        """An idle CPU goes to sleep or wakes up, by an interrupt or not; some CPU tells another one's frequency."""
        cpu = rng.choice(self.there)
        if rng.random() < 0.6:
            return
        if rng.random() < 0.3:
            self.now += 1  # its order with events of other CPUs matters
            self.add(cpu, 'power_cpu_frequency', rng.choice((800_000, 2_400_000)), rng.choice(list(self.running)))
            self.now += 1
        if self.running[cpu] and rng.random() < 0.9:
            return
        if rng.random() < 0.15:
            self.add(cpu, 'irq_handler_entry', 1, 'line1')
        self.add(cpu, 'power_cpu_idle', rng.choice((-1, -1, -1, 0, 1, 2)), cpu)
        what = rng.random()
        if what < 0.3:
            self.add(cpu, 'irq_handler_entry', 2, 'line2')
        if what < 0.5 and self.now - self.events[0][0] >= 10:  # as in release()
            self.now += 1
            self.add(cpu, 'timer_hrtimer_expire_entry', 7 << 8, self.now - START)
            self.now += 1
        if what < 0.2:
            self.add(cpu, 'irq_handler_exit', 2, 1)

    def interrupt(self, cpu):
        name = self.rng.choice([name for name in FIELDS if name.startswith('irq_')])
        number = self.rng.randrange(3)
        more = {'irq_handler_entry': ('line%d' % number,),
                'irq_handler_exit': (self.rng.randrange(2),)}.get(name, ())
        self.add(cpu, name, number, *more)
        if name.endswith('entry') and self.rng.random() < 0.5:
            self.wake(cpu)

    def page(self, cpu):
        name = self.rng.choice([name for name in FIELDS if 'mm_' in name])
        if 'vmscan' in name:
            self.add(cpu, name, self.rng.randrange(4))
            return
        order = () if 'batched' in name else (self.rng.randrange(4),)
        self.add(cpu, name, *order, self.rng.choice((-1, 5, 77)))

    def packet(self, cpu):
        name = self.rng.choice(('net_if_receive_skb', 'net_dev_xmit'))
        code = (self.rng.choice((0, 0, 1, 2, 16, 32, -12)),) if name == 'net_dev_xmit' else ()
        self.add(cpu, name, *code, self.rng.randrange(2000), self.rng.choice(('lo', 'eth0')))

    def fault(self, cpu):
        """Of user code, unless a call is open (then seldom: its exit was lost); perhaps the thread sleeps in it."""
        is_user = self.rng.random() < (0.1 if self.running[cpu].call else 0.9)
        self.add(cpu, 'x86_exceptions_page_fault_' + ('user' if is_user else 'kernel'),
                 self.rng.randrange(1 << 47), self.rng.randrange(1 << 47), self.rng.choice((4, 6, 20)))
        if self.rng.random() < 0.1:
            self.add(cpu, 'signal_deliver', 11, 0, 1)
        if is_user and self.rng.random() < 0.4:
            self.now += self.rng.choice((0, 1000))
            self.switch(cpu)

    def request(self, cpu):
        """Reads, writes, discards, flushes, commands, zeroes and appends to zones, which merge, and complete in parts."""
        what = self.rng.choice(('insert', 'issue', 'issue', 'complete', 'complete', 'requeue'))
        tid = self.running[cpu].tid if self.running[cpu] else 0
        more = {'complete': (self.rng.choice((0, 0, -5)),), 'requeue': ()}.get(what, (tid,))
        sector, rwbs = self.rng.randrange(4) * 8, self.rng.choice((1, 1 | 32, 2, 4, 4 | 8, 256 | 1024, 0))
        size = 0 if rwbs & 256 else self.rng.choice((0, 8, 8, 16, 24))
        if what == 'complete' and (size == 0 or rwbs == 0) and self.rng.random() < 0.7:
            sector = -1
        self.now += 1
        self.add(cpu, 'block_rq_' + what, self.rng.choice((8 << 20, 8 << 20 | 16)), sector, size, rwbs, *more)
        self.now += 1

    def fork(self, cpu):
        parent = self.running[cpu]
        taken = {thread.pid for thread in self.alive.values()}  # of leaders that are gone before others
        free = [tid for tid in self.tids if tid not in self.alive and tid not in taken]
        if not free:
            return
        tid = self.rng.choice(free)
        pid = self.rng.choice((tid, parent.pid))
        child = self.alive[tid] = Thread(tid, pid, parent.comm)
        child.call = self.rng.choice((None, 'clone'))  # from which it returns, too
        self.now += 1  # as in exec
        self.add(cpu, 'sched_process_fork', child.comm, tid, pid, parent.pid, namespace(parent.pid), namespace(pid))
        if self.rng.random() < 0.5:
            self.now += 1
            self.add(cpu, 'sched_wakeup_new', tid, self.queue(tid))
        self.now += 1

    def exec(self, cpu):
        thread = self.running[cpu]
        old, leader = thread.tid, self.alive.get(thread.pid)
        self.now += 1  # who has a tid changes between two moments, not within one
        if leader and leader is not thread and leader.cpu is None:
            del self.alive[old]
            thread.tid = thread.pid
            self.alive[thread.tid] = thread
        thread.comm = 'prog%d' % self.rng.randrange(3)
        self.add(cpu, 'sched_process_exec', '/usr/bin/' + thread.comm, thread.tid, old)
        self.now += 1

    def rename(self, cpu):
        self.running[cpu].comm = self.rng.choice(('named0', 'named1', 'ksoftirqd/0'))
        self.running[cpu].prio = self.rng.choice((20, -2, 39))

    def dump(self, cpu):
        thread = self.rng.choice(list(self.alive.values()))
        if self.rng.random() < 0.3:
            self.add(cpu, 'lttng_statedump_start')
        elif self.rng.random() < 0.5:
            self.add(cpu, 'lttng_statedump_file_descriptor', thread.pid, self.rng.randrange(5), 0,
                     self.argument('text', 'filename'))
        else:
            self.add(cpu, 'lttng_statedump_process_state', thread.tid, thread.pid, thread.comm,
                     aside(self.rng, 'status').choice((1, 5)))
            self.pid_ns(thread)

    def pid_ns(self, thread):
        """An event for each level, the own first; a dump goes on wherever its thread runs."""
        for level in range(1 if namespace(thread.pid) != HOST else 0, -1, -1):
            self.now += 1
            ids = (thread.tid % 3, thread.pid % 3) if level else (thread.tid, thread.pid)
            self.add(self.there[(thread.tid + level) % len(self.there)], 'lttng_statedump_process_pid_ns', thread.tid, *ids,
                     level, namespace(thread.pid) if level else HOST)


def lose_forks(rng, schedule):
    """Forks are not traced, and so tids seem to be used again by threads that come from nowhere."""
    return [event for event in schedule.events if event[1] != 'sched_process_fork' or rng.random() < 0.3]


def track(rng, schedule):
    """Only what happens while some processes run is traced (lttng track)."""
    pids = {event[4]['pid'] for event in schedule.events}
    tracked = set(rng.sample(sorted(pids), max(1, len(pids) // 2)))
    return [event for event in schedule.events if event[1].startswith('lttng_') or (
        event[4]['pid'] in tracked and not (event[1] == 'sched_process_exec' and event[3][1] != event[3][2]))]


def drop_switches(rng, schedule):
    """Some are lost without a word, and what tells that a thread has another tid."""
    share = rng.choice((0.02, 0.2))
    return [event for event in schedule.events if not (event[1] == 'sched_switch' and rng.random() < share) and
            not (event[1] == 'sched_process_exec' and event[3][1] != event[3][2])]


def skew(rng, schedule):
    """The clocks of CPUs differ."""
    by = {cpu: rng.choice((0, 1, 700, 2000, 60_000)) for cpu in schedule.running}
    return sorted(((ts + by[cpu], name, cpu, values, runs) for ts, name, cpu, values, runs in schedule.events),
                  key=lambda event: event[0])


def unplug(rng, schedule):
    """A CPU's events, or its switches, are missing from some time on, and who ran there comes back elsewhere."""
    cpu, since, is_all = rng.choice(list(schedule.running)), rng.choice(schedule.events)[0], rng.random() < 0.6
    return [event for event in schedule.events if not (
        event[2] == cpu and event[0] > since and (is_all or event[1] == 'sched_switch')) and
            not (event[1] == 'sched_process_exec' and event[3][1] != event[3][2])]


DAMAGES = (lose_forks, track, drop_switches, skew, unplug)


def is_away(name, away):
    return any(name.startswith(kind) for kind in away)


def end_early(rng, schedule, away):
    """Some CPU's channel with what is @away has no events from some time on."""
    cpu, since = rng.choice(list(schedule.running)), rng.choice(schedule.events)[0]
    return [event for event in schedule.events if not (event[2] == cpu and event[0] > since and is_away(event[1], away))]


class Packing:
    """The events of a packet, one behind the other."""

    def __init__(self, layout):
        self.layout, self.body = layout, b''

    def align(self, size):
        if self.layout.is_aligned:
            self.body += bytes(-(synthetic.HEAD_BYTES + len(self.body)) % size)

    def put(self, form, value):
        self.align(struct.calcsize('=' + form))
        self.body += struct.pack(self.layout.order + form, value)

    def put_header(self, rng, before, ts, number):
        """@before: the time of the event before in the packet, or that of its begin."""
        header = self.layout.header
        if header == 'plain':
            self.align(8)  # as a struct is with a member that is
            self.put('H', number)
            self.put('Q', ts)
            return
        bits, most, tag = (27, 30, 'B') if header == 'compact' else (32, 65534, 'H')
        if number > most or ts - before >= 1 << bits or rng.random() < 0.2:
            self.put(tag, 65535 if tag == 'H' else 31 if self.layout.order == '<' else 31 << 3)
            self.align(8)
            self.put('I', number)
            self.put('Q', ts)
        elif header == 'compact':
            short = ts & ((1 << bits) - 1)
            word = number | short << 5 if self.layout.order == '<' else number << 27 | short
            self.body += struct.pack(self.layout.order + 'I', word)
        else:
            self.put('H', number)
            self.put('I', ts & ((1 << bits) - 1))

    def put_fields(self, rng, fields, values):
        """A struct; what is in a row is nobody's business."""
        sizes = {'s64': 8, 's32': 4, 'row': 4}
        self.align(max((sizes.get(kind, 1) for kind, _ in fields), default=1))
        values = iter(values)
        for kind, _ in fields:
            if kind == 'row':
                row = [rng.randrange(1 << 31) for _ in range(rng.randrange(4))]
                self.put('B', len(row))
                self.align(4)
                for number in row:
                    self.put('i', number)
            elif kind == 'comm':
                self.body += next(values).encode().ljust(16, b'\0')
            elif kind == 'text':
                self.body += next(values).encode() + b'\0'
            else:
                self.put('i' if kind == 's32' else 'q', next(values))


def say(name, values):
    fields = (field for kind, field in FIELDS[name] if kind != 'row')
    return ', '.join('%s = %s' % (field, '"%s"' % value if isinstance(value, str) else value)
                     for field, value in zip(fields, values))


def pack(rng, layout, begin, events):
    packing = Packing(layout)
    for ts, name, values, context in events:
        packing.put_header(rng, begin, ts, IDS[name])
        if context:
            packing.put_fields(rng, [(kind, None) for kind, _ in context], [value for _, value in context])
        packing.put_fields(rng, FIELDS.get(name) or UST_FIELDS.get(name, ()), values)
        begin = ts
    return packing.body


class Lost:
    """What is missing: events by time and CPU; and the channel of each event that is there or not."""

    def __init__(self):
        self.events, self.channels = set(), {}


def packets(rng, layout, stream, cpu, events, loses, stops=(), lost=None):
    """
    The bytes of a stream of events: (ts, name, values, kinds and values of the context).  With @loses, some packets
    are missing and some events discarded; @lost gets the events in the former.  At @stops a packet ends, and the next one begins with its first event.
    """
    out, seq, discarded = b'', 0, 0
    begin = events[0][0] if events else START
    while events or seq == 0:
        cut, stop = rng.randrange(1, 60), min((stop for stop in stops if events and stop >= events[0][0]), default=None)
        while stop is not None and events[min(cut, len(events)) - 1][0] > stop:
            cut -= 1
        now, events = events[:cut], events[cut:]
        end = (now[-1][0] if now else begin) + rng.choice((0, 0, 1, 1000))  # what comes may have been known later
        end = min(end, events[0][0]) if events else end
        if loses and rng.random() < 0.1:
            discarded += rng.randrange(5)
        data = synthetic.packet(cpu, seq, begin, end, [pack(rng, layout, begin, now)], discarded, stream, layout.order)
        if not (loses and rng.random() < 0.1):
            out += data
        elif lost is not None:
            lost.events.update((event[0], cpu) for event in now)
        seq, begin = seq + 1, end
        if stop is not None and events and events[0][0] > stop:
            begin = events[0][0]
    if rng.random() < 0.2:  # as tracers end a stream, perhaps behind some that are missing
        begin += rng.choice((0, 1000))
        missing = loses and rng.random() < 0.5
        out += synthetic.packet(cpu, seq + missing, begin, begin, [], discarded, stream, layout.order)
    return out


def write(path, text, streams):
    """A trace of its metadata and the bytes of each stream."""
    os.mkdir(path)
    with open(os.path.join(path, 'metadata'), 'w') as file:
        file.write(text)
    for name, data in streams.items():
        with open(os.path.join(path, name), 'wb') as file:
            file.write(data)


# What may be in a channel of its own: not what tells who runs.
AWAY = (('sys', 'compat_sys', 'exit_sys'), 'irq', 'x86', 'block', 'net', ('kmem', 'mm_'), 'sched_wak', 'power', 'lttng')


def make(rng, path, loses, lost=None, damage=None):
    """Writes a trace; its events as the reference wants them.  @lost: tells which are missing; @damage: what was done to them, of DAMAGES."""
    schedule, apart, layout = Schedule(rng), rng.random() < 0.3, choose_layout(rng)
    if damage:
        schedule.events = damage(aside(rng), schedule)
    away = {kind for kind in AWAY if rng.random() < 0.5} if apart else ()
    early = aside(rng, 'early')
    if apart and schedule.events and early.random() < 0.3:
        schedule.events = end_early(early, schedule, away)
    streams = {(0, cpu): [] for cpu in schedule.running}
    streams.update({(1, cpu): [] for cpu in schedule.running if apart})
    ordered = []
    contexts = [[one for one in CONTEXTS if rng.random() < 0.5] if rng.random() < 0.4 else [] for _ in range(2)]
    if schedule.stops:
        contexts[1] = []  # the reference does not know channels: which threads these tell after a hole
    for i, (ts, name, cpu, values, runs) in enumerate(schedule.events):
        stream = int(is_away(name, away))
        streams[stream, cpu].append((ts, name, values, [(kind, runs[key]) for kind, key in contexts[stream]]))
        told = ''.join(', context_%s = %s' % (key, runs[key]) for _, key in contexts[stream])
        ordered.append((ts, stream, cpu, i, name, say(name, values) + told + ', channel_ = %d' % stream))
        if lost is not None:
            lost.channels[name] = stream
    names = ['s%d' % i for i in range(len(streams))]
    rng.shuffle(names)
    write(path, metadata(layout, contexts, calls=schedule.calls), {
        name: packets(rng, layout, stream, cpu, events, loses, schedule.stops, lost)
        for name, ((stream, cpu), events) in zip(names, streams.items())})
    return [(ts, name, cpu, text) for ts, _, cpu, _, name, text in sorted(ordered)]


def make_ust(rng, path, loses):
    """
    Writes a trace of user programs; its events, in time order if no two are at one time, as (ts, name, values,
    contexts by name), and whether they are.
    """
    steps = rng.choice(((0, 0), (1, 2))) + (1, 7, 1000, 50_000, 3_000_000, 90_000_000)
    # In containers of their own, so that several have one vtid.
    threads = [(t + 10, 10 * p, 'prog%d' % rng.randrange(2)) for p in range(1, 4) for t in range(rng.randrange(1, 4))]
    contexts = [one for one in UST_CONTEXTS if rng.random() < 0.8]
    away = [name for name in UST_FIELDS if rng.random() < 0.3]
    streams = {place: [] for place in itertools.product(range(2), range(rng.randrange(1, 5)))}
    now, events, early = START, [], aside(rng, 'early')
    ends = {place: early.randrange(600) for place in list(streams)[1:] if early.random() < 0.2}
    for i in range(rng.randrange(30, 600)):
        now += rng.choice(steps)
        name, (_, cpu) = rng.choice(list(UST_FIELDS)), rng.choice([place for place in streams if i < ends.get(place, 600)])
        values = [rng.choice(('', 'x', LONG_NAME + 'a', LONG_NAME + 'b')) if kind == 'text' else rng.randrange(4) for kind, _ in UST_FIELDS[name]]
        if name.startswith('db:put'):
            values = [7 for _ in values]  # a key that says nothing
        elif name == 'lib:workStop':
            values[0] -= 2
        runs = dict(zip(('vtid', 'vpid', 'procname'), rng.choice(threads)))
        streams[int(name in away), cpu].append((now, name, values, [(kind, runs[key]) for kind, key in contexts]))
        events.append((now, name, values, {key: runs[key] for _, key in contexts}))
    layout = choose_layout(rng)
    write(path, metadata(layout, (contexts, contexts), 'ust'), {
        's%d' % i: packets(rng, layout, stream, cpu, events, loses)
        for i, ((stream, cpu), events) in enumerate(streams.items())})
    return events, 0 not in steps


def split(data, order):
    """The packets of a stream: (begin, end, sequence number, discarded, bytes)."""
    at, found = 0, []
    while at < len(data):
        begin, end, bits, _, seq, discarded = struct.unpack_from(order + 'QQQQQQ', data, at + 24)
        found.append((begin, end, seq, discarded, data[at:at + bits // 8]))
        at += bits // 8
    return found


def rotate(stream, bounds, order):
    """
    A stream's bytes from one time of @bounds to the next, as a tracer leaves them that rotates there: each
    piece ends with a packet without events up to that time, if nothing is missing there.
    """
    pieces, shift, last = [], 0, None
    for low, high in zip([0] + bounds, bounds + [1 << 64]):
        piece = b''
        for begin, end, seq, discarded, data in stream:
            if low <= begin < high:
                piece += data[:56] + struct.pack(order + 'Q', seq + shift) + data[64:]
                last = end, seq + shift, discarded, data
        if high < 1 << 64 and last:
            end, seq, discarded, data = last
            after = [packet for packet in stream if packet[0] >= high]
            is_sure = after and after[0][2] + shift == seq + 1 and after[0][3] == discarded
            until, shift = max(end, high) if is_sure else end, shift + 1
            numbers = end, until, synthetic.HEAD_BYTES * 8, synthetic.HEAD_BYTES * 8, seq + 1, discarded
            empty = data[:24] + struct.pack(order + 'QQQQQQ', *numbers) + data[72:synthetic.HEAD_BYTES]
            piece += empty
            last = until, seq + 1, discarded, empty
        pieces.append(piece)
    return pieces


def rotated(rng, path):
    """Makes the trace one that was rotated; the directories of its pieces."""
    with open(os.path.join(path, 'metadata')) as file:
        text = file.read()
    order, streams = '<' if 'byte_order = le' in text else '>', {}
    for name in os.listdir(path):
        if name != 'metadata':
            with open(os.path.join(path, name), 'rb') as file:
                streams[name] = split(file.read(), order)
    first = max((stream[0][0] for stream in streams.values() if stream), default=START)
    last = max((stream[-1][1] for stream in streams.values() if stream), default=START)
    bounds = sorted(rng.randrange(first + 1, max(last, first + 1) + 2) for _ in range(2))
    folders = ['%s.%d' % (path, i) for i in range(len(bounds) + 1)]
    for i, folder in enumerate(folders):
        os.mkdir(folder)
        with open(os.path.join(folder, 'metadata'), 'w') as file:  # a program that starts declares its events
            file.write(text + ''.join('event { name = "late%d"; id = %d; stream_id = 0; fields := struct { }; };\n' %
                                            (k, 1000 + k) for k in range(i)))
    for name, stream in streams.items():
        pieces = rotate(stream, bounds, order)
        for folder, piece in zip([path] + folders, [b''.join(pieces)] + pieces):
            if piece or folder == path:
                with open(os.path.join(folder, name), 'wb') as file:
                    file.write(piece)
    return folders

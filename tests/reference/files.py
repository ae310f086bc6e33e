"""files: descriptors, and what is read and written through them, by a plain program.

Part of the reference (sequential.py).  Events of one nanosecond are taken by thread id, which is
what sillage promises where a trace does not tell which was first.
"""
import re

CLOEXEC = 0o2000000
DISK, NET, OTHER, UNKNOWN = 'disk', 'net', 'other', 'unknown'
NAME_MAX = 255
DIRECTORY = -100  # AT_FDCWD: the working directory


def number(text, field):
    found = re.search(r'\b%s = (0x[0-9A-F]+|-?\d+)' % field, text)
    if not found:
        return None
    return int(found.group(1), 8 if re.match(r'0[0-7]', found.group(1)) else 0)


def string(text, field):
    found = re.search(r'\b%s = "((?:[^"\\]|\\.)*)"' % field, text)
    return found.group(1) if found else None


def row_of(text, field):
    found = re.search(r'\b%s = \[ (.*?) \]' % field, text)
    return [int(value) for value in re.findall(r'= (-?\d+)', found.group(1))] if found else []


def calls():
    """{call: (operation, names of its descriptors)}"""
    found = {}
    for operation, names in (
            ('read', 'read pread64 readv preadv preadv2 recvfrom recvmsg recvmmsg'),
            ('write', 'write pwrite64 writev pwritev pwritev2 sendto sendmsg sendmmsg vmsplice'),
            ('sync', 'syncfs fsync fdatasync sync_file_range sync_file_range2'),
            ('open', 'accept accept4 connect'), ('close', 'close close_range')):
        found.update({name: (operation, ('fd',)) for name in names.split()})
    for operation, names in (
            ('open', 'open creat memfd_create mq_open socket socketpair pipe pipe2 eventfd eventfd2 '
             'epoll_create epoll_create1 timerfd_create signalfd4 inotify_init inotify_init1 '
             'perf_event_open io_uring_setup'), ('sync', 'sync msync'),
            ('wait', 'poll ppoll select pselect6 epoll_wait epoll_pwait epoll_pwait2'),
            ('async', 'io_submit io_getevents io_uring_enter')):
        found.update({name: (operation, ()) for name in names.split()})
    found.update(mq_timedreceive=('read', ('mqdes',)), mq_timedsend=('write', ('mqdes',)),
                 splice=('both', ('fd_in', 'fd_out')), tee=('both', ('fdin', 'fdout')),
                 sendfile=('both', ('in_fd', 'out_fd')), sendfile64=('both', ('in_fd', 'out_fd')),
                 copy_file_range=('both', ('fd_in', 'fd_out')), openat=('open', ('dfd',)),
                 dup=('open', ('fildes',)), dup2=('open', ('oldfd', 'newfd')),
                 dup3=('open', ('oldfd', 'newfd')), fcntl=(None, ('fd',)),
                 chdir=(None, ()), fchdir=(None, ('fd',)))
    return found


CALLS = calls()
# Those that make, change or close descriptors: what `state` follows.  Others are none to it, also while one is open.
CHANGING = {name: kind for name, kind in CALLS.items() if kind[0] in ('open', 'close', None)}
SOCKET_CALLS = set('recvfrom recvmsg recvmmsg sendto sendmsg sendmmsg'.split())
ENTRY = re.compile(r'^(?:compat_)?(?:syscall_entry_|sys_)(.+)$')
EXIT = re.compile(r'^(?:compat_)?syscall_exit_(.+)$')


def family_of(number_):
    return {2: 'inet', 10: 'inet', 1: 'unix'}.get(number_, 'socket')


def failed(ret):
    """-512 to -516 are the kernel's own: the call begins again, no program sees them."""
    return ret is not None and -4095 <= ret < 0 and not -516 <= ret <= -512


def moved(call, entry, ret):
    """The bytes that a call moved; what is peeked at stays where it is, and a truncated message is as long as its room."""
    if ret is None or ret < 0 or 'mmsg' in call:
        return 0
    if 'mq_timedsend' in call:
        return (number(entry, 'msg_len') or 0) if entry and ret == 0 else 0
    if call in ('recvfrom', 'recvmsg') and entry:
        flags, size = number(entry, 'flags') or 0, number(entry, 'size')
        return 0 if flags & 2 else min(ret, size) if flags & 0x20 and size is not None else ret
    return ret


class Entry:
    """What a descriptor leads to (None: it is closed) since when, and what it led to before that, since when."""

    def __init__(self, file, dump, cloexec, since=0, old=None):
        self.file, self.dump, self.cloexec, self.since = file, dump, cloexec, since
        self.former, self.former_since = (old.file, old.since) if old else (None, 0)

    def close(self, dump, since):
        self.__init__(None, dump, False, since, Entry(self.file, 0, False, self.since))

    def at(self, ns):
        return self.file if self.since <= ns else self.former if self.former_since <= ns else None


class Table:
    def __init__(self):
        self.threads, self.entries = 0, {}

    def fill(self, other):
        for fd, entry in other.entries.items():
            if entry.file and fd not in self.entries:
                self.entries[fd] = Entry(entry.file, entry.dump, entry.cloexec)


class Files:
    def __init__(self, followed=CALLS):
        self.followed = followed
        self.tables, self.owners, self.dumps = {}, {}, 0
        self.pids, self.open = {}, {}
        self.gone = set()  # threads that have left the table of their process
        self.pending, self.time, self.now = [], None, 0

    # ---- one order ----

    def later(self, ns, thread, what, *arguments):
        if ns != self.time:
            self.settle()
        self.time = ns
        is_known = thread and thread.tid is not None
        self.pending.append(((thread.tid, thread.born) if is_known else (-1, 0), what, arguments))

    def settle(self):
        for _, what, arguments in sorted(self.pending, key=lambda one: one[0]):
            self.now = self.time
            what(*arguments)
        self.pending = []

    # ---- tables ----

    def table(self, key):
        return self.tables.setdefault(key, Table())

    def find(self, key, fd):
        entry = self.tables[key].entries.get(fd) if key in self.tables else None
        return entry if entry and entry.file else None

    def put(self, key, fd, file, cloexec=False, since=None):
        if (fd >= 0 or fd == DIRECTORY) and key is not None:
            entries = self.table(key).entries
            entries[fd] = Entry(file, self.dumps, cloexec, self.now if since is None else since, entries.get(fd))

    def put_dumped(self, key, fd, file, cloexec):
        key = self.owners.get(key, key)
        entry = self.tables[key].entries.get(fd) if key in self.tables else None
        if not (entry and entry.dump == self.dumps and not (entry.file and entry.file[0] == 'unknown')):
            self.put(key, fd, file, cloexec, since=0)

    def join(self, former, key):
        table = self.table(key)
        table.threads += 1
        if former is not None and former in self.tables:
            table.fill(self.tables.pop(former))

    def leave(self, key):
        if key in self.tables and self.tables[key].threads > 1:
            self.tables[key].threads -= 1
        else:
            self.tables.pop(key, None)

    def forked(self, parent, child):
        self.tables[child] = Table()
        self.tables[child].threads = 1
        if parent in self.tables and parent != child:
            self.tables[child].fill(self.tables[parent])

    def executed(self, key):
        for entry in self.tables[key].entries.values() if key in self.tables else ():
            if entry.cloexec:
                entry.close(self.dumps, self.now)

    def dump_begins(self):
        self.dumps += 1
        self.owners.clear()

    def dump_owner(self, address, key):
        self.owners[address] = key
        if address in self.tables:
            self.table(key).fill(self.tables.pop(address))

    # ---- threads ----

    def key(self, thread):
        """Of an unknown thread of an unknown process, nothing is kept."""
        return self.pids.get(thread, None if thread.tid is None else thread)

    def set_pid(self, ns, thread, pid):
        former = self.pids.get(thread)
        if former == pid:
            return
        if thread.tid is None:
            self.pids[thread] = pid
            return
        if former is not None:
            self.later(ns, thread, self.leave, former)
        self.pids[thread] = pid
        self.later(ns, thread, self.join, None if former is not None else thread, pid)

    def died(self, ns, thread):
        """Its exit may be missing."""
        if thread not in self.gone:
            self.later(ns, thread, self.leave, self.key(thread))

    def life(self, ns, name, text, thread_of):
        if name == 'sched_process_fork' and number(text, 'child_pid') is not None:
            thread, pid = thread_of(number(text, 'child_tid')), number(text, 'child_pid')
            if thread.tid != pid:
                self.set_pid(ns, thread, pid)
            else:
                self.pids[thread] = pid
                self.later(ns, thread, self.forked, number(text, 'parent_pid'), pid)
        elif name == 'sched_process_exec':
            thread = thread_of(number(text, 'tid'))
            self.later(ns, thread, self.executed, self.key(thread))
        elif name == 'sched_process_exit':
            thread = thread_of(number(text, 'tid'))
            self.later(ns, thread, self.leave, self.key(thread))
            self.pids.pop(thread, None)
            self.gone.add(thread)
        elif name == 'lttng_statedump_start':
            self.later(ns, None, self.dump_begins)
        elif name == 'lttng_statedump_process_state' and number(text, 'tid'):
            thread, address = thread_of(number(text, 'tid')), number(text, 'file_table_address')
            self.set_pid(ns, thread, number(text, 'pid'))
            if address:
                self.later(ns, thread, self.dump_owner, ('address', address), self.key(thread))
        elif name == 'lttng_statedump_file_descriptor':
            address, path = number(text, 'file_table_address'), string(text, 'filename')
            key = ('address', address) if address is not None else number(text, 'pid')
            kind = ('pipe' if path.startswith('pipe:') else 'socket' if path.startswith('socket:') else
                    'file' if path.startswith('/') else 'anon')
            self.later(ns, None, self.put_dumped, key, number(text, 'fd'), (kind, path),
                       (number(text, 'flags') or 0) & CLOEXEC)

    # ---- calls ----

    def hole(self):
        """Calls that are open count, but have no duration."""
        self.open = {thread: (call, None, text) for thread, (call, _, text) in self.open.items()}

    def event(self, ns, name, thread, text, book):
        entry, exit_ = ENTRY.match(name), EXIT.match(name)
        if not thread or not (entry or exit_ or name == 'exit_syscall'):
            return
        called = (entry or exit_).group(1) if entry or exit_ else None
        if number(text, 'context_pid') is not None and called in (None,) + tuple(CALLS):
            self.set_pid(ns, thread, number(text, 'context_pid'))
        if entry:
            if entry.group(1) in self.followed:
                self.open[thread] = entry.group(1), ns, text
            return
        named = exit_.group(1) if exit_ else None
        opened = self.open.pop(thread, None) if named is None or named in self.followed else None
        if opened and named in (None, opened[0]):
            took = ns - opened[1] if opened[1] is not None else None
            self.ended(ns, thread, opened[0], took, opened[2], text, book)
        elif named in self.followed:
            self.ended(ns, thread, named, None, None, text, book)

    def ended(self, ns, thread, call, took, entry, exit_, book):
        operation, _ = CALLS[call]
        ret = number(exit_, 'ret')
        if operation:
            book.add('files', 'operations', operation, 'calls')
            book.add('files', 'operations', operation, 'errors', by=failed(ret))
            if took is not None:
                book.sample('files', 'operations', operation, 'error_time' if failed(ret) else 'time', ns=took)
        if operation not in ('wait', 'async'):
            self.later(ns, thread, self.done, thread, self.key(thread), call, took, entry, exit_, book)

    def done(self, thread, key, call, took, entry, exit_, book):
        operation, fields = CALLS[call]
        ret = number(exit_, 'ret')
        fds = [number(entry, field) if entry else -1 for field in fields] or [-1]
        fds = [-1 if fd is None else fd for fd in fds]
        size = moved(call, entry, ret)
        use = {'key': key, 'thread': thread, 'failed': failed(ret), 'size': size, 'took': took,
               'is_socket': call in SOCKET_CALLS, 'book': book}
        if operation in ('read', 'both'):
            self.use(fds[0], 'read', **use)
        if operation in ('write', 'both'):
            self.use(fds[-1], 'write', **use)
        if operation == 'sync' and fds[0] >= 0:
            self.use(fds[0], None, **use)
        if entry and ret is not None:
            self.effect(key, call, fds, ret, entry, exit_, book)

    def use(self, fd, what, key, thread, failed, size, took, is_socket, book):
        entry, entered = self.tables[key].entries.get(fd) if fd >= 0 and key in self.tables else None, self.now - (took or 0)
        file = entry.at(entered) if entry else None
        if fd >= 0 and is_socket and (not entry or entry.since <= entered) and (not file or file[0] == 'unknown'):
            self.put(key, fd, ('socket', '(socket)'), since=0)
            entry = self.find(key, fd)
            file = entry.file if entry else None
        kind, path = file or (('socket', '(socket)') if is_socket else ('unknown', '(unknown)'))
        rows = [('files', path)]
        if fd >= 0:
            rows.append(('fds', (key if isinstance(key, int) else -1, fd, path)))
        if what:
            rows += [(), ('kinds', kind)]
            where = {'file': DISK, 'inet': NET, 'unknown': UNKNOWN}.get(kind, OTHER)
            book.add('files', 'threads', thread, '%s_%s_bytes' % (where, what), by=size)
        for row in rows:
            if what:
                book.add('files', *row, what + '_bytes', by=size)
                book.add('files', *row, what + 's')
            book.add('files', *row, 'errors', by=failed)
        book.add('files', 'files', path, 'time_ns', by=took or 0)
        if took is not None and not failed and what:
            book.sample('files', 'kinds', kind, what + '_time', ns=took)

    def effect(self, key, call, fds, ret, entry, exit_, book):
        flags = number(entry, 'flags') or 0
        if call == 'close' and ret != -9:
            self.put(key, fds[0], None)
        if call == 'connect' and (ret >= 0 or ret == -115):
            old = self.find(key, fds[0])
            self.put(key, fds[0], self.peer(family_of(number(entry, 'family')), entry, 'dport'),
                     old and old.cloexec)
        if ret < 0:
            return
        if call in ('open', 'openat', 'creat'):
            path = string(entry, 'filename') or string(entry, 'pathname') or ''
            path = path[-NAME_MAX:]
            base = self.find(key, fds[0] if fds[0] >= 0 else DIRECTORY) if not path.startswith('/') else None
            path = ((base.file[1] + '/' if base else '') + path)[-NAME_MAX:] if path else '(file)'
            book.add('files', 'files', path, 'opens')
            self.put(key, ret, ('file', path), flags & CLOEXEC)
        elif call == 'socket':
            kind = family_of(number(entry, 'family'))
            self.put(key, ret, (kind, '(%s)' % kind), number(entry, 'type') & CLOEXEC)
        elif call in ('socketpair', 'pipe', 'pipe2'):
            kind = 'pipe' if call != 'socketpair' else family_of(number(entry, 'family'))
            for fd in row_of(exit_, 'socket' if call == 'socketpair' else 'fildes'):
                self.put(key, fd, (kind, '(%s)' % kind),
                         (number(entry, 'type') if call == 'socketpair' else flags) & CLOEXEC)
        elif call in ('accept', 'accept4'):
            listening = self.find(key, fds[0])
            kind = (family_of(number(exit_, 'family')) if number(exit_, 'family') else
                    listening.file[0] if listening else 'socket')
            kind = 'socket' if kind in ('file', 'unknown') else kind
            self.put(key, ret, self.peer(kind, exit_, 'sport'), flags & CLOEXEC)
        elif call in ('dup', 'dup2', 'dup3', 'fcntl'):
            self.duplicate(key, call, fds, ret, entry, flags)
        elif call in ('chdir', 'fchdir'):
            self.changed(key, call, fds, string(entry, 'filename') or '')
        elif call == 'close_range':
            for fd, old in self.tables[key].entries.items() if key in self.tables else ():
                if fds[0] <= fd <= number(entry, 'max_fd') and fd >= 0:
                    if flags & 4:
                        old.cloexec = True
                    else:
                        old.close(self.dumps, self.now)
        elif call == 'memfd_create':
            self.put(key, ret, ('file', 'memory:' + string(entry, 'uname')), flags & 1)
        elif call == 'mq_open':
            self.put(key, ret, ('anon', 'mqueue:' + string(entry, 'u_name')), True)
        elif CALLS[call][0] == 'open' and call not in ('connect',):
            self.put(key, ret, ('anon', 'anon:' + call), flags & CLOEXEC)

    def changed(self, key, call, fds, path):
        """The working directory is another one."""
        old = self.find(key, fds[0] if call == 'fchdir' else DIRECTORY)
        file = old.file if call == 'fchdir' and old else None
        if call == 'chdir' and path:
            path = path[-NAME_MAX:]
            path = path if path.startswith('/') or not old else old.file[1] + '/' + path
            parts = []
            for part in path.split('/')[1:] if path.startswith('/') else ():
                parts = parts[:-1] if part == '..' else parts if part in ('', '.') else parts + [part]
            path = ''.join('/' + part for part in parts) if path.startswith('/') else path
            file = 'file', path[-NAME_MAX:]
        self.put(key, DIRECTORY, file)

    def duplicate(self, key, call, fds, ret, entry, flags):
        command = number(entry, 'cmd') if call == 'fcntl' else None
        old = self.find(key, fds[0])
        if command == 2 and old:
            old.cloexec = bool(number(entry, 'arg') & 1)
        if command in (None, 0, 1030):
            to = fds[-1] if call in ('dup2', 'dup3') else ret
            cloexec = command == 1030 or (call == 'dup3' and flags & CLOEXEC)
            if to != fds[0]:
                self.put(key, to, old.file if old else None, cloexec)

    @staticmethod
    def peer(kind, text, port):
        address = row_of(text, 'v4addr')
        if kind != 'inet' or len(address) != 4:
            return kind, '(%s)' % kind
        return kind, 'inet %d.%d.%d.%d:%d' % (*address, number(text, port))

"""tracedat_file: files of trace-cmd (trace.dat), read in version 6 and written in versions 6 and 7, by
trace-cmd.dat.v6(5) and trace-cmd.dat.v7(5) alone.

A Dat has what a file has; numbers() and pages of other byte orders are up to who makes one.
"""
import copy
import struct
import zlib

MAGIC = b'\x17\x08\x44tracing'
DONE, DATE, CPUSTAT, BUFFER, TRACECLOCK, UNAME, HOOK, OFFSET, CPUCOUNT, VERSION = range(10)
TRACEID, TSC2NSEC = 11, 14
HEADERS, OWN_EVENTS, EVENTS, KALLSYMS, PRINTK, CMDLINES, TEXT = range(16, 23)
FLYRECORD = 3


class Buffer:
    def __init__(self, name='', clock='local', page=4096, cpus=None):
        self.name, self.clock, self.page = name, clock, page
        self.cpus = cpus or {}  # number -> bytes


class Dat:
    def __init__(self):
        self.big, self.long, self.page = False, 8, 4096
        self.header_page = self.header_event = b''
        self.own, self.systems = [], {}  # texts; name -> texts
        self.kallsyms = self.printk = self.cmdlines = b''
        self.buffers, self.options = [], []  # options: (id, bytes)

    def copy(self):
        return copy.deepcopy(self)

    def pack(self, form, *values):
        return struct.pack(('>' if self.big else '<') + form, *values)

    # ---- contents, which both versions have ----

    def headers(self):
        return b''.join(name + self.pack('Q', len(text)) + text for name, text in (
            (b'header_page\0', self.header_page), (b'header_event\0', self.header_event)))

    def formats(self, texts):
        return self.pack('I', len(texts)) + b''.join(self.pack('Q', len(text)) + text for text in texts)

    def all_systems(self):
        return self.pack('I', len(self.systems)) + b''.join(
            name.encode() + b'\0' + self.formats(texts) for name, texts in self.systems.items())

    def sized(self, text, form='I'):
        return self.pack(form, len(text)) + text

    def begin(self, version):
        return MAGIC + b'%d\0' % version + bytes([self.big, self.long]) + self.pack('I', self.page)

    def option(self, number, data):
        return self.pack('HI', number, len(data)) + data

    def cpus(self):
        return max((cpu + 1 for one in self.buffers for cpu in one.cpus), default=0)

    # ---- version 6 ----

    def table(self, buffer, cpus, at):
        """The table of a buffer's CPUs at an offset, and the sub-buffers behind it."""
        clock = self.sized(b'[%s]\n' % buffer.clock.encode(), 'Q')
        end = at + len(b'flyrecord\0') + 16 * cpus + len(clock)
        table, data = b'flyrecord\0', b''
        first = end + -end % self.page
        for cpu in range(cpus):
            pages = buffer.cpus.get(cpu, b'')
            table += self.pack('QQ', first + len(data), len(pages))
            data += pages + bytes(-len(pages) % self.page)
        return table + clock + bytes(first - end) + data

    def v6(self):
        out = self.begin(6) + self.headers() + self.formats(self.own) + self.all_systems()
        out += self.sized(self.kallsyms) + self.sized(self.printk) + self.sized(self.cmdlines, 'Q')
        out += self.pack('I', self.cpus()) + b'options  \0'
        for number, data in self.options:
            out += self.option(number, data)
        out += self.option(TRACECLOCK, b'')
        main, others = self.buffers[0], self.buffers[1:]
        places = []
        for one in others:
            places.append(len(out) + 6)
            out += self.option(BUFFER, self.pack('Q', 0) + one.name.encode() + b'\0')
        out += self.pack('H', DONE)
        out += self.table(main, self.cpus(), len(out))
        for place, one in zip(places, others):
            out = out[:place] + self.pack('Q', len(out)) + out[place + 8:]
            out += b'options  \0' + self.option(CPUCOUNT, self.pack('I', self.cpus())) + self.pack('H', DONE)
            out += self.table(one, self.cpus(), len(out))
        return out

    # ---- version 7 ----

    def section(self, number, data, packed):
        if packed:
            less = zlib.compress(data)
            data = self.pack('II', len(less), len(data)) + less
        return self.pack('HHIQ', number, bool(packed), 0, len(data)) + data

    def chunks(self, buffer, pages):
        """Ten sub-buffers each."""
        size = 10 * buffer.page
        parts = [pages[at:at + size] for at in range(0, len(pages), size)]
        packed = [zlib.compress(part) for part in parts]
        return self.pack('I', len(parts)) + b''.join(
            self.pack('II', len(less), len(part)) + less for less, part in zip(packed, parts))

    def v7(self, packed=False):
        out = self.begin(7) + (b'zlib\0001.2.13\0' if packed else b'none\0\0')
        hole = len(out)
        out += bytes(8)
        options = b''
        for number, data in ((HEADERS, self.headers()), (OWN_EVENTS, self.formats(self.own)),
                             (EVENTS, self.all_systems()), (KALLSYMS, self.sized(self.kallsyms)),
                             (PRINTK, self.sized(self.printk)), (CMDLINES, self.sized(self.cmdlines, 'Q'))):
            options += self.option(number, self.pack('Q', len(out)))
            out += self.section(number, data, packed and number != HEADERS)
        for number, data in self.options:
            options += self.option(number, data)
        first = len(out)
        # A second section of options has the buffers.
        place = first + 16 + len(options) + 6
        out += self.section(DONE, options + self.option(DONE, self.pack('Q', place + 8)), False)
        options = b''
        data_at = place + 8 + 4096
        data_at += -data_at % self.page
        data = b''
        for one in self.buffers:
            text = self.pack('Q', 0) + one.name.encode() + b'\0' + one.clock.encode() + b'\0'
            text += self.pack('II', one.page, len(one.cpus))
            for cpu, pages in one.cpus.items():
                bytes_of = self.chunks(one, pages) if packed else pages
                text += self.pack('IQQ', cpu, data_at + len(data), len(bytes_of))
                data += bytes_of + bytes(-len(bytes_of) % one.page)
            options += self.option(BUFFER, text)
        out += self.section(DONE, options + self.option(DONE, self.pack('Q', 0)), False)
        out = out[:hole] + self.pack('Q', first) + out[hole + 8:]
        return out + bytes(data_at - len(out)) + data


class Reader:
    def __init__(self, data, big=False):
        self.data, self.at, self.big = data, 0, big

    def take(self, count):
        self.at += count
        assert self.at <= len(self.data), 'the file is cut off'
        return self.data[self.at - count:self.at]

    def number(self, form):
        return struct.unpack(('>' if self.big else '<') + form, self.take(struct.calcsize(form)))[0]

    def text(self):
        return self.take(self.data.index(b'\0', self.at) + 1 - self.at)[:-1].decode()

    def sized(self, form):
        return self.take(self.number(form))


def read(path):
    """A file of version 6 with one buffer."""
    dat = Dat()
    with open(path, 'rb') as file:
        r = Reader(file.read())
    assert r.take(12) == MAGIC + b'6\0', path
    dat.big, dat.long = r.big, _ = bool(r.take(1)[0]), r.take(1)[0]
    dat.big, dat.page = r.big, r.number('I')
    assert r.text() == 'header_page'
    dat.header_page = r.sized('Q')
    assert r.text() == 'header_event'
    dat.header_event = r.sized('Q')
    dat.own = [r.sized('Q') for _ in range(r.number('I'))]
    for _ in range(r.number('I')):
        name = r.text()
        dat.systems[name] = [r.sized('Q') for _ in range(r.number('I'))]
    dat.kallsyms, dat.printk, dat.cmdlines = r.sized('I'), r.sized('I'), r.sized('Q')
    cpus = r.number('I')
    kind, has_clock = r.take(10), False
    if kind == b'options  \0':
        while (number := r.number('H')) != DONE:
            data = r.sized('I')
            has_clock |= number == TRACECLOCK
            if number != TRACECLOCK:
                dat.options.append((number, data))
        kind = r.take(10)
    assert kind == b'flyrecord\0', kind
    places = [(r.number('Q'), r.number('Q')) for _ in range(cpus)]
    buffer = Buffer(page=dat.page, cpus={cpu: r.data[at:at + size] for cpu, (at, size) in enumerate(places)})
    if has_clock:
        text = r.sized('Q').decode()
        buffer.clock = text[text.index('[') + 1:text.index(']')] if '[' in text else 'local'
    dat.buffers = [buffer]
    return dat

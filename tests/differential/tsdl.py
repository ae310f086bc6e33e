#!/usr/bin/env python3
"""tsdl: made-up traces in the corners of CTF 1.8, decoded by us and by libbabeltrace2.

usage: tsdl.py DIFFERENTIAL EVENTS [SEEDS]

The language is used as no tracer does: every way to name, nest and scope a type; integers of
each size at each bit, in both byte orders; several stream classes and clocks; no ids, no packet
header or context.  Each stream is random bytes long enough for its events, which are of one
size or end themselves; what they mean is for libbabeltrace2 to say.

Random traces (made.py) are compared with libbabeltrace2, as far as it takes the language and does
not die of it, and with what was written.
"""
import os
import random
import struct
import subprocess
import sys
import tempfile

import made

UUID = bytes(range(16))
HEAD = '''/* CTF 1.8 */
// a comment to the end of its line
typealias integer { size = 8; align = 8; signed = false; } := uint8_t;
typealias integer { size = 16; align = 8; signed = false; } := uint16_t;
typealias integer { size = 32; align = 8; signed = false; } := uint32_t;
typealias integer { size = 64; align = 8; signed = false; } := uint64_t;
typealias integer { size = 32; align = 32; signed = true; } := int;
trace {
	major = 1; minor = 8; byte_order = %s;
	uuid = "00010203-0405-0607-0809-0a0b0c0d0e0f";
	packet.header := struct { uint32_t magic; uint8_t uuid[16]; uint32_t stream_id; };
};
env { host = "a \\"quoted\\" \\\\ name\\n"; number = -3; big = 0x7fffffffffffffff; };
callsite { name = "x"; func = "f"; file = "f.c"; line = 1; };
'''


def packet(order, body, stream=0, context=b''):
    return struct.pack(order + 'I', 0xC1FC1FC1) + UUID + struct.pack(order + 'I', stream) + context + body


def scopes():
    """Names: typedef, typealias, tags before and outside, shadowing, paths of all kinds."""
    text = HEAD % 'le' + '''
typedef uint8_t byte, pair[2];
typealias uint16_t := unsigned short int;
typealias uint16_t := unsigned short int *;
typedef unsigned short int *pointer;
enum tags : uint8_t { ONE = 1, TWO, "THREE and more" = 3 ... 200, LAST = 201 ... 255, };
enum { ZERO, NEXT, } ;
struct outer { byte x; struct inner { byte y; } z; } align(16);
variant choice { byte ONE; uint32_t TWO; string THREE; struct outer LAST; };
stream {
	id = 0;
	typealias uint16_t := local_t;
	event.header := struct { byte id; byte stamp; };
	event.context := struct { byte depth; enum : uint8_t { A = 0 ... 127, B = 128 ... 255 } kind; };
	packet.context := struct { uint32_t content_size; uint32_t packet_size; byte n; };
};
event {
	name = "scopes"; id = 0; stream_id = 0; loglevel = 5; model.emf.uri = "http://example.org/";
	context := struct { byte m; };
	fields := struct {
		struct outer o;
		pair p, q[2];
		pointer r;
		byte length;
		struct { byte length; byte in[length]; byte out[event.fields.o.x]; } nested[2];
		uint16_t a[stream.event.context.depth];
		uint8_t b[stream.packet.context.n];
		uint8_t c[event.context.m];
		enum sizes : uint8_t { small = 0 ... 99, large = 100 ... 255 } size;
		variant <size> { struct { byte l; byte deep[l]; } small; string large; } near;
	};
};
event {
	name = "tags"; id = 1; stream_id = 0;
	fields := struct {
		enum : uint8_t { ONE = 0 ... 80, TWO = 81 ... 160, THREE, LAST = 162 ... 255 } t;
		variant choice <t> v;
		variant <t> { byte ONE; uint32_t TWO; string THREE; struct outer LAST; } w;
		string { encoding = ASCII; } s;
	};
};
event { name = "empty"; id = 2; stream_id = 0; };
'''
    rng = random.Random(1)
    body = b''

    def byte(limit=255):
        return bytes([rng.randint(0, limit)])

    for _ in range(60):
        start = 24 + 9 + len(body)
        depth, kind, m = rng.randint(0, 3), rng.randint(0, 255), rng.randint(0, 3)
        event = bytes([0, 0, depth, kind, m])
        if (start + len(event)) % 2:
            event += b'\xee'
        x = rng.randint(0, 2)
        event += bytes([x]) + byte()  # o
        event += rng.randbytes(6) + rng.randbytes(2) + byte()
        for _ in range(2):
            n = rng.randint(0, 3)
            event += bytes([n]) + rng.randbytes(n + x)
        event += rng.randbytes(2 * depth) + rng.randbytes(3) + rng.randbytes(m)
        size = rng.randint(0, 255)
        event += bytes([size])
        event += bytes([2]) + rng.randbytes(2) if size < 100 else b'text\0'
        body += event
        start = 24 + 9 + len(body)
        t = rng.randint(0, 255)
        event = bytes([1, 0, depth, kind])
        # struct outer is aligned to 16 bits, and so is nothing else here.
        event += bytes([t])
        for _ in range(2):
            if t <= 80:
                event += byte()
            elif t <= 160:
                event += rng.randbytes(4)
            elif t == 161:
                event += b'three\0'
            else:
                event += b'' if (start + len(event)) % 2 == 0 else b'\xee'
                event += rng.randbytes(2)
        body += event + b'more\0' + bytes([2, 0, 1, 2])
    size = (24 + 9 + len(body)) * 8
    return text, [packet('<', body, 0, struct.pack('<IIB', size, size, 3))]


def bits(order):
    """Integers of 1 to 64 bits one after the other, at every bit; floats; the other byte order inside."""
    rng = random.Random(2)
    other = 'le' if order == 'be' else 'be'
    fields, width = '', 0
    for i in range(200):
        size = rng.choice([1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 47, 48, 63, 64, rng.randint(1, 64)])
        fields += 'integer { size = %d; align = 1; signed = %s; base = 0x10; } f%d;\n' % (size, rng.choice(['true', '0']), i)
        width += size
        if i % 20 == 19:  # another byte order may begin at a byte only
            pad = -width % 8
            if pad:
                fields += 'integer { size = %du; align = 1; } pad%d;\n' % (pad, i)
                width += pad
            fields += 'integer { size = %d; align = 8; byte_order = %s; signed = 1; } g%d;\n' % (rng.choice([16, 32, 64]), other, i)
            width += int(fields.rsplit('size = ', 1)[1].split(';')[0])
            fields += 'floating_point { exp_dig = 8; mant_dig = 24; byte_order = %s; align = 1; } h%d;\n' % (rng.choice(['le', 'be', 'native', 'network']), i)
            width += 32
    fields += 'floating_point { exp_dig = 11; mant_dig = 53; align = 8; } last;\n'
    text = HEAD % order + '''
stream { id = 0; packet.context := struct { uint32_t content_size; uint32_t packet_size; }; };
event { name = bits; fields := struct { %s }; };
''' % fields
    width = -(-width // 8) * 8 + 64
    body = bytes(rng.randint(0, 255) for _ in range(width // 8)) * 3
    mark = '<' if order == 'le' else '>'
    size = (32 + len(body)) * 8
    return text, [packet(mark, body, 0, struct.pack(mark + 'II', size, size))]


def streams():
    """Two stream classes, one without ids and with a slow clock with offsets, ids far apart."""
    text = HEAD % 'be' + '''
clock { name = slow; freq = 1000; offset_s = 1000000; offset = 7; absolute = true; description = "d"; precision = 3; };
clock { name = "other"; uuid = "2a6422d0-6cee-11e0-8c08-cb07d7b3a564"; freq = 3000000; offset_s = -5; };
typealias integer { size = 16; align = 8; signed = false; map = clock.slow.value; } := stamp_t;
stream { id = 5; event.header := struct { stamp_t t; }; };
stream { id = 7; event.header := struct { uint32_t id; integer { size = 64; align = 8; map = clock.slow.value; } t; }; };
event { name = only; stream_id = 5; fields := struct { uint8_t x; }; };
event { name = far; id = 4000000000; stream_id = 7; fields := struct { string s; uint8_t none[0]; }; };
event { name = near; id = 1; stream_id = 7; };
'''
    one = b''.join(struct.pack('>HB', t & 0xFFFF, t & 255) for t in range(65000, 70000, 77))
    two = b''.join(struct.pack('>IQ', 4000000000, t) + b'%d\0' % t + struct.pack('>IQ', 1, t) for t in range(100))
    return text, [packet('>', one, 5), packet('>', two, 7)]


def bare():
    """Neither packet header nor context, nor ids, nor a clock."""
    text = '''/* CTF 1.8 */
trace { major = 1; minor = 8; byte_order = le; };
stream { };
event { name = bare; fields := struct {
	integer { size = 8; align = 8; } n;
	struct { integer { size = 8; align = 8; } m; string s; } rows[n];
	integer { size = 8; align = 8; encoding = UTF8; } text[4];
	integer { size = 8; align = 8; encoding = UTF8; } more[n];
	integer { size = 8; } x[2][3];
}; };
'''
    body = b''
    for n in range(5):
        body += bytes([n]) + b''.join(bytes([i]) + b'ab\0' for i in range(n)) + b'te\0x' + b'abcdef'[:n] + b'123456'
    return text, [body]


def random_traces(differential, events, tmp, seeds):
    """Those of whole TSDL have the values that were written; of the others libbabeltrace2 says the same."""
    lines = equal = 0
    # The library dies of some: by a signal, also in a build that would report it.
    dying = dict(os.environ, ASAN_OPTIONS=os.environ.get('ASAN_OPTIONS', '') + ':handle_segv=0:handle_abort=0:handle_sigfpe=0:handle_sigbus=0')
    for seed in range(seeds):
        for is_plain in (False, True):
            path = os.path.join(tmp, 'made-%d-%s' % (seed, is_plain))
            lines += made.compare(events, path, made.make(path, seed, 1, is_plain))
        r = subprocess.run([differential, path], capture_output=True, check=False, text=True, env=dying)
        if r.returncode == 0:
            equal += 1
        elif r.returncode > 0 and 'babeltrace2 cannot read it' not in r.stderr:
            sys.exit(r.stderr + r.stdout)
    print('%d random traces: %d lines as written, %d equal in libbabeltrace2' % (2 * seeds, lines, equal))
    if equal < seeds * 9 // 10:
        sys.exit('libbabeltrace2 takes too few of them')


def main():
    with tempfile.TemporaryDirectory() as tmp:
        paths = []
        for name, (text, files) in {'scopes': scopes(), 'bits-le': bits('le'), 'bits-be': bits('be'),
                                    'streams': streams(), 'bare': bare()}.items():
            path = os.path.join(tmp, name)
            os.mkdir(path)
            with open(os.path.join(path, 'metadata'), 'w') as f:
                f.write(text)
            for i, raw in enumerate(files):
                with open(os.path.join(path, 'stream%d' % i), 'wb') as f:
                    f.write(raw)
            paths.append(path)
        random_traces(sys.argv[1], sys.argv[2], tmp, int(sys.argv[3]) if len(sys.argv) > 3 else 150)
        sys.exit(subprocess.run([sys.argv[1], *paths], check=False).returncode)


if __name__ == '__main__':
    main()

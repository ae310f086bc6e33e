#!/usr/bin/env python3
"""ctf2: the CTF 2 decoder against a plain reader of the same traces, written here.

usage: ctf2.py EVENTS [--pair TRACE...] [--read TRACE...]

  - Made-up traces with every field class of CTF2-SPEC-2.0, read by both; what they must
    hold is also known here, value by value.
  - Random traces (made.py) with every optional part of the language: they hold what was written.
  - --pair: traces of CTF 1.8 whose metadata is said again in CTF 2: the same events.
  - --read: traces of CTF 2, read by both.

EVENTS prints what the decoder sees (events.c).
"""
import json
import os
import struct
import subprocess
import sys
import tempfile

import made

NATURAL = {"little-endian": "first-to-last", "big-endian": "last-to-first"}


class Bits:
    def __init__(self, data):
        self.data, self.at = data, 0

    def align(self, bits):
        self.at = -(-self.at // bits) * bits

    def take(self, count, order):
        """An unsigned integer of `count` bits."""
        first, last = self.at // 8, -(-(self.at + count) // 8)
        if last > len(self.data):
            raise EOFError
        chunk = self.data[first:last]
        if order == "little-endian":
            value = int.from_bytes(chunk, "little") >> (self.at % 8)
        else:
            value = int.from_bytes(chunk, "big") >> (last * 8 - self.at - count)
        self.at += count
        return value & ((1 << count) - 1)

    def bytes(self, count):
        self.align(8)
        at = self.at // 8
        if at + count > len(self.data):
            raise EOFError
        self.at += count * 8
        return self.data[at:at + count]


class Integer(int):
    bits = 64


def text_of(raw, encoding):
    unit = {"utf-8": 1, "utf-16le": 2, "utf-16be": 2, "utf-32le": 4, "utf-32be": 4}[encoding]
    for at in range(0, len(raw) - unit + 1, unit):
        if raw[at:at + unit] == bytes(unit):
            raw = raw[:at]
            break
    return raw if unit == 1 else raw.decode(encoding, "replace").encode()


def float_of(value, bits):
    if bits in (16, 32, 64):
        code = {16: "<e", 32: "<f", 64: "<d"}[bits]
        return struct.unpack(code, value.to_bytes(bits // 8, "little"))[0]
    assert bits == 128
    sign, exponent, fraction = value >> 127, value >> 112 & 0x7FFF, value & ((1 << 112) - 1)
    number = ((1 << 112) + fraction) * 2.0 ** (exponent - 16383 - 112) if exponent else 0.0
    return -number if sign else number


class Reader:
    """One data stream."""

    def __init__(self, fragments):
        self.aliases, self.streams, self.events = {}, {}, {}
        self.header, self.clocks = None, {}
        for f in fragments:
            kind = f["type"]
            if kind == "field-class-alias":
                self.aliases[f["name"]] = f["field-class"]
            elif kind == "trace-class":
                self.header = f.get("packet-header-field-class")
            elif kind == "data-stream-class":
                self.streams[f.get("id", 0)] = f
            elif kind == "event-record-class":
                self.events[f.get("data-stream-class-id", 0), f.get("id", 0)] = f

    def resolve(self, fc):
        return self.aliases[fc] if isinstance(fc, str) else fc

    def alignment(self, fc):
        fc = self.resolve(fc)
        kind = fc["type"]
        if kind.startswith("fixed-length"):
            return fc.get("alignment", 1)
        if kind == "structure":
            return max([fc.get("minimum-alignment", 1)] +
                       [self.alignment(m["field-class"]) for m in fc.get("member-classes", [])])
        if kind.endswith("-length-array"):
            return max(fc.get("minimum-alignment", 1), self.alignment(fc["element-field-class"]))
        if kind in ("variant", "optional"):
            return 1
        return 8

    def locate(self, location, stack):
        """The value that a location leads to; `stack`: the structs around, as dictionaries."""
        if isinstance(location, dict):
            origin, path = location.get("origin"), location["path"]
        else:
            origin, path = (location[0], location[1:]) if location[0] in self.roots else (None, location)
        if origin:
            here, rest = self.roots[origin], path
        else:
            ups = 0
            while path[ups] is None:
                ups += 1
            level, rest = len(stack) - 1 - ups, path[ups:]
            while rest[0] not in stack[level]:
                level -= 1
            here = stack[level]
        for name in rest:
            while isinstance(here, list):
                here = here[-1]
            here = here[name]
        return here

    def read(self, fc, stack, leaves, name=None):
        fc = self.resolve(fc)
        kind, bits = fc["type"], self.bits
        bits.align(self.alignment(fc))
        if kind.startswith("fixed-length"):
            value = self.read_fixed(fc, leaves)
        elif kind.startswith("variable-length"):
            value = self.read_variable(fc, leaves)
        elif kind == "structure":
            value = {}
            self.read_members(fc, stack + [value], leaves)
            return value
        elif kind == "null-terminated-string":
            value = self.read_string(fc, leaves)
        elif kind in ("optional", "variant"):
            return self.read_choice(fc, stack, leaves)
        else:
            return self.read_row(fc, stack, leaves, name)
        for role in fc.get("roles", []):
            self.on_role(role, value)
        return value

    def on_role(self, role, value):
        self.by_role[role] = value
        if role == "default-clock-timestamp":
            mask = (1 << value.bits) - 1
            low = self.clock & mask
            self.clock = (self.clock & ~mask) + value + (mask + 1 if value < low else 0)
            self.clock &= (1 << 64) - 1

    def read_members(self, fc, stack, leaves):
        for member in fc.get("member-classes", []):
            stack[-1][member["name"]] = self.read(member["field-class"], stack, leaves, member["name"])

    def read_fixed(self, fc, leaves):
        count, order = fc["length"], fc["byte-order"]
        wide = count > 64 and "float" not in fc["type"]
        if wide:
            for _ in range(count):
                leaves.append(str(self.bits.take(1, order)))
            return 0
        value = self.bits.take(count, order)
        if fc.get("bit-order", NATURAL[order]) != NATURAL[order]:
            value = int(format(value, "0%db" % count)[::-1], 2)
        if "float" in fc["type"]:
            number = float_of(value, count)
            leaves.append("%016x" % struct.unpack("<Q", struct.pack("<d", number))[0])
            return number
        if "-signed" in fc["type"] and value >> (count - 1):
            value -= 1 << count
        value = Integer(value)
        value.bits = count
        leaves.append(str(value))
        return value

    def read_variable(self, fc, leaves):
        value = shift = 0
        while True:
            byte = self.bits.bytes(1)[0]
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        if "-signed" in fc["type"] and byte & 64:
            value -= 1 << shift
        value = Integer(value)
        value.bits = shift
        leaves.append(str(value))
        return value

    def read_string(self, fc, leaves):
        encoding = fc.get("encoding", "utf-8")
        unit = 4 if "32" in encoding else 2 if "16" in encoding else 1
        raw = b""
        while True:
            one = self.bits.bytes(unit)
            if one == bytes(unit):
                break
            raw += one
        leaves.append('"%s"' % text_of(raw, encoding).hex())
        return raw

    def read_row(self, fc, stack, leaves, name):
        kind = fc["type"]
        count = fc["length"] if kind.startswith("static") else self.locate(fc["length-field-location"], stack)
        if kind.endswith("string"):
            leaves.append('"%s"' % text_of(self.bits.bytes(count), fc.get("encoding", "utf-8")).hex())
            return None
        if kind.endswith("blob"):
            leaves.extend(str(b) for b in self.bits.bytes(count))
            return None
        value = stack[-1][name] = []  # there while it is read, for locations into it
        for _ in range(count):
            element = self.resolve(fc["element-field-class"])
            if element["type"] == "structure":
                self.bits.align(self.alignment(element))
                value.append({})
                holder = stack + [value[-1]]
                self.read_members(element, holder, leaves)
            else:
                value.append(self.read(element, stack, leaves))
        return value

    def read_choice(self, fc, stack, leaves):
        selector = self.locate(fc["selector-field-location"], stack)
        options = fc["options"] if fc["type"] == "variant" else [fc]
        for option in options:
            ranges = option.get("selector-field-ranges")
            hit = any(r[0] <= selector <= r[1] if isinstance(r, list) else r == selector for r in ranges) \
                if ranges is not None else selector != 0
            if hit:
                return self.read(option["field-class"], stack, leaves)
        assert fc["type"] == "optional"
        return None

    def root(self, name, fc, leaves):
        if fc is not None:
            fc = self.resolve(fc)
            self.bits.align(self.alignment(fc))
            self.roots[name] = {}
            self.read_members(fc, [self.roots[name]], leaves)

    def packets(self, data):
        at = 0
        while at < len(data):
            self.bits = Bits(data[at:])
            self.roots = dict.fromkeys(["packet-header", "packet-context", "event-record-header",
                                        "event-record-common-context",
                                        "event-record-specific-context", "event-record-payload"])
            self.by_role, self.clock = {}, 0
            self.root("packet-header", self.header, [])
            stream = self.streams[self.by_role.get("data-stream-class-id", 0)]
            self.root("packet-context", stream.get("packet-context-field-class"), [])
            total = self.by_role.get("packet-total-length")
            content = self.by_role.get("packet-content-length", total)
            content = len(self.bits.data) * 8 if content is None else content
            total = -(-content // 8) * 8 if total is None else total
            while self.bits.at < content:
                yield self.event(stream)
            at += total // 8

    def event(self, stream):
        leaves = []
        self.by_role.pop("event-record-class-id", None)
        self.root("event-record-header", stream.get("event-record-header-field-class"), [])
        clock = self.clock
        number = self.by_role.get("event-record-class-id", 0)
        event = self.events[stream.get("id", 0), number]
        self.root("event-record-common-context", stream.get("event-record-common-context-field-class"), leaves)
        self.root("event-record-specific-context", event.get("specific-context-field-class"), leaves)
        self.root("event-record-payload", event.get("payload-field-class"), leaves)
        return " ".join([""] + leaves + [event.get("name", ""), str(clock)])


def unpacketized(raw):
    """The text of a metadata stream."""
    if raw[:4] not in (b"\x57\x1d\xd1\x75", b"\x75\xd1\x1d\x57"):
        return raw
    text, at = b"", 0
    order = "<" if raw[0] == 0x57 else ">"
    while at < len(raw):
        content, total = struct.unpack(order + "II", raw[at + 24:at + 32])
        text += raw[at + 37:at + content // 8]
        at += total // 8
    return text


def read_plainly(path):
    with open(os.path.join(path, "metadata"), "rb") as f:
        text = unpacketized(f.read()).decode()
    fragments = [json.loads(part) for part in text.split("\x1e") if part.strip()]
    for name in sorted(os.listdir(path)):
        full = os.path.join(path, name)
        if name == "metadata" or not os.path.isfile(full):
            continue
        yield name
        with open(full, "rb") as f:
            yield from Reader(fragments).packets(f.read())


def read_ours(events, path):
    r = subprocess.run([events, path], capture_output=True, check=False)
    if r.returncode != 0:
        return ["fails: " + r.stderr.decode() + r.stdout.decode()[-500:]]
    return r.stdout.decode().splitlines()


def same(what, ours, theirs):
    for i, (a, b) in enumerate(zip(ours, theirs)):
        if a != b:
            sys.exit("%s: line %d:\n  we      %s\n  plainly %s" % (what, i + 1, a[:2000], b[:2000]))
    if len(ours) != len(theirs):
        sys.exit("%s: we have %d lines, not %d" % (what, len(ours), len(theirs)))
    return len(ours)


# ---- made-up traces ----

def u(length, **more):
    return {"type": "fixed-length-unsigned-integer", "length": length, "byte-order": "little-endian",
            "alignment": 8 if length % 8 == 0 else 1, **more}


def s(length, **more):
    return {**u(length, **more), "type": "fixed-length-signed-integer"}


def struct_of(*members, **more):
    return {"type": "structure", "member-classes": [{"name": n, "field-class": f} for n, f in members], **more}


def at(*path, origin=None):
    return {"path": list(path), **({"origin": origin} if origin else {})}


def fragments_of(payload, **stream):
    return [
        {"type": "preamble", "version": 2, "uuid": list(range(16)), "attributes": {"x": [1, {"y": None}]}},
        {"type": "field-class-alias", "name": "byte", "field-class": u(8)},
        {"type": "clock-class", "id": "c", "frequency": 1000, "offset-from-origin": {"seconds": 5, "cycles": 7}},
        {"type": "trace-class", "environment": {"domain": "x", "n": 3}},
        {"type": "data-stream-class", "default-clock-class-id": "c", **stream},
        {"type": "event-record-class", "name": "e", "payload-field-class": payload},
    ]


def quad(value):
    """A binary128 of a small integer or dyadic fraction."""
    mantissa, exponent = abs(value).as_integer_ratio()[0], 0
    whole = abs(value).as_integer_ratio()
    exponent = whole[0].bit_length() - whole[1].bit_length()
    mantissa = int((abs(value) / 2.0 ** exponent - 1) * 2 ** 52) << 60
    return ((value < 0) << 127 | (exponent + 16383) << 112 | mantissa).to_bytes(16, "little")


# name, payload, data, expected leaves of the first event
CASES = [
    ("scalars", struct_of(
        ("a", u(3)), ("b", s(5)), ("c", u(16, **{"byte-order": "big-endian"})), ("_d", "byte"),
        ("wide", {"type": "fixed-length-bit-array", "length": 72, "byte-order": "little-endian", "alignment": 8}),
        ("flag", {"type": "fixed-length-boolean", "length": 8, "byte-order": "big-endian"}),
        ("map", {"type": "fixed-length-bit-map", "length": 8, "byte-order": "big-endian", "flags": {"f": [[1, 1]]}}),
        ("reversed", u(8, **{"bit-order": "last-to-first"})),
        ("named", u(8, mappings={"x": [[0, 3], 7]}))),
     bytes([0xA5, 0x12, 0x34, 9]) + b"\x01" + bytes(8) + b"\x01\xfe\x01\x07",
     "5 -12 4660 9 1 " + "0 " * 71 + "1 254 128 7"),
    ("floats", struct_of(*[("f%d" % n, {"type": "fixed-length-floating-point-number", "length": n, "alignment": 8,
                                         "byte-order": "little-endian"}) for n in (16, 32, 64, 128)]),
     struct.pack("<efd", 1.5, -2.25, 1e300) + quad(-6.5),
     "3ff8000000000000 c002000000000000 7e37e43c8800759c c01a000000000000"),
    ("variable", struct_of(("a", {"type": "variable-length-unsigned-integer"}),
                           ("b", {"type": "variable-length-signed-integer"}),
                           ("c", {"type": "variable-length-unsigned-integer"}),
                           ("d", {"type": "variable-length-signed-integer"})),
     b"\xe5\x8e\x26" + b"\x9b\xf1\x59" + b"\xff" * 9 + b"\x01" + b"\x80" * 9 + b"\x7f",
     "624485 -624485 18446744073709551615 -9223372036854775808"),
    ("texts", struct_of(
        ("n", u(8)),
        *[("z" + e, {"type": "null-terminated-string", "encoding": e})
          for e in ("utf-8", "utf-16le", "utf-16be", "utf-32le", "utf-32be")],
        ("s", {"type": "static-length-string", "length": 8, "encoding": "utf-16le"}),
        ("t", {"type": "static-length-string", "length": 4}),
        ("d", {"type": "dynamic-length-string", "length-field-location": at("n"), "encoding": "utf-32be"}),
        ("e", {"type": "dynamic-length-string", "length-field-location": at("n")})),
     b"\x08" + "é€\0".encode() + "é€😀\0".encode("utf-16le") + "x\0".encode("utf-16be")
     + "€😀\0".encode("utf-32le") + "ab\0".encode("utf-32be") + "ab".encode("utf-16le") + bytes(4)
     + b"ab\0\xff" + "é😀".encode("utf-32be") + b"12345678",
     '8 "c3a9e282ac" "c3a9e282acf09f9880" "78" "e282acf09f9880" "6162" "6162" "6162" "c3a9f09f9880" '
     '"3132333435363738"'),
    ("blobs", struct_of(("n", u(8)), ("b", {"type": "static-length-blob", "length": 2, "media-type": "x/y"}),
                        ("d", {"type": "dynamic-length-blob", "length-field-location": at("n")})),
     b"\x03abcde", "3 97 98 99 100 101"),
    ("optional", struct_of(
        ("yes", {"type": "fixed-length-boolean", "length": 8, "byte-order": "little-endian"}), ("k", s(8)),
        ("a", {"type": "optional", "selector-field-location": at("yes"), "field-class": u(16)}),
        ("b", {"type": "optional", "selector-field-location": at("k"), "selector-field-ranges": [[-3, -1], [5, 5]],
               "field-class": "byte"}),
        ("c", {"type": "optional", "selector-field-location": at("k"), "selector-field-ranges": [[1, 4]],
               "field-class": "byte"}),
        ("end", "byte")),
     b"\x01\xfe\x02\x01\x09\x0a", "1 -2 258 9 10"),
    ("variant", struct_of(
        ("tag", u(8)),
        ("v", {"type": "variant", "selector-field-location": at("tag"), "options": [
            {"field-class": struct_of(("len", u(8))), "selector-field-ranges": [[0, 3]]},
            {"field-class": struct_of(("pad", "byte"), ("len", {"type": "variable-length-unsigned-integer"})),
             "selector-field-ranges": [[4, 255]]}]}),
        # Through the variant: the length is in whichever option there is.
        ("row", {"type": "dynamic-length-array", "length-field-location": at("v", "len"),
                 "element-field-class": "byte"}),
        ("end", "byte")),
     b"\x04\x63\x02\x01\x02\x07", "4 99 2 1 2 7"),
    ("nested", struct_of(
        ("n", "byte"),
        ("rows", {"type": "static-length-array", "length": 2, "minimum-alignment": 16,
                  "element-field-class": struct_of(
                      ("m", "byte"),
                      ("in", struct_of(
                          ("up", {"type": "dynamic-length-array", "length-field-location": at(None, "m"),
                                  "element-field-class": u(16)}),
                          ("out", {"type": "dynamic-length-array",
                                   "length-field-location": at("n", origin="event-record-payload"),
                                   "element-field-class": "byte"}),
                          ("this", {"type": "dynamic-length-array",
                                    "length-field-location": at("rows", "m", origin="event-record-payload"),
                                    "element-field-class": "byte"}))))})),
     b"\x01\x00" + b"\x01\x05\x00\x09\x08" + b"\x02\x01\x00\x02\x00\x07\x06\x06",
     "1 1 5 9 8 2 1 2 7 6 6"),
]


def make(directory, fragments, data, packetized=False):
    os.makedirs(directory)
    text = "".join("\x1e" + json.dumps(f, indent=1) + "\n" for f in fragments).encode()
    if packetized:
        size, raw = 200, b""
        for i in range(0, len(text), size):
            part = text[i:i + size]
            raw += struct.pack("<I16sIIIBBBBB", 0x75D11D57, bytes(range(16)), 0, (37 + len(part)) * 8,
                               (40 + size) * 8, 0, 0, 0, 2, 0) + part + bytes(3 + size - len(part))
        text = raw
    with open(os.path.join(directory, "metadata"), "wb") as f:
        f.write(text)
    with open(os.path.join(directory, "stream"), "wb") as f:
        f.write(data)


def made_up(events, tmp):
    checked = 0
    for i, (name, payload, data, leaves) in enumerate(CASES):
        directory = os.path.join(tmp, name)
        make(directory, fragments_of(payload), data, packetized=i % 2 == 1)
        ours = read_ours(events, directory)
        if ours != ["stream", " " + leaves + " e 0"]:
            sys.exit("%s: we see\n%s\nnot\n %s" % (name, "\n".join(ours), leaves))
        checked += same(name, ours, list(read_plainly(directory)))
    return checked + headers(events, tmp)


def random_traces(events, tmp, seeds):
    paths = [os.path.join(tmp, 'made-%d' % seed) for seed in range(seeds)]
    return sum(made.compare(events, path, made.make(path, seed, 2)) for seed, path in enumerate(paths))


def headers(events, tmp):
    """Ids and time stamps by role, in odd places and of variable length; several events."""
    stamp = {"type": "variable-length-unsigned-integer", "roles": ["default-clock-timestamp"]}
    header = struct_of(("deep", struct_of(("which", u(4, roles=["event-record-class-id"])), ("pad", u(4)))), ("t", stamp))
    context = struct_of(("magic", u(32, roles=["discarded-event-record-counter-snapshot"])),
                        ("size", {"type": "variable-length-unsigned-integer", "roles": ["packet-total-length"]}),
                        ("begin", u(64, roles=["default-clock-timestamp"])))
    fragments = fragments_of(struct_of(("x", "byte")), **{"packet-context-field-class": context,
                                                          "event-record-header-field-class": header,
                                                          "event-record-common-context-field-class": struct_of(("n", "byte"))})
    fragments.append({"type": "event-record-class", "id": 9, "name": "nine", "payload-field-class": struct_of(
        ("row", {"type": "dynamic-length-array", "element-field-class": "byte",
                 "length-field-location": at("n", origin="event-record-common-context")}))})
    packet = struct.pack("<I", 0) + b"\xa0\x01" + struct.pack("<Q", 130)
    packet += b"\x00\x05\x01\x02" + b"\x09\x04\x00"  # 130 -> 133 (low 7 bits 5), then 4: wraps to 260
    packet = packet.ljust(20, b"\x00") if len(packet) < 20 else packet
    data = b""
    size = len(packet) * 8
    packet = packet[:4] + bytes([size & 127 | 128, size >> 7]) + packet[6:]
    data = packet * 2
    directory = os.path.join(tmp, "headers")
    make(directory, fragments, data)
    ours = read_ours(events, directory)
    if ours != ["stream"] + [" 1 2 e 133", " 0 nine 260"] * 2:
        sys.exit("headers: we see\n" + "\n".join(ours))
    return same("headers", ours, list(read_plainly(directory)))


def pair(events, tmp, trace):
    """The same streams under metadata in both languages."""
    directory = os.path.join(tmp, "pair%d" % len(os.listdir(tmp)))
    os.makedirs(directory)
    r = subprocess.run([events, "--ctf2", trace], capture_output=True, check=False)
    if r.returncode != 0:
        sys.exit("%s: %s" % (trace, r.stderr.decode()))
    with open(os.path.join(directory, "metadata"), "wb") as f:
        f.write(r.stdout)
    for name in os.listdir(trace):
        if name != "metadata":
            os.symlink(os.path.abspath(os.path.join(trace, name)), os.path.join(directory, name))
    return same(trace, read_ours(events, directory), read_ours(events, trace))


def main():
    events, rest = sys.argv[1], sys.argv[2:]
    mode, checked, counts = None, 0, {}
    if rest and all(arg.startswith("--") for arg in rest):
        print("skipped: no traces")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as tmp:
        checked += made_up(events, tmp) + random_traces(events, tmp, 200)
        for arg in rest:
            if arg.startswith("--"):
                mode = arg
            elif mode == "--pair":
                checked += pair(events, tmp, arg)
            else:
                theirs = list(read_plainly(arg))
                counts[os.path.basename(arg)] = sum(line.startswith(" ") for line in theirs)
                checked += same(arg, read_ours(events, arg), theirs)
    print("%d lines equal %s" % (checked, counts or ""))


if __name__ == "__main__":
    main()

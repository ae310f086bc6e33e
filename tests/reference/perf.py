#!/usr/bin/env python3
"""perf: a kernel trace in perf's names has the figures of the same trace in LTTng's.

Goal    What doc/definitions.md, 1, says of traces of perf holds in every analysis and in reports.
Method  The metadata of a recorded trace is written again with the names that perf gives to the same tracepoints and
        fields; the packets stay.  perf's priorities are 100 above LTTng's, so here they come out 100 below.  What perf
        lacks (the process that a fork makes, the state dump's and block events' names) is renamed out of the way in both.

usage: perf.py SILLAGE TRACE...     (kernel traces)
"""
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

GROUPS = {'sched': r'sched_(?:switch|waking|wakeup|wakeup_new|process_fork|process_exec|process_exit|migrate_task)', 'signal': 'signal_generate',
          'net': 'net_dev_xmit', 'irq': r'irq_handler_(?:entry|exit)', 'vmscan': r'mm_vmscan_\w+'}
EVENTS = [(r'^%s$' % names, r'%s:\g<0>' % group) for group, names in GROUPS.items()]
EVENTS += [(r'^syscall_entry_(\w+)$', r'syscalls:sys_enter_\1'), (r'^syscall_exit_(\w+)$', r'syscalls:sys_exit_\1'),
           (r'^irq_(softirq_(?:entry|exit|raise))$', r'irq:\1'), (r'^timer_(hrtimer_(?:start|expire_entry|expire_exit))$', r'timer:\1'),
           (r'^kmem_(mm_page_(?:alloc|free|free_batched))$', r'kmem:\1'), (r'^net_if_(receive_skb)$', r'net:netif_\1'),
           (r'^x86_exceptions_(page_fault_(?:user|kernel))$', r'exceptions:\1')]
FIELDS = {'_tid': '_pid', '_prev_tid': '_prev_pid', '_next_tid': '_next_pid', '_child_tid': '_child_pid', '_parent_tid': '_parent_pid', '_old_tid': '_old_pid'}
LACKS = {'_child_pid': '_child_tgid', '_parent_pid': '_parent_tgid'}
ANALYSES = 'cpu,sched,preempt,syscalls,io,files,irq,net,memory,faults,jobs'


def text_of(path):
    with open(path, 'rb') as file:
        data, text, at = file.read(), b'', 0
    while at < len(data):
        content, size = struct.unpack_from('<II', data, at + 24)
        text += data[at + 37:at + content // 8]
        at += size // 8
    return text.decode()


def renamed(block, names):
    return re.sub(r'\b(_\w+)(?=(?:\[[^]]*\])*;)', lambda found: names.get(found.group(1), found.group(1)), block)


def variants(text):
    """The metadata without what perf lacks, and the same in its names."""
    plain, perf = [], []
    for block in re.split(r'(?<=\n};\n)', text):
        found = re.search(r'^event \{\s*name = "?([\w:]+)"?;', block, re.M)
        one = renamed(block, LACKS) if found else block
        plain.append(one)
        name = found.group(1) if found else ''
        other = next((re.sub(pattern, to, name) for pattern, to in EVENTS if re.match(pattern, name)), name)
        if other != name:
            one = renamed(one.replace(name, '"%s"' % other if '"' not in found.group(0) else other, 1), FIELDS)
        perf.append(one)
    return ''.join(plain), ''.join(perf)


def write(folder, trace, metadata):
    shutil.copytree(trace, folder)
    os.chmod(os.path.join(folder, 'metadata'), 0o644)
    with open(os.path.join(folder, 'metadata'), 'w', encoding='utf-8') as file:
        file.write('/* CTF 1.8 */\n' + metadata.replace('/* CTF 1.8 */', ''))


def lines_of(sillage, words, folder):
    out = subprocess.run([sillage, *words, folder], stdout=subprocess.PIPE, check=True).stdout.decode()
    return [json.loads(line) for line in out.splitlines()]


# What names the trace, and what depends on priorities, which here are out of Linux's range.
LEFT_OUT = ('trace', 'missing', 'wall_ns', 'path', 'prios', 'victims', 'rivals', 'inversions', 'urgency', 'answer')


def without(value, add, key=None):
    """Of a result, what both have; priorities of perf on LTTng's scale."""
    if isinstance(value, dict):
        return {name: without(one, add, name) for name, one in value.items() if name not in LEFT_OUT}
    if isinstance(value, list):
        return [without(one, add, key) for one in value]
    return value + add if key == 'prio' and isinstance(value, int) else value


def check(sillage, trace):
    """What differs, as texts."""
    plain, perf = variants(text_of(os.path.join(trace, 'metadata')))
    with tempfile.TemporaryDirectory() as folder:
        folders = [os.path.join(folder, name, 'kernel') for name in ('lttng', 'perf')]
        for one, metadata in zip(folders, (plain, perf)):
            os.makedirs(os.path.dirname(one))
            write(one, trace, metadata)
        for words in (['analyze', '-q', '-f', 'json', '-a', ANALYSES, '--job', 'run', '-n', '0'],
                      ['report', '-q', '-f', 'json', '--job', 'run']):
            results = [[without(line, add) for line in lines_of(sillage, words, one)] for one, add in zip(folders, (0, 100))]
            if results[0] != results[1]:
                yield '%s: %s' % (words[0], first_difference(*results))
            elif len(results[0]) == 0 or 'sched_switch' not in plain:
                yield '%s: nothing compared' % words[0]


def first_difference(a, b, path=''):
    if isinstance(a, dict) and isinstance(b, dict):
        for key in sorted(set(a) | set(b)):
            if a.get(key) != b.get(key):
                return first_difference(a.get(key), b.get(key), '%s.%s' % (path, key))
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for i, (one, other) in enumerate(zip(a, b)):
            if one != other:
                return first_difference(one, other, '%s[%d]' % (path, i))
    return '%s: %.300s and %.300s' % (path, a, b)


def main():
    failed = False
    for trace in sys.argv[2:]:
        faults = list(check(os.path.abspath(sys.argv[1]), trace))
        print('%s %s' % ('not ok' if faults else 'ok', trace))
        for fault in faults:
            print('# ' + fault)
        failed |= bool(faults)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())

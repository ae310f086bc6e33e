#!/usr/bin/env python3
"""units: the service units, their example configuration, and what the package makes of them.

Goal    MemoryMax has room for --max-memory, which a history is within, and for what the manual says is beside it.
        No core file, a limit of descriptors, no privileged calls.  systemd finds no fault, and its figure of exposure
        is no higher than it was.  All options are options, and every variable has a value.

usage: units.py SILLAGE ROOT
"""
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

EXPOSURE = {'sillage.service': 9, 'sillage@.service': 11, 'sillage-record.service': 23}  # in tenths, by systemd 252
RECORDER = 'sillage-record.service'  # it is root's, and looks at all processes
VIEWERS = [name for name in EXPOSURE if name != RECORDER]
WEB, CLICKHOUSE = r'(\d+) MiB more with \*--web\*', r'(\d+) MiB more with a store in ClickHouse'
SIZES = {'K': 1 << 10, 'M': 1 << 20, 'G': 1 << 30}


def fail(text):
    print('not ok units: ' + text)
    sys.exit(1)


def size(text):
    return int(text[:-1]) * SIZES[text[-1]]


def settings(path):
    """The settings of a unit; of several lines of one name, a list."""
    with open(path) as file:
        text = file.read().replace('\\\n', ' ')
    found = {}
    for key, value in re.findall(r'^(\w+)=(.*)$', text, re.M):
        found.setdefault(key, []).append(value.strip())
    return found


def check_constants(manual, limits):
    """What the manual says is beside --max-memory, by the limits that it is made of."""
    def of(name):
        text = re.search(r'^#define %s +(.*)$' % name, limits, re.M).group(1)
        return eval(text.split('/*')[0].replace('(size_t)', ''))  # numbers and shifts

    batch = of('CLICKHOUSE_BATCH_BYTES')
    for what, wanted in ((WEB, of('SERVER_CONNECTIONS_MAX') * of('WEB_PENDING_MAX')),
                         # Gathered, waiting, being sent; packed; and what the server says.
                         (CLICKHOUSE, (1 + of('CLICKHOUSE_OUTBOX') + 1) * batch + batch + of('HTTP_ANSWER_BYTES_MAX'))):
        found = re.search(what, manual)
        if not found or int(found.group(1)) << 20 != wanted:
            fail('the manual does not say "%s" with %d' % (what, wanted >> 20))


def check_memory(name, unit, words, manual):
    most = size(words[words.index('--max-memory') + 1])
    beside = re.search(r'a constant of (\d+) MiB, and (\d+) MiB for each worker', manual)
    if not beside:
        fail('the manual does not say what a process takes beside --max-memory')
    workers = int(words[words.index('-j') + 1])
    if 'they are a part of *--max-memory*' not in manual:
        fail('the manual does not say that a history is within --max-memory')
    wanted = most + ((int(beside.group(1)) + workers * int(beside.group(2))) << 20)
    wanted += int(re.search(WEB, manual).group(1)) << 20  # who sets OPTIONS, or STORE
    wanted += (int(re.search(CLICKHOUSE, manual).group(1)) << 20) * ('--store' in words)
    if size(unit['MemoryMax'][0]) < wanted:
        fail('%s: MemoryMax=%s, and %d MiB are wanted' % (name, unit['MemoryMax'][0], wanted >> 20))


def check_words(sillage, name, unit, words):
    known = subprocess.run([sillage, words[1], '--help'], check=True, stdout=subprocess.PIPE, text=True).stdout
    for word in words[1:]:
        if word.startswith('--') and not re.search(r'(^|\s)%s(\s|$)' % re.escape(word), known, re.M):
            fail('%s: %s is no option' % (name, word))
    given = {one.split('=')[0] for line in unit.get('Environment', ()) for one in shlex.split(line)}
    for one in re.findall(r'\$\{?(\w+)', unit['ExecStart'][0]):
        if name != 'sillage@.service' and one not in given:
            fail('%s: %s has no value' % (name, one))


def check_closed(name, unit):
    viewer = (('ProtectProc', 'invisible'), ('ProcSubset', 'pid'), ('PrivateUsers', 'yes'), ('CapabilityBoundingSet', ''), ('DynamicUser', 'yes'))
    recorder = (('CapabilityBoundingSet', 'CAP_SYS_PTRACE CAP_DAC_READ_SEARCH'), ('ReadWritePaths', '/sys/kernel/tracing'))
    for key, value in (('LimitCORE', '0'), ('NoNewPrivileges', 'yes'), ('UMask', '0077')) + (recorder if name == RECORDER else viewer):
        if unit.get(key) != [value]:
            fail('%s: %s=%s, not %s' % (name, key, unit.get(key), value))
    if name != 'sillage@.service' and (unit.get('IPAddressDeny'), unit.get('IPAddressAllow')) != (['any'], ['localhost']):
        fail('%s: other hosts can be reached' % name)
    if unit['SystemCallFilter'] != ['@system-service', '~@privileged @resources'] or int(unit['LimitNOFILE'][0]) < 4096:
        fail('%s: %s, %s' % (name, unit['SystemCallFilter'], unit['LimitNOFILE']))


def check_by_systemd(root, name):
    if not shutil.which('systemd-analyze'):
        print('# %s: systemd-analyze is not installed' % name)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, name.replace('@', '@x'))
        with open(os.path.join(root, 'contrib', name)) as file, open(path, 'w') as copy:
            copy.write(file.read().replace('/usr/bin/sillage', '/bin/true'))
        done = subprocess.run(['systemd-analyze', 'verify', '--man=no', path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        said = [line for line in done.stdout.splitlines() if os.path.basename(path) in line]
        if said:
            fail('%s: %s' % (name, said))
        done = subprocess.run(['systemd-analyze', 'security', '--no-pager', '--offline=yes', path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        found = re.search(r'Overall exposure level for .*: (\d+)\.(\d)', done.stdout)
        if found and int(found.group(1) + found.group(2)) > EXPOSURE[name]:
            fail('%s: exposure %s.%s' % (name, *found.groups()))
        print('ok %s: exposure %s' % (name, found.group(1) + '.' + found.group(2) if found else 'unknown to this systemd'))


def main():
    sillage, root = os.path.abspath(sys.argv[1]), sys.argv[2]
    with open(os.path.join(root, 'doc', 'sillage.1.scd')) as file:
        manual = ' '.join(file.read().split())
    with open(os.path.join(root, 'src', 'base', 'limits.h')) as file:
        check_constants(manual, file.read())
    units = {}
    for name in EXPOSURE:
        unit = units[name] = settings(os.path.join(root, 'contrib', name))
        words = shlex.split(unit['ExecStart'][0])
        if name in VIEWERS:
            check_memory(name, unit, words, manual)
        check_words(sillage, name, unit, words)
        check_closed(name, unit)
        check_by_systemd(root, name)
    with open(os.path.join(root, 'contrib', 'sillage.default')) as file:
        shown = dict(re.findall(r'^#(\w+)=(.*)$', file.read(), re.M))
    given = dict(one.split('=', 1) for one in shlex.split(units['sillage.service']['Environment'][0]))
    if shown != given:
        fail('sillage.default has %s, the unit %s' % (shown, given))
    print('ok units')


if __name__ == '__main__':
    main()

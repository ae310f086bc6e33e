#!/usr/bin/env python3
"""docs: what is written down is what the program has.

Goal    Options of --help, of the manual page and of the completion are the same, in every command;
        doc/json.md has the keys that the tables have; README.md and doc/tasks.md name every command; NEWS.md and the
        package have the program's version;
        doc/store.md has the tables of a store; the walk in doc/architecture.md is one; files that documents name are there;
        doc/definitions.md defines every key that `analyze`, `report` and `history --per host` print in
        JSON.

With --manual instead: the manual page shows examples line by line.

usage: docs.py [--manual] SILLAGE ROOT
"""
import difflib
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile


def said(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.decode()


def read(root, *path):
    with open(os.path.join(root, *path)) as file:
        return file.read()


def quoted(text):
    return set(re.findall(r'`(\w+)`', text))


def entries(text):
    """What is before a colon: "- `a`, `b`: what it is"."""
    return set(re.findall(r'`(\w+)`(?=(?:, `\w+`)*:)', text))


def keys_in(value):
    if isinstance(value, list):
        return {key for one in value for key in keys_in(one)}
    if isinstance(value, dict):
        return set(value) | keys_in(list(value.values()))
    return set()


def tables_of(text):
    """The keys of each table, by (analysis, table), from `sillage help json`; '': the trace."""
    tables = {}
    for name, members in re.findall(r'^"(\w+)": \{(.*?)\}$(?=\n"|\s*\Z)', text, re.M | re.S):
        for table, keys in re.findall(r'"(\w+)":\[?\{(.*?)\}', members):
            tables[name, table] = quoted(keys.replace('"', '`'))
        tables[name, ''] = quoted(re.sub(r'"\w+":\[?\{.*?\}', '', members).replace('"', '`'))
    return {place: keys for place, keys in tables.items() if keys or place[1]}


def definitions_of(text):
    """What is defined for each table, for all tables, for distributions, and for reports (5 to 7).

    A table's entries follow a line that begins with its name in bold: **Trace**, **`threads`**.
    """
    sections = re.split(r'^#+ (\d+(?:\.\d+)?)\.? (.*)$', text, flags=re.M)
    common, spread, reported, tables = set(), set(), set(), {}
    for number, title, body in zip(sections[1::3], sections[2::3], sections[3::3]):
        common |= entries(body) if number == '4' else set()
        spread |= quoted(body) if number == '0.2' else set()
        reported |= quoted(body) if number[0] in '567' else set()
        names = title.split(', ') if number.startswith('4.') else []
        # A section of two analyses has a part for each.
        parts = re.split(r'^#### (\w+)$', body, flags=re.M) if len(names) > 1 else ['', *names, body]
        for name, part in zip(parts[1::2], parts[2::2]):
            for text in re.split(r'^(?=\*\*)', part, flags=re.M)[1:]:
                head = text.split('\n')[0]
                for table in re.findall(r'\*\*(?:Trace|`(\w+)`)\*\*', head):
                    tables.setdefault((name, table), set()).update(quoted(head), entries(text))
    return tables, common, spread, reported


def reports(sillage, data):
    def report(*options):
        path = os.path.join(data, 'rt-mutex-none', 'kernel')
        return json.loads(said(sillage, 'report', '-f', 'json', *options, path))

    whole = report('--job', 'run', '--within', 'wake-to-sleep', '--every', '1ms')
    return [whole, report('--begin', str((whole['begin'] + whole['end']) // 2))]


def undefined(sillage, root):
    """Faults: keys that doc/definitions.md lacks, and tables in it that the program lacks."""
    data = os.path.join(root, 'tests', 'data')
    tables = tables_of(said(sillage, 'help', 'json'))
    defined, common, spread, reported = definitions_of(read(root, 'doc', 'definitions.md'))
    for place, keys in sorted(tables.items()):
        if place not in defined:
            yield 'lacks the table of %s, which is headed %s' % (
                '.'.join(filter(None, place)), '**`%s`**' % place[1] if place[1] else '**Trace**')
        for key in sorted(keys - defined.get(place, set()) - common):
            yield 'lacks "%s" of %s' % (key, '.'.join(filter(None, place)))
    for place in sorted(set(defined) - set(tables)):
        yield 'has a table of %s, which the program lacks' % '.'.join(filter(None, place))
    # `help json` is made from the tables; this is what is printed.
    for trace, period in (('io-mix/kernel', 'read = syscall_entry_read; syscall_exit_read'),
                          ('ust', 'span = sillage_test:scalars; sillage_test:texts')):
        output = said(sillage, 'analyze', '-q', '-f', 'json', '-a', 'all', '--period', period,
                      os.path.join(data, trace))
        total = [json.loads(line) for line in output.splitlines() if '"type":"total"' in line][-1]
        for name in sorted({name for name, _ in tables} & set(total)):
            total[name].pop('by_name' if name == 'count' else '', None)  # its keys are event names
            known = common | spread | {table for _, table in tables}
            known = known.union(*(keys for place, keys in defined.items() if place[0] == name))
            for key in sorted(keys_in(total[name]) - known):
                if not key.isdigit():  # of log2
                    yield 'lacks "%s", which %s prints' % (key, name)
    for report in reports(sillage, data):
        for key in sorted(keys_in(report) - reported - common - {'type', 'version', 'json', 'trace', 'triggers'}):
            yield 'lacks "%s", which report prints' % key


def undefined_of_hosts(sillage, root):
    """The same for tables of hosts, and triggers on them."""
    trace = os.path.join(root, 'tests', 'data', 'containers', 'kernel')
    section = re.search(r'^## 12\. .*?(?=^## |\Z)', read(root, 'doc', 'definitions.md'), re.M | re.S).group()
    with tempfile.TemporaryDirectory(prefix='sillage-docs-') as scratch:
        store = os.path.join(scratch, 'a.db')
        said(sillage, 'analyze', '-q', '-o', '/dev/null', '-a', 'cpu', '-i', '1s', '--store', store, trace)
        printed = said(sillage, 'history', '-f', 'json', '--per', 'host,container', '-a', 'cpu', '-i', '1s', '--comm', 'sh',
                       '--figure', 'cpu.containers.run.rate', '--trigger', 'cpu.busy > 1% on 1 host', store)
    found = [json.loads(line) for line in printed.splitlines()]
    known = quoted(section) | quoted(read(root, 'doc', 'json.md').split('## Hosts side by side')[0].split('## Lines by type')[1])
    for line in found:
        own = quoted(section) if line['type'].startswith('fleet') else known
        for key in sorted(key for key in keys_in(line) - own - {'type'} if not key.endswith('_time')):
            yield 'lacks "%s", which history --per host prints' % key


def run_together(root):
    """Lines of the manual's examples that are not lines of their own on the page."""
    source = read(root, 'doc', 'sillage.1.scd')
    page = subprocess.run(['scdoc'], input=source.encode(), stdout=subprocess.PIPE, check=True).stdout
    env = dict(os.environ, MANWIDTH='120', LC_ALL='C.UTF-8')
    page = subprocess.run(['man', '-E', 'utf-8', '-l', '-'], input=page, stdout=subprocess.PIPE, check=True, env=env).stdout.decode()
    shown = {' '.join(line.split()) for line in page.splitlines()}
    for block in re.findall(r'^\t*```\n(.*?)\n\t*```$', source, re.M | re.S):
        yield from (line for line in block.splitlines() if ' '.join(line.replace('\\\\', '\\').split()) not in shown)


def manual_test(root):
    if not shutil.which('scdoc') or not shutil.which('man'):
        print('skipped: scdoc or man is not installed')
        return 77
    faults = list(run_together(root))
    for line in faults:
        print('not ok: the manual page has no line "%s"' % line.strip())
    print('%s manual: %d faults' % ('not ok' if faults else 'ok', len(faults)))
    return 1 if faults else 0


def differs(sillage, root, topic, name):
    """What `sillage help TOPIC` prints stands as a block in doc/NAME.md; if not, how the block differs that is most like it."""
    name = 'doc/%s.md' % name
    printed = said(sillage, 'help', topic).splitlines()
    blocks = [block.splitlines() for block in re.findall(r'^```\n(.*?)^```$', read(root, name), re.M | re.S)]
    if printed not in blocks:
        nearest = max(blocks, key=lambda block: len(set(block) & set(printed)))
        yield '%s has not what `sillage help %s` prints:\n%s' % (name, topic, '\n'.join(difflib.unified_diff(
            nearest, printed, name, 'sillage help ' + topic, n=1, lineterm='')))


def version_faults(sillage, root):
    """The program, NEWS.md and the package speak of one version."""
    version = said(sillage, '--version').split()[1]
    for name, pattern in (('NEWS.md', r'^## (\S+)$'), ('contrib/debian/changelog', r'^sillage \((\S+)-\d+\)')):
        newest = re.search(pattern, read(root, name), re.M).group(1)
        if newest != version:
            yield '%s is about %s, the program is %s' % (name, newest, version)


WALK_FILES, WALK_ROOMS, WALK_ENTERED = 25, 9, 2


def walk_faults(root):
    """One packet's way through doc/architecture.md: its files and functions exist, and it is short."""
    rows = re.findall(r'^\| \d+ \| (\S*) ?\| `(\S+)` \| (.*) \|$', read(root, 'doc', 'architecture.md'), re.M)
    files, rooms, room = set(), [], None
    for named, name, says in rows:
        if named and named != room:
            room = named
            rooms.append(room)
        files.add(os.path.join(room, name))
        path = os.path.join(root, room, name)
        # A function that is made to be inlined stands in the header.
        texts = [read(root, room, one) for one in (name, name.replace('.c', '.h')) if os.path.exists(os.path.join(root, room, one))]
        if not os.path.exists(path):
            yield 'the walk: there is no %s' % os.path.join(room, name)
        for function in re.findall(r'`(\w+)\(\)`', says):
            if not any(re.search(r'^[a-z].*\b%s\(' % function, text, re.M) for text in texts):
                yield 'the walk: %s has no %s()' % (name, function)
    if not 0 < len(files) <= WALK_FILES or len(set(rooms)) > WALK_ROOMS or any(rooms.count(one) > WALK_ENTERED for one in rooms):
        yield 'the walk: %d files in %d rooms: %s' % (len(files), len(set(rooms)), ', '.join(rooms))


# What was, what a reader makes, and what LTTng has.
OTHER_FILES = ('journal.md', 'adding-an-analysis.md', 'viewer-protocol.md')


def lost_files(root):
    """Files and rooms in documents that the tree lacks: `src/baseline`, `figure/fold.h`, `ctf/packet` for its .c and .h."""
    places = [root, os.path.join(root, 'src')]
    for document in sorted(glob.glob(os.path.join(root, '*.md')) + glob.glob(os.path.join(root, 'doc', '*.md'))):
        name = os.path.relpath(document, root)
        for path in re.findall(r'`(?:build/)?([a-z][\w.-]*(?:/[a-z][\w.-]*)+)/?`', read(root, name)):
            is_ours = any(os.path.isdir(os.path.join(place, path.split('/')[0])) for place in places)
            if is_ours and os.path.basename(name) not in OTHER_FILES and not any(
                    os.path.exists(os.path.join(place, path + end)) for place in places for end in ('', '.c', '.h')):
                yield '%s names %s, which is not there' % (name, path)


def main():
    if sys.argv[1] == '--manual':
        return manual_test(sys.argv[3])
    sillage, root = sys.argv[1:3]
    usage, manual = said(sillage, 'help'), read(root, 'doc', 'sillage.1.scd')
    tasks = read(root, 'README.md') + read(root, 'doc', 'tasks.md')
    commands = [name for name in re.findall(r'^  (\w+) +\S', usage, re.M) if name != 'help']
    faults, options = list(walk_faults(root)), set()
    for command in commands:
        text = said(sillage, command, '--help')
        found = set(re.findall(r'--([a-z-]+)', text.split('Examples:')[0]))
        completion = re.search(r"^    %s\) options='(.*)'" % command, said(sillage, 'help', 'completion'), re.M)
        if not completion or set(completion.group(1).replace('--', '').split()) != found:
            faults.append('the completion of %s has other options than its help' % command)
        if 'sillage %s*' % command not in manual or 'sillage %s' % command not in tasks:
            faults.append('%s is not in the manual page, or in neither README.md nor doc/tasks.md' % command)
        options |= found
    documented = set(re.findall(r'\*--([a-z-]+)\*', manual))
    faults += ['--%s is not in the manual page' % option for option in sorted(options - documented - {'help'})]
    faults += ['--%s is in the manual page only' % option for option in sorted(documented - options - {'version'})]
    faults += version_faults(sillage, root)
    faults += lost_files(root)
    for topic, name in (('json', 'json'), ('store', 'store'), ('requests', 'api')):
        faults += differs(sillage, root, topic, name)
    for name in re.findall(r'^(\w+) ', said(sillage, 'analyze', '-a', 'help'), re.M):
        if not re.search(r'\b%s\b' % name, manual):
            faults.append('the analysis %s is not in the manual page' % name)
    faults += ['doc/definitions.md ' + fault for fault in undefined(sillage, root)]
    faults += ['doc/definitions.md ' + fault for fault in undefined_of_hosts(sillage, root)]
    for fault in faults:
        print('not ok: ' + fault)
    print('%s docs: %d commands, %d options' % ('not ok' if faults else 'ok', len(commands), len(options)))
    return 1 if faults or len(commands) < 6 else 0


if __name__ == '__main__':
    sys.exit(main())

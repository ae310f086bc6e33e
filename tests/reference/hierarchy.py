#!/usr/bin/env python3
"""hierarchy: time and a tree of resources in an overview, computed again by a plain program.

Values  Each leaf's share of each slice follows from the windows of `analyze`; together the leaves
        have run as long as all processes have.
Search  The rectangles cover every leaf and slice once, their gain and loss are those of the
        definition (doc/definitions.md, 8.5), and no others are better for their p: by the
        recurrence, written down as it stands there.  Nothing simpler loses as little as the
        suggested ones, for 100 values of p.
Truth   Of a workload with recorded phases, the rectangles of its CPU begin where phases do.
Hosts   Of several hosts in one directory each CPU and process is that of its host, as `analyze` of its trace alone has
        it, although their numbers are equal; and where a host was not recorded, its time is unknown, and none is zero.

usage: hierarchy.py SILLAGE TRACE...      a directory with kernel/ and maybe truth.json, or a trace
       hierarchy.py --hosts SILLAGE TRACE OTHER      two kernels' traces; hosts are made of them
"""
import functools
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import uuid

LIMIT = 0.02


def run(*command, status=0):
    done = subprocess.run(command, capture_output=True, text=True)
    check(done.returncode == status, ' '.join(command), done.returncode, done.stderr)
    return done.stdout if status == 0 else done.stderr


def check(condition, *what):
    if not condition:
        raise SystemExit('not ok ' + ' '.join(map(str, what)))


def close(a, b, tolerance=1e-6):
    return abs(a - b) <= tolerance * max(1, abs(a), abs(b))


def f(x):
    return x * math.log2(x) if x > 0 else 0.0


STATES = {'cpu': ('busy', 'idle', 'unknown'), 'process': ('run', 'off', 'unknown')}


class Tree:
    def __init__(self, hierarchy):
        self.nodes, self.slices = hierarchy['nodes'], len(hierarchy['slices'])
        self.states = STATES[hierarchy['by']]
        self.children = [[i for i, node in enumerate(self.nodes) if node.get('parent') == at]
                         for at in range(len(self.nodes))]
        self.leaves = [self.leaves_of(i) for i in range(len(self.nodes))]
        whole = self.measure(0, 0, self.slices - 1)
        self.all = tuple(x if x > 1e-9 else 1 for x in whole)

    def is_process(self, node):
        """Containers have no number behind their name."""
        return node > 0 and (self.nodes[node]['name'].endswith(')'))

    def leaves_of(self, node):
        below = [leaf for child in self.children[node] for leaf in self.leaves_of(child)]
        return below or [node]

    @functools.lru_cache(None)
    def measure(self, node, first, last):
        """Gain and loss of one rectangle, cell by cell."""
        gain = loss = 0.0
        for state in self.states:
            values = [v for leaf in self.leaves[node] for v in self.nodes[leaf][state][first:last + 1]]
            inner, total = sum(map(f, values)), sum(values)
            gain += f(total) - inner
            loss += total * math.log2(len(values)) - (f(total) - inner)
        return gain, loss

    def quality(self, node, first, last):
        gain, loss = self.measure(node, first, last)
        return gain / self.all[0], loss / self.all[1]

    def best(self, p):
        """The best value for p, and its gain and loss: the simplest of equal ones."""
        @functools.lru_cache(None)
        def of(node, first, last):
            gain, loss = self.quality(node, first, last)
            options = [(gain, loss)]
            if self.children[node]:
                parts = [of(child, first, last) for child in self.children[node]]
                options.append((sum(a for a, _ in parts), sum(b for _, b in parts)))
            for cut in range(first, last):
                left, right = of(node, first, cut), of(node, cut + 1, last)
                options.append((left[0] + right[0], left[1] + right[1]))
            most = max(p * a - (1 - p) * b for a, b in options)
            return max(o for o in options if p * o[0] - (1 - p) * o[1] >= most - 1e-12)
        return of(0, 0, self.slices - 1)


def windows_of(sillage, trace, slices, length):
    """For each slice the rows of `analyze`."""
    lines = run(sillage, 'analyze', '-f', 'json', '-a', 'cpu', '-i', '%dns' % length, trace).splitlines()
    found = {}
    for line in map(json.loads, lines):
        if line['type'] == 'window':
            found[line['begin'] // length] = line['cpu']
    return [found.get(begin // length, {}) for begin in slices]


def check_cpus(name, tree, windows):
    for leaf in tree.leaves[0]:
        node = tree.nodes[leaf]
        for at, window in enumerate(windows):
            rows = [row for row in window.get('cpus', []) if 'CPU %d' % row['cpu'] == node['name']]
            whole = sum(row[state + '_ns'] for row in rows for state in tree.states)
            for state in tree.states:
                wanted = sum(row[state + '_ns'] for row in rows) / whole if whole else state == 'unknown'
                check(close(node[state][at], wanted), name, node['name'], state, at)


def check_processes(name, tree, windows, lengths):
    rows = max(len(window.get('threads', [])) for window in windows)
    for leaf in tree.leaves[0]:
        node = tree.nodes[leaf]
        key = 'threads' if node['parent'] and tree.is_process(node['parent']) else 'processes'
        for at, window in enumerate(windows):
            check(close(node['off'][at], max(0, 1 - node['run'][at] - node['unknown'][at])), name, 'off', node['name'])
            # Of a thread whose process is not known yet it is not this leaf.
            owner = node['name'] if key == 'processes' else tree.nodes[node['parent']]['name']
            found = [row for row in window.get(key, []) if owner.endswith('(%s)' % row.get('pid'))
                     and (key == 'processes' or node['name'].endswith('(%s)' % row['tid']))]
            if found and rows <= 64:
                check(close(node['run'][at] * lengths[at], sum(row['run_ns'] for row in found), 1e-4), name, node['name'], at)
    for at, window in enumerate(windows):
        everything = sum(row['run_ns'] for row in window.get('processes', []))
        told = sum(tree.nodes[leaf]['run'][at] for leaf in tree.leaves[0]) * lengths[at]
        check(close(told, everything, 1e-4), name, 'all processes', at, told, everything)
        unknown = sum(row['unknown_ns'] for row in window.get('cpus', []))
        told = sum(tree.nodes[leaf]['unknown'][at] for leaf in tree.leaves[0]) * lengths[at]
        check(close(told, unknown, 1e-4), name, 'unknown time', at, told, unknown)


def check_containers(sillage, name, trace, tree):
    """Processes are below the container in which `analyze` has them, if these are several."""
    total = [json.loads(line) for line in run(sillage, 'analyze', '-q', '-f', 'json', '-a', 'cpu', '--per', 'container', '-n', '0',
                                              trace).splitlines()]
    total = [line for line in total if line['type'] == 'total'][0]
    inside = {'(%d)' % row['pid']: row['container'] for row in total['cpu']['processes'] if row['pid'] and row['pid_ns'] is not None}
    shown = [(node['name'], node['parent']) for i, node in enumerate(tree.nodes) if i and
             (node['parent'] == 0 or not tree.is_process(node['parent'])) and tree.is_process(i)]
    where = {inside.get(process.rsplit(' ', 1)[-1]) for process, _ in shown} - {None}
    for process, parent in shown:
        wanted = inside.get(process.rsplit(' ', 1)[-1]) if len(where) > 1 else None
        found = tree.nodes[parent]['name'] if parent else None
        check(found == wanted, name, process, 'is in', found, 'and not in', wanted)
    return len(where)


def check_cover(name, tree, hierarchy):
    seen = {}
    for aggregate in hierarchy['aggregates']:
        leaves, span = tree.leaves[aggregate['node']], range(aggregate['first'], aggregate['last'] + 1)
        for leaf in leaves:
            for at in span:
                check((leaf, at) not in seen, name, 'covered twice', leaf, at)
                seen[leaf, at] = True
        for state in tree.states:
            mean = sum(tree.nodes[leaf][state][at] for leaf in leaves for at in span) / (len(leaves) * len(span))
            check(close(aggregate[state], mean), name, 'share', aggregate, mean)
    check(len(seen) == len(tree.leaves[0]) * tree.slices, name, 'not all is covered')


def hierarchy_of(sillage, trace, by, *options):
    overview = json.loads(run(sillage, 'overview', '-f', 'json', '--hierarchy', by, *options, trace))
    check(len(overview['hierarchies']) == 1 and overview['hierarchies'][0]['by'] == by, trace, by)
    return overview, overview['hierarchies'][0]


def check_search(sillage, name, trace, by, slices):
    for p in (None, '0', '0.1', '0.35', '0.6', '0.85', '1'):
        options = ('--slices', str(slices)) + (('-p', p) if p else ())
        _, hierarchy = hierarchy_of(sillage, trace, by, *options)
        tree = Tree(hierarchy)
        check_cover(name, tree, hierarchy)
        qualities = [tree.quality(a['node'], a['first'], a['last']) for a in hierarchy['aggregates']]
        gain, loss = sum(q[0] for q in qualities), sum(q[1] for q in qualities)
        check(close(gain, hierarchy['gain']) and close(loss, hierarchy['loss']), name, by, p, 'gain and loss')
        at = float(p) if p else hierarchy['p']
        best = tree.best(at)
        check(close(at * gain - (1 - at) * loss, at * best[0] - (1 - at) * best[1]), name, by, p, 'better ones exist')
        if not p:
            check(loss <= LIMIT, name, by, 'the suggested ones lose too much', loss)
            for i in range(101):
                other = tree.best(i / 100)
                check(other[1] > LIMIT or other[0] <= gain + 1e-6, name, by, 'simpler ones lose little at p', i / 100)


def check_truth(name, path, hierarchy):
    """Where the CPU that worked most changes, a phase was recorded."""
    with open(path, encoding='utf-8') as file:
        truth = json.load(file)
    if truth['workload'].get('workload') != 'burst' or len(truth['workload']['threads']) != 1:
        return ''
    thread, offset = truth['workload']['threads'][0], truth['clock_offset_ns']
    begin, end = thread['start_ns'] + offset, thread['end_ns'] + offset
    length = hierarchy['slices'][2] - hierarchy['slices'][1]
    tree = Tree(hierarchy)
    most = max(tree.leaves[0], key=lambda leaf: sum(tree.nodes[leaf]['busy']))
    found = [a['begin'] for a in hierarchy['aggregates'] if most in tree.leaves[a['node']]]
    wanted = [phase['start_ns'] + offset for phase in thread['phases'][1:]]
    for time in wanted:
        check(any(abs(time - at) <= length for at in found), name, 'a phase is not found:', time)
    for time in found:
        if begin + length < time < end - length:
            check(any(abs(time - at) <= length for at in wanted), name, 'no such phase:', time)
    return ', %d recorded boundaries' % len(wanted)


def check_trace(sillage, name):
    trace = os.path.join(name, 'kernel') if os.path.isdir(os.path.join(name, 'kernel')) else name
    base = os.path.basename(os.path.normpath(name))
    said = ''
    for by in ('cpu', 'process'):
        overview, hierarchy = hierarchy_of(sillage, trace, by, '--slices', '50')
        check(hierarchy['slices'] == overview['slices'], base, 'other slices')
        ends = hierarchy['slices'][1:] + [overview['end']]
        windows = windows_of(sillage, trace, hierarchy['slices'], hierarchy['slices'][2] - hierarchy['slices'][1])
        tree = Tree(hierarchy)
        check_cover(base, tree, hierarchy)
        if by == 'cpu':
            check_cpus(base, tree, windows)
        else:
            check_processes(base, tree, windows, [b - a for a, b in zip(hierarchy['slices'], ends)])
            containers = check_containers(sillage, base, trace, tree)
            check(containers > 1 or 'containers' not in base, base, 'has no containers')
        check(tree.nodes[0]['name'].split(': ')[-1] in ('all CPUs', 'all processes') and ': ' in tree.nodes[0]['name'], tree.nodes[0])
        check_search(sillage, base, trace, by, 9)
        # Slices are joined to 60 at most; neither chunks nor workers matter.
        _, joined = hierarchy_of(sillage, trace, by, '--slices', '200')
        check(len(joined['slices']) <= 60, base, len(joined['slices']))
        check_cover(base, Tree(joined), joined)
        check(joined == hierarchy_of(sillage, trace, by, '--slices', '200', '-j', '0', '--chunk-size', '4K')[1], base, 'depends on chunks')
        check('Time and ' + {'cpu': 'CPUs', 'process': 'processes'}[by] in run(sillage, 'overview', '--hierarchy', by, trace), base, 'no text')
        truth = os.path.join(name, 'truth.json')
        if by == 'cpu' and os.path.exists(truth):
            said = check_truth(base, truth, hierarchy_of(sillage, trace, by)[1])
    print('ok %s: %d processes and threads%s' % (base, len(tree.nodes) - 1, said))


def check_usage(sillage, trace, without):
    trace = os.path.join(trace, 'kernel') if os.path.isdir(os.path.join(trace, 'kernel')) else trace
    for options, status, text in ((('--hierarchy', 'thread'), 2, 'unknown hierarchy'), (('-a', 'io', '--hierarchy', 'cpu'), 2, 'analysis cpu'),
                                  (('-f', 'html', '--hierarchy', 'cpu'), 2, 'has both')):
        said = run(sillage, 'overview', *options, trace, status=status)
        check(text in said and len(said.splitlines()) == 1, options, repr(said))
    said = run(sillage, 'overview', '-q', '--hierarchy', 'cpu', without, status=1)
    check('sched_switch' in said and len(said.splitlines()) == 1, 'no events of the scheduler', repr(said))
    print('ok usage')


class Host:
    """A copy of a trace that says that it is of another host, and later by @shift ns."""
    def __init__(self, sillage, scratch, trace, name, shift):
        self.name, self.path = name, os.path.join(scratch, name)
        shutil.copytree(trace, self.path)
        with open(os.path.join(trace, 'metadata'), 'rb') as file:
            metadata = file.read()
        old = uuid.UUID(re.search(rb'\tuuid = "([^"]*)"', metadata).group(1).decode())
        new = uuid.uuid5(old, name)
        offset = int(re.search(rb'\toffset = ([0-9]+)', metadata).group(1))
        pairs = ((old.bytes, new.bytes), (str(old).encode(), str(new).encode()), (b'offset = %d' % offset, b'offset = %d' % (offset + shift)),
                 (b'hostname = "testhost"', b'hostname = "%s"' % name.encode()))
        for at in filter(os.path.isfile, (os.path.join(self.path, one) for one in os.listdir(self.path))):
            with open(at, 'rb') as file:
                data = file.read()
            for before, after in pairs[:1] if not at.endswith('metadata') else pairs:
                check(len(before) == len(after), before, after)
                data = data.replace(before, after)
            with open(at, 'wb') as file:
                file.write(data)
        self.begin, self.end = span_of(sillage, self.path)


def span_of(sillage, trace):
    overview = json.loads(run(sillage, 'overview', '-f', 'json', trace))
    return overview['begin'], overview['end']


def covered(window):
    return max((sum(row[state + '_ns'] for state in STATES['cpu']) for row in window.get('cpus', [])), default=0)


def check_host_cpus(what, nodes, windows, lengths):
    """Values by CPU; a host is unknown for what its windows leave of a slice."""
    rows = [{row['cpu']: row for row in window.get('cpus', [])} for window in windows]
    check(set().union(*rows) == set(nodes), what, 'CPUs', list(nodes))
    for cpu, values in nodes.items():
        for at, length in enumerate(lengths):
            row = rows[at].get(cpu, {})
            ns = [row.get(state + '_ns', 0) for state in STATES['cpu']]
            ns[2] += max(0, length - covered(windows[at]))
            for state, one in zip(STATES['cpu'], ns):
                wanted = one / sum(ns) if sum(ns) else state == 'unknown'
                check(close(values[state][at], wanted), what, 'CPU', cpu, state, at, values[state][at], wanted)


def check_host_processes(what, tree, node, windows, lengths):
    cpus = max(len(window.get('cpus', [])) for window in windows)
    names = 0
    for at, length in enumerate(lengths):
        found = {row.get('pid'): row['run_ns'] for row in windows[at].get('processes', [])}
        leaves = [tree.nodes[leaf] for leaf in tree.leaves[node]]
        check(close(sum(leaf['run'][at] for leaf in leaves) * length, sum(found.values()), 1e-4), what, 'all processes', at)
        unknown = sum(row['unknown_ns'] for row in windows[at].get('cpus', [])) + cpus * max(0, length - covered(windows[at]))
        check(close(sum(leaf['unknown'][at] for leaf in leaves) * length, unknown, 1e-4), what, 'unknown time', at)
        for i, one in enumerate(tree.nodes):
            pid = re.search(r'\((\d+)\)$', one['name'])
            above = tree.nodes[one['parent']]['name'] if i else ''
            if pid and not above.endswith(')') and i in tree.below[node] and len(found) <= 64:
                told = sum(tree.nodes[leaf]['run'][at] for leaf in tree.leaves[i]) * length
                check(close(told, found.get(int(pid.group(1)), 0), 1e-4), what, one['name'], at, told)
                names += 1
    check(names > 0, what, 'no process has a name')


def check_hierarchy_of_hosts(overview, tree, by, hosts, windows, lengths):
    tree.below = [{i} for i in range(len(tree.nodes))]
    for i in reversed(range(1, len(tree.nodes))):
        tree.below[tree.nodes[i]['parent']] |= tree.below[i]
    check(tree.nodes[0]['name'] == ('all CPUs' if by == 'cpu' else 'all processes'), tree.nodes[0])
    check([tree.nodes[i]['name'] for i in tree.children[0]] == [host.name for host in hosts], by, 'hosts')
    for node, host in zip(tree.children[0], hosts):
        if by == 'cpu':
            nodes = {int(tree.nodes[leaf]['name'].split()[1]): tree.nodes[leaf] for leaf in tree.leaves[node]}
            check_host_cpus(host.name, nodes, windows[host.name], lengths)
        else:
            check_host_processes(host.name, tree, node, windows[host.name], lengths)


def check_series_of_hosts(overview, host, windows, lengths):
    series = {one['name']: one for one in overview['series'] if one['host'] == host.name}
    check(all(name.startswith(host.name + ': ') for name in series), list(series))
    cpus = {}
    for name, one in series.items():
        found = re.fullmatch(r'[^:]*: CPU (\d+) (busy|idle|unknown)', name)
        if found:
            cpus.setdefault(int(found.group(1)), {})[found.group(2)] = one['values']
        else:
            for at, value in enumerate(one['values']):
                check((value is None) == (at < windows['first'] or at >= windows['past']), name, 'is told', at, value)
    check_host_cpus(host.name + ': series', cpus, windows['all'], lengths)


def check_hosts(sillage, trace, other):
    with tempfile.TemporaryDirectory() as scratch:
        begin, end = span_of(sillage, trace)
        later, length = (end - begin) // 3, end - begin
        both = os.path.join(scratch, 'd')
        hosts = [Host(sillage, both, trace, 'host-one', 0), Host(sillage, both, other, 'host-sum', begin + later - span_of(sillage, other)[0]),
                 Host(sillage, both, trace, 'host-two', later)]
        for by in 'cpu', 'process':
            lines = run(sillage, 'overview', '-q', '-f', 'json', '--hierarchy', by, '--slices', '30', both).splitlines()
            check(len(lines) == 1, 'several overviews', len(lines))
            overview = json.loads(lines[0])
            check(overview['path'] == both and [host['name'] for host in overview['hosts']] == [host.name for host in hosts], overview['hosts'])
            check(abs(overview['begin'] - begin) < 10 ** 6 and overview['end'] >= end + later - 10 ** 6, 'is cut')
            slices = overview['slices']
            lengths = [b - a for a, b in zip(slices, slices[1:] + [overview['end']])]
            windows = {host.name: windows_of(sillage, host.path, slices, lengths[1]) for host in hosts}
            hierarchy = overview['hierarchies'][0]
            tree = Tree(hierarchy)
            check_cover('hosts', tree, hierarchy)
            check_hierarchy_of_hosts(overview, tree, by, hosts, windows, lengths)
            for host, told in zip(hosts, overview['hosts']):
                at = [i for i, window in enumerate(windows[host.name]) if window]
                check(told['begin'] == slices[at[0]] and told['end'] == (slices + [overview['end']])[at[-1] + 1], told)
                check_series_of_hosts(overview, host, {'all': windows[host.name], 'first': at[0], 'past': at[-1] + 1}, lengths)
            ran = {(one['host'], one['name']) for phase in overview['phases'] for one in phase['processes']}
            check(len({host for host, _ in ran}) == 3 and len(ran) > len({name for _, name in ran}), 'processes by host', ran)
        text = run(sillage, 'overview', '-q', '--hierarchy', 'process', both)
        check(text.startswith(both + ': 3 hosts, from ') and 'host-two: ' in text, text)
        # Of one host, or of other times, each is an overview of its own.
        for name, shift in ('host-one', 1), ('host-far', 3 * length):
            apart = os.path.join(scratch, name)
            shutil.copytree(hosts[0].path, os.path.join(apart, 'a'))
            Host(sillage, os.path.join(scratch, 'made'), trace, name, shift)
            shutil.move(os.path.join(scratch, 'made', name), os.path.join(apart, 'b'))
            lines = run(sillage, 'overview', '-q', '-f', 'json', apart).splitlines()
            check(len(lines) == 2 and 'hosts' not in lines[0], name, len(lines))
        # The first two are together by the third one only.
        chain = os.path.join(scratch, 'chain')
        for name, shift in ('a', 0), ('b', 3 * length // 2), ('c', 3 * length // 4):
            Host(sillage, chain, trace, 'host-ch' + name, shift)
        lines = run(sillage, 'overview', '-q', '-f', 'json', chain).splitlines()
        check(len(lines) == 1 and len(json.loads(lines[0])['hosts']) == 3, 'by a third one', len(lines))
    print('ok hosts')


def main():
    if sys.argv[1] == '--hosts':
        check_hosts(*sys.argv[2:])
        return
    sillage, without, traces = sys.argv[1], sys.argv[2], sys.argv[3:]
    check_usage(sillage, traces[0], without)
    for trace in traces:
        check_trace(sillage, trace)


if __name__ == '__main__':
    main()

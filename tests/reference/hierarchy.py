#!/usr/bin/env python3
"""hierarchy: time and a tree of resources in an overview, computed again by a plain program.

Values  Each leaf's share of each slice follows from the windows of `analyze`; together the leaves
        have run as long as all processes have.
Search  The rectangles cover every leaf and slice once, their gain and loss are those of the
        definition (doc/definitions.md, 8.5), and no others are better for their p: by the
        recurrence, written down as it stands there.  Nothing simpler loses as little as the
        suggested ones, for 100 values of p.
Truth   Of a workload with recorded phases, the rectangles of its CPU begin where phases do.

usage: hierarchy.py SILLAGE TRACE...      a directory with kernel/ and maybe truth.json, or a trace
"""
import functools
import json
import math
import os
import subprocess
import sys

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


def main():
    sillage, without, traces = sys.argv[1], sys.argv[2], sys.argv[3:]
    check_usage(sillage, traces[0], without)
    for trace in traces:
        check_trace(sillage, trace)


if __name__ == '__main__':
    main()

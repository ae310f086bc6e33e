#!/usr/bin/env python3
"""compare_sides: every option of `compare` with every kind of side, and what neither side has.

Goal    A trace, a store, a range of one and JSON are compared in the same way.  Each option that the
        command has does what it is for, or is refused in one line: a table says which, and it has all
        options of `sillage help compare`.  An analysis that neither side has is said to be not
        compared, in text, JSON and the page, and passes no gate.
Method  One trace in all forms, against JSON of another one.  tests/peer/compare.py does the same with
        a capture and with a relay, tests/store/server.py with a server.

usage: compare_sides.py SILLAGE DATA [--store]
"""
import argparse
import json
import os
import re
import subprocess
import tempfile

ANALYSES = 'count,cpu,sched'
# What a side can be: each option is for some of them.
TRACE, STORE, JSON = 'trace', 'store', 'JSON'
MODEL = 'period hop = sched_switch; sched_switch\n'


class Failure(Exception):
    pass


def check(condition, *what):
    if not condition:
        raise Failure(' '.join(map(str, what)))


class Run:
    """One run of compare, which is to end with @status."""

    def __init__(self, sillage, words, status=0, given=None):
        with open(given) if given else open(os.devnull) as stdin:
            done = subprocess.run([sillage, 'compare', *words], stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.out, self.err = done.stdout.decode(), done.stderr.decode()
        check(done.returncode == status, words, 'ended with', done.returncode, 'instead of', status, self.err)

    @property
    def lines(self):
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def changes(self):
        return [line for line in self.lines if line['type'] == 'change']

    @property
    def body(self):
        return self.out.split('\n', 1)[1]


class Side:
    """@words: as it stands on the command line; @given: a file as standard input."""

    def __init__(self, kind, name, word, given=None):
        self.kind, self.name, self.word, self.given = kind, name, word, given


class Options:
    """The table, for one side A against @other, JSON."""

    def __init__(self, sillage, side, other, scratch, model):
        self.sillage, self.side, self.other, self.scratch, self.model = sillage, side, other, scratch, model
        self.base = self.run()

    def run(self, *words, status=0, form=('-f', 'json'), lists=('-a', ANALYSES)):
        return Run(self.sillage, [*form, *lists, *words, self.side.word, self.other], status, self.side.given)

    def path(self, name):
        return os.path.join(self.scratch, name)

    def refused(self, *words):
        found = self.run(*words, status=2)
        said = re.fullmatch(r'sillage: (--\S+) has no effect: neither A nor B is a [^\n]+\n', found.err)
        check(said and said.group(1) in words and not found.out, self.side.name, words, found.err)

    def for_traces(self, *words, holds=None):
        """An option of traces: @holds(run); None: the result is the same."""
        if self.side.kind != TRACE:
            return self.refused(*words)
        found = self.run(*words)
        check(holds(found) if holds else found.body == self.base.body, self.side.name, words, 'has no effect, or another one')

    def for_stores(self, *words):
        if self.side.kind != STORE:
            return self.refused(*words)
        found = self.run(*words, status=1)
        check('no such windows' in found.err and found.err.count('\n') == 1, words, found.err)
        check(self.run(words[0], '*').body == self.base.body, words[0], '* differs')

    def check_help(self):
        check(self.run('--help').out.startswith('usage: sillage compare'), 'help')

    def check_analyses(self):
        found = self.run(lists=('-a', 'cpu'))
        check(found.changes and found.changes == [one for one in self.base.changes if one['analysis'] == 'cpu'], '-a')

    def check_format(self):
        check(self.run(form=('-f', 'text')).out.startswith('A  ') and self.run(form=('-f', 'html')).out.startswith('<!DOCTYPE'), '-f')

    def check_top(self):
        check(self.run('-n', '3').changes == self.base.changes[:3] and len(self.base.changes) > 3, '-n')

    def check_output(self):
        check(self.run('-o', self.path('out')).out == '' and open(self.path('out')).read() == self.base.out, '-o')

    def check_per(self):
        for kind, names in (('cpu', {'cpus'}), ('comm', {'processes'}), ('prio', {'prios'}), ('container', {'containers'})):
            lists = {one.get('list') for one in self.run('--per', kind).changes}
            # JSON has containers if its run was asked for them.
            check(lists in ([names | {None}] if kind != 'container' else [names | {None}, {None}]), '--per', kind, lists)
        text = self.run('--per', 'cpu', '--fail', 'cpu.threads[comm=x].run > +1%', status=2).err
        check('cpu.threads[comm=x].run is not compared with this --per' in text and text.count('\n') == 1, text)

        found = self.run('--per', 'host', status=2)
        check('is no store' in found.err and found.err.count('\n') == 1 and not found.out, found.err)

    def for_hosts(self, *words):
        """An option of --per host, which takes two stores (tests/store/fleet.py)."""
        found = self.run(*words, status=2)
        check(found.err == 'sillage: %s has no effect without --per host\n' % words[0] and not found.out, words, found.err)

    def check_figure(self):
        self.for_hosts('--figure', 'cpu.busy')

    def check_width(self):
        self.for_hosts('--width', '60')

    def check_table(self):
        rows = self.run(form=('-f', 'csv', '--table', 'change')).out.splitlines()
        check(len(rows) == 1 + len(self.base.changes) and rows[0].startswith('type,figure,'), '--table', rows[:2])

    def check_phases(self):
        """Phases have to be there: in traces they are found (tests/reference/compare_phases.py)."""
        found = self.run('-q', '--phases', status=1 if self.side.given is None else 2)
        check(found.err.count('\n') == 1 and ('phases' in found.err or 'standard input' in found.err), '--phases', found.err)

    def check_fail(self):
        figure = next(one for one in self.base.changes if one['figure'] == 'count.events')
        bound = figure['change'] * 100
        self.run('--fail', 'count.events > %+.3f%%' % (bound - 0.01), status=3)
        self.run('--fail', 'count.events > %+.3f%%' % (bound + 0.01))

    def check_interval(self):
        """Of windows only an objective is; JSON has none (tests/property/gate.py has the verdicts)."""
        check('--interval has no effect' in self.run('-i', '20ms', status=2).err, '-i')
        found = self.run('-i', '20ms', '--fail', '1% of windows: cpu.busy < 1%', status=2)
        check('JSON has totals only' in found.err and found.err.count('\n') == 1 and not found.out, '-i', found.err)

    def check_strict(self):
        """The trace has losses."""
        check('events discarded' in self.run('--strict', status=4).err, '--strict')

    def check_quiet(self):
        """No warnings and no verdicts; what is missing is said all the same."""
        loud, quiet = (self.run(*words, '--strict', '--fail', 'count.events > -100%', status=4).err for words in ((), ('-q',)))
        check('held' in loud and 'held' not in quiet and '--strict: ' in quiet, '-q', loud, quiet)
        check(self.side.kind != TRACE or ('larger or more sub-buffers' in loud and 'larger' not in quiet), '-q of warnings', loud)

    def check_verbose(self):
        check(self.run('-v').body == self.base.body, '-v')

    def check_cases(self, option, word):
        self.run(option, self.path('cases'), '--fail', 'count.events > -100%', status=3)
        check(word in open(self.path('cases')).read(), option)
        found = self.run(option, self.path('cases'), status=2)
        check('has no effect without --fail, --strict' in found.err, found.err)

    def check_junit(self):
        self.check_cases('--junit', '<failure')

    def check_tap(self):
        self.check_cases('--tap', 'not ok 1')

    def check_host(self):
        self.for_stores('--host', 'nobody*')

    def check_session(self):
        self.for_stores('--session', 'nobody*')

    def check_jobs(self):
        self.for_traces('--jobs', '0')

    def check_chunk_size(self):
        self.for_traces('--chunk-size', '64K')

    def check_max_memory(self):
        if self.side.kind not in (TRACE, STORE):
            return self.refused('--max-memory', '1M')
        check(self.run('--max-memory', '1M').body == self.base.body, '--max-memory')

    def has(self, analysis, name):
        """The other side is JSON without it: it is said to be not compared."""
        return lambda run: any(one['type'] == 'not-compared' and one['analysis'] == analysis and one['lacks'] == ['b'] and name in one['keys']
                               for one in run.lines)

    def check_period(self):
        self.for_traces('--period', 'hop = sched_switch; sched_switch', holds=self.has('periods', 'ended'))

    def check_job(self):
        self.for_traces('--job', 'hop = sched_in; sched_out', holds=self.has('jobs', 'open'))

    def check_call(self):
        self.for_traces('--call', 'hop = sched_switch; sched_switch', holds=self.has('calls', 'errors'))

    def check_model(self):
        self.for_traces('--model', self.model, holds=self.has('periods', 'ended'))

    def check_label(self):
        self.for_traces('--label', 'who = sched_switch key=next_tid name=next_comm', '--period',
                        'hop = sched_switch; sched_switch; group who(next_tid)', holds=self.has('periods', 'ended'))
        if self.side.kind == TRACE:
            check('--label has no effect without' in self.run('--label', 'a = b key=c name=d', status=2).err, '--label alone')

    def check_within(self):
        self.for_traces('--job', 'hop = sched_in; sched_out', '--within', 'on = sched_in; sched_out', holds=self.has('jobs', 'open'))
        if self.side.kind == TRACE:
            check('--within' in self.run('--within', 'on = sched_in; sched_out', status=2).err, '--within alone')

    def check_all(self):
        text = subprocess.run([self.sillage, 'help', 'compare'], stdout=subprocess.PIPE, check=True).stdout.decode()
        options = re.findall(r'^  (?:-\w,|   ) --([\w-]+)', text, re.M)
        check(len(options) > 15, 'no options in the help', text)
        for option in options:
            getattr(self, 'check_' + option.replace('-', '_'))()
        return len(options)


def check_range(options, begin, end):
    """A range: behind traces and stores."""
    middle = begin + (end - begin) // 2
    middle -= middle % 10 ** 7
    parts = []
    for text in ('@..%dns' % middle, '@%dns..' % middle):
        if options.side.kind == JSON:
            check('no range of it can be taken' in Run(options.sillage, ['--', options.side.word + text, options.other], 2, options.side.given).err, text)
            continue
        parts.append(Run(options.sillage, ['-f', 'json', '-a', ANALYSES, options.side.word + text, options.other], 0, None))
    if parts:
        events = [next(one for one in part.changes if one['figure'] == 'count.events')['a'] *
                  part.lines[0]['a']['covered_ns'] / 1e9 for part in [*parts, options.base]]
        check(abs(events[0] + events[1] - events[2]) < 1e-6 * events[2] + 1 and min(events) > 0, 'ranges', events)


def check_nothing(sillage, scratch, trace, ust):
    """What neither has is not compared: JSON without it, and traces that do not record it."""
    one, other = (os.path.join(scratch, name + '.json') for name in ('cpu', 'sched'))
    for path in (one, other):
        subprocess.run([sillage, 'analyze', '-q', '-a', os.path.basename(path)[:-5], '-f', 'json', '-o', path, trace], check=True)
    lists = ('irq', 'irq.hard', 'irq.soft', 'irq.cpus')
    for sides, why in (((one, other), 'not there'), ((ust, ust), 'not recorded')):
        text = Run(sillage, ['-q', '-a', 'irq', *sides]).out
        check('nothing was compared\n\nNOT COMPARED\n' in text and 'nothing that both' not in text, text)
        check(all('  %s: %s in A and B: ' % (name, why) in text for name in lists), text)
        lines = Run(sillage, ['-q', '-f', 'json', '-a', 'irq', *sides]).lines[1:]
        check(all((line['type'], line['analysis'], line['why'], line['lacks']) == ('not-compared', 'irq', why, ['a', 'b']) for line in lines) and
              {'.'.join(filter(None, (line['analysis'], line.get('list')))) for line in lines} >= set(lists), lines)
        page = Run(sillage, ['-q', '-f', 'html', '-a', 'irq', *sides]).out
        check('"nothing":"nothing was compared"' in page, 'the page')
        # A gate: an error, whatever is said on standard error.
        for words in ((), ('-q',), ('--strict',)):
            said = Run(sillage, [*words, '-o', os.devnull, '-a', 'irq', '--fail', 'irq.hard_ns > +1%', *sides], 1).err
            check('irq.hard_ns is not ' in said, words, said)
        said = Run(sillage, ['-q', '-o', os.devnull, '-a', 'irq', '--strict', *sides], 4).err
        check(('no figures of irq' if why == 'not there' else 'not recorded: ') in said, said)
    # By default all are compared that are there: nobody asked for the others.
    for options in ((), ('-a', 'all')):
        text = Run(sillage, ['-q', *options, one, one]).out
        check('nothing that both have differs' in text and 'NOT COMPARED' not in text, text)
        text = Run(sillage, ['-q', *options, one, other]).out
        check('nothing was compared' in text and 'cpu: not there in B' in text and '\n  irq' not in text, text)
    # Some of what is asked for is there.
    text = Run(sillage, ['-q', '-a', 'cpu,periods', one, one]).out
    check('nothing that both have differs' in text and 'periods: not there in A and B' in text and 'cpu: ' not in text, text)
    said = Run(sillage, ['-q', '-o', os.devnull, '-a', 'count,cpu,periods', '--strict', trace, trace], 4).err
    check('no figures of periods' in said, said)


def json_of(sillage, trace, path):
    subprocess.run([sillage, 'analyze', '-q', '-f', 'json', '--buckets', '-a', ANALYSES, '-o', path, trace], check=True)
    with open(path) as file:
        total = [json.loads(line) for line in file if '"type":"total"' in line][-1]
    return total['begin'], total['end']


def check_side(sillage, side, other, scratch, span, body=None):
    """All options of one side; returns what it is compared to be."""
    model = os.path.join(scratch, 'model')
    with open(model, 'w') as file:
        file.write(MODEL)
    options = Options(sillage, side, other, scratch, model)
    count = options.check_all()
    check_range(options, *span)
    check(body in (None, options.base.body), side.name, 'is compared to be something else')
    print('ok %s: %d options' % (side.name, count), flush=True)
    return options.base.body


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('sillage')
    parser.add_argument('data')
    args = parser.parse_args()
    trace, other = (os.path.join(args.data, name, 'kernel') for name in ('lost-events', 'burst'))
    try:
        with tempfile.TemporaryDirectory(prefix='sillage-sides-') as scratch:
            good, mine, store = (os.path.join(scratch, name) for name in ('good.json', 'mine.json', 'mine.db'))
            json_of(args.sillage, other, good)
            span = json_of(args.sillage, trace, mine)
            subprocess.run([args.sillage, 'analyze', '-q', '-a', ANALYSES, '-i', '10ms', '--store', store,
                            '-o', os.devnull, trace], check=True)
            sides = [Side(TRACE, 'a trace', trace), Side(JSON, 'JSON', mine), Side(JSON, 'standard input', '-', mine),
                     Side(STORE, 'a store', store)]
            body = None
            for side in sides:
                body = check_side(args.sillage, side, good, scratch, span, body)
            check_nothing(args.sillage, scratch, os.path.join(args.data, 'rt-mutex-none', 'kernel'), os.path.join(args.data, 'ust'))
            print('ok what neither has')
    except Failure as failure:
        print('not ok: %s' % failure)
        return 1
    return 0


if __name__ == '__main__':
    raise SystemExit(main())

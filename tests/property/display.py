#!/usr/bin/env python3
"""display: what only chooses what is shown decides nothing else.

Goal    --per, --sort, -n, --freq, --min and --max change what is printed, and neither which triggers and
        gates fire, nor with which rows and values, nor the status: in `analyze`, and of the hosts of a
        store in `history --per host`.  What is printed without them has all lists.
Method  Conditions on figures of each kind of list: of the trace, CPUs, threads, processes, containers, names,
        keys, pairs of each; with limits of their own and over several lists.  The files of JUnit, which have
        the rows and values, and the JSON of triggers have to be those of a run without the option.

usage: display.py SILLAGE DATA [--store]
"""
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile

CONDITIONS = [
    'cpu.busy > 20%', 'cpu.cpu[1].busy > 50%', 'cpu.cpu.busy > 10%', 'cpu.thread.run > 5%', 'cpu.threads[comm=*].switches > 3',
    'cpu.process[comm=*].run > 5%', 'cpu.processes.longest > 1ms', 'cpu.container[name=*].run > 1ms', 'cpu.thread.run > auto(1e-2)',
    'count.by_name[name=sched_*] > 20', 'count.by_name > 100/s', 'syscalls.by_name[name=*].time.max > 1ms',
    'syscalls.by_error.count > 0', 'syscalls.thread.time.p99 > 1ms', 'sched.prio.wake.p99 > 50us', 'sched.thread.wake.count > 1',
    'sched.process.wake.max > 100us', 'irq.soft.time.count > 2', 'io.thread.reads > 2 and cpu.busy > 5%', 'cpu.cpu.idle > auto(1e-2)',
    'preempt.pair.waited > 10us', 'preempt.process_pair.times > 1', 'preempt.container_pair.times > 1', 'phase.number > 0',
    'cpu.cpu.busy > 30% and cpu.thread.run > 30% for 20ms', 'cpu.process.run > 1% or sched.cpu.waited > 1us',
]
OPTIONS = ([('--per', kind) for kind in ('cpu', 'tid', 'pid', 'comm', 'prio', 'container')] +
           [('--sort', key) for key in ('run_ns', 'switches', 'prio', 'max', 'wake.p99')] +
           [('-n', '1'), ('-n', '3'), ('--freq',), ('--freq-bins', '5', '--freq'), ('--min', '1s'), ('--max', '1us'),
            ('--per', 'comm', '--sort', 'switches', '-n', '1')])
FLEET = [(), ('-n', '1'), ('--sort', 'host'), ('--sort', 'cpu.busy'), ('-n', '1', '--sort', 'cpu.busy')]


class Run:
    """Its status, the test cases, and what triggers say."""

    def __init__(self, folder, command, what):
        names = [os.path.join(folder, name) for name in ('junit', 'out')]
        self.status = subprocess.run([*command, '--junit', names[0], '-o', names[1], *what], check=False,
                                     stderr=subprocess.DEVNULL).returncode
        with open(names[0]) as file:
            self.cases = file.read()
        with open(names[1]) as file:
            self.out = file.read()
        self.fired = [line for line in self.out.split('\n') if '"type":"trigger"' in line] if '-f' in command else None

    def differs(self, other):
        return (self.status, self.cases, self.fired) != (other.status, other.cases, other.fired)


def words(conditions):
    return [word for i, text in enumerate(conditions) for word in (('--fail', '--trigger')[i % 2], text)]


def check(sillage, conditions, trace, form):
    """Differences from a run without the option, and how many conditions held in that."""
    command = [sillage, 'analyze', '-q', '-a', 'cpu', '-i', '10ms', '-j', '0', *(('-f', 'json') if form == 'json' else ()),
               *words(conditions)]
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        plain = Run(folder, command, [trace])
        for option in OPTIONS:
            if form == 'json' and '--freq' in option:
                continue
            if Run(folder, command, [*option, trace]).differs(plain):
                wrong.append('%s with %s of %s: other cases, or other rows' % (form, ' '.join(option), trace))
    return wrong, plain.cases.count('<failure'), plain.cases.count('fired')


def check_hosts(sillage, data, folder):
    """Two hosts in one store: the same trace, with one window cut out of the other's."""
    store = os.path.join(folder, 'a.db')
    for name in ('burst', 'migrate'):
        subprocess.run([sillage, 'analyze', '-q', '-a', 'cpu', '-i', '100ms', '-o', os.devnull, '--store', store,
                        os.path.join(data, name)], check=True)
    subprocess.run(['sqlite3', store, "UPDATE traces SET host = 'other' WHERE session = 'migrate'"], check=True)
    command = [sillage, 'history', '-q', '--per', 'host', '-i', '100ms', '--figure', 'cpu.busy', '--fail', 'cpu.busy > 30%',
               '--trigger', 'cpu.busy > 10%']
    runs = [Run(folder, command, [*option, store]) for option in FLEET]
    if runs[0].status != 3:
        yield 'history --per host: status %d' % runs[0].status
    for option, run in zip(FLEET, runs):
        if run.differs(runs[0]):
            yield 'history --per host %s: other cases' % ' '.join(option)


def check_shown(sillage, data):
    """--per leaves lists out of what is printed, and nothing else."""
    lines = {}
    for option in ((), ('--per', 'cpu'), ('--per', 'tid')):
        out = subprocess.run([sillage, 'analyze', '-q', '-a', 'cpu', '-f', 'json', *option, os.path.join(data, 'burst')], check=True,
                             stdout=subprocess.PIPE).stdout.decode()
        lines[option] = [json.loads(line) for line in out.split('\n') if '"total"' in line][0]['cpu']
    plain = lines.pop(())
    for option, found in lines.items():
        kept = 'cpus' if option[1] == 'cpu' else 'threads'
        wanted = {key: value if key == kept or not isinstance(value, list) else [] for key, value in plain.items()}
        if found != wanted:
            yield '%s: prints %s' % (option, found)


def main():
    sillage, data = os.path.abspath(sys.argv[1]), sys.argv[2]
    parts = [CONDITIONS[i:i + 7] for i in range(0, len(CONDITIONS), 7)]
    asked = [(part, os.path.join(data, name), form) for part in parts
             for name, form in (('burst', 'json'), ('containers', 'text'))]
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as lanes:
        done = list(lanes.map(lambda one: check(sillage, *one), asked))
        wrong = [text for one in done for text in one[0]] + list(check_shown(sillage, data))
        if '--store' in sys.argv:
            wrong += check_hosts(sillage, data, folder)
    failed, fired = (sum(one[i] for one in done) for i in (1, 2))
    if failed < 15 or fired < 15:
        wrong.append('%d conditions fail the run and %d triggers fire: too few to compare' % (failed, fired))
    print('\n'.join(wrong) or 'ok %d conditions, %d options' % (len(CONDITIONS), len(OPTIONS)))
    sys.exit(1 if wrong else 0)


if __name__ == '__main__':
    main()

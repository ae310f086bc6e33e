#!/usr/bin/env python3
"""models: names for ids, chains of events, and model files, against a plain program.

Goal    The same rows, figures to the nanosecond, and names as of the end of each window.
Method  A plain program reads what babeltrace2 prints and follows query/label.h and query/period.h
        literally: of traces that are made here (ids that several processes use, names that come late,
        change, or name the names of others, messages that several take), and of a recorded trace of
        ROS 2 with the model that is shipped.  Output is the same with any workers, chunks and files.

usage: models.py SILLAGE MODELS [--ros2 TRACE]     (also: babeltrace2 in the path)
"""
import collections
import json
import os
import random
import re
import struct
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'property'))
import reference
import synthetic
from files import number

NAME_MAX = 1023  # bytes of a name that are kept
NAMED_MAX = 31  # bytes of the name of one of the longest
BY_MAX = 95  # bytes of what tells an instance from others
LONGEST_MAX = 1000
HASH = '~' + '0' * 16


class Plain:
    """Labels: (name, event, conditions, key, value); a key is '$pid' and fields, a value a field or
    (label, fields).  Periods: (name, events, links, each, group); an event is (name, conditions), a link
    None (by thread) or pairs of fields, '$tid' among them, and what is grouped by (word, label or None,
    fields).  Ids are of a process, unless 'global' is among the pairs."""

    def __init__(self, labels, periods):
        self.labels, self.periods = labels, periods
        self.by_process = {label[0]: '$pid' in label[3] for label in labels}
        self.names, self.waiting = {}, {}
        self.counts, self.rows = collections.Counter(), collections.defaultdict(list)
        self.instances = []

    @staticmethod
    def value(text, field):
        field = {'$pid': 'vpid'}.get(field, field)
        found = number(text, field)
        if found is None:
            string = re.search(r'\b%s = "((?:[^"\\]|\\.)*)"' % field, text)
            return string and re.sub(r'\\(x?)(.[0-9a-f]?)', unescaped, string.group(1))
        return str(found)

    def id_of(self, label, fields, text):
        values = [self.value(text, field) for field in fields]
        if None in values:
            return None
        return ','.join(values) + ('@%d' % number(text, 'vpid') if self.by_process[label] else '')

    def called(self, label, value):
        """What the id is called; None: nothing is known."""
        while label and value is not None:
            label, value = self.names.get((label, value), (None, None))
        return value

    def item(self, word, label, fields, text):
        found = self.id_of(label, fields, text) if label else self.value(text, fields[0])
        return None if found is None else (word, label, found)

    @staticmethod
    def holds(definition, name, text):
        return definition[0] == name and all(number(text, field) == value for field, value in definition[1].items())

    def event(self, ns, name, text):
        for label, event, conditions, key, value in self.labels:
            if self.holds((event, conditions), name, text):
                found = self.id_of(label, [field for field in key if field != '$pid'], text)
                said = (None, self.value(text, value)) if isinstance(value, str) else (
                    value[0], self.id_of(value[0], value[1], text))
                self.names[label, found] = said
        for period in self.periods:
            for step in reversed(range(len(period[1]))):
                if self.holds(period[1][step], name, text):
                    self.step(ns, period, step, text)

    @staticmethod
    def pairs_of(link):
        pairs = ['$tid'] if link is None else link
        return [pair for pair in pairs if pair != 'global'] if 'global' in pairs else ['$process', *pairs]

    def step(self, ns, period, step, text):
        what, events, links, each, group = period
        place = lambda link, side: (what, link, tuple(
            self.value(text, {'$tid': 'vtid', '$process': 'vpid'}.get(pair) or pair[side]) for pair in self.pairs_of(links[link])))
        begin, items = ns, [None] * len(group)
        if step > 0:
            at = place(step - 1, 1)
            found = self.waiting.get(at)
            if not found:
                self.counts['unmatched'] += step == 1
                return
            begin, items, _ = found
            if each and links[step - 1] is not None:
                self.waiting[at] = begin, items, True
            else:
                del self.waiting[at]
        items = [old or self.item(*one, text) for old, one in zip(items, group)]
        if step + 1 < len(events):
            at = place(step, 0)
            if at in self.waiting:
                self.counts['restarted'] += not self.waiting[at][2]
            self.waiting[at] = begin, items, False
        else:
            self.counts['ended'] += 1
            self.rows[(what, tuple(items))].append(ns - begin)
            pairs = [pair for pair in links[0] or [] if pair not in ('$tid', 'global')] if len(events) == 2 and not each else []
            is_long = len(self.named(what, items)[0].encode('utf-8', 'surrogateescape')) > NAMED_MAX
            self.instances.append((ns - begin, ns, what, [item for item in items if item and (item[1] or is_long)],
                                   ['%s=%s' % (pair[0], self.value(text, pair[1])) for pair in pairs]))

    def shown(self):
        """{name: (label, count, sum, min, max)} of the rows; those of the next window begin empty."""
        found = {}
        for (what, items), times in self.rows.items():
            name, label = self.named(what, items)
            found[name] = (label, len(times), sum(times), min(times), max(times))
        self.rows.clear()
        return found

    def named(self, what, items):
        name, label, any_known = what, what, False
        for item in items:
            if item:
                word, of, value = item
                called = self.called(of, value) if of else None
                any_known |= called is not None
                name += ' %s=%s' % (word, value)
                label += ' ' + (called if called is not None else '%s=%s' % (word, value))
        return name, short_name(label) if any_known else None

    def longest(self):
        """[(ns, end, name of the period, by, label)], of all that ended; those of the next window begin empty."""
        found = []
        for ns, end, what, items, keys in self.instances:
            texts, label, any_known = [], what, False
            for item in items + keys:
                text = item if isinstance(item, str) else '%s=%s' % (item[0], short_id(item[2]))
                if len(' '.join(texts + [text]).encode()) > BY_MAX:
                    break
                texts.append(text)
                if not isinstance(item, str):
                    called = self.called(item[1], item[2]) if item[1] else None
                    any_known |= called is not None
                    label += ' ' + (called if called is not None else text)
            found.append((ns, end, what, ' '.join(texts), label if any_known else None))
        self.instances.clear()
        return found

    def open(self):
        return sum(not gone_on for _, _, gone_on in self.waiting.values())


class PlainJobs:
    """Executions (query/job.h) of (name, events, deadline in ns, group), by the labels of a Plain, which takes
    each event before.  A thread is a vtid; nothing else is known of it, so that executions arrive when they
    begin."""

    def __init__(self, plain, jobs):
        self.plain, self.jobs = plain, jobs
        self.machines = {}  # (job, thread): [next definition, begin, items]
        self.run = collections.Counter()
        self.rows = collections.defaultdict(list)
        self.misses, self.longest_run = collections.Counter(), collections.Counter()

    def event(self, ns, name, text):
        for job in self.jobs:
            for at in reversed(range(len(job[1]))):
                if Plain.holds(job[1][at], name, text) and self.match(ns, job, at, text):
                    break

    def match(self, ns, job, at, text):
        key = job[0], number(text, 'vtid')
        machine = self.machines.get(key, [0, ns, [None] * len(job[3])])
        if machine[0] != at:
            return False
        machine[0] += 1
        machine[2] = [old or self.plain.item(*one, text) for old, one in zip(machine[2], job[3])]
        self.machines[key] = machine
        if at + 1 == len(job[1]):
            del self.machines[key]
            self.end(key, job, ns - machine[1], tuple(machine[2]))
        return True

    def end(self, key, job, duration, items):
        row = job[0], items
        self.rows[row].append(duration)
        self.run[key] = self.run[key] + 1 if duration > job[2] else 0
        self.misses[row] += duration > job[2]
        self.longest_run[row] = max(self.longest_run[row], self.run[key])

    def shown(self, end):
        """{name: (label, count, sum, min, max, misses, misses_run, open, open_misses)}; those of the next window
        begin empty."""
        found, opened, missing = {}, collections.Counter(), collections.Counter()
        deadlines = {job[0]: job[2] for job in self.jobs}
        for (job, _), (_, begin, items) in self.machines.items():
            opened[job, tuple(items)] += 1
            missing[job, tuple(items)] += end - begin > deadlines[job]
        for row in set(self.rows) | set(opened):
            times = self.rows.get(row, [])
            name, label = self.plain.named(*row)
            found[name] = (label, len(times), sum(times), min(times, default=0), max(times, default=0),
                           self.misses[row], self.longest_run[row], opened[row], missing[row])
        for counts in (self.rows, self.misses, self.longest_run):
            counts.clear()
        return found


class PlainKeyed:
    """Executions (name, events, pairs of fields, group, due, only, deadline in ns) of what keys of a process tell apart.  `due`
    is a label that has the period of an id, `only` a label and the name that it has to have: of the first event, as it is
    called then.  By definitions 4.13 and 6.2: each key has a grid of its own."""

    def __init__(self, plain, jobs):
        self.plain, self.jobs = plain, jobs
        self.open, self.keys = {}, collections.defaultdict(lambda: {'at': 0, 'votes': 0})
        self.rows = collections.defaultdict(lambda: collections.defaultdict(list))

    def name_of(self, use, text):
        found = self.plain.id_of(use[0], use[1], text)
        return found and self.plain.called(use[0], found)

    def event(self, ns, name, text):
        for job in self.jobs:
            for at in (1, 0):
                if Plain.holds(job[1][at], name, text):
                    key = job[0], self.plain.value(text, 'vpid'), *(self.plain.value(text, pair[at]) for pair in job[2])
                    (self.end if at else self.begin)(ns, job, key, text)

    def begin(self, ns, job, key, text):
        if job[5] and self.name_of(job[5], text) != job[5][2]:
            return
        if key in self.open:
            self.rows[job[0], ()]['overlapped'].append(1)
        is_of, due = self.keys[key], self.name_of(job[4], text) if job[4] else None
        every = int(due) if due else 0
        one = {'begin': ns, 'every': every, 'arrival': self.arrival(ns, every, is_of), 'items': [self.plain.item(*use, text) for use in job[3]]}
        if 'begun' in is_of:
            one['period'] = ns - is_of['begun']
            if every or 'period' in is_of:
                one['period_jitter'] = abs(one['period'] - (every or is_of['period']))
            is_of['period'] = one['period']
        is_of['begun'] = ns
        self.open[key] = one

    @staticmethod
    def arrival(ns, every, is_of):
        """On the grid of the period."""
        if not every:
            return ns
        if 'ended' in is_of and ns - is_of['ended'] <= every // 8 and is_of['before'] + every <= ns:
            return is_of['before'] + every
        late = (ns - is_of['at']) % every if is_of['votes'] else 0
        is_early = late >= every - every // 8
        if not is_of['votes'] or is_early:
            is_of['at'] = ns
        is_of['votes'] += 1 if not is_of['votes'] or is_early or late <= every // 8 else -1
        if not is_of['votes']:
            is_of.update(at=ns, votes=1)
            return ns
        return ns - (0 if is_early else late)

    def end(self, ns, job, key, text):
        if key not in self.open:
            return
        one, is_of = self.open.pop(key), self.keys[key]
        row = self.rows[job[0], tuple(old or self.plain.item(*use, text) for old, use in zip(one['items'], job[3]))]
        values = {'duration': ns - one['begin'], 'response': ns - one['arrival'], 'late': one['begin'] - one['arrival']}
        for what, value in dict(one, **values).items():
            if what in ('duration', 'response', 'late', 'period', 'period_jitter'):
                row[what].append(value)
        limit = job[6] or one['every']
        row['misses'].append(1 if limit and values['response'] > limit else 0)
        distance = one['arrival'] - is_of['before'] if 'before' in is_of else 0
        row['skipped'].append(max(0, (distance + one['every'] // 2) // one['every'] - 1) if one['every'] and distance > 0 else 0)
        is_of.update(ended=ns, before=one['arrival'])

    def shown(self):
        found = {}
        for (job, items), values in self.rows.items():
            name, label = self.plain.named(job, items)
            found[name] = (label, sum(values['misses']), sum(values['skipped']), sum(values['overlapped'])) + tuple(
                (len(values[what]), sum(values[what]), max(values[what], default=0))
                for what in ('duration', 'response', 'late', 'period', 'period_jitter'))
        return found


def our_keyed(line):
    """The same, as PlainKeyed.shown() has them."""
    return {row['name']: (row.get('label'), row['misses'], row['skipped'], row['overlapped']) + tuple(
        (row[what]['count'], row[what].get('sum_ns', 0), row[what].get('max_ns', 0))
        for what in ('duration', 'response', 'late', 'period', 'period_jitter')) for row in line['jobs']['jobs']}


def short_id(value):
    """As much of an id as fits; longer ones end in a hash, which only has to tell them apart."""
    return value if len(value) <= 63 else value[:46] + HASH


def unescaped(found):
    letter = {'n': '\n', 't': '\t', 'r': '\r', 'e': '\x1b', 'a': '\a', 'b': '\b', 'f': '\f', 'v': '\v'}
    if found.group(1):
        return chr(int(found.group(2), 16))
    return letter.get(found.group(2)[0], found.group(2)[0]) + found.group(2)[1:]


def ours(line):
    """The rows of a line of JSON, as shown() has them."""
    return {row['name']: (row.get('label'), row['time']['count'], row['time']['sum_ns'], row['time']['min_ns'],
                          row['time']['max_ns']) for row in line['periods']['by_name'] if row['time']['count']}


def our_jobs(line):
    """The same of jobs, as PlainJobs.shown() has them."""
    return {row['name']: (row.get('label'), row['duration']['count'], row['duration'].get('sum_ns', 0),
                          row['duration'].get('min_ns', 0), row['duration'].get('max_ns', 0), row['misses'],
                          row['misses_run'], row['open'], row['open_misses'])
            for row in line['jobs']['jobs'] if row['duration']['count'] or row['open']}


def short_name(name):
    return name and name.replace('S' * 2000, 'S' * (NAME_MAX - 3) + '...')


def compared_longest(what, line, wanted):
    """Of several of one length any may be shown, if not all are."""
    hashed = lambda text: re.sub(r'~[0-9a-f]{16}', HASH, text)
    got = [(row['ns'], row['end'], row['name'].split(' ')[0], hashed(row.get('by', '')),
            row.get('label') and hashed(row['label'])) for row in line['periods']['longest']]
    wanted = sorted((one[:4] + (short_name(one[4]),) for one in wanted), key=lambda one: -one[0])
    faults = [] if [one[0] for one in got] == [one[0] for one in wanted[:len(got)]] and (
        len(got) == min(len(wanted), LONGEST_MAX)) else ['%s: %d longest, of %d' % (what, len(got), len(wanted))]
    if len(got) < len(wanted):
        wanted = [one for one in wanted if one in got or one[0] > got[-1][0]]
    lacks = collections.Counter(wanted) - collections.Counter(got)
    more = collections.Counter(got) - collections.Counter(wanted)
    return faults + ['%s: longest lacks %r' % (what, one) for one in lacks] + ['%s: longest has %r' % (what, one) for one in more]


def compared(what, got, wanted):
    return ['%s: %r is %r, the plain program has %r' % (what, name, got.get(name), wanted.get(name))
            for name in sorted(set(got) | set(wanted)) if got.get(name) != wanted.get(name)]


def counted(what, periods, plain):
    wanted = dict(plain.counts, open=plain.open())
    return ['%s: %s is %d, not %d' % (what, key, periods[key], wanted.get(key, 0))
            for key in ('ended', 'restarted', 'unmatched', 'open') if periods[key] != wanted.get(key, 0)]


def run(sillage, *args):
    done = subprocess.run([sillage] + list(args), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.returncode, done.stdout.decode('utf-8', 'surrogateescape'), done.stderr.decode()


def total_in(out):
    return [line for line in map(json.loads, out.splitlines()) if line['type'] == 'total'][0]


# ---- ROS 2 ----

PID = ['$pid']
ROS2_LABELS = [
    ('node', 'ros2:rcl_node_init', {}, PID + ['node_handle'], 'node_name'),
    ('topic', 'ros2:rcl_subscription_init', {}, PID + ['subscription_handle'], 'topic_name'),
    ('subscription', 'ros2:rclcpp_subscription_init', {}, PID + ['subscription'], ('topic', ['subscription_handle'])),
    ('service', 'ros2:rcl_service_init', {}, PID + ['service_handle'], 'service_name'),
    ('timer', 'ros2:rclcpp_timer_link_node', {}, PID + ['timer_handle'], ('node', ['node_handle'])),
    ('origin', 'ros2:rclcpp_subscription_callback_added', {}, PID + ['callback'], ('subscription', ['subscription'])),
    ('origin', 'ros2:rclcpp_service_callback_added', {}, PID + ['callback'], ('service', ['service_handle'])),
    ('origin', 'ros2:rclcpp_timer_callback_added', {}, PID + ['callback'], ('timer', ['timer_handle'])),
    ('callback', 'ros2:rclcpp_callback_register', {}, PID + ['callback'], 'symbol'),
    ('period', 'ros2:rcl_timer_init', {}, PID + ['timer_handle'], 'period'),
    ('due', 'ros2:rclcpp_timer_callback_added', {}, PID + ['callback'], ('period', ['timer_handle'])),
    ('publisher', 'ros2:rcl_publisher_init', {}, PID + ['rmw_publisher_handle'], 'topic_name'),
    ('taken', 'ros2:rcl_subscription_init', {}, PID + ['rmw_subscription_handle'], 'topic_name'),
    ('writer', 'dds:create_writer', {}, PID + ['writer'], 'topic_name'),
    ('server', 'ros2:rcl_service_init', {}, PID + ['rmw_service_handle'], 'service_name'),
    ('client', 'ros2:rcl_client_init', {}, PID + ['rmw_client_handle'], 'service_name'),
]
TAKE, SENT = ('ros2:rmw_take', {'taken': 1}), ['global', ('timestamp', 'source_timestamp')]
START, END, WRITE = ('ros2:callback_start', {}), ('ros2:callback_end', {}), ('dds:write', {})
WRITER, ORIGIN, CALLBACK = ('writer', 'writer', ['writer']), ('origin', 'origin', ['callback']), ('callback', 'callback', ['callback'])
TAKEN = ('taken', 'taken', ['rmw_subscription_handle'])
PUBLISH, PUBLISHER = ('ros2:rmw_publish', {}), ('publisher', 'publisher', ['rmw_publisher_handle'])
READY, WAIT, EXECUTE = (('ros2:rclcpp_executor_' + name, {}) for name in ('get_next_ready', 'wait_for_work', 'execute'))
ASK, ANSWERED = ('ros2:rmw_send_request', {}), ('ros2:rmw_take_response', {'taken': 1})
SERVE, ANSWER = ('ros2:rmw_take_request', {'taken': 1}), ('ros2:rmw_send_response', {})
SERVER, NUMBERED = ('server', 'server', ['rmw_service_handle']), ('sequence_number', 'sequence_number')


def same(*fields):
    return [(field, field) for field in fields]


def messages(prefix, sent, of):
    """From publishing to taking, to the end of the callback, and over further nodes."""
    hop = [sent, TAKE]
    return [(prefix + 'message', hop, [SENT], True, [of] + [TAKEN] * bool(prefix)),
            (prefix + 'handled', hop + [START, END], [SENT, None, None], True, [of, ORIGIN]),
            (prefix + 'onward', hop * 2 + [END], [SENT, None, SENT, None], True, [of]),
            (prefix + 'path3', hop * 3 + [END], [SENT, None] * 3, True, [of])]


ROS2_PERIODS = [
    ('callback', [START, END], [['$tid', ('callback', 'callback')]], False, [ORIGIN, CALLBACK]),
    ('cycle', [START, START], [same('callback')], False, [ORIGIN, CALLBACK]),
    ('take-cycle', [TAKE, TAKE], [same('rmw_subscription_handle')], False, [TAKEN]),
    ('dds-publish-cycle', [WRITE, WRITE], [same('writer')], False, [WRITER]),
    ('executor-idle', [WAIT, READY], [['$tid']], False, []),
    ('executor-busy', [EXECUTE, READY], [['$tid']], False, []),
    ('executor-take', [EXECUTE, START], [['$tid']], False, [ORIGIN]),
] + messages('dds-', WRITE, WRITER)
# Of newer versions: no trace of them is at hand.
ROS2_NEWER = [
    ('publish-cycle', [PUBLISH, PUBLISH], [same('rmw_publisher_handle')], False, [PUBLISHER]),
    ('request', [ASK, ANSWERED], [same('rmw_client_handle', 'sequence_number')], False, [('client', 'client', ['rmw_client_handle'])]),
    ('served', [SERVE, ANSWER], [['$tid', *same('rmw_service_handle', 'sequence_number')]], False, [SERVER]),
    ('response', [ANSWER, ANSWERED], [SENT], False, [SERVER]),
] + messages('', PUBLISH, PUBLISHER)


ROS2_JOBS = [('job', [START, END], 100000, [ORIGIN, ('callback', 'callback', ['callback'])])]
ROS2_JOB = 'job = ros2:callback_start; ros2:callback_end; deadline 100us; group origin(callback), callback'


ROS2_KEYED = [('callbacks', [START, END], same('callback'), [ORIGIN, CALLBACK], ('due', ['callback']), None, None),
              ('one', [START, END], same('callback'), [ORIGIN], None, ('origin', ['callback'], '/topic_b'), 100000)]
ROS2_ONE = 'one = ros2:callback_start; ros2:callback_end; by callback; only origin(callback)=/topic_b; deadline 100us; group origin(callback)'


def check_ros2(sillage, models, trace):
    plain = Plain(ROS2_LABELS, ROS2_PERIODS)
    jobs, keyed = PlainJobs(plain, ROS2_JOBS), PlainKeyed(plain, ROS2_KEYED)
    threads = {}
    for ns, name, _, text in reference.events_of(trace):
        plain.event(ns, name, text)
        jobs.event(ns, name, text)
        keyed.event(ns, name, text)
        if name == 'ros2:callback_end':
            threads[number(text, 'vtid')] = number(text, 'vpid'), re.search('procname = "([^"]*)"', text).group(1)
    wanted = plain.shown()
    labels = {row[0] for row in wanted.values()}
    faults = [] if {'dds-message rt/topic_a /topic_a', 'dds-onward rt/topic_a'} <= labels else ['topics are not known']
    status, out, err = run(sillage, 'analyze', '-f', 'json', '-a', 'periods,jobs', '-n', '0', '--model',
                           os.path.join(models, 'ros2'), '--job', ROS2_JOB, trace)
    lacks = 'left out: ' + ', '.join('period ' + period[0] for period in ROS2_NEWER)
    if status or err.count('\n') != 1 or lacks not in err:
        faults.append('status %d, says %r' % (status, err))
    total = total_in(out)
    others = {name: row for name, row in our_jobs(total).items() if name.split(' ')[0] != 'callbacks'}
    faults += compared('ros2', others, jobs.shown(total['end']))
    # Alone: what one of the jobs does not know, is unknown of all.
    out = run(sillage, 'analyze', '-q', '-f', 'json', '-a', 'jobs', '-n', '0', '--model', os.path.join(models, 'ros2'), '--job', ROS2_ONE,
              trace)[1]
    faults += compared('ros2 by key', our_keyed(total_in(out)), keyed.shown())
    for analysis in ('periods', 'jobs'):
        found = {row['tid']: (row.get('pid'), row.get('comm')) for row in total[analysis]['threads']}
        if found != threads:
            faults.append('%s: threads are %r, not %r' % (analysis, found, threads))
    return faults + compared('ros2', ours(total), wanted) + counted('ros2', total['periods'], plain)


# ---- traces that are made here ----

CONTEXT = '	event.context := struct { int32_t _vpid; int32_t _vtid; };\n};\n'
EVENTS = {
    'm:register': (('u64', 'cb'), ('text', 'symbol')), 'm:topic': (('u64', 'obj'), ('text', 'name')),
    'm:attach': (('u64', 'obj'), ('u64', 'cb')), 'm:send': (('u64', 'obj'), ('u64', 'stamp')),
    'm:recv': (('u64', 'obj'), ('u64', 'stamp'), ('u64', 'ok')), 'm:start': (('u64', 'cb'),), 'm:end': (('u64', 'cb'),),
    'm:open': (('text', 'file'), ('u64', 'fd')), 'm:read': (('u64', 'fd'), ('text', 'file')),
}
KINDS = {'u64': 'uint64_t', 'i64': 'integer { size = 64; align = 8; signed = true; }', 'text': 'string { encoding = UTF8; }'}
MODEL = '''# of this test
label callback = m:register key=$pid,cb name=symbol   # comment
label topic = m:topic key=$pid,obj
              name=name

label of = m:attach key=$pid,cb name=topic(obj)
label of = m:register key=$pid,cb name=symbol
label pair = m:attach key=obj,cb name=of(cb)
label file = m:open key=file name=fd
period cb = m:start; m:end; by $tid, cb; group of(cb), callback(cb)
period msg = m:send; m:recv ok=1; by global stamp; each; group topic(obj)
period done = m:send; m:recv ok=1; by global  stamp; each; then m:start; then m:end; group topic(obj), of(cb)
period far = m:send; m:recv; by global stamp; then m:send; then m:recv; by global stamp; group pair(obj, stamp)
period read = m:open; m:read; by fd; group file
label long = m:open key=fd,file name=file(file)
period held = m:open; m:read; by fd; group file, long(fd, file)
period sized = m:send; m:recv; by stamp; group topic(obj), ok
period all = m:start; m:end; by global
period own = m:start; m:end; by $pid, cb
job turn = m:start; m:end; deadline 200us; group of(cb), callback(cb)
job way = m:send; m:recv ok=1; m:start; group topic(obj), cb; deadline 500us
'''
MADE_LABELS = [
    ('callback', 'm:register', {}, PID + ['cb'], 'symbol'), ('topic', 'm:topic', {}, PID + ['obj'], 'name'),
    ('of', 'm:attach', {}, PID + ['cb'], ('topic', ['obj'])), ('of', 'm:register', {}, PID + ['cb'], 'symbol'),
    ('pair', 'm:attach', {}, ['obj', 'cb'], ('of', ['cb'])), ('file', 'm:open', {}, ['file'], 'fd'),
    ('long', 'm:open', {}, ['fd', 'file'], ('file', ['file'])),
]
M_SEND, M_RECV, M_OK = ('m:send', {}), ('m:recv', {}), ('m:recv', {'ok': 1})
M_START, M_END, STAMP = ('m:start', {}), ('m:end', {}), [('stamp', 'stamp')]
ANYONE = ['global', *STAMP]
M_TOPIC, M_OF = ('topic', 'topic', ['obj']), ('of', 'of', ['cb'])
MADE_PERIODS = [
    ('cb', [M_START, M_END], [['$tid', ('cb', 'cb')]], False, [M_OF, ('callback', 'callback', ['cb'])]),
    ('msg', [M_SEND, M_OK], [ANYONE], True, [M_TOPIC]),
    ('done', [M_SEND, M_OK, M_START, M_END], [ANYONE, None, None], True, [M_TOPIC, M_OF]),
    ('far', [M_SEND, M_RECV, M_SEND, M_RECV], [ANYONE, None, ANYONE], False, [('pair', 'pair', ['obj', 'stamp'])]),
    ('read', [('m:open', {}), ('m:read', {})], [[('fd', 'fd')]], False, [('file', 'file', ['file'])]),
    # Two ids that are too long together for `by`, and one with a field behind it, which `by` does not have.
    ('held', [('m:open', {}), ('m:read', {})], [[('fd', 'fd')]], False,
     [('file', 'file', ['file']), ('long', 'long', ['fd', 'file'])]),
    ('sized', [M_SEND, M_RECV], [STAMP], False, [M_TOPIC, ('ok', None, ['ok'])]),
    ('all', [M_START, M_END], [['global']], False, []),
    ('own', [M_START, M_END], [[('$pid', '$pid'), ('cb', 'cb')]], False, []),
]
MADE_JOBS = [
    ('turn', [M_START, M_END], 200000, [M_OF, ('callback', 'callback', ['cb'])]),
    ('way', [M_SEND, M_OK, M_START], 500000, [M_TOPIC, ('cb', None, ['cb'])]),
]
NAMES = ['/a', '/b', 'plain', 'with blanks', 'x file=7', 'quote " and \\', 'esc \x1b[31m', 'line\nfeed', 'é€', 'S' * 2000]


def made_metadata(events=None):
    text = synthetic.HEADER % 0
    text = text.replace('domain = "kernel"', 'domain = "ust"').rsplit('};\n', 1)[0] + CONTEXT
    text = text.replace('typealias integer { size = 64; align = 8; signed = false; map',
                        'typealias integer { size = 32; align = 8; signed = true; } := int32_t;\n'
                        'typealias integer { size = 64; align = 8; signed = false; map')
    for i, (name, fields) in enumerate((EVENTS if events is None else events).items()):
        text += 'event { name = "%s"; id = %d; stream_id = 0; fields := struct { %s}; };\n' % (
            name, i, ''.join('%s _%s; ' % (KINDS[kind], field) for kind, field in fields))
    return text


def made_event(ts, pid, tid, name, *values, events=None):
    events = events or EVENTS
    out = struct.pack('<HQii', list(events).index(name), ts, pid, tid)
    for (kind, _), value in zip(events[name], values):
        out += struct.pack('<Q', value) if kind == 'u64' else value.encode() + b'\0'
    return ts, out


def some_event(rng, ts, count, is_early):
    """Ids are few, so that processes share them; stamps are of the last messages.  Topics have names early
    only: who goes on from a state has to know them."""
    pid = rng.choice((10, 20, 30))
    tid, obj, cb = pid + rng.randrange(2), rng.choice((1, 2, 94511453262464, 2 ** 64 - 1)), rng.randrange(3)
    stamp = max(0, count // 6 - rng.randrange(4))
    name = rng.choice(list(EVENTS) + ['m:send', 'm:recv', 'm:recv', 'm:start', 'm:start', 'm:end', 'm:end'])
    if (name in ('m:register', 'm:attach') and rng.random() < 0.6) or (name == 'm:topic' and not is_early):
        name = 'm:recv'
    values = {'obj': obj, 'cb': cb, 'stamp': stamp, 'ok': rng.randrange(2), 'symbol': rng.choice(NAMES),
              'name': rng.choice(NAMES), 'fd': rng.randrange(4), 'file': rng.choice(('x', 'y z', 'fd=1 p', 'L' * 90))}
    return made_event(ts, pid, tid, name, *[values[field] for _, field in EVENTS[name]])


def made_streams(seed, count):
    """[[packets] of each stream]: no two events are at one time."""
    rng = random.Random(seed)
    ts, streams = 1000000000, [[], [], []]
    for i in range(count):
        ts += rng.choice((500, 20000, 90000)) + rng.randrange(300)
        rng.choice(streams).append(some_event(rng, ts, i, i < count // 4))
    packets = []
    for cpu, events in enumerate(streams):
        packets.append([])
        begin = 1000000000
        while events:
            some, events = events[:40], events[40:]
            end = some[-1][0] if events else ts
            packets[-1].append(synthetic.packet(cpu, len(packets[-1]), begin, end, [one[1] for one in some]))
            begin = end
    return packets


def make(scratch, name, seed, count=1500):
    """A trace, and the first half of it."""
    packets = made_streams(seed, count)
    made = synthetic.Made(scratch, name, [b''.join(one) for one in packets], made_metadata())
    half = synthetic.Made(scratch, name + '-half', [b''.join(one[:len(one) // 2]) for one in packets], made_metadata())
    return made.path, half.path


def whole_ids(rows):
    """Of the rows of ours(): as much of an id as fits is there; longer ones end in a hash, which only has to tell them apart."""
    def whole(name):
        return name and re.sub(r'=(\d,)?L{44,46}~[0-9a-f]{16}', lambda found: '=' + (found.group(1) or '') + 'L' * 90, name)
    return {whole(name): (whole(row[0]),) + row[1:] for name, row in rows.items()}


def check_windows(sillage, model, trace):
    status, out, err = run(sillage, 'analyze', '-q', '-f', 'json', '-n', '1000', '-i', '10ms', '--model', model, trace)
    lines = [json.loads(line) for line in out.splitlines()]
    windows = [line for line in lines if line['type'] == 'window']
    plain, faults = Plain(MADE_LABELS, MADE_PERIODS), [] if status == 0 and not err else ['says %r' % err]
    whole = Plain(MADE_LABELS, MADE_PERIODS)
    events = collections.deque(reference.events_of(trace))
    whole_jobs, jobs = PlainJobs(whole, MADE_JOBS), PlainJobs(plain, MADE_JOBS)
    for ns, name, _, text in events:
        whole.event(ns, name, text)
        whole_jobs.event(ns, name, text)
    for window in windows:
        while events and (events[0][0] < window['end'] or window is windows[-1]):  # it has the end of the trace
            ns, name, _, text = events.popleft()
            plain.event(ns, name, text)
            jobs.event(ns, name, text)
        what = 'window %d' % window['seq']
        faults += compared(what, whole_ids(ours(window)), plain.shown()) + compared_longest(what, window, plain.longest())
        faults += compared(what, our_jobs(window), jobs.shown(window['end']))
    total = total_in(out)
    wanted = whole_jobs.shown(total['end'])
    faults += compared('total', our_jobs(total), wanted)
    called = {row['label'] for row in total['jobs']['worst'] if 'label' in row}
    if not called or not all(any((row[0] or '').startswith(one) for row in wanted.values()) for one in called):
        faults.append('the worst are called %r' % called)
    if not all(any(row[at] for row in wanted.values()) for at in (0, 5, 6, 7)):
        faults.append('the trace shows nothing of jobs')
    faults += compared_longest('total', total, whole.longest())
    wanted = whole.shown()
    if not any(row[0] for row in wanted.values()) or len(windows) < 3:
        faults.append('the trace shows nothing')
    if not any('~' in name for name in ours(total)):
        faults.append('no id is cut')
    return faults + compared('total', whole_ids(ours(total)), wanted) + counted('total', total['periods'], whole), out


def check_laws(sillage, model, trace, half, out, scratch):
    faults, base = [], ('-q', '-f', 'json', '-n', '1000', '-i', '10ms', '--model', model)
    for jobs, chunk in (('0', '1'), ('1', '1M'), ('3', '300'), ('3', '5k')):
        other = run(sillage, 'analyze', *base, '-j', jobs, '--chunk-size', chunk, trace)[1]
        if other.splitlines()[:-1] != out.splitlines()[:-1]:  # the last line has how long it took
            faults.append('other output with -j %s --chunk-size %s' % (jobs, chunk))
    figures = lambda out: [total_in(out)[analysis] for analysis in ('periods', 'jobs')]
    wanted = figures(out)
    file, state = os.path.join(scratch, 'partials'), os.path.join(scratch, 'state-%s' % os.path.basename(trace))
    run(sillage, 'map', '-q', '--model', model, '-o', file, trace)
    status, merged, err = run(sillage, 'merge', '-q', '-f', 'json', '-n', '1000', file)
    if status or figures(merged) != wanted:
        faults.append('map and merge: %s' % err)
    for part in (half, trace):
        status, _, err = run(sillage, 'analyze', '-q', '-n', '1000', '-i', '10ms', '--model', model, '--state', state, part)
    status, merged, err = run(sillage, 'merge', '-q', '-f', 'json', '-n', '1000', state)
    if status or figures(merged) != wanted:
        faults.append('from a state: %s' % err)
    return faults


def check_triggers(sillage, model, trace, out):
    """A trigger chooses rows by their labels: it holds where a window has such a row."""
    faults = []
    missed = {}
    for window in map(json.loads, out.splitlines()):
        for row in window['jobs']['jobs'] if window['type'] == 'window' else ():
            if 'label' in row:
                missed[row['label']] = max(missed.get(row['label'], 0), row['misses'])
    plain = {label: misses for label, misses in missed.items() if re.fullmatch('[a-z /]+', label)}
    if len(plain) < 3 or not any(plain.values()) or all(plain.values()):
        faults.append('labels to choose by: %r' % plain)
    for label, misses in list(plain.items()) + [('way /nowhere', 0)]:
        status, _, err = run(sillage, 'analyze', '-q', '-i', '10ms', '--model', model, '--fail',
                             'jobs.jobs[label=%s].misses > 0' % label, trace)
        if status != (3 if misses else 0) or err:
            faults.append('label %r, %d misses: status %d %s' % (label, misses, status, err))
    status, _, err = run(sillage, 'analyze', '-q', '--model', model, '--fail', 'cpu.threads[label=x].run > 0', trace)
    if status != 2 or 'rows of threads are selected by' not in err:
        faults.append('threads by label: status %d, %r' % (status, err))
    return faults


BAD = (
    (('--label', 'x = m:topic name=name'), 'expected key=FIELD'),
    (('--label', 'x = m:topic key=obj'), 'expected name=FIELD'),
    (('--label', 'x = m:topic key=$pid name=name'), 'expected a field beside $pid'),
    (('--label', 'x = m:topic key=obj name=y(obj)'), 'expected the name of a label that was given before'),
    (('--label', 'x = m:topic key=obj name=name', '--label', 'x = m:topic key=obj,name name=name'),
     'expected the keys that this label has elsewhere'),
    (('--label', 'x = m:topic key=obj name=name', '--label', 'x = m:topic key=obj name=x(obj)'),
     'expected a name by a label that was given before this'),
    (('--label', 'x = m:topic key=obj name=name', '-a', 'count'), '--label has no effect without a --period or --job that groups by it'),
    (('--label', 'x = m:topic obj=$tid key=obj name=name', '-a', 'count'), 'expected no $tid before'),
    (('--label', 'x = m:topic key=obj,name name=name', '--period', 'p = m:send; m:open; group x(obj, file)'),
     '--period p: the event "m:send" has no field "file"'),
    (('--label', 'x = m:topc key=obj name=name', '--period', 'p = m:start; m:end'),
     '--label x: no event "m:topc" is recorded; did you mean "m:topic"?'),
    (('--label', 'x = m:topic key=obj name=nam', '--period', 'p = m:start; m:end'), 'did you mean "name"?'),
    (('--label', 'x = m:topic key=obj,name name=name', '--period', 'p = m:start; m:end; group x'),
     'expected ( and the fields of the label'),
    (('--label', 'x = m:topic key=obj name=name', '--period', 'p = m:start; m:end; group x(cb, cb)'),
     'expected as many fields'),
    (('--period', 'p = m:start; m:end; each'), 'expected events by keys'),
    (('--period', 'p = m:start; m:end; then'), 'expected the name of an event'),
    (('--period', 'p = m:start; m:end' + '; then m:end' * 7), 'expected no more than eight events'),
    (('--model', 'nowhere/model'), 'nowhere/model: No such file'),
    (('--model', 'rso2'), 'unknown model "rso2"; did you mean "ros2"?'),
)
BAD_MODELS = (
    ('\n\nlabel x = m:topic key=obj\n', 'line 3: "x = m:topic key=obj": column'),
    ('# only this\n', 'no label, period, call or job in it'), ('spoon x\n', 'line 1: "spoon x": expected label, period, call, job'),
    ('period p = m:start;\n  m:end;\n  by\n', 'line 1: '), ('period p = a; b\n\0', 'is no model'),
    ('period p = m:topic name!="a # b"; m:strt # not m:start\n', '--period p: no event "m:strt"'),
    ('# of others\nperiod p = n:x; n:y\nperiod q = n:z; n:y\n', 'nothing of it is in the trace: --period p: no event "n:x"'),
)


def check_bad(sillage, trace, scratch):
    faults = []
    cases = list(BAD)
    for i, (text, says) in enumerate(BAD_MODELS):
        path = os.path.join(scratch, 'bad-%d' % i)
        with open(path, 'w') as file:
            file.write(text)
        cases.append((('--model', path), says))
    for args, says in cases:
        status, out, err = run(sillage, 'analyze', '-q', *args, trace)
        if status == 0 or says not in err or err.count('\n') != 1:
            faults.append('%s: status %d, says %r' % (' '.join(args), status, err))
    return faults


UNKNOWN = '''
period by-thread = m:send; m:recv; by stamp; then m:end
period begun = m:start; m:end; then m:end
period by-keys = m:send; m:recv; by stamp; then m:attach; by obj
'''


def check_unknown(sillage, scratch):
    """No chain goes from one unknown, or idle, thread to another; by keys it goes on."""
    faults = []
    for name, tid, what in (('no-tid', None, 'without vtid'), ('idle', 0, 'with vtid 0')):
        events = [made_event(ts, 10, tid or 0, *event) for ts, event in (
            (1000, ('m:send', 1, 5)), (2000, ('m:start', 7)), (3000, ('m:recv', 1, 5, 1)), (4000, ('m:attach', 1, 7)),
            (5000, ('m:end', 7)), (6000, ('m:end', 7)))]
        text, data = made_metadata(), [event for _, event in events]
        if tid is None:
            text, data = text.replace(' int32_t _vtid;', ''), [event[:14] + event[18:] for event in data]
        cpus = [[event for i, event in enumerate(data) if i % 2 == cpu] for cpu in (0, 1)]
        trace = synthetic.Made(scratch, name, [synthetic.packet(cpu, 0, 1000, 6000, some) for cpu, some in enumerate(cpus)], text)
        model = os.path.join(scratch, name + '-model')
        with open(model, 'w') as file:
            file.write(UNKNOWN)
        _, out, err = run(sillage, 'analyze', '-q', '-f', 'json', '--model', model, trace.path)
        found = total_in(out)['periods']
        rows = [(row['name'], row['time']['sum_ns']) for row in found['by_name']]
        # by-thread and by-keys begin by keys; both END events of begun, and END of by-thread, are on no thread.
        if rows != [('by-keys', 3000)] or [found[key] for key in ('ended', 'open', 'unmatched')] != [1, 1, 3]:
            faults.append('%s: %r %r %s' % (what, rows, found, err))
    return faults


def check_left_out(sillage, trace, scratch):
    """What a trace lacks of a model is named, each label once; of a model of labels one is enough."""
    model = os.path.join(scratch, 'lacks')
    tells = 'label tells = m:topic key=obj name=name\n'
    lacks = 'label lacks = n:a key=obj name=name\nlabel lacks = n:b key=obj name=name\n'
    measures = 'period p = m:send; m:recv; by stamp\n'
    other = ('--period', 'q = m:send; m:recv; by stamp')
    faults = []
    for text, args, says in (
            (tells + lacks + measures, (), 'left out: label lacks'), (lacks + tells, other, 'left out: label lacks'),
            (tells + lacks + measures + 'period r = n:a; n:b\n', (), 'left out: period r, label lacks'),
            (lacks, other, 'nothing of it is in the trace: --label lacks: no event "n:a"')):
        with open(model, 'w') as file:
            file.write(text)
        status, _, err = run(sillage, 'analyze', '-a', 'periods', '--model', model, *args, trace)
        if err.count('\n') != 1 or not err.split('; did')[0].rstrip().split(' is recorded')[0].endswith(says) or (
                (status == 0) != ('left out' in says)):
            faults.append('%r: status %d, says %r' % (text, status, err))
    others = [os.path.join(scratch, 'lacks-%d' % i) for i in range(2)]
    for i, other in enumerate(others):
        with open(other, 'w') as file:
            file.write(lacks + measures.replace(' p ', ' p%d ' % i))
    _, _, err = run(sillage, 'analyze', '-a', 'periods', '--model', others[0], '--model', others[1], trace)
    if err.count('left out: label lacks\n') != 2:
        faults.append('two models: says %r' % err)
    return faults


def check_shipped(sillage, models, trace):
    """Each model is read; none is of this trace, and each says so."""
    status, out, _ = run(sillage, 'analyze', '--model', 'help')
    names = sorted(os.listdir(models))
    faults = [] if [line.split()[0] for line in out.splitlines()] == names and status == 0 else ['help: %r' % out]
    for name in names:
        status, out, err = run(sillage, 'setup', '--model', os.path.join(models, name))
        if (status, 'recorded by' in err) != (2, True) if name in ('dpdk', 'zephyr') else status or 'lttng enable-event -u' not in out:
            faults.append('%s: setup: %s %s' % (name, out, err))
        status, out, err = run(sillage, 'analyze', '--model', os.path.join(models, name), trace)
        says = r'/%s: nothing of it is in the trace: --(period|call) ' % name
        if status == 0 or out or not re.search(says, err) or err.count('\n') != 1:
            faults.append('%s: status %d, says %r' % (name, status, err))
    return faults


def main():
    sillage, models = sys.argv[1:3]
    synthetic.SILLAGE = sillage
    faults = check_ros2(sillage, models, sys.argv[4]) if sys.argv[3:4] == ['--ros2'] else []
    with tempfile.TemporaryDirectory(prefix='sillage-models-') as scratch:
        model = os.path.join(scratch, 'model')
        with open(model, 'w') as file:
            file.write(MODEL)
        for seed in (1, 2) if len(sys.argv) == 3 else ():
            trace, half = make(scratch, 'made-%d' % seed, seed)
            found, out = check_windows(sillage, model, trace)
            faults += found + check_laws(sillage, model, trace, half, out, scratch)
            faults += check_triggers(sillage, model, trace, out)
        if len(sys.argv) == 3:
            faults += check_bad(sillage, trace, scratch) + check_shipped(sillage, models, trace)
            faults += check_unknown(sillage, scratch) + check_left_out(sillage, trace, scratch)
    print('\n'.join('# ' + fault for fault in faults[:20]))
    print('%s: %d faults' % ('not ok' if faults else 'ok', len(faults)))
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(main())

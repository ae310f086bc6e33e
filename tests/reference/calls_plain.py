"""calls_plain: calls of programs as doc/definitions.md (4.17) has them, by a plain program.

It sees the events one after the other, with all of the metadata known, and keeps everything.  laws.py has it for
generated traces, calls.py for recorded ones and for some that it makes.
"""
import collections
import re

PAIRS = (('entry', 'exit'), ('begin', 'end'), ('start', 'stop'), ('start', 'end'), ('enter', 'exit'), ('enter', 'leave'),
         ('in', 'out'), ('issue', 'complete'))
WORDS = {word for pair in PAIRS for word in pair}
KEYS = ('id', 'req_id', 'request_id', 'corr_id', 'correlation_id', 'cid', 'handle', 'ptr')


def split(name):
    """What comes before the last word, and the word; None: it is none of a pair."""
    found = re.fullmatch(r'(.*(?:[-_.:]|[a-z0-9](?=[A-Z])))([A-Za-z]+)', name, re.S)
    if found and found.group(2).lower() in WORDS:
        return found.group(1), found.group(2).lower()
    return None


def phase_of(value):
    """Whether a text `phase` or `ph` is a begin or an end; None: neither."""
    if len(value) == 1:
        return {'b': 'begin', 'e': 'end'}.get(value.lower())
    word = split('-' + value)[1] if len(value) < 31 and split('-' + value) else None
    return None if word is None else 'begin' if word in {begin for begin, _ in PAIRS} else 'end'


class Pair:
    """The classes of a begin and its ends: by name, the fields of each."""

    def __init__(self, rest, begin):
        self.rest, self.begin, self.begins, self.ends = rest, begin, [], []
        self.is_function = rest.startswith('lttng_ust_cyg_profile')
        self.text = rest.rstrip('-_.:') or rest
        self.provider = rest.split(':')[0] if ':' in rest else '-'

    def close(self, classes):
        """@classes: for each name the fields of all classes that are called so."""
        fields = [set(one) for name in self.begins + self.ends for one in classes[name]]
        keys = [key for key in KEYS if all(key in one for one in fields)]
        self.key = keys[0] if len(keys) == 1 else None
        self.has_name = all('name' in one for one in fields)


def pairs_of(classes):
    """By event name: (its pair, whether it is the end)."""
    rests, found = collections.defaultdict(dict), {}
    for name in classes:
        parts = split(name)
        if parts:
            rests[parts[0]].setdefault(parts[1], []).append(name)
        elif all('phase' in fields or 'ph' in fields for fields in classes[name]):
            pair = Pair(name, None)
            pair.begins, pair.text = [name], name
            pair.close(classes)
            found[name] = pair, None
    for rest, words in rests.items():
        made = {}
        for begin, end in PAIRS:
            if begin not in words or end not in words or any(name in found for name in words[end]):
                continue
            if begin not in made:
                made[begin] = Pair(rest, begin)
                made[begin].begins = words[begin]
                found.update((name, (made[begin], False)) for name in words[begin])
            made[begin].ends += words[end]
            found.update((name, (made[begin], True)) for name in words[end])
        for pair in made.values():
            pair.close(classes)
    return found


class Ask:
    """What --call asks for: two patterns, conditions on fields that are equal, pairs of keys with '$tid' among them (None: by thread, []:
    global), fields of the group, and the field and the value below which a call has failed."""

    def __init__(self, name, begin, end, by=None, group=(), error=None, when=({}, {}), is_global=False):
        self.name, self.patterns, self.by, self.group, self.error, self.when = name, (begin, end), by, group, error, when
        self.is_global = is_global or by == []

    def text(self):
        events = ['%s %s' % (pattern, ', '.join('%s=%s' % one for one in when.items())) for pattern, when in zip(self.patterns, self.when)]
        by = None if self.by is None else ', '.join(one if isinstance(one, str) else '%s=%s' % one for one in self.by) or 'global'
        by = 'global ' + by if self.is_global and self.by else by
        clauses = [('by', by), ('group', ', '.join(self.group)), ('error', self.error and '%s<%d' % self.error)]
        return ('%s = ' % self.name if self.name else '') + '; '.join(events + ['%s %s' % one for one in clauses if one[1]])

    def stem(self, step, name):
        """What "*" stands for, "" if not both have one; None: the event is no such step."""
        found = re.fullmatch(re.escape(self.patterns[step]).replace(r'\*', '(.*)'), name)
        return None if not found else found.group(1) if all('*' in pattern for pattern in self.patterns) else ''

    def has_keys(self, step, fields):
        return all(one[step][0] == '$' or one[step] in fields for one in self.by or [] if one != '$tid')

    def ends_as(self, other):
        ends = lambda ask: (ask.is_global, ask.patterns[1], ask.by and [one if isinstance(one, str) else one[1] for one in ask.by])
        return ends(self) == ends(other) and not any(one.error or one.when[1] for one in (self, other))

    def holds(self, step, fields):
        if callable(self.when[step]):
            return self.when[step](fields)
        return all(fields.get(field) == value for field, value in self.when[step].items())

    def called(self, name, stem, fields):
        star = self.patterns[0].split('*')[0] if stem else name
        text = ' '.join([self.name] + [stem] * bool(stem)) if self.name else star + stem
        return ' '.join([text] + [one for one in (str(fields[field]) for field in self.group if field in fields) if one])


class AskedPair:
    is_function = False

    def __init__(self, rest):
        self.rest = rest


def asked_of(asks, classes):
    """By event name: [(which, whether it is the end, its pair)], in the order in which they count."""
    found, pairs = collections.defaultdict(list), {}
    for i, ask in enumerate(asks):
        same = next(k for k, other in enumerate(asks) if k == i or ask.ends_as(other))
        stems = [{ask.stem(step, name) for name, all_fields in classes.items() if all(ask.has_keys(step, one) for one in all_fields)}
                 for step in (0, 1)]
        for name, all_fields in classes.items():
            for step in (1, 0):
                stem = ask.stem(step, name)
                if stem is not None and stem in stems[1 - step] and all(ask.has_keys(step, one) for one in all_fields):
                    found[name].append((ask, step == 1, pairs.setdefault((same, stem), AskedPair((same, stem))), stem, step == 0 or same == i))
    return found


class Call:
    def __init__(self, event, pair, sub, key, name, provider):
        self.ts, self.pair, self.sub, self.key, self.thread = event.ts, pair, sub, key, event.thread
        self.process, self.within, self.depth, self.name, self.provider = event.process, 0, 1, name, provider


class Event:
    def __init__(self, ts, name, process, thread, fields):
        self.ts, self.name, self.process, self.thread, self.fields = ts, name, process or 0, thread, fields
        self.has_failed = isinstance(fields.get('ret'), int) and fields['ret'] < 0


class Row:
    def __init__(self):
        self.times, self.errors, self.self_ns, self.calls, self.by_key, self.depth = [], 0, 0, 0, 0, 0

    def as_json(self):
        return {'calls': self.calls, 'errors': self.errors, 'self_ns': self.self_ns, 'by_key': self.by_key, 'depth_max': self.depth,
                'timed': len(self.times), 'sum_ns': sum(self.times), 'max_ns': max(self.times, default=None)}


class Plain:
    def __init__(self, classes, asks=()):
        self.asked = asked_of(asks, classes)
        self.pairs = pairs_of({name: fields for name, fields in classes.items() if name not in self.asked})
        self.stacks = collections.defaultdict(list)  # by thread
        self.keys = collections.defaultdict(lambda: {'seen': set(), 'held': []})  # by process and pair
        self.counts, self.loss = collections.Counter(), -1
        self.rows = {what: collections.defaultdict(Row) for what in ('by_name', 'providers', 'threads')}

    def lost(self, ts):
        """All events up to @ts have been taken, and some are missing."""
        self.loss = ts

    def take(self, event):
        event.loss = self.loss
        for asked in self.asked.get(event.name, ()):
            self.take_asked(event, *asked)
        pair, is_end = self.pairs.get(event.name, (None, False))
        if not pair:
            return
        fields, sub = event.fields, ''
        if is_end is None:
            phase = phase_of(fields['phase' if 'phase' in fields else 'ph'])
            if not phase:
                return
            is_end = phase == 'end'
        if pair.is_function:
            sub = '0x%x' % fields['addr'] if 'addr' in fields else ''
        elif pair.has_name:
            sub = fields['name']
        key = fields[pair.key] if pair.key else None
        keys = self.keys[event.process, pair.rest] if pair.key else None
        if keys:
            keys['seen'].add(key)
            if len(keys['seen']) == 2:
                held, keys['held'] = keys['held'], []
                for one in held:
                    self.end_elsewhere(one, pair, *one.asked)
        if is_end:
            self.end(event, pair, sub, key, keys)
        else:
            name = sub if pair.is_function and sub else pair.text + (' ' + sub if sub else '')
            self.begin(event, Call(event, pair, sub, key, name, pair.provider))

    def take_asked(self, event, ask, is_end, pair, stem, counts):
        if not counts or not ask.holds(is_end, event.fields):
            return
        one = Event(event.ts, event.name, 0 if ask.is_global else event.process, event.thread, event.fields)
        one.loss, key, keys = event.loss, None, None
        if ask.by is not None and ask.by != ['$tid']:
            key = tuple(event.thread if by == '$tid' else event.fields[by[is_end]] for by in ask.by)
            keys = self.keys[one.process, pair.rest]
            keys['seen'] |= {1, 2}
        if is_end:
            one.has_failed = event.fields[ask.error[0]] < ask.error[1] if ask.error else event.has_failed
            self.end(one, pair, '', key, keys)
        else:
            provider = event.name.split(':')[0] if ':' in event.name else '-'
            self.begin(one, Call(one, pair, '', key, ask.called(event.name, stem, event.fields), provider))

    def begin(self, event, call):
        stack, pair, key = self.stacks[event.thread], call.pair, call.key
        same = [one for one in stack if (one.pair, one.name, one.key) == (pair, call.name, key)]
        if same and same[-1].ts <= event.loss:
            self.give_up(same.pop(), 'replaced')
        call.depth = same[-1].depth + 1 if same else 1
        for row in self.rows_of(call, event.thread) if same else ():
            row.depth = max(row.depth, call.depth)
        stack.append(call)

    def give_up(self, call, why):
        self.counts[why] += 1
        self.take_off(call, call.within)

    def take_off(self, call, ns):
        stack = self.stacks[call.thread]
        at = stack.index(call)
        if at > 0:
            stack[at - 1].within += ns
        del stack[at]

    def varies(self, call):
        return call.key is not None and len(self.keys[call.process, call.pair.rest]['seen']) > 1

    @staticmethod
    def fits(call, pair, sub, key):
        return call.pair is pair and call.key == key and (not sub or call.sub == sub)

    def end(self, event, pair, sub, key, keys):
        by_key = keys is not None and len(keys['seen']) > 1
        own = [one for one in self.stacks[event.thread] if self.fits(one, pair, sub, key) and one.process == event.process]
        if own:
            stack = self.stacks[event.thread]
            for one in reversed(stack[stack.index(own[-1]) + 1:] if not by_key else []):
                if not self.varies(one):
                    self.give_up(one, 'broken')
            self.finish(own[-1], event, by_key)
        elif by_key:
            self.end_elsewhere(event, pair, sub, key)
        elif keys is not None and len(keys['held']) < 64:
            event.asked = sub, key
            keys['held'].append(event)
        else:
            self.counts['unmatched'] += 1

    def end_elsewhere(self, event, pair, sub, key):
        found = [one for stack in self.stacks.values() for one in stack
                 if self.fits(one, pair, sub, key) and one.process == event.process and one.ts <= event.ts]
        if found:
            self.finish(max(found, key=lambda one: one.ts), event, True)
        else:
            self.counts['unmatched'] += 1

    def finish(self, call, event, by_key):
        ns = event.ts - call.ts
        is_within = call.thread == event.thread and self.stacks[call.thread][-1] is call
        self.take_off(call, ns if is_within else call.within)
        self.counts['calls'] += 1
        self.counts['errors'] += event.has_failed
        is_tainted = call.ts <= event.loss
        self.counts['untimed'] += is_tainted
        for row in self.rows_of(call, event.thread):
            row.calls += 1
            row.errors += event.has_failed
            row.by_key += by_key
            row.depth = max(row.depth, call.depth)
            if not is_tainted:
                row.times.append(ns)
                row.self_ns += max(ns - call.within, 0)

    def rows_of(self, call, thread):
        return self.rows['by_name'][call.name], self.rows['providers'][call.provider], self.rows['threads'][thread]

    def open(self):
        return [call for stack in self.stacks.values() for call in stack]

    def result(self, end):
        """The figures at @end, as ours_of() has them."""
        found = {key: self.counts[key] for key in ('calls', 'errors', 'unmatched', 'broken', 'replaced', 'untimed')}
        found['open'] = len(self.open())
        found['undecided'] = sum(len(one['held']) for one in self.keys.values())
        found['oldest_ns'] = max((end - call.ts for call in self.open()), default=0)
        for what, rows in self.rows.items():
            opens, of = collections.defaultdict(list), {'by_name': lambda call: call.name, 'providers': lambda call: call.provider,
                                                        'threads': lambda call: call.thread}[what]
            for call in self.open():
                opens[of(call)].append(call)
                rows[of(call)].calls += 0
            found[what] = {key: dict(row.as_json(), open=len(opens[key]), oldest_ns=max((end - call.ts for call in opens[key]), default=0))
                           for key, row in rows.items()}
        return found


def ours_of(calls):
    """The same of what sillage reports."""
    found = {key: calls[key] for key in ('calls', 'errors', 'unmatched', 'broken', 'replaced', 'untimed', 'open', 'undecided', 'oldest_ns')}
    identity = {'by_name': lambda row: row['name'], 'providers': lambda row: row['provider'],
                'threads': lambda row: (row.get('pid'), row.get('tid'))}
    for what, of in identity.items():
        found[what] = {}
        for row in calls[what]:
            figures = {key: row[key] for key in ('calls', 'errors', 'self_ns', 'by_key', 'depth_max', 'open', 'oldest_ns')}
            figures.update(timed=row['time']['count'], sum_ns=row['time'].get('sum_ns') or 0, max_ns=row['time'].get('max_ns'))
            found[what][of(row)] = figures
    return found


def difference(found, wanted):
    """The first thing that is not the same; None: there is none."""
    for key, value in wanted.items():
        if isinstance(value, dict):
            for row in sorted(set(value) | set(found[key]), key=str):
                if found[key].get(row) != value.get(row):
                    return '%s of %s: %s, not %s' % (key, row, found[key].get(row), value.get(row))
        elif found[key] != value:
            return '%s is %s, not %s' % (key, found[key], value)
    return None

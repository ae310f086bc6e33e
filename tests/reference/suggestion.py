"""suggestion: the suggested parts of a range, by a plain program from doc/definitions.md, 8.3 and 8.4.

For overview.py and phases.py.  Nothing is kept between steps: each mean and each loss is computed
from the slices, each partition by the recurrence.
"""
import functools
import math

CHANGE, STAY, WEAK, CLEAR, NOISE, PRIOR = 0.1, 3, 4, 4.6, 1e-4, 4
ROUNDING = 1e-12


def f(x):
    return x * math.log2(x) if x > 0 else 0.0


class Suggestion:
    """`series`: values by slice; `counts`: whether a series may cut (one that says the opposite of another may not)."""

    def __init__(self, series, counts):
        self.series, self.counts = series, counts
        self.slices = len(series[0]) if series else 0
        self.of = functools.lru_cache(maxsize=None)(self.of)

    def of(self, k, first, last):
        """(mean, gain, loss) of one series over some slices."""
        values = self.series[k][first:last + 1]
        total = sum(values)
        inner = sum(map(f, values))
        gain = f(total) - inner
        gain = gain if last > first and gain > ROUNDING * (abs(f(total)) + abs(inner)) else 0.0
        even = total * math.log2(len(values))
        loss = even - gain
        return total / len(values), gain, loss if last > first and loss > ROUNDING * (even + abs(f(total))) else 0.0

    @functools.lru_cache(maxsize=None)
    def all(self, first, last):
        each = [self.of(k, first, last) for k in range(len(self.series))]
        return sum(one[1] for one in each), sum(one[2] for one in each)

    # ---- the nearest partition ----

    def best(self, first, last, p):
        gain, loss = self.all(first, last)
        gain, loss = gain if gain > 0 else 1, loss if loss > 0 else 1
        tails = {last + 1: (0.0, 0.0, 0.0, ())}
        for begin in range(last, first - 1, -1):
            found = None
            for end in range(begin, last + 1):
                g, l = self.all(begin, end)
                rest = tails[end + 1]
                value = p * g / gain - (1 - p) * l / loss + rest[0]
                if found and value < found[0] - 1e-9:
                    continue  # clearly less
                one = (value, g / gain + rest[1], l / loss + rest[2], (end,) + rest[3])
                if not found or self.is_better(one, found):
                    found = one
            tails[begin] = found
        return tails[first]

    @staticmethod
    def is_better(a, b):
        for x, y in ((a[0], b[0]), (a[1], b[1]), (b[2], a[2])):
            tolerance = ROUNDING * max(1, abs(x), abs(y))
            if abs(x - y) > tolerance:
                return x > y
        return a[3][0] > b[3][0]

    def curve(self, first, last):
        """All that are best for some p."""
        def between(low, high):
            gain, loss = high[1] - low[1], high[2] - low[2]
            if gain <= ROUNDING or loss < 0:
                return []
            p = loss / (gain + loss)
            middle = self.best(first, last, p)
            if middle[0] <= p * low[1] - (1 - p) * low[2] + ROUNDING or middle[1] >= high[1] - ROUNDING:
                return [high]
            return between(low, middle) + between(middle, high)
        low = self.best(first, last, 0)
        return [low] + between(low, self.best(first, last, 1))

    def nearest(self, first, last):
        way = INFINITE = math.inf
        for one in self.curve(first, last):
            its = (1 - one[1]) ** 2 + one[2] ** 2
            if its < way - ROUNDING:
                way, found = its, one
        assert way < INFINITE
        begins = (first,) + tuple(end + 1 for end in found[3][:-1])
        return list(zip(begins, found[3]))

    # ---- which cuts are clear ----

    def mean(self, k, part):
        return self.of(k, *part)[0]

    def avoided(self, k, a, b):
        return max(self.of(k, a[0], b[1])[2] - self.of(k, *a)[2] - self.of(k, *b)[2], 0)

    def avoided_in_all(self, a, b):
        return self.all(a[0], b[1])[1] - self.all(*a)[1] - self.all(*b)[1]

    def noise(self, k, parts, prior, more=0.0):
        freedom = sum(b - a for a, b in parts) + (PRIOR if prior else 0)
        lost = sum(self.of(k, *part)[2] for part in parts) + more + (PRIOR * prior[k] if prior else 0)
        return max(lost / max(freedom, 1), NOISE)

    def recurring(self, k, parts, at):
        """What other short parts that are like a short one beside the cut would lose."""
        beside = [i for i in (at, at + 1) if self.is_short(parts[i])]
        lost = 0.0
        for i, part in enumerate(parts):
            if i in (at, at + 1) or not self.is_short(part) or not any(self.alike(k, part, parts[b]) for b in beside):
                continue
            lost += min(self.avoided(k, *pair) for pair in ((parts[i - 1], part) if i else None, (part, parts[i + 1])
                                                            if i + 1 < len(parts) else None) if pair)
        return lost

    @staticmethod
    def is_short(part):
        return part[1] - part[0] + 1 < STAY

    def alike(self, k, a, b):
        return abs(self.mean(k, a) - self.mean(k, b)) < CHANGE

    def differ(self, a, b):
        return any(counts and not self.alike(k, a, b) for k, counts in enumerate(self.counts))

    def clarity(self, parts, at, prior):
        a, b = parts[at], parts[at + 1]
        if prior and (self.is_short(a) or self.is_short(b)):
            return 0.0
        return max([self.avoided(k, a, b) / self.noise(k, parts, prior, self.recurring(k, parts, at))
                    for k, counts in enumerate(self.counts) if counts and not self.alike(k, a, b)], default=0.0)

    def prune(self, parts, prior, weak):
        parts = list(parts)
        while len(parts) > 1:
            freedom = sum(b - a for a, b in parts) + (PRIOR if prior else 0)
            limit = WEAK
            if not weak and freedom:
                z = CLEAR * CLEAR
                limit = (CLEAR * (1 + (z + 1) / (4 * freedom) + ((5 * z + 16) * z + 3) / (96 * freedom ** 2))) ** 2
            elif not weak:
                limit = math.inf
            least, _, at = min((self.clarity(parts, i, prior), self.avoided_in_all(parts[i], parts[i + 1]), i)
                               for i in range(len(parts) - 1))
            if least >= limit:
                break
            self.join(parts, at)
        return parts

    @staticmethod
    def join(parts, at):
        parts[at:at + 2] = [(parts[at][0], parts[at + 1][1])]

    # ---- the parts ----

    def within(self, part, prior):
        parts = self.prune(self.nearest(*part), prior, True)
        if len(parts) == 1:
            return parts
        noise = [self.noise(k, parts, prior) for k in range(len(self.series))]
        return [found for inner in parts for found in self.within(inner, noise)]

    def join_transitions(self, parts, most):
        at = 1
        while at < len(parts) - 1:
            a, part, b = parts[at - 1:at + 2]
            if part[1] - part[0] + 1 > most or not self.differ(a, b):
                at += 1
            else:
                self.join(parts, at - 1 if self.avoided_in_all(a, part) <= self.avoided_in_all(part, b) else at)

    def parts(self, is_over=True):
        parts = self.within((0, self.slices - 1), None)
        self.join_transitions(parts, 1)
        parts, at = self.prune(parts, None, False), 0
        while len(parts) > 1 and self.is_short(parts[0]):
            self.join(parts, 0)
        while is_over and len(parts) > 1 and self.is_short(parts[-1]):
            self.join(parts, len(parts) - 2)
        self.join_transitions(parts, STAY - 1)
        while at < len(parts) - 1:
            if self.differ(parts[at], parts[at + 1]):
                at += 1
            else:
                self.join(parts, at)
        self.maybe = list(parts)  # more, which were clear while transitions were parts of their own
        return self.prune(parts, None, False)

#!/usr/bin/env python3
"""compare: a capture, and a session that a relay has, as sides of `sillage compare`.

Goal    Either is compared as a trace is, with every option (tests/reference/compare_sides.py): a relay as
        the trace that was played into it, a capture as what babeltrace2 prints of it says.
Method  A real lttng-relayd; `live` makes the capture.

usage: compare.py SILLAGE APP DATA [x NAME]
"""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'reference'))
from ranges import served  # noqa: E402  (before captures, which knows another one)
import captures  # noqa: E402
import compare_sides as sides  # noqa: E402
import peer  # noqa: E402

TRACE = os.path.join('lost-events', 'kernel')


def check(t, side, trace):
    """@trace: what the side is as a directory.  JSON of it is compared as the side is."""
    good, mine = os.path.join(t.scratch, 'good.json'), os.path.join(t.scratch, 'mine.json')
    try:
        sides.json_of(t.sillage, os.path.join(t.data, 'burst', 'kernel'), good)
        span = sides.json_of(t.sillage, trace, mine)
        body = sides.Run(t.sillage, ['-f', 'json', '-a', sides.ANALYSES, mine, good]).body
        sides.check_side(t.sillage, side, good, t.scratch, span, body)
    except sides.Failure as failure:
        raise AssertionError(str(failure)) from failure


def test_relay(t):
    url, path = served(t, TRACE, 'compared')
    check(t, sides.Side(sides.TRACE, 'a relay', url), path)


def test_capture(t):
    relay, into = t.relay(), os.path.join(t.scratch, 'captures')
    live = t.live('-a', 'count', '-i', '10ms', '--from', 'beginning', '--trigger', 'count.events > 0', '--on-trigger', 'capture',
                  '--history', '10s', '--after', '10s', '--capture-dir', into, relay.live)
    t.play(live, relay, TRACE, '--session', 'compared', '--hostname', 'h', '--speed', '0')
    capture = captures.captured(captures.finished(live))[0]
    # It has all of the trace, so the trace says what it is to be.
    assert len(captures.babeltrace(capture['path'], is_whole=False)) == \
        len(captures.babeltrace(os.path.join(t.data, TRACE), is_whole=False)) > 10000
    check(t, sides.Side(sides.TRACE, 'a capture', capture['path']), os.path.join(t.data, TRACE))


if __name__ == '__main__':
    sys.exit(peer.main(globals()))

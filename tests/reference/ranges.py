#!/usr/bin/env python3
"""ranges: report --max-memory.

Goal    A trace that fits is reported as without the option.  Of one that does not, ranges are
        explained: in order of time, apart from each other, the longest wait among them, and each
        report is the one that --begin and --end give.
Method  A small bound makes ranges of an ordinary trace.

usage: ranges.py SILLAGE TRACE...
"""
import json
import os
import re
import subprocess
import sys
import tempfile

JOB = ('--job', 'sched_in; sched_out', '--deadline', '1ms')


def run(sillage, *args, status=0):
    done = subprocess.run([sillage, 'report', *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.returncode == status, (args, done.returncode, done.stderr.decode())
    return done.stdout.decode(), done.stderr.decode()


def reports(sillage, *args):
    out, said = run(sillage, '-f', 'json', *args)
    return [json.loads(line) for line in out.splitlines()], said


def check_same(sillage, trace):
    for more in ((), JOB):
        for form in ('text', 'json', 'html'):
            assert run(sillage, '-f', form, *more, trace) == run(sillage, '-f', form, '--max-memory', '1G', *more, trace), (form, more)


def check_range(sillage, trace, report, more):
    """Compared with the same range, asked for.  That one is compared with the time before it."""
    (plain,), _ = reports(sillage, '--begin', str(report['begin']), '--end', str(report['end']), *more, trace)
    for key in ('ranges', 'range', 'is_cut', 'changed_at', 'changes'):
        report.pop(key, None)
        plain.pop(key, None)
    # How far a cut report has read is another number.
    report.pop('events'), plain.pop('events')
    assert report == plain, [key for key in plain if plain[key] != report.get(key)]


def check(sillage, trace, size):
    check_same(sillage, trace)
    (whole,), _ = reports(sillage, trace)
    for more in ((), ('--thread', str(whole['waits'][3]['thread']['tid'])), JOB):
        found, said = reports(sillage, '--max-memory', size, *more, trace)
        if '--thread' not in more:
            assert 'too large for --max-memory: %d ranges' % len(found) in said, said
        ranges = found[0]['ranges']
        assert 1 <= len(found) <= len(ranges) <= 5
        assert all(one['begin'] < one['end'] and one['why'] for one in ranges)
        assert all(a['end'] <= b['begin'] for a, b in zip(ranges, ranges[1:])), ranges
        for one in found:
            assert one['ranges'] == ranges
            wanted = ranges[one['range']]
            assert one['begin'] == max(wanted['begin'], whole['begin']), (one['begin'], wanted)
            assert one['end'] <= wanted['end'] and (one.get('is_cut') or one['end'] == min(wanted['end'], whole['end']))
        if not more:
            longest = next(wait for wait in whole['waits'] if wait['state'] == 'wait')
            assert any(one['begin'] <= longest['end'] <= one['end'] for one in ranges), (longest, ranges)
        for one in found:
            check_range(sillage, trace, one, more)
    text, _ = run(sillage, '--max-memory', size, trace)
    assert re.findall(r'^range (\d) of (\d): \S', text, re.M) == [(str(i + 1), str(len(ranges))) for i in range(len(ranges))] or more
    with tempfile.TemporaryDirectory(prefix='sillage-ranges-') as scratch:
        page = os.path.join(scratch, 'page.html')
        run(sillage, '--max-memory', size, '-f', 'html', '-o', page, trace)
        with open(page) as file:
            text = file.read()
        data = json.loads(re.search(r'type="application/json">\n(.*?)\n?</script>', text, re.S).group(1))
        assert len(data) > 1 and all(one['why'] and one['label'] for one in data), len(data)
        assert text.count('<html') == 1
    print('ok ranges: %s' % os.path.basename(os.path.dirname(trace)))


def main():
    sillage, *traces = sys.argv[1:]
    for trace in traces:
        check(sillage, trace, '3M')
    return 0


if __name__ == '__main__':
    sys.exit(main())

#!/usr/bin/env python3
"""synthetic_cases: small made traces with a known answer, and bad ones with a known complaint.

Goal    Each case has its answer to the nanosecond, whatever the cut into chunks.  Each kind of bad
        input gives one clear line and the right exit status.  Each finding of the laws (laws.py)
        is a case here, so that it does not take a lucky seed to find it again.
Method  A trace is written event by event in LTTng's layout (synthetic.py); then sillage runs.  A
        case is a function test_NAME(scratch) in one of MODULES.

usage: synthetic_cases.py SILLAGE [NAME...]
"""
import os
import resource
import shutil
import sys
import tempfile
import traceback

import synthetic
import synthetic_across
import synthetic_arrivals
import synthetic_calls
import synthetic_figures
import synthetic_gaps
import synthetic_holes
import synthetic_input
import synthetic_legal
import synthetic_lives
import synthetic_packets
import synthetic_pairs
import synthetic_pieces
import synthetic_relays
import synthetic_reports
import synthetic_requests
import synthetic_threads
import synthetic_windows
import synthetic_within

MODULES = (synthetic_threads, synthetic_gaps, synthetic_holes, synthetic_figures, synthetic_reports, synthetic_input,
           synthetic_legal, synthetic_windows, synthetic_relays, synthetic_arrivals, synthetic_across, synthetic_pairs, synthetic_requests,
           synthetic_within, synthetic_calls, synthetic_packets, synthetic_lives, synthetic_pieces)


def cases():
    """All cases by their names."""
    return {name[5:]: function for module in MODULES for name, function in vars(module).items()
            if name.startswith('test_')}


def fails(name, function):
    scratch = tempfile.mkdtemp(prefix='sillage-synthetic-')
    try:
        function(scratch)
        print('ok %s' % name)
        return False
    except AssertionError as failure:
        print('not ok %s: %s' % (name, failure))
        return True
    except Exception:  # such as a key that is missing in JSON: the other cases run all the same
        print('not ok %s: %s' % (name, traceback.format_exc()))
        return True
    finally:
        shutil.rmtree(scratch)


def main():
    # Of each run: a loop without end is seen, whatever the load.
    resource.setrlimit(resource.RLIMIT_CPU, (600, 600))
    synthetic.SILLAGE = os.path.abspath(sys.argv[1])
    known = cases()
    names = sys.argv[2:] or sorted(known)
    unknown = [name for name in names if name not in known]
    if unknown:
        sys.exit('synthetic_cases: no case %s' % ', '.join(unknown))
    failed = [name for name in names if fails(name, known[name])]
    print('%s: %d cases, %d failed' % ('not ok' if failed else 'ok', len(names), len(failed)))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())

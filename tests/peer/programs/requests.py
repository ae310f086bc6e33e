#!/usr/bin/python3
"""The requests of requests.c, one after another, by Python's logging.  usage: requests.py LOG REQUESTS

Debian's Python runs it: the agent is a package of Debian."""
import logging
import os
import sys
import time

os.environ['LTTNG_UST_PYTHON_REGISTER_TIMEOUT'] = '1'  # ms, for daemons of all users; it is waited for below

import lttngust  # noqa: E402,F401  pylint: disable=unused-import,import-error

log = logging.getLogger('shop')
log.setLevel(logging.INFO)


def noted(*said):
    before = time.monotonic_ns()
    log.info(*said)
    return before, time.monotonic_ns()


while not logging.getLogger().handlers:  # the agent has not heard yet what is recorded
    time.sleep(0.01)
print('ready', flush=True)
sys.stdin.read()
with open(sys.argv[1], 'w', encoding='utf-8') as file:
    for number in range(int(sys.argv[2])):
        kind, status = ('GET', 'PUT')[number % 3 == 0], 503 if number % 5 == 0 else 200
        begin = noted('begin id=%d kind=%s', number, kind)
        time.sleep(0.0003)
        print(number, kind, status, *begin, *noted('end id=%d status=%d', number, status), file=file)

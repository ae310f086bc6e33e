#!/usr/bin/env python3
"""server_faults: a store in ClickHouse as what else it is used for, and what goes wrong with it.

Goal    A database, and a range of it, are sides of `sillage compare` as a trace is.
Method  Debian's clickhouse-server, as server.py starts it.  Skipped where there is none.

usage: server_faults.py SILLAGE DATA
"""
import os
import shutil
import sys
import tempfile

import server
from server import fail, run

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'reference'))
import compare_sides as sides  # noqa: E402


class Test:
    def __init__(self, sillage, data, scratch):
        self.sillage, self.data, self.scratch = sillage, data, scratch
        self.server = server.Server(os.path.join(scratch, 'server'))

    def check_compare(self):
        """All options of compare, with a database as a side."""
        trace, other = (os.path.join(self.data, name, 'kernel') for name in ('lost-events', 'burst'))
        good, mine = (os.path.join(self.scratch, name) for name in ('good.json', 'mine.json'))
        url = self.server.url('compared')
        code, _, said = run(self.sillage, 'analyze', '-q', '-a', sides.ANALYSES, '-i', '10ms', '-o', os.devnull, '--store', url, trace)
        if code != 0:
            fail('compare: exit %d, %s' % (code, said))
        try:
            sides.json_of(self.sillage, other, good)
            span = sides.json_of(self.sillage, trace, mine)
            body = sides.Run(self.sillage, ['-f', 'json', '-a', sides.ANALYSES, mine, good]).body
            sides.check_side(self.sillage, sides.Side(sides.STORE, 'ClickHouse', url), good, self.scratch, span, body)
        except sides.Failure as failure:
            fail('compare: %s' % failure)


def main():
    if not shutil.which('clickhouse-server'):
        print('# clickhouse-server is not installed')
        raise SystemExit(77)
    with tempfile.TemporaryDirectory(prefix='sillage-store-') as scratch:
        os.environ['XDG_STATE_HOME'] = os.path.join(scratch, 'own')
        test = Test(*sys.argv[1:3], scratch)
        try:
            for check in (test.check_compare,):
                check()
                print('ok', check.__name__[6:], flush=True)
        finally:
            test.server.kill()


if __name__ == '__main__':
    main()

#!/usr/bin/env python3
"""lies: a server whose answers say more than is true, or are not those of a ClickHouse server.

Goal    "stored" is said of windows that the server has.  A status of 200 with nothing, a page, an error in text or
        in a header, a server that takes rows and drops them (all, or those of one table): `analyze --store` says
        it, and either ends or has all windows in the spool; none counts as stored.
        A proxy that the environment names is not used; the one of `proxy=` is.
Method  A small server, whose answer to each statement is made by a function.

usage: lies.py SILLAGE TRACE
"""
import http.server
import os
import re
import subprocess
import sys
import tempfile
import threading

MEMORY = 'Code: 241, e.displayText() = DB::Exception: Memory limit (total) exceeded, e.what() = DB::Exception'


class Honest:
    """A server that has all tables, all columns that it was told of, and all rows but those of table @lost."""

    def __init__(self):
        self.columns, self.version = set(), '0'  # of all tables: a superset is enough; of the schema

    def answer(self, statement, lost=None):
        if statement.startswith('INSERT INTO `store`'):
            self.version = statement.split()[-1]
        if is_insert(statement):
            return ''
        if statement.startswith(('CREATE', 'ALTER')):
            self.columns |= set(re.findall(r'\w+', statement))
        if 'FROM system.tables' in statement:
            return 'store\n+ %d\n' % (int(re.search(r'toString\((\d+) \+ 1\)', statement).group(1)) + 1)
        if 'FROM `store`' in statement:
            return '1000\n' if lost == 'version' else self.version + '\n'
        if 'FROM system.columns' in statement:
            return ''.join(name + '\n' for name in self.columns)
        return ''.join('%s\t%d\n' % (name, name != lost) for name in re.findall(r"SELECT '(\w+)', count", statement) if lost != 'all')


def is_insert(statement):
    return statement.startswith('INSERT')


# name: what is answered by one that could be honest to a statement: status, body, headers; and a word of what is said.
LIES = {
    'nothing': (lambda *_: (200, '', {}), 'does not answer as a ClickHouse server'),
    'page': (lambda *_: (200, '<html><body>Sign in\tplease</body></html>\n' * 3, {}), 'does not answer as a ClickHouse server'),
    'error': (lambda *_: (500, MEMORY, {}), 'Memory limit'),
    'proxy': (lambda *_: (502, '<html>Bad Gateway</html>', {}), '502'),
    'redirect': (lambda *_: (302, '', {'Location': 'http://127.0.0.1:1/'}), '302'),
    'endless': (lambda *_: (200, 'x' * (17 << 20), {}), 'too long'),
    'newer': (lambda honest, s: (200, honest(s, 'version'), {}), 'newer sillage'),
    'text': (lambda honest, s: (200, MEMORY if is_insert(s) else honest(s), {}), 'Memory limit'),
    'header': (lambda honest, s: (200, '' if is_insert(s) else honest(s), {'x-clickhouse-exception-code': '60'} if is_insert(s) else {}), 'error'),
    'all dropped': (lambda honest, s: (200, honest(s, 'all'), {}), 'does not have them'),
    'heads dropped': (lambda honest, s: (200, honest(s, 'windows'), {}), 'rows of windows'),
    'names dropped': (lambda honest, s: (200, honest(s, 'traces'), {}), 'rows of traces'),
    'rows dropped': (lambda honest, s: (200, honest(s, 'cpu_cpus'), {}), 'rows of cpu_cpus'),
}


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, answer):
        super().__init__(('127.0.0.1', 0), Handler)
        self.answer, self.seen, self.honest = answer, [], Honest()
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    def close(self):
        self.shutdown()
        self.server_close()

    def handle_error(self, *_):
        """A client that goes is nothing to say."""

    def url(self, options=''):
        return 'clickhouse://u:p@127.0.0.1:%d/s?timeout=30s%s' % (self.server_address[1], options)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    wbufsize = 1 << 20

    def do_POST(self):
        statement = self.rfile.read(int(self.headers['Content-Length'])).decode('utf-8', 'replace')
        self.server.seen.append(statement)
        status, body, headers = self.server.answer(self.server.honest.answer, statement)
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())
        self.wfile.flush()

    def log_message(self, *_):
        pass


class Test:
    def __init__(self, sillage, trace, scratch):
        self.sillage, self.trace, self.scratch = os.path.abspath(sillage), trace, scratch
        os.environ['XDG_STATE_HOME'] = scratch

    def analyze(self, url, env=None):
        done = subprocess.run([self.sillage, 'analyze', '-v', '-a', 'cpu', '-i', '100ms', '-o', os.devnull, '--store', url, self.trace],
                              stderr=subprocess.PIPE, env=dict(os.environ, **(env or {})), check=False)
        return done.returncode, done.stderr.decode(errors='replace')

    def check_lies(self):
        for name, (answer, word) in LIES.items():
            server = Server(answer)
            status, said = self.analyze(server.url())
            account = re.search(r'(\d+) windows closed, (\d+) stored with \d+ rows, (\d+) spooled', said)
            waits = account and account.group(1) == account.group(3) and account.group(2) == '0'
            if word not in said or not (waits if status == 0 else status in (1, 2) and not account):
                yield '%s: status %d: %s' % (name, status, said)
            server.close()

    def check_truth(self):
        server = Server(lambda honest, s: (200, honest(s), {}))
        status, said = self.analyze(server.url())
        closed = re.search(r'(\d+) windows closed, (\d+) stored', said)
        if status != 0 or not closed or closed.group(1) != closed.group(2) or closed.group(1) == '0':
            yield 'an honest server: status %d: %s' % (status, said)
        elif not any(is_insert(one) for one in server.seen):
            yield 'an honest server got no rows'

    def check_proxy(self):
        server, proxy = Server(lambda honest, s: (200, honest(s), {})), Server(lambda honest, s: (200, honest(s), {}))
        address = 'http://127.0.0.1:%d' % proxy.server_address[1]
        for env, option, through in (({'http_proxy': address, 'ALL_PROXY': address}, '', False), ({}, '&proxy=' + address, True)):
            status, said = self.analyze(server.url(option), env)
            if status != 0 or bool(proxy.seen) != through or bool(server.seen) == through:
                yield 'proxy %s: status %d: %s' % (option, status, said)
            server.seen.clear()
            proxy.seen.clear()


def main():
    with tempfile.TemporaryDirectory() as scratch:
        test = Test(*sys.argv[1:3], scratch)
        wrong = [*test.check_truth(), *test.check_lies(), *test.check_proxy()]
    print('\n'.join(wrong) or 'ok %d lies' % len(LIES))
    sys.exit(1 if wrong else 0)


if __name__ == '__main__':
    main()

#!/usr/bin/env python3
"""tidy: the rules of the house that a compiler does not check.

It prints figures of the structure and fails beyond their bounds:

  rooms       a folder holds few modules; includes point one way; there is no circle
  names       a public function's name starts with a word of its file, or with its room
  headers     a .c file with public functions has a header; both open with a comment
  waits       what could wait deaf to a signal is called in one place
  streams     what others named reaches a terminal by way of the filters (text/plain.h) alone
  contract    the three headers of an analysis are short, and its descriptor has few hooks
  functions   lengths; assertions for each function where state is merged and decoded
  prose       width of documents, comments and meson.build; cited documents exist; no dropped word
  the rest    no trailing blanks, no path of one machine, nothing binary but what tests read, and
              the form of Debian 12's clang-format (14)

usage: tidy.py ROOT
"""
import collections
import os
import re
import shutil
import subprocess
import sys

CTF = ('ctf/metadata/', 'ctf/plan/', 'ctf/')
CONTRACT = ('engine/contract/',)
# What each room may include beside itself; a name that ends in / is a room, others are files.
ROOMS = {
    'src/base': ('base/text/', 'base/probes/', 'version.h'),
    'src/base/probes': (),
    'src/base/page': (),
    'src/base/text': (),
    'src/base/process': ('base/',),
    'src/text': ('base/', 'base/text/'),
    'src/settings': ('base/', 'base/process/line.h'),
    'src/ctf/metadata': ('base/',),
    'src/ctf/plan': ('base/', 'ctf/metadata/'),
    'src/ctf': ('base/', 'ctf/metadata/', 'ctf/plan/'),
    'src/kernel': ('base/',) + CTF,
    'src/query/keys': ('base/',),
    'src/query': ('query/keys/', 'base/', 'base/text/', 'base/process/', 'kernel/perf-names.h', 'kernel/thread-list.h') + CTF,
    'src/query/diff': ('base/', 'query/') + CTF,
    'src/history': ('base/',) + CTF,
    'src/containers': ('base/', 'base/process/'),
    # It knows no tracefs, file or socket; host does.
    'src/ftrace': ('base/',),
    'src/ftrace/host': ('base/', 'base/process/', 'containers/', 'ftrace/'),
    'src/engine/contract': ('base/', 'base/text/', 'kernel/', 'query/', 'history/') + CTF,
    'src/engine/worker': ('base/', 'kernel/', 'query/fields.h') + CTF + CONTRACT,
    'src/engine/tables': ('base/', 'kernel/',) + CONTRACT,
    # A pool runs any job, and knows none of the engine.
    'src/engine/merger': ('base/', 'ctf/coverage.h', 'kernel/', 'engine/tables/', 'engine/pool.h', 'engine/stats.h')
                         + CONTRACT,
    'src/engine': ('base/', 'base/process/', 'history/', 'kernel/', 'engine/worker/', 'engine/tables/',
                   'engine/merger/') + CTF + CONTRACT,
    'src/engine/exchange': ('base/', 'base/process/', 'engine/', 'engine/tables/', 'engine/merger/') + CONTRACT,
    'analyses': ('base/', 'kernel/', 'query/', 'analyses.inc') + CONTRACT,
    'analyses/block': ('base/',) + CONTRACT,
    'analyses/calls': ('symbols/', 'analyses/counters/', 'analyses/labels/', 'base/', 'query/') + CTF + CONTRACT,
    'analyses/files': ('base/', 'kernel/') + CONTRACT,
    'analyses/labels': ('base/', 'query/') + CONTRACT,
    'analyses/counters': ('analyses/labels/', 'base/', 'query/', 'query/diff/') + CONTRACT,
    'analyses/jobs': ('analyses/counters/', 'analyses/labels/', 'base/', 'kernel/', 'query/') + CONTRACT,
    'analyses/periods': ('analyses/counters/', 'analyses/labels/', 'base/', 'query/') + CONTRACT,
    'analyses/power': ('base/',) + CONTRACT,
    'analyses/preempt': ('base/', 'kernel/') + CONTRACT,
    'analyses/state': ('analyses/call-name.h', 'analyses/files/', 'analyses/wakes.h', 'base/', 'kernel/') + CONTRACT,
    'src/tracedat': ('base/', 'base/process/', 'ftrace/'),
    # What becomes one file, and names without meaning: neither knows who asks.
    'src/pack': ('base/', 'base/process/'),
    'src/anonymous': ('base/',) + CTF,
    'src/recorded': ('base/', 'base/process/', 'pack/', 'kernel/perf-names.h', 'engine/', 'tracedat/') + CTF + CONTRACT,
    # What is read from the middle on; its file is made whole as an output is.
    'src/index': ('base/', 'base/process/', 'query/period.h', 'engine/', 'engine/exchange/', 'engine/tables/report.h', 'engine/tables/selection.h', 'recorded/') + CTF + CONTRACT,
    'src/deep': ('base/', 'kernel/', 'recorded/') + CTF,
    'src/deep/executions': ('base/', 'kernel/', 'query/', 'query/diff/', 'recorded/', 'deep/') + CTF,
    'src/deep/resources': ('base/', 'kernel/', 'deep/', 'deep/executions/') + CTF,
    'src/deep/report': ('base/', 'recorded/recorded.h', 'text/', 'base/page/', 'deep/', 'deep/executions/', 'deep/resources/') + CTF,
    'src/discovery': ('base/', 'text/', 'kernel/', 'query/', 'deep/', 'recorded/') + CTF,
    'src/phases': ('base/', 'kernel/thread-list.h', 'text/', 'base/page/', 'engine/tables/', 'phases/cut/') + CONTRACT,
    'src/phases/cut': ('base/', 'engine/tables/') + CONTRACT,
    'src/figure': ('base/', 'base/text/', 'query/scan.h', 'query/nearest.h', 'engine/tables/', 'phases/') + CONTRACT,
    'src/rollup': ('base/', 'kernel/', 'engine/tables/') + CONTRACT,
    'src/csv': ('base/', 'figure/by-name.h'),
    'src/output': ('csv/', 'base/', 'base/process/', 'kernel/', 'base/text/', 'text/', 'engine/', 'engine/tables/', 'figure/', 'phases/', 'version.h') + CONTRACT,
    'src/output/screen': ('base/', 'base/text/', 'text/', 'output/', 'engine/tables/') + CONTRACT,
    'relay': ('base/',),
    'src/trigger': ('rollup/', 'base/', 'base/process/', 'base/text/', 'settings/', 'figure/', 'output/', 'engine/tables/', 'phases/') + CONTRACT,
    'src/capture': ('base/', 'base/process/', 'history/', 'output/', 'version.h') + CTF,
    'src/publish': ('base/', 'base/process/', 'relay/'),
    'src/replay': ('base/', 'base/process/', 'relay/', 'publish/', 'recorded/', 'output/plain-name.h') + CTF,
    'live/session': ('rollup/', 'base/', 'base/process/', 'relay/', 'history/', 'output/', 'engine/', 'engine/exchange/',
                     'phases/') + CTF + CONTRACT,
    'live/metrics': ('base/', 'base/text/', 'output/', 'engine/tables/', 'prometheus.pb-c.h', 'version.h') + CONTRACT,
    'src/server': ('base/', 'base/process/', 'settings/'),
    # It prints nothing and runs nothing: it is given what commands print.
    'src/api': ('base/', 'base/text/', 'base/process/line.h', 'version.h'),
    # Whatever is of a trace is computed in another process.
    'src/serve': ('api/', 'base/', 'base/page/', 'base/process/', 'server/', 'version.h'),
    'live/web': ('base/', 'base/process/', 'server/', 'output/', 'engine/tables/') + CONTRACT,
    'live': ('rollup/', 'base/', 'base/process/', 'query/', 'relay/', 'history/', 'output/', 'engine/', 'engine/tables/',
             'engine/exchange/', 'phases/', 'trigger/', 'capture/', 'live/session/', 'live/metrics/', 'live/web/', 'server/',
             'setup/runner.h', 'version.h') + CTF + CONTRACT,
    # It follows a relay too, with loops of its own, and stores what comes.
    'src/fetch': ('base/', 'text/', 'base/text/', 'base/process/', 'relay/', 'recorded/', 'output/plain-name.h', 'live/loop.h',
                  'live/session/') + CTF,
    # Files are read, and no trace: it is told what one says.
    'src/symbols': ('base/', 'base/process/', 'ctf/metadata/', 'ctf/plan/', 'ctf/decoder.h'),
    'src/perfetto': ('symbols/', 'analyses/calls/', 'base/', 'base/text/', 'ctf/metadata/', 'kernel/', 'query/', 'deep/', 'deep/report/', 'engine/pool.h', 'engine/tables/',
                     'output/', 'perfetto.pb-c.h') + CONTRACT,
    'src/folded': ('symbols/', 'base/', 'base/text/', 'deep/', 'perfetto/user-spans.h', 'perfetto/trace.h') + CTF,
    'src/store': ('rollup/', 'base/', 'base/process/', 'output/', 'phases/', 'engine/', 'engine/tables/', 'store/rows/', 'store/sqlite/', 'store/clickhouse/') + CONTRACT,
    'src/store/rows': ('rollup/', 'base/', 'output/', 'phases/', 'engine/', 'engine/tables/') + CONTRACT,
    'src/store/sqlite': ('base/', 'engine/tables/', 'store/rows/') + CONTRACT,
    'src/store/clickhouse': ('base/', 'base/process/', 'engine/tables/', 'store/rows/', 'store/sqlite/') + CONTRACT,
    'src/compare': ('base/', 'base/process/line.h', 'text/', 'base/page/', 'figure/', 'kernel/', 'output/', 'phases/phase-line.h', 'engine/tables/', 'version.h') + CONTRACT,
    'src/fleet': ('rollup/', 'base/', 'text/', 'figure/', 'output/', 'engine/', 'engine/tables/', 'trigger/') + CONTRACT,
    'src/setup': ('base/', 'base/process/', 'text/', 'engine/worker/') + CTF + CONTRACT,
    'src/watch': ('base/', 'base/process/', 'setup/'),
    'src/options': ('base/', 'base/text/', 'text/plain.h', 'base/process/', 'query/', 'figure/', 'phases/cut/partition.h', 'engine/tables/') + CONTRACT,
    'src/baseline': ('rollup/', 'base/', 'base/process/', 'options/', 'output/', 'store/', 'trigger/', 'compare/') + CONTRACT,
    # What the runs of commands share: it knows sources and outputs, and no command.
    'src/run': ('base/', 'base/process/', 'containers/host-names.h', 'text/', 'options/', 'baseline/', 'ctf/metadata/', 'query/', 'recorded/', 'discovery/', 'engine/',
                'figure/', 'engine/exchange/', 'engine/tables/', 'output/', 'relay/', 'store/', 'trigger/', 'fetch/', 'live/control.h', 'live/loop.h') + CONTRACT,
    'src/stored': ('rollup/', 'base/', 'baseline/baseline.h', 'options/', 'run/', 'engine/', 'engine/tables/', 'output/', 'store/', 'store/rows/', 'trigger/',
                   'fleet/', 'text/', 'base/text/') + CONTRACT,
    'src/browse': ('rollup/', 'base/', 'base/process/', 'options/', 'run/', 'stored/', 'engine/', 'engine/tables/', 'output/',
                   'output/screen/', 'query/', 'store/') + CONTRACT,
    'src/cmd/compare': None,
    'src/cmd/found': None,
    'src/cmd/pack': None,
    'src/cmd/ranges': None,
    'src/cmd/record': None,
    'src/cmd/report': None,
    'src/cmd/serve': None,
    'src/cmd/setup': None,
    'src/cmd/top': None,
    'src/cmd': None,  # all
    'src': None,
}
# Files whose directions are narrower than their room's.
NARROWER = {'src/engine/pool.c': ('base/', 'base/process/', 'engine/pool.h'), 'src/engine/pool.h': ('base/',)}
# Never, wherever it stands: (a file that matches, must not include what matches, why).
NEVER = (
    (r'(src/(?!cmd/|fetch/|serve/|server/|output/screen/)|relay/|analyses/)', r'event2/',
     'libevent lives in live/, src/server, src/serve and src/fetch only'),
    (r'(?!src/output/screen/)', r'(curses|ncurses)', 'only the screen knows the terminal'),
    (r'(?!src/store/)', r'sqlite3', 'only the store knows its database'),
    (r'(?!src/store/clickhouse/)', r'curl/', 'only stores on a server know HTTP'),
    (r'(?!src/pack/)', r'archive', 'only packs know the form of archives'),
    (r'(?!src/base/probe)', r'lttng/', "only the probes know LTTng-UST's headers"),
)
# Headers of one room alone, and of the rooms inside it: how a thing is made.  Who else may see one, and why.
PRIVATE = re.compile(r'.*-(?:state|parts)\.h')
FRIENDS = {('src/engine/exchange', 'engine/merger/merger-state.h'): 'checkpoints and partials of the merger'}
# Headers that are included several times.
READ_AGAIN = ('src/base/probes/probe-points.h', 'tests/peer/app-tracepoints.h', 'tests/peer/shop-tracepoints.h')
# Functions whose names are given from outside, with the reason.
NAMES_GIVEN = {'main': 'by C', 'LLVMFuzzerTestOneInput': 'by libFuzzer', 'say': 'the program speaks'}
MODULES_MAX = 16
FUNCTION_LINES_MAX, FUNCTION_P90_MAX, FUNCTION_MEDIAN_MAX = 70, 40, 12
FILE_LINES_MAX = 650
FOREIGN_NAMES_MAX = 0.05
# The contract of an analysis: what it reports, what it needs recorded, the analysis.
CONTRACT_HEADERS = tuple('src/engine/contract/%s.h' % name for name in ('report-shape', 'need', 'analysis'))
CONTRACT_LINES_MAX, HOOKS_MAX = 150, 20
ASSERTIONS_MIN = {'src/engine': 0.3, 'src/ctf': 0.3, 'src/store': 0.15, 'live': 0.15, 'src/cmd': 0.15, 'src/fleet': 0.15,
                  'src/perfetto': 0.15, 'src/output': 0.15, 'src/stored': 0.15, 'src/run': 0.15, 'src/browse': 0.15,
                  'src/baseline': 0.15, 'src/fetch': 0.15, 'src/replay': 0.15,
                  'src/publish': 0.15}
# Static functions whose names stand in several files: no more than so many names.
STATIC_NAMES_MAX = 480
PROSE_WIDTH = 100
BINARY = ('tests/data/', 'tests/fuzz/corpus/', 'doc/pictures/report.png')
MACHINE = re.compile(r'(^|[^\w.])/(root|work)/')
# Words that this house dropped (left: the field's word).
DROPPED = {
    r'\banew\b': 'again, rebuilt', r'lines? of cache': 'cache line', r'asked for ahead': 'prefetched',
    r"anybody's": 'untrusted', r"nobody's": 'of an unknown thread', r'\bseams?\b': 'CPU stitching',
    r'\blanes? of\b': 'accumulator', r'\bshelf\b': 'partial cache', r'\bmap side\b': "worker's half",
    r'\bmerge side\b': "merger's half", r'\brolling state\b': 'checkpoint',
    r'analyses reference': 'doc/definitions.md',
}
SOURCES = ('src/', 'relay/', 'live/', 'analyses/')


def room_of(path):
    folder = os.path.dirname(path)
    while folder and folder not in ROOMS:
        folder = os.path.dirname(folder)
    return folder


def include_name(path):
    return path[4:] if path.startswith('src/') else path


def comments_of(text):
    return re.findall(r'/\*.*?\*/', text, re.S)


# ---- waits ----

# Calls that wait without a look at a signal: (the call, where it may stand, what makes it harmless).
WAITS = (
    (r'(?<![\w>.])(?:open|openat)\(', 'src/base/process/foreign.c', r'O_(?:DIRECTORY|TMPFILE|EXCL|RDWR|NONBLOCK)|"/dev/null"'),
    (r'\bf(?:re)?open\(', 'src/base/process/foreign.c', r'"wx'),
    (r'\bgetaddrinfo\(', 'src/base/process/lookup.c', None),
    (r'\bwait(?:pid|id|3|4)?\((?:-?\d|P_|\w+->pid|pid)', 'src/base/process/child.c', None),
    (r'\bpthread_(?:\w*join\w*)\(', 'src/base/process/thread.c', None),
    (r'\bsqlite3_(?:open\w*|busy_\w+|progress_handler)\(', 'src/store/sqlite/sqlite.c', None),
    (r'\bflock\(', None, 'LOCK_NB'),
    (r'\beasy_perform\b', None, None),
    (r'\b(?:system|popen|sleep|sem_wait|sigwait|lockf)\(', None, None),
)


def code_of(text):
    """Without comments and texts, which are blanks."""
    return re.sub(r'/\*.*?\*/|"[^"\n]*"', lambda found: re.sub(r'[^\n]', ' ', found.group(0)), text, flags=re.S)


def check_waits(path, text):
    plain = code_of(text)
    for call, place, harmless in WAITS:
        for found in re.finditer(call, plain):
            statement = text[found.start():text.find(';', found.start())]
            if path != place and not (harmless and re.search(harmless, statement)):
                yield 'line %d: %s) may wait, and hears no signal%s' % (
                    plain.count('\n', 0, found.start()) + 1, found.group(0), ': see ' + place if place else '')


# ---- streams ----

# Who may write to standard output and error: what it writes there is filtered, or no other's text.
STREAMS = {
    'src/text/plain.c', 'src/run/say.c', 'src/output/screen/screen.c', 'src/cmd/triggers.c', 'src/cmd/list.c',
    'src/cmd/capture.c', 'src/cmd/index-tiles.c', 'src/options/options-model.c',  # filters
    'src/base/mem.c', 'src/main.c', 'src/cmd/cmd.c', 'src/cmd/lami.c', 'src/cmd/serve/answer.c', 'src/cmd/serve/api.c',
    'src/cmd/serve/serve.c', 'src/cmd/setup/rate.c', 'src/options/options-custom.c',  # texts of our own
    'src/cmd/setup/setup.c', 'src/watch/watch.c',  # commands, quoted for a shell
}


def check_streams(path, text):
    plain = code_of(text)
    for found in re.finditer(r'\b(?:stdout|stderr)\b|(?<!\w)(?:v?printf|puts|putchar|perror)\(', plain):
        if path not in STREAMS:
            yield 'line %d: %s reaches the terminal beside the filters: see src/text/plain.h' % (
                plain.count('\n', 0, found.start()) + 1, found.group(0).rstrip('('))


# ---- includes ----

def may_include(path, included):
    room = room_of(path)
    allowed = NARROWER.get(path, ROOMS.get(room))
    if allowed is None:
        return True
    own = include_name(room) + '/'
    for name in allowed + (() if path in NARROWER else (own,)):
        if included == name:
            return True
        # A room's name stands for its files, not for the rooms inside it.
        if name.endswith('/') and included.startswith(name):
            inner = [include_name(other) + '/' for other in ROOMS
                     if include_name(other).startswith(name) and include_name(other) + '/' != name]
            if not any(included.startswith(other) for other in inner):
                return True
    return False


def check_includes(path, text):
    for number, line in enumerate(text.split('\n'), 1):
        found = re.match(r'#include (["<])(.*)[">]', line)
        if not found:
            continue
        if found.group(1) == '"' and room_of(path) in ROOMS and not may_include(path, found.group(2)):
            yield 'line %d: %s may not include %s' % (number, room_of(path), found.group(2))
        for who, what, why in NEVER:
            if re.match(who, path) and re.match(what, found.group(2)) and path.startswith(SOURCES):
                yield 'line %d: %s' % (number, why)


def is_private_elsewhere(path, included, sources):
    """A header that is not a module's own: no source file has its name."""
    full = next((way + included for way in ('', 'src/') if way + included in sources), None)
    if not full or not PRIVATE.fullmatch(included) or full[:-1] + 'c' in sources:
        return False
    home = room_of(full)
    return not (room_of(path) + '/').startswith(home + '/') and (room_of(path), included) not in FRIENDS


def check_private(sources):
    for path, text in sources.items():
        for included in re.findall(r'#include "(.*)"', text):
            if is_private_elsewhere(path, included, sources):
                yield '%s: %s belongs to its room' % (path, included)


def names_twice(sources, functions):
    """Public functions and tags stand in one file each; of static functions the names are counted."""
    public, static, tags = (collections.defaultdict(set) for _ in range(3))
    for path, ones in functions.items():
        for one in ones:
            (static if one.is_static else public)[one.name].add(path)
        for tag in re.findall(r'^(?:typedef )?((?:struct|union|enum) \w+) \{', sources[path], re.M):
            tags[tag].add(path)
    for name, paths in list(public.items()) + list(tags.items()):
        if len(paths) > 1:
            yield '%s stands in %s' % (name, ' and '.join(sorted(paths)))
    several = sum(len(paths) > 1 for paths in static.values())
    print('# names of static functions in several files: %d of %d' % (several, len(static)))
    if several > STATIC_NAMES_MAX:
        yield '%d names of static functions stand in several files, at most %d' % (several, STATIC_NAMES_MAX)


def circles(edges):
    """Rooms that include each other, by way of others or not."""
    reach = {room: set(after) for room, after in edges.items()}
    for middle in reach:
        for room in reach:
            if middle in reach[room]:
                reach[room] |= reach[middle]
    return sorted(room for room in reach if room in reach[room])


def room_graph(sources):
    rooms = {include_name(room): room for room in ROOMS}
    edges = {room: set() for room in ROOMS}
    for path, text in sources.items():
        for included in re.findall(r'#include "(.*)"', text):
            # engine/pool and engine/stats lie below the merger: files, not their room.
            if included in ('engine/pool.h', 'engine/stats.h'):
                continue
            folder = os.path.dirname(included)
            if folder in rooms and rooms[folder] != room_of(path):
                edges[room_of(path)].add(rooms[folder])
    return edges


# ---- the contract ----

def check_contract(sources):
    """The headers that an author reads first; a hook is a function pointer of the descriptor."""
    for path in CONTRACT_HEADERS:
        lines = sources[path].count('\n')
        if lines > CONTRACT_LINES_MAX:
            yield '%s: %d lines of contract, at most %d' % (path, lines, CONTRACT_LINES_MAX)
    descriptor = re.search(r'^struct analysis \{$.*?^\};$', sources[CONTRACT_HEADERS[-1]], re.S | re.M)
    hooks = len(re.findall(r'\(\*\w+\)\(', descriptor.group(0)))
    print('# hooks of an analysis: %d' % hooks)
    if hooks > HOOKS_MAX:
        yield '%s: an analysis has %d hooks, at most %d' % (CONTRACT_HEADERS[-1], hooks, HOOKS_MAX)


# ---- functions ----

Function = collections.namedtuple('Function', 'name, line, lines, is_static, asserts')


def functions_of(text):
    """Definitions in this project's form: their brace stands alone at the start of a line."""
    lines = text.split('\n')
    begin = None
    for number, line in enumerate(lines):
        if line == '{':
            begin = number
        elif line == '}' and begin is not None:
            head = []
            for above in reversed(lines[:begin]):
                if not above.strip() or above[0] in '}#/ *' or above.endswith((';', '*/')):
                    break
                head.insert(0, above.strip())
            found = re.search(r'(\w+)\(', ' '.join(head))
            if found:
                body = '\n'.join(lines[begin:number])
                yield Function(found.group(1), begin + 1, number - begin + 1,
                               head[0].startswith('static'), len(re.findall(r'\bassert(?:_hot)?\(', body)))
            begin = None


def fits_name(path, name):
    """The first word of the file's name, or the room."""
    stem = os.path.splitext(os.path.basename(path))[0]
    room = os.path.basename(os.path.dirname(path))
    words = {stem.split('-')[0], room, room.rstrip('s')}
    return any(name.startswith(word + '_') for word in words) or name in NAMES_GIVEN


def headers_of(sources):
    declared = collections.defaultdict(set)
    for path, text in sources.items():
        if path.endswith('.h'):
            for name in re.findall(r'\b(\w+)\(', text):
                declared[name].add(path)
    return declared


def check_header(path, public, declared):
    """Public functions are declared in a header of the file's own name or of its family."""
    folder, stem = os.path.dirname(path), os.path.splitext(os.path.basename(path))[0]
    family = stem.split('-')[0]
    for function in public:
        if function.name in NAMES_GIVEN or not declared[function.name]:
            continue
        near = [header for header in declared[function.name]
                if os.path.dirname(header) in (folder, 'src/engine/contract')
                and (os.path.basename(header).startswith(family) or os.path.dirname(header) != folder
                     or os.path.basename(header).startswith(os.path.basename(folder)))]
        if not near:
            yield '%s() is declared in %s only' % (function.name, ', '.join(sorted(declared[function.name])))


# ---- text ----

def check_text(path, text):
    if path.endswith(('.c', '.h')) and not text.startswith('/*\n'):
        yield 'does not open with a comment that says what it is'
    if path.endswith('.h') and path not in READ_AGAIN and '\n#pragma once\n' not in text:
        yield 'has no #pragma once behind that comment'
    for number, line in enumerate(text.split('\n'), 1):
        if line != line.rstrip():
            yield 'line %d: trailing blanks' % number
        if MACHINE.search(line):
            yield 'line %d: a path of one machine' % number
    for cited in re.findall(r'\bdoc/[\w.-]+\.(?:md|scd)', text):
        if not os.path.exists(os.path.join(ROOT, cited)):
            yield 'cites %s, which does not exist' % cited
    prose = text if path.endswith(('.md', '.scd')) else '\n'.join(comments_of(text))
    for word, instead in DROPPED.items():
        found = re.search(word, prose)
        if found and not path.endswith(('tidy.py', 'journal.md')):
            yield 'says "%s"; say: %s' % (found.group(0), instead)


def prose_widths(text):
    """(number, width) of each line of a document but tables, code, pictures, and those with a long link."""
    is_code = False
    for number, line in enumerate(text.split('\n'), 1):
        if line.startswith('```'):
            is_code = not is_code
        if not is_code and not line.startswith(('|', '    ', '![', '#', '```')):
            if not re.search(r'\]\(\S{40,}\)|https?://', line):
                yield number, len(line)


def check_width(path, text):
    lines = prose_widths(text) if path.endswith('.md') else ((i, len(line)) for i, line in enumerate(text.split('\n'), 1))
    for number, width in lines:
        if width > PROSE_WIDTH:
            yield 'line %d: %d columns wide, at most %d' % (number, width, PROSE_WIDTH)


def unformatted(names):
    """Files that clang-format would change; other versions than 14 differ in details."""
    version = shutil.which('clang-format') and subprocess.run(
        ['clang-format', '--version'], stdout=subprocess.PIPE).stdout.decode()
    if not version or 'version 14.' not in version:
        print('# no clang-format 14: the form is not checked')
        return
    # All at once: to start it takes longer than a file.
    paths = [path for path in names if not path.endswith('-tracepoints.h') and os.path.exists(os.path.join(ROOT, path))]
    done = subprocess.run(['clang-format', '--dry-run', '-Werror', *paths], cwd=ROOT, stderr=subprocess.PIPE)
    said = {line.split(':')[0] for line in done.stderr.decode(errors='replace').splitlines()}
    found = [path for path in paths if path in said]
    yield from found or (['clang-format'] if done.returncode else [])


def binaries():
    """Those that are not for tests: something that a program made, and left."""
    listed = subprocess.run(['git', '-C', ROOT, 'ls-files', '--eol'], stdout=subprocess.PIPE)
    for line in listed.stdout.decode().splitlines():
        form, path = line.split('\t')
        if form.startswith('i/-text') and not path.startswith(BINARY):
            yield path


# ---- figures ----

def figures(sources, functions):
    """Prints the structure in numbers, and yields what is beyond its bound."""
    modules = collections.defaultdict(set)
    for path in sources:
        modules[room_of(path)].add(os.path.splitext(os.path.basename(path))[0])
    print('# rooms (modules): ' + ', '.join('%s %d' % (room, len(modules[room])) for room in sorted(modules)))
    for room, found in sorted(modules.items()):
        if len(found) > MODULES_MAX:
            yield '%s has %d modules, at most %d' % (room, len(found), MODULES_MAX)
    found = circles(room_graph({path: text for path, text in sources.items() if room_of(path) in ROOMS}))
    print('# circles of rooms: %d' % len(found))
    for room in found:
        yield '%s includes itself by way of other rooms' % room
    public = [(path, one) for path, ones in functions.items() if path.endswith('.c')
              for one in ones if not one.is_static]
    away = ['%s: %s' % (path, one.name) for path, one in public if not fits_name(path, one.name)]
    print('# public functions outside the file that their name says: %d of %d (%.1f %%)'
          % (len(away), len(public), 100 * len(away) / len(public)))
    if len(away) > FOREIGN_NAMES_MAX * len(public):
        yield from ('a name of another file: ' + one for one in away)
    lengths = sorted(one.lines for ones in functions.values() for one in ones)
    median, p90 = lengths[len(lengths) // 2], lengths[len(lengths) * 9 // 10]
    print('# functions: %d, median %d lines, 90th percentile %d, longest %d'
          % (len(lengths), median, p90, lengths[-1]))
    if median > FUNCTION_MEDIAN_MAX or p90 > FUNCTION_P90_MAX:
        yield 'functions are longer than %d, %d lines' % (FUNCTION_MEDIAN_MAX, FUNCTION_P90_MAX)
    for folder, least in ASSERTIONS_MIN.items():
        ones = [one for path, found in functions.items() if path.startswith(folder + '/') for one in found]
        each = sum(one.asserts for one in ones) / max(1, len(ones))
        print('# assertions a function in %s: %.2f' % (folder, each))
        if each < least:
            yield '%s has %.2f assertions a function, at least %.2f' % (folder, each, least)


def main():
    files = subprocess.run(['git', '-C', ROOT, 'ls-files'], stdout=subprocess.PIPE)
    names = files.stdout.decode().split('\n') if files.returncode == 0 else []
    if not names or not names[0]:
        print('skipped: not a git checkout')
        return 77
    texts, bad = {}, []
    for path in names:
        full = os.path.join(ROOT, path)
        if path.endswith(('.c', '.h', '.md', '.scd', 'meson.build')) and os.path.exists(full):
            with open(full) as file:
                texts[path] = file.read()
    sources = {path: text for path, text in texts.items()
               if path.startswith(SOURCES) and path.endswith(('.c', '.h'))}
    functions = {path: list(functions_of(text)) for path, text in sources.items()}
    declared = headers_of(sources)
    for path, text in texts.items():
        bad += ['%s: %s' % (path, one) for one in check_text(path, text)]
        if path.endswith(('.md', 'meson.build')):
            bad += ['%s: %s' % (path, one) for one in check_width(path, text)]
    print('# documents: %d, prose at most %d columns wide' % (
        sum(path.endswith('.md') for path in texts),
        max((width for path, text in texts.items() if path.endswith('.md') for _, width in prose_widths(text)), default=0)))
    for path, text in sources.items():
        complaints = [*check_includes(path, text), *check_waits(path, text), *check_streams(path, text)]
        complaints += ['line %d: a function of %d lines' % (one.line, one.lines)
                       for one in functions[path] if one.lines > FUNCTION_LINES_MAX]
        if text.count('\n') > FILE_LINES_MAX:
            complaints.append('longer than %d lines' % FILE_LINES_MAX)
        if path.endswith('.c'):
            complaints += check_header(path, [one for one in functions[path] if not one.is_static], declared)
        bad += ['%s: %s' % (path, one) for one in complaints]
    bad += check_contract(sources)
    bad += check_private(sources)
    bad += names_twice(sources, functions)
    bad += figures(sources, functions)
    bad += ['%s: not as clang-format has it' % path
            for path in unformatted([path for path in texts if path.endswith(('.c', '.h'))])]
    bad += ['%s: a binary file' % path for path in binaries()]
    for one in bad:
        print(one)
    print('%s tidy: %d files' % ('not ok' if bad else 'ok', len(texts)))
    return 1 if bad else 0


if __name__ == '__main__':
    ROOT = sys.argv[1]
    sys.exit(main())

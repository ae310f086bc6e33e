#!/usr/bin/env python3
"""models_shipped: the models of HIP, QEMU and Valkey that are shipped, on traces of their events that are made here.

No trace of these programs is at hand, so events of the names and fields that the models name are made: a few processes and
ids, in any order.  What each model says stands here once more, as a table for the plain program of models.py.

usage: models_shipped.py SILLAGE MODELS     (also: babeltrace2 in the path)
"""
import os
import random
import sys
import tempfile

import models
import reference
import synthetic

BY_THREAD = [None]


def hip():
    """Events with their fields, labels, periods."""
    tid, pid = ['$tid'], ('vpid', 'vpid')
    instrumenter = [('instrumenter', 'hip_instrumentation:' + name, {}, ['$pid', 'instr'], 'kernel') for name in ('new_instrumenter', 'new_replayer')]
    events = {label[1]: (('u64', 'instr'), ('text', 'kernel')) for label in instrumenter}
    events.update({'hip_instrumentation:kernel_timer_' + edge: (('u64', 'id'), ('text', 'kernel')) for edge in ('begin', 'end')})
    periods = [('kernel', [('hip_instrumentation:kernel_timer_begin', {}), ('hip_instrumentation:kernel_timer_end', {})],
                [[pid, ('id', 'id')]], False, [('kernel', None, ['kernel'])])]
    for name, event, field in (('sync', 'instr_sync', 'inst'), ('record', 'instr_record', 'inst'), ('fetch', 'instr_from_device', 'instr')):
        both = ['hip_instrumentation:%s_%s' % (event, edge) for edge in ('begin', 'end')]
        events.update({one: (('u64', field),) for one in both})
        periods.append((name, [(one, {}) for one in both], [tid + [(field, field)]], False, [('instrumenter', 'instrumenter', [field])]))
    for name, call in (('launch', 'hipLaunchKernel'), ('launch-module', 'hipModuleLaunchKernel'), ('copy', 'hipMemcpy'), ('copy-async', 'hipMemcpyAsync'),
                       ('wait-device', 'hipDeviceSynchronize'), ('wait-stream', 'hipStreamSynchronize'), ('wait-event', 'hipEventSynchronize')):
        both = ['lttng_ust_hip:%s_%s' % (call, edge) for edge in ('entry', 'exit')]
        events.update({one: () for one in both})
        periods.append((name, [(one, {}) for one in both], BY_THREAD, False, []))
    return events, instrumenter, periods


def qemu():
    names = ['qemu:virtio_blk_handle_read', 'qemu:virtio_blk_handle_write', 'qemu:virtio_blk_rw_complete']
    by = [[('vpid', 'vpid'), ('req', 'req')]]
    return {name: (('u64', 'req'),) for name in names}, [], [
        (name, [(names[i], {}), (names[2], {})], by, False, []) for i, name in enumerate(('read', 'write'))]


def valkey():
    command = ['valkey_commands:command_call_entry', 'valkey_commands:command_call']
    events = {name: (('text', 'name'),) for name in command}
    periods = [('command', [(name, {}) for name in command], BY_THREAD, False, [('name', None, ['name'])])]
    for name, end in (('loop', 'server:eventloop'), ('cron', 'server:eventloop_cron'), ('gil', 'server:module_acquire_gil'),
                      ('unblock', 'server:command_unblocking'), ('aof-write', 'aof:aof_write'), ('aof-fsync', 'aof:aof_fsync_always'),
                      ('aof-flush', 'aof:aof_flush'), ('aof-fork', 'aof:fork'), ('rdb-fork', 'rdb:fork')):
        events.update({'valkey_%s%s' % (end, edge): () for edge in ('_entry', '')})
        periods.append((name, [('valkey_%s_entry' % end, {}), ('valkey_' + end, {})], BY_THREAD, False, []))
    return events, [], periods


NAMES = ('vadd', 'vscale', 'get', 'set', 'config|get')


def made_streams(rng, events, count):
    """Two streams; each name of an event comes often enough, and nothing is at one time."""
    ts, streams = 1000000000, [[], []]
    for _ in range(count):
        ts += rng.choice((300, 7000, 60000)) + rng.randrange(300)
        pid, name = rng.choice((10, 20)), rng.choice(list(events))
        values = [rng.choice(NAMES) if kind == 'text' else rng.choice((1, 2, 94511453262464)) for kind, _ in events[name]]
        rng.choice(streams).append(models.made_event(ts, pid, pid + rng.randrange(2), name, *values, events=events))
    return [synthetic.packet(cpu, 0, 1000000000, ts, [one[1] for one in some]) for cpu, some in enumerate(streams)]


def check(sillage, shipped, name, scratch):
    events, labels, periods = {'hip': hip, 'qemu': qemu, 'valkey': valkey}[name]()
    rng = random.Random(name)
    trace = synthetic.Made(scratch, name, made_streams(rng, events, 60 * len(events)), models.made_metadata(events)).path
    plain = models.Plain(labels, periods)
    for ns, event, _, text in reference.events_of(trace):
        plain.event(ns, event, text)
    wanted = plain.shown()
    assert {what.split(' ')[0] for what in wanted} == {period[0] for period in periods}, 'the trace has not all: %s' % sorted(wanted)
    status, out, err = models.run(sillage, 'analyze', '-q', '-f', 'json', '-n', '0', '--model', os.path.join(shipped, name), trace)
    if status or err:
        return ['%s: status %d, says %r' % (name, status, err)]
    total = models.total_in(out)
    print('# %s: %d rows of %d periods, %d ended' % (name, len(wanted), len(periods), total['periods']['ended']))
    if labels and not any(row[0] for row in wanted.values()):
        return ['%s: nothing has a name' % name]
    return models.compared(name, models.ours(total), wanted) + models.counted(name, total['periods'], plain)


def main():
    sillage, shipped = sys.argv[1:3]
    synthetic.SILLAGE = sillage
    # ros2: models.py, with a recorded trace.
    assert sorted(os.listdir(shipped)) == ['hip', 'qemu', 'ros2', 'valkey'], 'a model without a test'
    with tempfile.TemporaryDirectory(prefix='sillage-shipped-') as scratch:
        faults = [fault for name in ('hip', 'qemu', 'valkey') for fault in check(sillage, shipped, name, scratch)]
    print('\n'.join('# ' + fault for fault in faults[:20]))
    print('%s: %d faults' % ('not ok' if faults else 'ok', len(faults)))
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(main())

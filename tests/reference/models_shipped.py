#!/usr/bin/env python3
"""models_shipped: the models that are shipped, on traces of their events that are made here.

No trace of these programs is at hand, so events of the names and fields that the models name are made: a few processes and
ids, in any order.  What each model says stands here once more, as tables for the plain programs of models.py and
calls_plain.py; that of ROS 2, of which a trace is at hand, but of an older version, in models.py.

usage: models_shipped.py SILLAGE MODELS     (also: babeltrace2 in the path)
"""
import os
import random
import struct
import sys
import tempfile

import calls_plain
import models
import reference
import synthetic
from calls_plain import Ask


def hip():
    """Events with their fields, labels, periods, calls."""
    tid = ['$tid']
    instrumenter = [('instrumenter', 'hip_instrumentation:' + name, {}, ['$pid', 'instr'], 'kernel') for name in ('new_instrumenter', 'new_replayer')]
    events = {label[1]: (('u64', 'instr'), ('text', 'kernel')) for label in instrumenter}
    events.update({'hip_instrumentation:kernel_timer_' + edge: (('u64', 'id'), ('text', 'kernel')) for edge in ('begin', 'end')})
    periods = []
    for name, event, field in (('sync', 'instr_sync', 'inst'), ('record', 'instr_record', 'inst'), ('fetch', 'instr_from_device', 'instr')):
        both = ['hip_instrumentation:%s_%s' % (event, edge) for edge in ('begin', 'end')]
        events.update({one: (('u64', field),) for one in both})
        periods.append((name, [(one, {}) for one in both], [tid + [(field, field)]], False, [('instrumenter', 'instrumenter', [field])]))
    for call in 'hipLaunchKernel', 'hipMemcpy', 'hipMemcpyAsync', 'hipEventSynchronize':
        events.update({'lttng_ust_hip:%s_%s' % (call, edge): () for edge in ('entry', 'exit')})
    events['lttng_ust_hip:hipFree_entry'] = ()  # the trace has no exit of it
    return events, instrumenter, periods, [
        Ask('kernel', 'hip_instrumentation:kernel_timer_begin', 'hip_instrumentation:kernel_timer_end', by=[('id', 'id')], group=['kernel']),
        Ask(None, 'lttng_ust_hip:*_entry', 'lttng_ust_hip:*_exit')]


def qemu():
    names = ['qemu:virtio_blk_handle_read', 'qemu:virtio_blk_handle_write', 'qemu:virtio_blk_rw_complete']
    return {name: (('u64', 'req'),) + (('s32', 'ret'),) * (i == 2) for i, name in enumerate(names)}, [], [], [
        Ask(name, names[i], names[2], by=[('req', 'req')]) for i, name in enumerate(('read', 'write'))]


def valkey():
    command = ['valkey_commands:command_call_entry', 'valkey_commands:command_call']
    events = {name: (('text', 'name'),) for name in command}
    for end in ('server:eventloop', 'server:eventloop_cron', 'server:module_acquire_gil', 'aof:aof_write', 'aof:fork', 'rdb:fork', 'db:expire_del',
                'cluster:nodeconf', 'sys:used_memory'):
        events.update({'valkey_%s%s' % (end, edge): (('u64', 'duration'),) * (edge == '') for edge in ('_entry', '')})
    return events, [], [], [Ask('command', *command, group=['name'])] + [
        Ask(None, 'valkey_%s:*_entry' % of, 'valkey_%s:*' % of) for of in ('server', 'cluster', 'db', 'sys', 'aof', 'rdb')]


def zephyr():
    """Of the CTF backend: no contexts, and no name has a provider."""
    of_thread, of_id, result = (('u32', 'thread_id'), ('text', 'name')), (('u32', 'id'),), (('s32', 'result'),)
    events = {'thread_switched_in': of_thread, 'thread_switched_out': of_thread, 'isr_enter': (), 'isr_exit': (), 'isr_exit_to_scheduler': (),
              'idle': ()}
    for of in 'mutex_lock', 'mutex_unlock', 'semaphore_take', 'timer_status_sync':
        events.update({of + '_enter': of_id, of + '_exit': of_id + (('s32', 'ret'),) * (of != 'mutex_unlock')})
    events.update({'mutex_lock_blocking': of_id, 'socket_bind_enter': of_id, 'socket_bind_exit': of_id + result,
                   'net_send_data_enter': (('u32', 'pkt'),), 'net_send_data_exit': (('u32', 'pkt'),) + result})
    by_id, below = [('id', 'id')], ('result', 0)
    return events, [], [], [
        Ask('thread', 'thread_switched_in', 'thread_switched_out', by=[('thread_id', 'thread_id')], group=['name']),
        Ask('isr', 'isr_enter', 'isr_exit*'), Ask('idle', 'idle', 'isr_enter', by=[('$cpu', '$cpu')])] + [
        Ask(None, of + '_*_enter', of + '_*_exit', by=by_id) for of in ('mutex', 'semaphore', 'timer')] + [
        Ask(None, 'socket_*_enter', 'socket_*_exit', by=by_id, error=below),
        Ask(None, 'net_*_enter', 'net_*_exit', by=[('pkt', 'pkt')], error=below)]


def dpdk():
    burst = (('u32', 'port_id'), ('u32', 'queue_id'))
    allocated = (('text', 'type'), ('u64', 'size'), ('u64', 'ptr'))
    events = {'lib.ethdev.rx.burst': burst + (('u32', 'nb_rx'),), 'lib.ethdev.tx.burst': burst + (('u32', 'nb_pkts'),),
              'lib.ethdev.start': (('u32', 'port_id'),), 'lib.ethdev.stop': (('u32', 'port_id'), ('s32', 'ret')),
              'lib.eal.mem.malloc': allocated, 'lib.eal.mem.zmalloc': allocated, 'lib.eal.mem.realloc': allocated[1:],
              'lib.eal.mem.free': (('u64', 'ptr'),), 'lib.eal.memzone.reserve': (('text', 'name'),),
              'lib.eal.memzone.free': (('text', 'name'), ('s32', 'rc')),
              'lib.eal.thread.lcore.running': (('u32', 'lcore_id'), ('u64', 'f')), 'lib.eal.thread.lcore.stopped': (('u32', 'lcore_id'),)}
    run, ptr, lcore = (('u32', 'id'), ('u32', 'lcore_id')), [('ptr', 'ptr')], ('lcore_id', 'lcore_id')
    events.update({'lib.eal.service.run.begin': run, 'lib.eal.service.run.end': run})
    return events, [], [], [
        Ask('burst', 'lib.ethdev.rx.burst', 'lib.ethdev.tx.burst', by=[('$cpu', '$cpu')], when=(lambda fields: fields['nb_rx'] > 0, {})),
        Ask('service', 'lib.eal.service.run.begin', 'lib.eal.service.run.end', by=[('id', 'id'), lcore]),
        Ask('lcore', 'lib.eal.thread.lcore.running', 'lib.eal.thread.lcore.stopped', by=[lcore]),
        Ask('port', 'lib.ethdev.start', 'lib.ethdev.stop', by=[('port_id', 'port_id')]),
        Ask('malloc', 'lib.eal.mem.malloc', 'lib.eal.mem.free', by=ptr, group=['type']),
        Ask('zmalloc', 'lib.eal.mem.zmalloc', 'lib.eal.mem.free', by=ptr, group=['type']),
        Ask('memzone', 'lib.eal.memzone.reserve', 'lib.eal.memzone.free', by=[('name', 'name')])]


def ros2():
    """Of the version that has time stamps where messages are published, and services."""
    message, taken = ('u64', 'timestamp'), (('u64', 'source_timestamp'), ('s32', 'taken'))
    of_client, of_service, numbered = ('u64', 'rmw_client_handle'), ('u64', 'rmw_service_handle'), ('u64', 'sequence_number')
    callback = (('u64', 'callback'),)
    fields = {'rmw_publish': (('u64', 'rmw_publisher_handle'), message), 'rmw_take': (('u64', 'rmw_subscription_handle'), *taken),
              'callback_start': callback, 'callback_end': callback, 'rclcpp_executor_get_next_ready': (),
              'rclcpp_executor_wait_for_work': (), 'rclcpp_executor_execute': (('u64', 'handle'),),
              'rmw_send_request': (of_client, numbered), 'rmw_take_request': (of_service, numbered, ('s32', 'taken')),
              'rmw_send_response': (of_service, numbered, message), 'rmw_take_response': (of_client, numbered, *taken)}
    events = {'ros2:' + name: of for name, of in fields.items()}
    events['dds:write'] = ('u64', 'writer'), message
    for _, event, _, key, value in models.ROS2_LABELS:
        ids = [field for field in key if field != '$pid'] + (value[1] if isinstance(value, tuple) else [])
        of = [('u64', one) for one in ids] + ([('u64' if value == 'period' else 'text', value)] if isinstance(value, str) else [])
        events[event] = tuple(dict.fromkeys((*events.get(event, ()), *of)))
    return events, models.ROS2_LABELS, models.ROS2_PERIODS + models.ROS2_NEWER, []


NAMES = ('vadd', 'vscale', 'get', 'set', 'config|get')


BARE = ('zephyr', 'dpdk')  # no contexts say which thread an event is of
KINDS = {'u32': ('<I', 'uint32_t'), 's32': ('<i', 'integer { size = 32; align = 8; signed = true; }'), 'u64': ('<Q', 'uint64_t')}


def declared(events, is_bare):
    text = synthetic.HEADER % 0 if is_bare else models.made_metadata({})
    text = text.replace('env { hostname = "made"; domain = "kernel"; kernel_release = "6.1.0"; };', 'env { tracer_name = "made"; };') if is_bare else text
    for i, (name, fields) in enumerate(events.items()):
        text += 'event { name = "%s"; id = %d; stream_id = 0; fields := struct { %s}; };\n' % (name, i, ''.join(
            '%s _%s; ' % (KINDS[kind][1] if kind in KINDS else 'string', field) for kind, field in fields))
    return text


def packed(events, is_bare, ts, pid, tid, name, values):
    out = struct.pack('<HQ', list(events).index(name), ts) + (b'' if is_bare else struct.pack('<ii', pid, tid))
    return out + b''.join(struct.pack(KINDS[kind][0], value) if kind in KINDS else value.encode() + b'\0'
                          for (kind, _), value in zip(events[name], values))


def made(rng, events, count, is_bare):
    """[(ts, pid, tid, cpu, event, {field: value})] on two CPUs: each name comes often enough, and nothing is at one time."""
    ts, all_ = 1000000000, []
    for _ in range(count):
        ts += rng.choice((300, 7000, 60000)) + rng.randrange(300)
        pid, name, cpu = rng.choice((10, 20)), rng.choice(list(events)), rng.randrange(2)
        values = {field: rng.choice((3000000, 700000)) if field == 'period' else rng.choice(NAMES) if kind == 'text' else rng.choice((0, 1)) if field in ('nb_rx', 'taken') else
                  rng.choice((-5, 0, 3)) if kind == 's32' else rng.choice((1, 2, 945112)) for kind, field in events[name]}
        all_.append((ts, 0, -1 - cpu, cpu, name, values) if is_bare else (ts, pid, pid + rng.randrange(2), cpu, name, values))
    return all_


def calls_of(events, asks, all_, end):
    """What the plain program has of them; of a CPU nothing is known but its number."""
    plain = calls_plain.Plain({name: [[field for _, field in fields]] for name, fields in events.items()}, asks)
    for ts, pid, tid, cpu, name, values in all_:
        plain.take(calls_plain.Event(ts, name, pid, (pid, tid), dict(values, **{'$cpu': cpu})))
    result = plain.result(end)
    return {key: value for key, value in result.items() if pid or key != 'threads'}


def check(sillage, shipped, name, scratch):
    events, labels, periods, asks = {'hip': hip, 'qemu': qemu, 'valkey': valkey, 'zephyr': zephyr, 'dpdk': dpdk, 'ros2': ros2}[name]()
    rng, is_bare = random.Random(name), name in BARE
    all_ = made(rng, events, 60 * len(events), is_bare)
    data = [synthetic.packet(cpu, 0, 1000000000, all_[-1][0], [packed(events, is_bare, *one[:3], one[4], one[5].values()) for one in all_ if one[3] == cpu])
            for cpu in (0, 1)]
    trace = synthetic.Made(scratch, name, data, declared(events, is_bare)).path
    plain = models.Plain(labels, periods)
    keyed = models.PlainKeyed(plain, models.ROS2_KEYED[:1] if name == 'ros2' else [])
    for ns, event, _, text in reference.events_of(trace) if periods else ():
        plain.event(ns, event, text)
        keyed.event(ns, event, text)
    wanted = plain.shown()
    assert {what.split(' ')[0] for what in wanted} == {period[0] for period in periods}, 'the trace has not all: %s' % sorted(wanted)
    status, out, err = models.run(sillage, 'analyze', '-q', '-f', 'json', '-n', '0', '--model', os.path.join(shipped, name), trace)
    if status or err:
        return ['%s: status %d, says %r' % (name, status, err)]
    total = models.total_in(out)
    ours = calls_plain.ours_of(total['calls'])
    calls = calls_of(events, asks, all_, total['end'])
    names = {row.split(' ')[0] for row, figures in calls['by_name'].items() if figures['calls']}
    print('# %s: calls %d errors %d of %d names; %d rows of %d periods' % (
        name, calls['calls'], calls['errors'], len(calls['by_name']), len(wanted), len(periods)))
    faults = ['%s: no call %s' % (name, ask.name) for ask in asks if ask.name and ask.name not in names]
    other = calls_plain.difference(ours, calls)
    faults += ['%s: calls: %s' % (name, other)] if other else []
    if not periods:
        return faults
    if labels and not any(row[0] for row in wanted.values()):
        return ['%s: nothing has a name' % name]
    if keyed.jobs:
        faults += models.compared(name, models.our_keyed(total), keyed.shown())
    return faults + models.compared(name, models.ours(total), wanted) + models.counted(name, total['periods'], plain)


def main():
    sillage, shipped = sys.argv[1:3]
    synthetic.SILLAGE = sillage
    assert sorted(os.listdir(shipped)) == ['dpdk', 'hip', 'qemu', 'ros2', 'valkey', 'zephyr'], 'a model without a test'
    with tempfile.TemporaryDirectory(prefix='sillage-shipped-') as scratch:
        faults = [fault for name in ('hip', 'qemu', 'valkey', 'zephyr', 'dpdk', 'ros2') for fault in check(sillage, shipped, name, scratch)]
    print('\n'.join('# ' + fault for fault in faults[:20]))
    print('%s: %d faults' % ('not ok' if faults else 'ok', len(faults)))
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(main())

"""ports: free ports of the loopback interface, which other tests that run beside leave alone; the end of a listener."""
import contextlib
import itertools
import random
import socket

# Below those that the system gives to connections: a port that was free stays it.
PORTS = itertools.cycle(random.sample(range(20000, 32000, 3), 4000))
TAKEN = []  # a name for each of our ports, so that tests that run beside us leave them alone


def free_ports():
    """The first of three in a row, others than before."""
    for _ in range(100):
        port = next(PORTS)
        sockets = [socket.socket() for _ in range(3)]
        name = socket.socket(socket.AF_UNIX)
        try:
            name.bind('\0sillage-peer-%d' % port)
            for i, one in enumerate(sockets):
                one.bind(('127.0.0.1', port + i))
            TAKEN.append(name)
            return port
        except OSError:
            name.close()
        finally:
            for one in sockets:
                one.close()
    raise AssertionError('no free ports')


def end_listener(listener, accepts, seconds=None):
    """close() alone does not wake its thread @accepts, which might accept what comes to the next listener, of the same
    descriptor."""
    with contextlib.suppress(OSError):
        listener.shutdown(socket.SHUT_RDWR)
    accepts.join(seconds)
    listener.close()

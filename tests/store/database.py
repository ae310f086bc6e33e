"""database: stores as files of SQLite, opened and copied."""
import contextlib
import os
import sqlite3


@contextlib.contextmanager
def connected(path):
    """Waits for whoever writes to it, and commits at the end."""
    with contextlib.closing(sqlite3.connect(path, timeout=60)) as db:
        yield db
        db.commit()


def copied(path, to):
    """A whole copy.  A copy of the file may lack what is in its log, which a reader that was there when the
    writer ended leaves as it is: even the tables."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(to)
    with contextlib.closing(sqlite3.connect(path, timeout=60)) as store, contextlib.closing(sqlite3.connect(to)) as copy:
        store.backup(copy)
    return to

"""Copies of the drill's database: a standby that lags, and a backup that is restored."""

import shutil
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import psycopg

from tools.drill.services import Postgres
from tools.drill.waiting import free_port, until

_PATIENCE = 60.0


def back_up(database: Postgres, folder: Path, *, standby: bool = False) -> None:
    """A base backup, taken while the database works."""
    shutil.rmtree(folder, ignore_errors=True)
    words = ["-d", database.url.replace("/drill", "/postgres"), "-X", "stream", "-c", "fast"]
    replace(database, data=folder).run("pg_basebackup", *words, *(["-R"] if standby else []))


def start_standby(database: Postgres) -> Postgres:
    """A standby that follows asynchronously, on a port of its own."""
    folder = database.folder / f"standby-{free_port()}"
    back_up(database, folder, standby=True)
    standby = replace(database, data=folder, port=free_port())
    standby.start()
    return standby


def catch_up(database: Postgres, standby: Postgres) -> None:
    """Waits until the standby has all that was committed up to now."""
    with closing(psycopg.connect(database.url, autocommit=True)) as primary:
        row = primary.execute("SELECT pg_current_wal_flush_lsn()::text").fetchone()
    assert row is not None
    wanted = row[0]
    with closing(psycopg.connect(standby.url, autocommit=True)) as follower:
        statement = "SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn"
        until(
            lambda: (follower.execute(statement, [wanted]).fetchone() or (False,))[0],
            seconds=_PATIENCE,
        )


def cut_off(standby: Postgres) -> None:
    """From now on the standby lags."""
    with closing(psycopg.connect(standby.url, autocommit=True)) as follower:
        follower.execute("ALTER SYSTEM SET primary_conninfo = ''")
        follower.execute("SELECT pg_reload_conf()")
        statement = "SELECT count(*) = 0 FROM pg_stat_wal_receiver"
        until(lambda: (follower.execute(statement).fetchone() or (False,))[0], seconds=_PATIENCE)


def promote(database: Postgres, standby: Postgres) -> None:
    """Loses the primary for good and puts the standby on a port that nobody knows yet."""
    database.stop("immediate")
    standby.run("pg_ctl", "promote", "-w")
    until(lambda: _is_writable(standby), seconds=_PATIENCE)
    _forget(database)


def restore(database: Postgres, backup: Path) -> Postgres:
    """Loses the database for good; what is left is the backup, on a port that nobody knows yet."""
    database.stop("immediate")
    restored = replace(database, data=backup, port=free_port())
    restored.start()
    _forget(database)
    return restored


def take_over(database: Postgres, successor: Postgres) -> None:
    """Puts the successor where everybody looks for the database."""
    successor.stop("fast")
    database.data = successor.data
    database.start()


def _forget(database: Postgres) -> None:
    shutil.rmtree(database.data, ignore_errors=True)


def _is_writable(database: Postgres) -> bool:
    try:
        with closing(psycopg.connect(database.url, autocommit=True)) as connection:
            row = connection.execute("SELECT pg_is_in_recovery()").fetchone()
    except psycopg.OperationalError:
        time.sleep(0.1)
        return False
    return row == (False,)

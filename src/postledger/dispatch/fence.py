"""Keeps every process from using a database that went back in time, or is another one."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from weakref import WeakSet

import psycopg
import structlog
from django.db import DEFAULT_DB_ALIAS
from django.db.backends.base.base import BaseDatabaseWrapper

from postledger.deliveries import ledger
from postledger.deliveries.ledger import Epoch
from postledger.dispatch.witness import TokenWitness

_log = structlog.get_logger(__name__)

# Tokens of one database are close together; one that is so far ahead is of a later epoch.
_FAR_AHEAD = 2**31


class Fence:
    """Compares the database with the witness, and has tokens witnessed. Safe for threads."""

    def __init__(self, witness: TokenWitness, *, is_logging: bool = True) -> None:
        self._witness = witness
        self._is_logging = is_logging
        self._lock = Lock()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="witness")
        self._fenced_epoch = 0
        self._wanted = (0, 0)  # token and epoch
        self._written = self._highest = 0

    def check(self, *, is_sign_of_life: bool = False) -> Epoch:
        """Fences the database if necessary, and returns the epoch that is current then."""
        identity = ledger.identity()
        with self._lock:
            self._witness.name_database(identity, ledger.first_identity())
            # Read before the database's own token: that only rises.
            witness = self._witness.read()
        epoch = ledger.check_epoch(witness, is_sign_of_life=is_sign_of_life)
        if epoch.is_fenced and epoch.number != self._fenced_epoch:
            self._fenced_epoch = epoch.number
            self._note_epoch(epoch)
            if self._is_logging:
                _log_block(epoch)
        return epoch

    def _note_epoch(self, epoch: Epoch) -> None:
        """Writes the new epoch down, so that no other copy of this ledger begins it again.

        A promoted standby also stops the workers of the primary it replaces, which find themselves
        below its token. A database that is below the witness itself stays quiet: it and its
        successor would fence each other for ever.
        """
        with self._lock:
            self._witness.raise_epoch(epoch.number)
            if epoch.cause == "identity":
                self._witness.raise_to(epoch.token, epoch.number)

    async def record(self, token: int, epoch: int) -> bool:
        """Has a token witnessed; False when a later epoch of this database sends elsewhere."""
        if not self._witness.is_kept:
            return True
        self._wanted = max(self._wanted, (token, epoch))
        loop = asyncio.get_running_loop()
        highest = await loop.run_in_executor(self._thread, self._raise, token)
        return highest - token < _FAR_AHEAD

    def _raise(self, token: int) -> int:
        """Writes the highest token that is wanted; calls that wait behind it need no write."""
        if self._written < token:
            wanted = self._wanted
            with self._lock:
                self._highest = self._witness.raise_to(*wanted)
            self._written = wanted[0]
        return self._highest

    def close(self) -> None:
        self._thread.shutdown()
        self._witness.close()


class ConnectionCheck:
    """Checks every new connection of a process before its first statement.

    A request that was taken on a restored database before anybody noticed would get a number that
    the lost time has given out already.
    """

    def __init__(self, fence: Fence) -> None:
        self._fence = fence
        self._checked: WeakSet[psycopg.Connection] = WeakSet()

    def check(self, connection: BaseDatabaseWrapper) -> None:
        raw = connection.connection
        # A pool hands out connections that were checked before.
        if connection.alias != DEFAULT_DB_ALIAS or raw in self._checked or not _has_tables(raw):
            return
        try:
            self._fence.check()
        except BaseException:
            connection.close()  # a standby, or a database that is shutting down: not to be used
            raise
        self._checked.add(raw)


def _log_block(epoch: Epoch) -> None:
    _log.critical(
        "sending is blocked: this database was restored, promoted or copied; postledger fence"
        " shows the loss and lifts the fence",
        epoch=epoch.number,
        cause=epoch.cause,
        gap_from=epoch.gap_from,
        gap_to=epoch.gap_to,
    )


def _has_tables(raw: psycopg.Connection) -> bool:
    with raw.cursor() as cursor:
        row = cursor.execute("SELECT to_regclass('deliveries_epoch') IS NOT NULL").fetchone()
    return bool(row and row[0])

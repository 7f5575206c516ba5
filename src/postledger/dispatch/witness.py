"""The witness: the highest lease token seen, kept outside the database.

A database whose tokens are below it has gone back in time. It is kept in Redis, which all workers
share, and in a file of each worker; the loss of either proves nothing.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import structlog
from redis import Redis, RedisError

from postledger.deliveries.ledger import Identity, Witness

_log = structlog.get_logger(__name__)

_REDIS_TIMEOUT = 0.5
# After a failure Redis is left alone for so long: mail must not wait for it.
_REDIS_PAUSE = 5.0
# Returns the highest token, with its epoch and the time it was written at.
_RAISE = """
local highest = redis.call('GET', KEYS[1]) or '0 0 0'
if tonumber(ARGV[1]) > tonumber(string.match(highest, '%d+')) then
    highest = ARGV[1] .. ' ' .. ARGV[2]
    redis.call('SET', KEYS[1], highest)
end
return highest
"""


class TokenWitness:
    """Not for two threads at a time. Without a URL and a folder it is empty, and without a name it
    only reads the files of others.
    """

    def __init__(self, *, redis_url: str, folder: Path | None, name: str = "") -> None:
        self._redis = (
            Redis.from_url(
                redis_url, socket_timeout=_REDIS_TIMEOUT, socket_connect_timeout=_REDIS_TIMEOUT
            )
            if redis_url
            else None
        )
        self._redis_pauses_until = 0.0
        self._folder = folder
        self._name = name
        self._database = ""
        self._ledger = ""
        self._file: int | None = None

    @property
    def is_kept(self) -> bool:
        return self._redis is not None or self._folder is not None

    def name_database(self, here: Identity, first: Identity) -> None:
        """Sets the database of the tokens, and the one in which its ledger began: all copies of a
        ledger share the numbers of their epochs.
        """
        self._ledger = f"{first.system_identifier}-{first.database_oid}"
        database = f"{here.system_identifier}-{here.database_oid}"
        if database != self._database:
            self._database = database
            self._open_file()

    def read(self) -> Witness:
        """The highest token on record."""
        highest = max(
            [Witness(), *self._in_files(), *self._ask_redis(0, 0)], key=lambda it: it.token
        )
        return replace(highest, epoch=max(highest.epoch, self._epoch()))

    def raise_to(self, token: int, epoch: int) -> int:
        """Writes a token down, and returns the highest that Redis knows; 0 without it."""
        if self._file is not None:
            self._write(token, epoch, time.time())
        return max((witness.token for witness in self._ask_redis(token, epoch)), default=0)

    def raise_epoch(self, epoch: int) -> None:
        """Writes down that a copy of this ledger has begun an epoch."""
        with suppress(RedisError, OSError):
            if self._redis is not None:
                self._redis.eval(_RAISE, 1, f"postledger:epochs:{self._ledger}", str(epoch), "0 0")
        with suppress(OSError):
            if self._folder is not None:
                self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                (self._folder / f"{self._ledger}.epoch").write_text(str(epoch))

    def _epoch(self) -> int:
        """The highest epoch that any copy of this ledger has begun."""
        epochs = [0]
        with suppress(RedisError, OSError):
            if self._redis is not None:
                value = self._redis.get(f"postledger:epochs:{self._ledger}")
                epochs.append(int(value.split()[0]) if isinstance(value, bytes) else 0)
        with suppress(OSError, ValueError):
            if self._folder is not None:
                epochs.append(int((self._folder / f"{self._ledger}.epoch").read_text()))
        return max(epochs)

    def close(self) -> None:
        if self._redis is not None:
            self._redis.close()
        if self._file is not None:
            os.close(self._file)
            self._file = None

    # Redis -------------------------------------------------------------------------------------

    def _ask_redis(self, token: int, epoch: int) -> Iterator[Witness]:
        if self._redis is None or time.monotonic() < self._redis_pauses_until:
            return
        try:
            key = f"postledger:witness:{self._database}"
            value = f"{epoch} {time.time():.3f}"
            highest = self._redis.eval(_RAISE, 1, key, str(token), value)
        except (RedisError, OSError) as error:
            self._redis_pauses_until = time.monotonic() + _REDIS_PAUSE
            _log.warning("Redis does not take the witness", error=type(error).__name__)
            return
        if isinstance(highest, bytes):
            yield _parse(highest.decode())

    # Files -------------------------------------------------------------------------------------

    def _open_file(self) -> None:
        """Opens this worker's file, with the highest token of all: the files of dead workers go."""
        if self._folder is None or not self._name:
            return
        if self._file is not None:
            os.close(self._file)
            self._file = None
        folder = self._folder / self._database
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            highest = max(self._in_files(), key=lambda it: it.token, default=Witness())
            self._file = _open_locked(folder / self._name)
            at = highest.at.timestamp() if highest.at else 0.0
            self._write(highest.token, highest.epoch, at)
        except OSError as error:
            _log.warning("no file takes the witness", folder=str(folder), error=error.strerror)
            return
        for path in folder.iterdir():
            if path.name != self._name:
                _remove_if_unused(path)

    def _write(self, token: int, epoch: int, at: float) -> None:
        with suppress(OSError):
            os.pwrite(self._file or 0, f"{token:020} {epoch:010} {at:017.3f}\n".encode(), 0)

    def _in_files(self) -> Iterator[Witness]:
        if self._folder is not None:
            with suppress(OSError):
                for path in (self._folder / self._database).iterdir():
                    with suppress(OSError, ValueError):
                        yield _parse(path.read_text())


def _parse(text: str) -> Witness:
    token, epoch, seconds = text.split()
    at = datetime.fromtimestamp(float(seconds), UTC) if float(seconds) else None
    return Witness(int(token), int(epoch), at)


def _open_locked(path: Path) -> int:
    """Opens a file and locks it; again, if it was removed in between as one that nobody uses."""
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        if os.fstat(file).st_nlink:
            return file
        os.close(file)


def _remove_if_unused(path: Path) -> None:
    """Removes a file whose worker has died: a living one keeps it locked."""
    with suppress(OSError), path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path.unlink()

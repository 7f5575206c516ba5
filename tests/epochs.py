"""Lets the fence fall in a test's database, and puts everything back afterwards."""

import shutil
from collections.abc import Iterator, Sequence

from django.conf import settings
from django.db import connection
from redis import Redis

from postledger.deliveries import ledger
from postledger.deliveries.ledger import Witness, sql

_SEQUENCES = (
    "deliveries_lease_token",
    "deliveries_single_position",
    "deliveries_note_id",
    "deliveries_stream_number",
    "deliveries_batch_id_seq",
)
_LAST_VALUES = " UNION ALL ".join(f"SELECT '{name}', last_value FROM {name}" for name in _SEQUENCES)


def kept() -> Iterator[None]:
    """No flush takes epochs away; sequences go on from here."""
    before = sql.rows(_LAST_VALUES, {})
    yield
    begin_anew()
    # Far enough that a stale row of this test meets no new number.
    _set_sequences([(name, value + 1000) for name, value in before])


def begin_anew() -> None:
    """The first epoch, in this database, not fenced and without a witness."""
    _forget_witness()
    sql.rows("DELETE FROM deliveries_epoch WHERE number > 1", {})
    sql.rows("TRUNCATE deliveries_unmatched, deliveries_tokenmark", {})
    sql.rows(
        "UPDATE deliveries_epoch SET system_identifier = here.system_identifier,"
        " timeline = here.timeline, database_oid = here.database_oid"
        " FROM deliveries_identity() AS here",
        {},
    )


def _forget_witness() -> None:
    """A test's numbers are taken back: below the witness of them, the database would be fenced."""
    options, here = settings.DISPATCH_OPTIONS, ledger.identity()
    database = f"{here.system_identifier}-{here.database_oid}"
    with Redis.from_url(options.redis_url) as redis:
        redis.delete(f"postledger:witness:{database}", f"postledger:epochs:{database}")
    assert options.state_folder
    shutil.rmtree(options.state_folder / database, ignore_errors=True)
    (options.state_folder / f"{database}.epoch").unlink(missing_ok=True)


def _set_sequences(values: Sequence[tuple[str, int]]) -> None:
    for name, value in values:
        params = {"name": name, "value": value}
        sql.rows("SELECT setval(%(name)s::text::regclass, %(value)s)", params)


def pretend_restored() -> None:
    """The database's epoch names another timeline, as after a promotion."""
    sql.rows("UPDATE deliveries_epoch SET timeline = timeline + 1", {})


def fall() -> None:
    pretend_restored()
    ledger.check_epoch(Witness())


def lift(*, campaigns: bool = True) -> None:
    ledger.lift_all(campaigns=campaigns, epoch=ledger.current_epoch().number)


def pass_grace(stream_ids: Sequence[int]) -> None:
    """Lets the time pass in which bytes of a lost time may still leave: all of it is longer ago."""
    sql.rows("UPDATE deliveries_epoch SET began_at = began_at - interval '1 hour'", {})
    sql.rows(
        "UPDATE deliveries_delivery SET planned_at = planned_at - interval '1 hour',"
        " settled_at = settled_at - interval '1 hour'"
        " WHERE stream_id = ANY(%(streams)s::bigint[])",
        {"streams": sql.Bigints(stream_ids)},
    )


# The tables that a backup of some streams has, by the column that names the stream. What all
# streams share is copied whole.
_TABLES = {
    "deliveries_epoch": None,
    "deliveries_tokenmark": None,
    "deliveries_senderhold": None,
    "deliveries_lease": None,
    "deliveries_stream": "id",
    "deliveries_streamhold": "stream_id",
    "deliveries_lane": "stream_id",
    "deliveries_batch": "stream_id",
    "deliveries_streamdelta": "stream_id",
    "deliveries_streampace": "stream_id",
    "deliveries_delivery": "stream_id",
    "deliveries_attempt": "stream_id",
    "deliveries_deliveryevent": "stream_id",
    "deliveries_feedback": "stream_id",
    "deliveries_providermessage": "stream_id",
}


def room_for_a_backup() -> Iterator[None]:
    """A schema with a place for a copy of each table."""
    tables = [f"CREATE UNLOGGED TABLE backup.{name} (LIKE {name});" for name in _TABLES]
    _run(["DROP SCHEMA IF EXISTS backup CASCADE; CREATE SCHEMA backup;", *tables])
    yield
    _run(["DROP SCHEMA backup CASCADE"])


class Backup:
    """The books of some streams, all leases and epochs, and the numbers given out until now.

    There is room for one: the next one takes its place.
    """

    def __init__(self, stream_ids: Sequence[int]) -> None:
        ids = ", ".join(map(str, stream_ids))
        self._chosen = {
            name: f"WHERE {column} IN ({ids})" if column else "" for name, column in _TABLES.items()
        }
        self._sequences = sql.rows(_LAST_VALUES, {})
        _run(
            f"DELETE FROM backup.{name}; INSERT INTO backup.{name} SELECT * FROM {name} {chosen};"
            for name, chosen in self._chosen.items()
        )

    def restore(self) -> None:
        _run(
            f"DELETE FROM {name} {chosen};"
            f" INSERT INTO {name} OVERRIDING SYSTEM VALUE SELECT * FROM backup.{name};"
            for name, chosen in self._chosen.items()
        )
        _set_sequences(self._sequences)


def _run(statements: Iterator[str] | Sequence[str]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(" ".join(statements))

"""A copy of a database, with the same secrets, sends nothing; the original goes on."""

import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from django.db import connection
from psycopg import sql as pg

from postledger.deliveries.states import State
from tests.cli import installations
from tests.dispatch import office
from tests.workers import brokers
from tests.workers.worker_processes import started

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]


def by_template(source: str, copy: str) -> None:
    connection.close()  # a database is a template only while nobody uses it
    _on_server(
        pg.SQL("CREATE DATABASE {} TEMPLATE {}").format(pg.Identifier(copy), pg.Identifier(source))
    )


def by_dump(source: str, copy: str) -> None:
    _on_server(pg.SQL("CREATE DATABASE {}").format(pg.Identifier(copy)))
    with subprocess.Popen(
        ["pg_dump", installations.database_url(source)], stdout=subprocess.PIPE
    ) as dump:
        subprocess.run(
            ["psql", "-q", "-X", "-d", installations.database_url(copy)],
            stdin=dump.stdout,
            stdout=subprocess.DEVNULL,
            check=True,
        )


def _on_server(statement: pg.Composed) -> None:
    with psycopg.connect(installations.database_url("postgres"), autocommit=True) as server:
        server.execute(statement)


@contextmanager
def copy_database(copy: Callable[[str, str], None]) -> Iterator[str]:
    source = str(connection.settings_dict["NAME"])
    name = f"{source}_copy"
    drop = pg.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(pg.Identifier(name))
    _on_server(drop)
    copy(source, name)
    try:
        yield installations.database_url(name)
    finally:
        _on_server(drop)


def ask_database(url: str, statement: str) -> object:
    with psycopg.connect(url) as database:
        row = database.execute(statement.encode()).fetchone()
    return row and row[0]


@pytest.mark.parametrize("copy", [by_template, by_dump])
def test_a_copy_sends_nothing(copy: Callable[[str, str], None], tmp_path: Path) -> None:
    acme = office.open_office(tmp_path)
    stream = office.stream(acme, office.people(20))

    log, state = tmp_path / "log", str(tmp_path / "state")
    with (
        copy_database(copy) as url,
        brokers.own_queues() as prefix,
        started(log, "--beat", DATABASE_URL=url, QUEUE_PREFIX=prefix, STATE_FOLDER=state),
    ):
        office.until(
            lambda: bool(ask_database(url, "SELECT count(*) > 0 FROM dispatch_worker")),
            patience=120,
        )
        time.sleep(3)  # of polling, in which a mail would go
        epoch = ask_database(url, "SELECT max(number) FROM deliveries_epoch")
        states = ask_database(url, "SELECT array_agg(DISTINCT state) FROM deliveries_delivery")

    assert acme.taken() == []
    assert isinstance(epoch, int)
    assert epoch > 1  # copies of one ledger share the numbers of their epochs
    assert states == ["waiting"]
    assert b"sending is blocked" in log.read_bytes()
    office.send_all(stream)
    assert office.counts(stream) == {State.ACCEPTED: 20}

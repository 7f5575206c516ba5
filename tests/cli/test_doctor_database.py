"""The doctor on a healthy installation, and on databases that are broken in several ways."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from psycopg import sql

from postledger.accounts import keys
from postledger.accounts.keys import Scope
from postledger.cli.doctor import postgres
from postledger.lib.check_results import Level
from tests import cast
from tests.cli import installations
from tests.cli.installations import DEAD, doctor, doctor_elsewhere
from tests.fakes.pooler import TransactionPooler
from tests.providers.fake_smtp import FakeSmtp

pytestmark = pytest.mark.server

DEAD_DATABASE = f"postgresql://postgres:hunter2@{DEAD}/postledger"


@pytest.fixture(scope="module")
def migrated(django_db_setup: None) -> Iterator[str]:
    """A database with all migrations and nothing else: no partitions, nobody who sends."""
    with installations.fresh_database() as name:
        address = {"DATABASE_URL": installations.database_url(name)}
        # Django's checks would load the web application.
        done = installations.run("migrate", "-v0", "--skip-checks", **address)
        assert done.returncode == 0, done.stderr
        yield installations.database_url(name)


def documented_subjects() -> set[str]:
    page = Path(__file__).parents[2] / "docs/reference/doctor.md"
    return set(re.findall(r"^\| `(\w+)` \|", page.read_text(), re.MULTILINE))


@contextmanager
def altered(url: str, change: str, back: str) -> Iterator[None]:
    """Changes what every new connection to a database starts with."""
    with psycopg.connect(url, autocommit=True) as database_:
        statement = sql.SQL("ALTER DATABASE {} ").format(sql.Identifier(database_.info.dbname))
        database_.execute(statement + sql.SQL(change))
        try:
            yield
        finally:
            database_.execute(statement + sql.SQL(back))


@pytest.mark.django_db
def test_a_healthy_installation_has_no_problem_in_any_subject_of_the_reference() -> None:
    with installations.smtp(FakeSmtp()) as server:
        installations.attach_account(port=server.port)
        sender = cast.sender()
        keys.create_key(sender.workspace_id, name="shop", scopes=list(Scope), actor="test")
        installations.write_heartbeat()

        report = doctor()

    assert report.exit_code == 0, report.output
    assert report.problems == set()
    not_ok = {name for name, finding in report.findings.items() if finding["level"] != "ok"}
    assert not_ok <= {"broker"}  # whether a worker has declared the queues is not up to this test
    assert {*report.findings, "examined"} == documented_subjects()


def test_people_get_aligned_lines_with_the_remedy_below() -> None:
    done = installations.run("doctor", DATABASE_URL=DEAD_DATABASE, REDIS_URL=f"redis://{DEAD}/0")

    lines = done.stdout.splitlines()
    answer = "Redis does not answer (ConnectionError): mail is sent, but each process counts its"
    at = lines.index(f"warning  redis         {answer} limits alone.")
    assert lines[at + 1] == " " * 23 + "Start Redis, or correct REDIS_URL."
    assert done.returncode == 1


@pytest.mark.slow
def test_a_dead_database_hides_neither_broker_nor_redis() -> None:
    report = doctor_elsewhere(
        DATABASE_URL=DEAD_DATABASE,
        BROKER_URL=installations.broker_url(port=1),
        REDIS_URL=f"redis://{DEAD}/0",
    )

    assert report.exit_code == 1
    assert report.problems == {"database"}
    assert (report.level("broker"), report.level("redis")) == ("warning", "warning")
    assert "Start PostgreSQL, or correct host and port in DATABASE_URL." in report.text("database")
    for subject in ("clock", "migrations", "partitions", "senders", "workers"):
        assert subject in report.text("examined")


@pytest.mark.slow
def test_a_missing_database_is_to_be_created_and_an_unknown_role_to_be_named_anew(
    django_db_setup: None,
) -> None:
    missing = doctor_elsewhere(DATABASE_URL=installations.database_url("postledger_nowhere"))
    stranger = installations.database_url().replace("//postgres", "//nobody_at_all", 1)
    unknown = doctor_elsewhere(DATABASE_URL=stranger)

    assert missing.problems == unknown.problems == {"database"}
    assert "Run createdb postledger_nowhere, then postledger migrate." in missing.text("database")
    assert "DATABASE_URL" in unknown.text("database")


def test_what_postgresql_says_decides_the_remedy() -> None:
    for text, remedy in {
        'FATAL:  password authentication failed for user "p"': "Correct them in DATABASE_URL.",
        "fe_sendauth: no password supplied": "Correct them in DATABASE_URL.",
        'FATAL:  role "p" does not exist': "Correct it in DATABASE_URL.",
        'FATAL:  no pg_hba.conf entry for host "10.0.0.1"': "Allow it in pg_hba.conf.",
        "FATAL:  unsupported startup parameter: options": "Give PostgreSQL's own port",
        "FATAL:  remaining connection slots are reserved": "Raise max_connections",
        "timeout expired": "Start PostgreSQL",
    }.items():
        finding = postgres.judge_refusal(text, name="postledger")
        assert finding.level is Level.PROBLEM, text
        assert finding.remedy.startswith(remedy), text


def test_a_fresh_database_is_to_be_migrated(django_db_setup: None) -> None:
    with installations.fresh_database() as name:
        report = doctor_elsewhere(DATABASE_URL=installations.database_url(name))

    assert report.problems == {"migrations"}
    assert report.text("migrations").endswith("Run postledger migrate.")
    assert report.level("server") == "ok"


@pytest.mark.django_db
def test_a_database_of_another_version_is_to_be_left_to_that_version() -> None:
    MigrationRecorder(connection).record_applied("contacts", "0012_supabase_subscribers")

    report = doctor()

    assert report.level("migrations") == "problem"
    assert "Run that version of Postledger" in report.text("migrations")


@pytest.mark.slow
def test_missing_partitions_are_to_be_made_and_a_missing_next_month_is_a_warning(
    migrated: str,
) -> None:
    missing = doctor_elsewhere(DATABASE_URL=migrated)
    with installations.fresh_database(migrated.rpartition("/")[2]) as name:
        url = installations.database_url(name)
        assert installations.run("partitions", "--ahead", "0", DATABASE_URL=url).returncode == 0
        next_month = doctor_elsewhere(DATABASE_URL=url)

    for report, level in ((missing, "problem"), (next_month, "warning")):
        assert report.level("partitions") == level
        assert "Run postledger partitions" in report.text("partitions")


def test_a_database_that_keeps_less_than_the_ledger_needs_is_a_problem(migrated: str) -> None:
    setting = "default_transaction_isolation"
    with altered(migrated, f"SET {setting} = 'repeatable read'", f"RESET {setting}"):
        report = doctor_elsewhere(DATABASE_URL=migrated)
    with altered(migrated, "SET synchronous_commit = off", "RESET synchronous_commit"):
        overruled = doctor_elsewhere(DATABASE_URL=migrated)

    assert report.level("server") == "problem"
    assert report.output.count(f"RESET {setting}") == 1
    assert report.level("migrations") == "ok"  # it is reachable, so the rest is examined
    assert overruled.level("server") == "ok"


SOUND = {"fsync": "on", "full_page_writes": "on", "synchronous_commit": "on"}


def test_a_server_that_forgets_is_a_problem_and_one_that_waits_longer_is_none() -> None:
    for name, value, remedy in (
        ("fsync", "off", "ALTER SYSTEM SET fsync = on"),
        ("full_page_writes", "off", "ALTER SYSTEM SET full_page_writes = on"),
        ("synchronous_commit", "off", "SET synchronous_commit = on"),
        ("synchronous_commit", "local", "SET synchronous_commit = on"),
        ("synchronous_commit", "remote_write", "SET synchronous_commit = on"),
    ):
        [finding] = postgres.judge_durability({**SOUND, name: value})
        assert finding.level is Level.PROBLEM, (name, value)
        assert name in finding.message
        assert remedy in finding.remedy
    assert list(postgres.judge_durability({**SOUND, "synchronous_commit": "remote_apply"})) == []


def test_standbys_that_no_commit_waits_for_are_a_problem() -> None:
    unheeded: list[tuple[list[str | None], str]] = [
        (["async"], ""),
        (["async", "potential"], "a"),
        ([None], ""),
        ([None, None], ""),
    ]
    for states, names in unheeded:
        [finding] = postgres.judge_standbys(states, names=names)
        assert finding.level is Level.PROBLEM, states
        assert f"none of the {len(states)} standbys" in finding.message
        assert "synchronous_standby_names" in finding.remedy
    waited_for: list[tuple[list[str | None], str]] = [
        ([], ""),
        (["async", "sync"], "a"),
        (["quorum", "quorum"], "ANY 1 (*)"),
        ([None], "a"),
    ]
    for states, names in waited_for:
        assert list(postgres.judge_standbys(states, names=names)) == [], states


@pytest.mark.parametrize("most", [1, 5])
def test_a_transaction_pooler_is_a_warning(most: int, migrated: str) -> None:
    with TransactionPooler(migrated, most=most) as pooler:
        report = doctor_elsewhere(DATABASE_URL=pooler.url)

    assert report.level("pooler") == "warning"
    assert "PostgreSQL's own port" in report.text("pooler")
    assert report.level("server") == "ok"


@pytest.mark.parametrize(
    ("seconds", "level", "words"),
    [(45, "problem", "45 s ahead of"), (-45, "problem", "45 s behind"), (10, "warning", "10 s a")],
)
def test_a_clock_that_is_wrong_is_found(
    seconds: int, level: str, words: str, migrated: str
) -> None:
    with altered(migrated, "SET search_path = skewed, pg_catalog, public", "RESET search_path"):
        with psycopg.connect(migrated, autocommit=True) as database_:
            database_.execute(
                "CREATE SCHEMA IF NOT EXISTS skewed;"
                " CREATE OR REPLACE FUNCTION skewed.clock_timestamp() RETURNS timestamptz"
                f" RETURN pg_catalog.clock_timestamp() + interval '{seconds} seconds'"
            )
        report = doctor_elsewhere(DATABASE_URL=migrated)

    assert report.level("clock") == level
    assert words in report.text("clock")
    assert "timedatectl set-ntp true" in report.text("clock")


def test_a_small_difference_is_no_skew() -> None:
    for level, offsets in {
        Level.OK: (0.0, 2.0, -2.0),
        Level.WARNING: (2.1, -30.0),
        Level.PROBLEM: (30.1, -3600.0),
    }.items():
        assert {postgres.judge_clock(offset).level for offset in offsets} == {level}

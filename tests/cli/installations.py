"""Broken installations: servers of their own, and the doctor as an operator runs it."""

import asyncio
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from uuid import uuid4

import psycopg
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connection
from psycopg import sql
from redis import Redis
from redis.exceptions import ConnectionError as NotYetError

from postledger.accounts import provider_accounts, senders
from postledger.dispatch.models import Worker
from tests import cast
from tests.providers.fake_smtp import FakeSmtp, serving

DEAD = "127.0.0.1:1"  # nobody listens there
POSTLEDGER = Path(sys.executable).with_name("postledger")


@dataclass(frozen=True, slots=True)
class Report:
    """The doctor's findings by subject; of several findings of a subject, the last."""

    exit_code: int
    output: str
    findings: dict[str, dict[str, str]]

    def level(self, subject: str) -> str:
        return self.findings[subject]["level"]

    def text(self, subject: str) -> str:
        finding = self.findings[subject]
        return f"{finding['message']} {finding['remedy']}"

    @property
    def problems(self) -> set[str]:
        return {name for name, finding in self.findings.items() if finding["level"] == "problem"}


def doctor() -> Report:
    """Examines the installation this test runs in."""
    out, exit_code, err = StringIO(), 0, ""
    try:
        call_command("doctor", "--json", stdout=out)
    except CommandError as error:
        exit_code, err = 1, str(error)
    return _report(exit_code, out.getvalue(), err)


def doctor_elsewhere(**environment: str) -> Report:
    """Examines an installation with another environment, as a command of its own."""
    done = run("doctor", "--json", **environment)
    return _report(done.returncode, done.stdout, done.stderr)


def _report(exit_code: int, out: str, err: str) -> Report:
    findings = {finding["subject"]: finding for finding in json.loads(out)}
    return Report(exit_code, out + err, findings)


def run(*command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A command in this test's database, unless the environment says otherwise."""
    given = {"DATABASE_URL": database_url(), "SECRET_KEY": settings.SECRET_KEY, **environment}
    return subprocess.run(
        [POSTLEDGER, *command],
        env={**os.environ, "DEBUG": "false", **given},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def database_url(name: str = "") -> str:
    own = connection.settings_dict
    secret = f":{own['PASSWORD']}" if own["PASSWORD"] else ""
    address = f"{own['USER']}{secret}@{own['HOST']}:{own['PORT']}"
    return f"postgresql://{address}/{name or own['NAME']}"


@contextmanager
def fresh_database(template: str = "template1") -> Iterator[str]:
    """An empty database beside the others, or a copy of one; yields its name."""
    name = f"postledger_installation_{uuid4().hex[:12]}"
    with psycopg.connect(database_url("postgres"), autocommit=True) as server:
        create = sql.SQL("CREATE DATABASE {} TEMPLATE {}")
        server.execute(create.format(sql.Identifier(name), sql.Identifier(template)))
        try:
            yield name
        finally:
            server.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port


@contextmanager
def redis(folder: Path, *options: str, **environment: str) -> Iterator[str]:
    """A Redis server of its own; yields its address."""
    port = free_port()
    options_ = ["--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder), "--save", ""]
    server = subprocess.Popen(
        ["redis-server", *options_, *options],
        env={**os.environ, **environment},
        stdout=subprocess.DEVNULL,
    )
    try:
        _wait_for_redis(port, *options)
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        server.terminate()
        server.wait(10)


def _wait_for_redis(port: int, *options: str) -> None:
    password = options[options.index("--requirepass") + 1] if "--requirepass" in options else None
    for _ in range(100):
        try:
            with Redis(port=port, password=password) as client:
                client.ping()
        except NotYetError:
            time.sleep(0.05)
        else:
            return
    raise AssertionError("Redis did not start")


@contextmanager
def smtp(server: FakeSmtp) -> Iterator[FakeSmtp]:
    """The fake server in a thread of its own: the doctor is another process."""
    started = threading.Event()
    loop = asyncio.new_event_loop()
    stop = asyncio.Event()

    async def serve() -> None:
        async with serving(server):
            started.set()
            await stop.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    try:
        assert started.wait(10)
        yield server
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)
        loop.close()


def broker_url(*, login: str = "guest:guest", port: int = 5672, host: str = "%2F") -> str:
    return f"amqp://{login}@127.0.0.1:{port}/{host}"


def execute(statement: str, *params: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, params)


def write_heartbeat() -> None:
    now = datetime.now(UTC)
    Worker.objects.create(name="worker", started_at=now, seen_at=now, ticked_at=now, busy_streams=0)


def attach_account(**given: object) -> None:
    """Gives acme's sender an SMTP account without TLS."""
    sender = cast.sender()
    plain = {"host": "127.0.0.1", "tls": "none", **given}
    account_id = provider_accounts.create_account(
        sender.workspace_id, name="relay", kind="smtp", settings=plain, actor="test"
    )
    senders.attach_sender(
        sender.workspace_id, sender_id=sender.pk, account_id=account_id, actor="test"
    )

"""Puts up everything a drill needs, in one temporary folder, and takes it all down again."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import django

from tests.drill.chaos import Proxy
from tests.drill.services import Postgres, RabbitMQ, Redis_, is_open
from tests.drill.waiting import free_port, until

if TYPE_CHECKING:
    from tests.drill.drill import Drill

_SECRET_KEY = "a-key-of-the-drill-that-is-long-enough-and-opens-nothing-else"


@contextmanager
def put_up(*, workers: int) -> Iterator["Drill"]:
    folder = Path(tempfile.mkdtemp(prefix="postledger-drill-"))
    folder.chmod(0o755)
    with ExitStack() as down:
        down.callback(shutil.rmtree, folder, ignore_errors=True)
        database = Postgres(folder / "postgres")
        down.callback(database.remove)
        rabbitmq, redis = RabbitMQ(folder / "rabbitmq"), Redis_(folder / "redis")
        down.callback(rabbitmq.remove)
        down.callback(redis.end)
        rabbitmq.begin()
        redis.start()
        database.create()
        environment = _environment(database, rabbitmq, redis)
        _connect(environment)
        yield _furnished(folder, (database, rabbitmq, redis), environment, workers, down)


def _environment(database: Postgres, rabbitmq: RabbitMQ, redis: Redis_) -> dict[str, str]:
    return {
        **{name: value for name, value in os.environ.items() if name != "CRASH_AT"},
        "DJANGO_SETTINGS_MODULE": "postledger.config.settings",
        "SECRET_KEY": _SECRET_KEY,
        "ALLOWED_HOSTS": "127.0.0.1",
        "DATABASE_URL": f"{database.url}?connect_timeout=3",
        "BROKER_URL": rabbitmq.url,
        "REDIS_URL": redis.url,
        "QUEUE_PREFIX": "drill",
        "LEASE_SECONDS": "10",
        "STOP_SECONDS": "8",
        "API_RATE": "100000/second",
        # Cuts before acceptance are many here and tell nothing about a mail.
        "RETRY_CAMPAIGN": "200: 0.5 1 max 2",
        "RETRY_TRANSACTIONAL": "200: 0.5 1 max 2",
    }


def _connect(environment: dict[str, str]) -> None:
    os.environ.update(environment)
    subprocess.run(["postledger", "setup"], check=True, stdout=subprocess.DEVNULL)
    django.setup()
    import postledger.config.celery  # noqa: F401  where bells of the drill's own go


def _furnished(
    folder: Path,
    services: tuple[Postgres, RabbitMQ, Redis_],
    environment: dict[str, str],
    workers: int,
    down: ExitStack,
) -> "Drill":
    from tests.drill.customer import Customer
    from tests.drill.drill import Drill, Office
    from tests.drill.fleet import Fleet

    office = Office(folder, free_port())
    office.start()
    down.callback(office.end)
    until(lambda: is_open(office.port), seconds=10)
    proxy = Proxy(office.port)
    (folder / "logs").mkdir()
    fleet = Fleet(folder / "logs", environment, free_port())
    down.callback(fleet.close)
    workspace_id, stream_id, token = _tenant(proxy.port)
    until(services[1].answers, seconds=120, every=0.2)
    for role in ("web", "beat", *["worker"] * (workers - 1)):
        fleet.start(role)
    until(lambda: is_open(fleet.web_port), seconds=60)
    customer = Customer(f"http://127.0.0.1:{fleet.web_port}", token)
    return Drill(folder, *services, proxy, fleet, customer, workspace_id, stream_id)


def _tenant(port: int) -> tuple[int, int, str]:
    """A workspace that sends through the proxy, a campaign, and a key for requests."""
    from postledger.accounts import actions
    from postledger.accounts.keys import Scope
    from postledger.accounts.models import Sender, Workspace
    from postledger.deliveries import ledger
    from postledger.deliveries.entries import Body, Kind
    from tests.drill.drill import PASSWORD

    workspace = Workspace.objects.create(name="drill")
    settings = {
        "host": "127.0.0.1",
        "port": port,
        "tls": "none",
        "username": "drill",
        "password": PASSWORD,
        "messages_per_connection": 20,
        # A call fits a lease of ten seconds: the answer and two commands, and time to settle.
        "timeouts": {"connect": 1.3, "command": 1.3, "body": 1.3, "answer": 4.0, "quit": 0.5},
    }
    account = actions.create_account(
        workspace.pk, name="office", kind="smtp", settings=settings, actor="drill"
    )
    sender = Sender.objects.create(
        workspace=workspace, account_id=account, address="news@acme.example"
    )
    stream_id = ledger.open_stream(
        workspace.pk,
        sender_id=sender.pk,
        kind=Kind.CAMPAIGN,
        title="Drill",
        now=datetime.now(UTC),
        body=Body(subject="News", html="<p>News</p>", text="News"),
    )
    key = actions.create_key(workspace.pk, name="shop", scopes=list(Scope), actor="drill")
    return workspace.pk, stream_id, key.token

"""Puts up everything a drill needs, in one temporary folder, and takes it all down again."""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import django

from tools.drill.chaos import Proxy
from tools.drill.losses import CAMPAIGN, TRANSACTIONAL
from tools.drill.services import Postgres, RabbitMQ, Redis_, is_open
from tools.drill.waiting import free_port, until

if TYPE_CHECKING:
    from tools.drill.drill import Drill, Load
    from tools.drill.sqs import Sqs

_SECRET_KEY = "a-key-of-the-drill-that-is-long-enough-and-opens-nothing-else"


@contextmanager
def put_up(*, workers: int, has_queue: bool = False) -> Iterator["Drill"]:
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
        services = (database, rabbitmq, redis)
        sqs = _put_up_queue(down) if has_queue else None
        yield _furnished(folder, services, environment, workers, sqs, down)


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
        "UNSUBSCRIBE_SECRET": "only-for-the-drill, and long enough",
        # Cuts before acceptance are many here and tell nothing about a mail. Scenarios in which
        # the provider says "later" set a policy that can be exhausted.
        **policies(200),
    }


def policies(attempts: int) -> dict[str, str]:
    """The environment of workers that give up after so many attempts."""
    written = f"{attempts}: 0.5 1 max 2"
    kinds = ("CAMPAIGN", "TRANSACTIONAL", "TOPIC")
    return {f"RETRY_{kind}": written for kind in kinds}


def _connect(environment: dict[str, str]) -> None:
    os.environ.update(environment)
    subprocess.run(["postledger", "setup"], check=True, stdout=subprocess.DEVNULL)
    django.setup()
    import postledger.config.celery  # noqa: F401  where wake-ups of the drill's own go


def _put_up_queue(down: ExitStack) -> "Sqs":
    from tools.drill.sqs import Sqs

    sqs = Sqs()
    sqs.start()
    down.callback(sqs.end)
    return sqs


def _furnished(
    folder: Path,
    services: tuple[Postgres, RabbitMQ, Redis_],
    environment: dict[str, str],
    workers: int,
    sqs: "Sqs | None",
    down: ExitStack,
) -> "Drill":
    from tools.drill.customer import Customer
    from tools.drill.drill import Drill, Known
    from tools.drill.fleet import Fleet
    from tools.drill.sendgrid import SendGrid
    from tools.drill.ses import Ses
    from tools.drill.smtp import Smtp

    smtp = Smtp(folder)
    smtp.start()
    down.callback(smtp.end)
    web_port = free_port()
    ses = Ses(folder / "ses", f"http://127.0.0.1:{web_port}/ses-events", sqs)
    ses.start()
    down.callback(ses.end)
    # Its scenario starts it: the quick drill and the proofs do without.
    sendgrid = SendGrid(folder / "sendgrid", f"http://127.0.0.1:{web_port}/sendgrid-events")
    down.callback(sendgrid.end)
    until(lambda: is_open(smtp.port) and is_open(ses.port), seconds=60)
    proxy = Proxy(smtp.port)
    (folder / "logs").mkdir()
    fleet = Fleet(folder / "logs", environment, web_port)
    down.callback(fleet.close)
    load, token = _tenant(proxy.port)
    until(services[1].answers, seconds=120, every=0.2)
    for role in ("web", "beat", *["worker"] * (workers - 1)):
        fleet.start(role)
    until(lambda: is_open(fleet.web_port), seconds=60)
    customer = Customer(
        f"http://127.0.0.1:{fleet.web_port}",
        token,
        asked=lambda: load.asked.add(TRANSACTIONAL, 1, at=time.time()),
    )
    deeds = Known(attempts={CAMPAIGN: 200, TRANSACTIONAL: 200})
    return Drill(folder, *services, smtp, proxy, ses, sendgrid, sqs, fleet, customer, load, deeds)


def _tenant(port: int) -> tuple["Load", str]:
    """A workspace that sends through the proxy, a campaign, and a key for requests."""
    from postledger.accounts import keys
    from postledger.accounts.keys import Scope
    from tools.drill import books, tenants
    from tools.drill.drill import Load

    workspace_id, sender_id = tenants.create("drill", port)
    stream_id = books.open_campaign(workspace_id, sender_id)
    key = keys.create_key(workspace_id, name="shop", scopes=list(Scope), actor="drill")
    return Load(workspace_id, sender_id, stream_id), key.token

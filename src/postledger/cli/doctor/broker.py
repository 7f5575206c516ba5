"""Checks RabbitMQ and Redis: login, queues and eviction.

Workers poll the database, so mail is sent without both: their absence is a warning.
"""

from collections.abc import Iterator
from dataclasses import replace

from amqp.exceptions import AccessRefused, AMQPError, NotAllowed, NotFound, PreconditionFailed
from django.conf import settings
from kombu import Connection, Queue
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import AuthenticationError, NoPermissionError, RedisError
from redis.retry import Retry

from postledger.lib import queues
from postledger.lib.check_results import (
    CheckResult,
    Level,
    ok,
    out_of_reach,
    problem,
    warning,
)

CONNECT_SECONDS = 3.0
# What follows where a server cannot be used.
_WITHOUT_BROKER = "mail is sent some seconds later"
_WITHOUT_REDIS = "mail is sent, but each process counts its limits alone"


def check_broker() -> Iterator[CheckResult]:
    url = settings.CELERY_BROKER_URL
    if url.startswith("redis"):
        yield from _check_redis_broker(url)
    else:
        yield from _check_rabbitmq(url)


def _check_rabbitmq(url: str) -> Iterator[CheckResult]:
    with Connection(url, connect_timeout=CONNECT_SECONDS) as connection:
        try:
            connection.connect()
        except AccessRefused:
            message = f"RabbitMQ refuses the login: {_WITHOUT_BROKER}."
            yield out_of_reach("broker", message, "Correct user and password in BROKER_URL.")
        except NotAllowed:
            host = connection.virtual_host
            message = f"RabbitMQ has no virtual host {host} for this user: {_WITHOUT_BROKER}."
            remedy = f"Run rabbitmqctl add_vhost {host} and rabbitmqctl set_permissions -p {host}."
            yield out_of_reach("broker", message, remedy)
        except (AMQPError, OSError) as error:
            message = f"RabbitMQ does not answer ({type(error).__name__}): {_WITHOUT_BROKER}."
            yield out_of_reach("broker", message, "Start RabbitMQ, or correct BROKER_URL.")
        else:
            yield from _check_queues(connection)


def _check_queues(connection: Connection) -> Iterator[CheckResult]:
    declared = [declare(settings.QUEUE_PREFIX) for declare in (queues.wake_ups, queues.upkeep)]
    findings = [finding for queue in declared for finding in _check_queue(connection, queue)]
    yield from findings or [ok("broker", "RabbitMQ answers, and its queues are correct.")]


def _check_queue(connection: Connection, queue: Queue) -> Iterator[CheckResult]:
    """Declares passively first, so that the check creates no queue.

    A refused declaration closes its channel: each declaration gets its own.
    """
    try:
        with connection.channel() as channel:
            queue.bind(channel).queue_declare(passive=True)
        with connection.channel() as channel:
            queue.bind(channel).queue_declare()
    except NotFound:
        message = f"RabbitMQ has no queue {queue.name} yet: no worker has declared it."
        yield warning("broker", message, "Start a worker, which declares it: postledger worker.")
    except PreconditionFailed:
        message = f"The queue {queue.name} has another type than workers declare, and stops them."
        remedy = f"Run rabbitmqctl delete_queue {queue.name}, then restart the workers."
        yield problem("broker", message, remedy)


def check_redis() -> Iterator[CheckResult]:
    url = settings.REDIS_URL
    yield _check_redis_server("redis", url, variable="REDIS_URL", effect=_WITHOUT_REDIS)


def _check_redis_broker(url: str) -> Iterator[CheckResult]:
    """An evicted wake-up delays its mail, and that is all."""
    variable = "REDIS_URL" if url == settings.REDIS_URL else "BROKER_URL"
    result = _check_redis_server("broker", url, variable=variable, effect=_WITHOUT_BROKER)
    yield replace(result, level=Level.WARNING) if result.level is Level.PROBLEM else result


def _check_redis_server(subject: str, url: str, *, variable: str, effect: str) -> CheckResult:
    """`variable` is the environment variable with the URL, `effect` what follows without Redis."""
    client = Redis.from_url(
        url,
        socket_connect_timeout=CONNECT_SECONDS,
        socket_timeout=CONNECT_SECONDS,
        retry=Retry(NoBackoff(), 0),
    )
    try:
        with client:
            client.ping()
            memory = client.info("memory")
        return judge_eviction(subject, str(memory["maxmemory_policy"]), int(memory["maxmemory"]))
    except (AuthenticationError, NoPermissionError):
        remedy = f"Correct user and password in {variable}."
        return out_of_reach(subject, f"Redis refuses the login: {effect}.", remedy)
    except RedisError as error:
        remedy = f"Start Redis, or correct {variable}."
        message = f"Redis does not answer ({type(error).__name__}): {effect}."
        return out_of_reach(subject, message, remedy)


def judge_eviction(subject: str, policy: str, maxmemory: int) -> CheckResult:
    """When Redis evicts a key, a limit starts again from zero, or the witness of the database is
    gone: after a restore, mail could then be sent twice.
    """
    if policy == "noeviction":
        return ok(subject, "Redis answers and evicts nothing.")
    remedy = "Run redis-cli config set maxmemory-policy noeviction, and set it in redis.conf too."
    if maxmemory:
        message = f"Redis drops keys when its memory is full: its maxmemory-policy is {policy}."
        return problem(subject, message, remedy)
    message = f"Redis will drop keys once maxmemory is set: its maxmemory-policy is {policy}."
    return warning(subject, message, remedy)

"""Whether a Redis server answers and forgets nothing."""

from collections.abc import Iterator

from django.conf import settings
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import AuthenticationError, NoPermissionError, RedisError
from redis.retry import Retry

from postledger.workers.doctor.findings import Finding, ok, problem, warning

CONNECT_SECONDS = 3.0


def look() -> Iterator[Finding]:
    yield from examine("redis", settings.REDIS_URL, variable="REDIS_URL")


def examine(subject: str, url: str, *, variable: str) -> Iterator[Finding]:
    """`variable` is where the address was read from, and where it is to be corrected."""
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
        yield eviction(subject, str(memory["maxmemory_policy"]), int(memory["maxmemory"]))
    except (AuthenticationError, NoPermissionError):
        remedy = f"Correct user and password in {variable}."
        yield problem(subject, "Redis refuses the login.", remedy)
    except RedisError as error:
        remedy = f"Start Redis, or correct {variable}."
        yield problem(subject, f"Redis does not answer ({type(error).__name__}).", remedy)


def eviction(subject: str, policy: str, maxmemory: int) -> Finding:
    """A counter that Redis drops to win memory is a limit that begins again from nothing."""
    if policy == "noeviction":
        return ok(subject, "Redis answers and evicts nothing.")
    remedy = (
        "Run redis-cli config set maxmemory-policy noeviction, and write it into redis.conf too."
    )
    if maxmemory:
        found = f"Redis drops keys when its memory is full: its maxmemory-policy is {policy}."
        return problem(subject, found, remedy)
    found = f"Redis will drop keys once maxmemory is set: its maxmemory-policy is {policy}."
    return warning(subject, found, remedy)

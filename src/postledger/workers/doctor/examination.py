"""Runs every check, so that the trouble of one hides no trouble of another."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from postledger.observability import masking
from postledger.workers.doctor import (
    access,
    broker,
    clock,
    configuration,
    database,
    fence,
    integrations,
    pooler,
    redis_server,
    senders,
    tables,
    work,
)
from postledger.workers.doctor.findings import Finding, Level, problem, warning


@dataclass(frozen=True, slots=True)
class Check:
    subject: str
    look: Callable[[], Iterable[Finding]]
    needs: str = ""  # the check without whose success this one can say nothing


CHECKS = (
    Check("settings", configuration.look),
    Check("database", database.reach),
    Check("server", database.server, needs="database"),
    Check("pooler", pooler.look, needs="database"),
    Check("clock", clock.look, needs="database"),
    Check("migrations", tables.migrations, needs="database"),
    Check("partitions", tables.months, needs="migrations"),
    Check("fence", fence.look, needs="migrations"),
    Check("broker", broker.look),
    Check("redis", redis_server.look),
    Check("senders", senders.look, needs="migrations"),
    Check("keys", access.look, needs="migrations"),
    Check("integrations", integrations.look, needs="migrations"),
    Check("workers", work.workers, needs="migrations"),
    Check("beat", work.beat, needs="migrations"),
    Check("upkeep", work.upkeep, needs="migrations"),
    Check("due", work.due, needs="migrations"),
    Check("holds", work.holds, needs="migrations"),
    Check("doubts", work.doubts, needs="migrations"),
)


def examine() -> Iterator[Finding]:
    """Every check's findings, as they are made; what was found is told without secrets.

    Remedies are our own words, and masking would take commands in them for secrets.
    """
    failed: set[str] = set()
    left_out: list[str] = []
    for check in CHECKS:
        if check.needs in failed:
            failed.add(check.subject)
            left_out.append(check.subject)
            continue
        for finding in _look(check):
            if finding.level is Level.PROBLEM:
                failed.add(check.subject)
            yield replace(finding, found=masking.mask_text(finding.found))
    if left_out:
        yield warning(
            "examined",
            f"Not examined, because others must hold first: {', '.join(left_out)}.",
            "Mend what is named above, then run postledger doctor again.",
        )


def _look(check: Check) -> Iterator[Finding]:
    try:
        yield from check.look()
    except Exception as error:  # noqa: BLE001  the other checks are to be run all the same
        found = f"The check broke off: {type(error).__name__}: {error}"
        yield problem(check.subject, found, "Mend what is named above, or report this line.")

"""Runs all checks: a failure of one does not hide the findings of another."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from postledger.cli.doctor import (
    broker,
    events,
    installation,
    integrations,
    postgres,
    quotas,
    senders,
    web,
    work,
)
from postledger.lib.check_results import CheckResult, Level, problem, warning
from postledger.observability import masking


@dataclass(frozen=True, slots=True)
class Check:
    subject: str
    run: Callable[[], Iterable[CheckResult]]
    needs: str = ""  # the subject that must have no problem first


CHECKS = (
    Check("settings", installation.check_settings),
    Check("database", postgres.check_database),
    Check("server", postgres.check_server, needs="database"),
    Check("pooler", postgres.check_pooler, needs="database"),
    Check("clock", postgres.check_clock, needs="database"),
    Check("migrations", installation.check_migrations, needs="database"),
    Check("hashes", installation.check_hashes, needs="migrations"),
    Check("partitions", installation.check_partitions, needs="migrations"),
    Check("filters", installation.check_audience_filters, needs="migrations"),
    Check("fence", installation.check_fence, needs="migrations"),
    Check("broker", broker.check_broker),
    Check("redis", broker.check_redis),
    Check("senders", senders.check_senders, needs="migrations"),
    Check("quotas", quotas.check_quotas, needs="migrations"),
    Check("keys", installation.check_api_keys, needs="migrations"),
    Check("integrations", integrations.check_integrations, needs="migrations"),
    Check("public_url", web.check_public_url, needs="migrations"),
    Check("proxies", web.check_proxies),
    Check("metrics", web.check_metrics),
    Check("workers", work.check_workers, needs="migrations"),
    Check("beat", work.check_beat, needs="migrations"),
    Check("upkeep", work.check_upkeep, needs="migrations"),
    Check("due", work.check_due_work, needs="migrations"),
    Check("holds", work.check_holds, needs="migrations"),
    Check("doubts", work.check_doubts, needs="migrations"),
    Check("events", events.check_events, needs="migrations"),
)


def examine() -> Iterator[CheckResult]:
    """Yields each check's findings as they are made, with masked messages.

    Remedies are our own texts, and masking would damage the commands in them.
    """
    failed: set[str] = set()
    skipped: list[str] = []
    for check in CHECKS:
        if check.needs in failed:
            failed.add(check.subject)
            skipped.append(check.subject)
            continue
        for finding in _run(check):
            if finding.level is Level.PROBLEM:
                failed.add(check.subject)
            yield replace(finding, message=masking.mask_text(finding.message))
    if skipped:
        yield warning(
            "examined",
            f"Not examined, because a check before it failed: {', '.join(skipped)}.",
            "Fix the problems above, then run postledger doctor again.",
        )


def _run(check: Check) -> Iterator[CheckResult]:
    try:
        yield from check.run()
    except Exception as error:  # noqa: BLE001  the other checks still have to run
        message = f"The check failed: {type(error).__name__}: {error}"
        yield problem(check.subject, message, "Fix the problems above, or report this line.")

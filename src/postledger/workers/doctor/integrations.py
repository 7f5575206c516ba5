"""Whether integrations can be used, and whether the environment has one that nobody took."""

import shlex
from collections.abc import Iterator

from postledger.accounts import integrations, queries
from postledger.accounts.models import Integration
from postledger.lib.secrets import UnsealableError
from postledger.observability import masking
from postledger.workers import offers
from postledger.workers.doctor.findings import Finding, ok, warning

# More lines would be read by nobody.
MOST = 50


def look() -> Iterator[Finding]:
    findings = [*_sealed(), *_untaken()]
    yield from findings or [ok("integrations", "Every integration that is set can be used.")]


def _sealed() -> Iterator[Finding]:
    rows = Integration.objects.select_related("workspace").order_by("pk")
    for row in rows.exclude(sealed_settings=None)[:MOST]:
        try:
            integrations.stored_settings(row)
        except UnsealableError:
            yield _lost(row)


def _lost(row: Integration) -> Finding:
    workspace = masking.mask_text(row.workspace.name)
    change = shlex.join(["postledger", "integration", "set", workspace, row.kind])
    return warning(
        "integrations",
        f"{row.kind} of {row.workspace.name} cannot be opened: it was sealed under another"
        " SECRET_KEY.",
        "Name the old key in SECRET_KEY_PREVIOUS and run postledger account reseal, or enter all"
        f" settings again: {change} --anew --set NAME=VALUE --secret NAME=FILE.",
    )


def _untaken() -> Iterator[Finding]:
    first = queries.default_workspace_id()
    known = set() if first is None else {one.kind for one in integrations.listed(first)}
    for kind, offered in offers.made().items():
        if kind not in known:
            yield warning(
                "integrations",
                f"The first workspace has no {kind.value}, though there is"
                f" {offers.named(kind, offered)}.",
                "Run postledger setup, which takes it, or says why not.",
            )

"""Checks that integrations can be unsealed, and that the environment's are in use."""

import shlex
from collections.abc import Iterator

from postledger.accounts import integrations, queries, sealing
from postledger.accounts.models import Integration
from postledger.lib.check_results import CheckResult, ok, warning
from postledger.lib.secrets import UnsealableError
from postledger.observability import masking

MOST_INTEGRATIONS = 50  # a longer report would not be read


def check_integrations() -> Iterator[CheckResult]:
    findings = [*_check_sealed_settings(), *_check_environment()]
    yield from findings or [ok("integrations", "All integrations can be unsealed.")]


def _check_sealed_settings() -> Iterator[CheckResult]:
    rows = Integration.objects.select_related("workspace").order_by("pk")
    for row in rows.exclude(sealed_settings=None)[:MOST_INTEGRATIONS]:
        try:
            sealing.unseal_settings(row)
        except UnsealableError:
            yield _cannot_unseal(row)


def _cannot_unseal(row: Integration) -> CheckResult:
    workspace = masking.mask_text(row.workspace.name)
    command = shlex.join(["postledger", "integration", "set", workspace, row.kind])
    return warning(
        "integrations",
        f"{row.kind} of {row.workspace.name} cannot be unsealed: it was sealed under another"
        " SECRET_KEY.",
        "Add the old key to SECRET_KEY_PREVIOUS and run postledger account reseal, or enter all"
        f" settings again: {command} --anew --set NAME=VALUE --secret NAME=FILE.",
    )


def _check_environment() -> Iterator[CheckResult]:
    first = queries.first_workspace_id()
    stored_kinds = (
        set() if first is None else {row.kind for row in integrations.list_integrations(first)}
    )
    for kind, settings in integrations.read_environment().items():
        if kind not in stored_kinds:
            yield warning(
                "integrations",
                f"The environment sets {integrations.name_variables(kind, settings)}, but the"
                f" first workspace has no integration {kind.value}.",
                "Run postledger setup: it creates the integration, or says why it cannot.",
            )

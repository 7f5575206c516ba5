"""Checks that there are senders, and that their provider accounts can be used."""

import asyncio
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from django.contrib.postgres.aggregates import ArrayAgg
from django.core.exceptions import ImproperlyConfigured
from django.db.models import Min, QuerySet
from pydantic import ValidationError

from postledger.accounts import queries
from postledger.accounts.models import Sender, Workspace
from postledger.cli import provider_findings
from postledger.feedback.report_setup import sendgrid
from postledger.lib.check_results import CheckResult, Level, ok, problem
from postledger.lib.errors import RefusedError
from postledger.lib.secrets import UnsealableError
from postledger.observability import masking
from postledger.providers import registry
from postledger.providers.base import Finding

_SENDGRID = "sendgrid"
_QUOTA = "quota"  # shown also if it is in order
MOST_ACCOUNTS = 50  # thousands of logins would look like an attack


@dataclass(frozen=True, slots=True)
class Account:
    """An account that a sender uses, by the names that commands take."""

    id: int
    workspace: str
    name: str
    kind: str
    sender_id: int
    addresses: Sequence[str]

    @property
    def title(self) -> str:
        return f"The account {self.name} of {self.workspace}"

    @property
    def update(self) -> str:
        return _command("account", "update", self.workspace, self.name)


def check_senders() -> Iterator[CheckResult]:
    if not Workspace.objects.exists():
        yield problem("senders", "There is no workspace.", "Run postledger setup.")
    elif not _in_use().exists():
        remedy = "Run postledger sender create WORKSPACE ADDRESS --smtp HOST:PORT."
        yield problem("senders", "There is no sender.", remedy)
    else:
        yield from _check_unattached()
        yield from _check_accounts(_accounts_in_use())


def _in_use() -> QuerySet[Sender]:
    """An archived sender takes no mail, so nothing depends on it."""
    return Sender.objects.filter(archived_at=None)


def _check_unattached() -> Iterator[CheckResult]:
    waiting = _in_use().filter(account=None).order_by("pk")
    for workspace, address in waiting.values_list("workspace__name", "address")[:MOST_ACCOUNTS]:
        attach = _command("sender", "attach", workspace)
        listing = _command("sender", "list", workspace)
        yield problem(
            "senders",
            f"{address} of {workspace} has no provider account, so its mail waits.",
            f"Run {attach} ADDRESS --account NAME; {listing} shows the whole address.",
        )


def _accounts_in_use() -> list[Account]:
    attached = _in_use().exclude(account=None).order_by("account_id")
    rows = attached.values_list(
        "account_id", "workspace__name", "account__name", "account__kind"
    ).annotate(sender_id=Min("pk"), addresses=ArrayAgg("address"))
    return [Account(*row) for row in rows[:MOST_ACCOUNTS]]


def _check_accounts(accounts: Sequence[Account]) -> Iterator[CheckResult]:
    opened = [(account, _open(account)) for account in accounts]
    results = [result for _, result in opened if isinstance(result, CheckResult)]
    usable = [(account, item) for account, item in opened if not isinstance(item, CheckResult)]
    for (account, settings), findings in zip(usable, asyncio.run(_check(usable)), strict=True):
        further = _check_reports(account, settings, findings)
        results += [
            _describe(account, finding)
            for finding in (*findings, *further)
            if finding.level is not Level.OK or finding.subject == _QUOTA
        ]
    yield from results
    if accounts and all(result.level is Level.OK for result in results):
        names = ", ".join(account.name for account in accounts)
        yield ok("senders", f"All accounts in use work: {names}.")


def _open(account: Account) -> Mapping[str, object] | CheckResult:
    """Opens the sealed settings, and has the provider validate them."""
    try:
        outgoing = queries.outgoing(account.sender_id)
        settings = outgoing.settings if outgoing else {}
        registry.build(account.kind, settings)
    except ValidationError as error:
        wrong = sorted({".".join(map(str, item["loc"])) or "all" for item in error.errors()})
        message = f"{account.title} has invalid settings: {', '.join(wrong)}."
        return problem("senders", message, f"Run {account.update} --set NAME=VALUE.")
    except (UnsealableError, ImproperlyConfigured):
        remedy = (
            "Add the old key to SECRET_KEY_PREVIOUS and run postledger account reseal, or enter"
            f" all settings again: {account.update} --anew --set NAME=VALUE."
        )
        message = f"{account.title} cannot be unsealed: it was sealed under another SECRET_KEY."
        return problem("senders", message, remedy)
    except RefusedError as refused:
        return problem("senders", f"{account.title}: {refused}", "Attach its senders to another.")
    return settings


async def _check(
    accounts: Sequence[tuple[Account, Mapping[str, object]]],
) -> Sequence[Sequence[Finding]]:
    checks = [
        registry.load_module(account.kind).check(settings, account.addresses)
        for account, settings in accounts
    ]
    return await asyncio.gather(*checks)


def _check_reports(
    account: Account, settings: Mapping[str, object], findings: Sequence[Finding]
) -> Sequence[Finding]:
    """Only this installation knows the keys that SendGrid's reports are to be signed with."""
    if account.kind != _SENDGRID or provider_findings.has_no_access(findings):
        return ()
    return [sendgrid.check_events(account.id, settings)]


def _describe(account: Account, finding: Finding) -> CheckResult:
    result = provider_findings.describe(finding, update=account.update)
    return replace(result, subject="senders", message=f"{account.title}: {finding.message}")


def _command(*words: str) -> str:
    """A command as it is typed; a name that is an address stays masked here too."""
    return shlex.join(["postledger", *map(masking.mask_text, words)])

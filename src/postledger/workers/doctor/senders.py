"""Whether there is somebody to send as, and whether each provider account can be used."""

import asyncio
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.core.exceptions import ImproperlyConfigured
from pydantic import ValidationError

from postledger.accounts import queries
from postledger.accounts.models import Sender, Workspace
from postledger.lib.errors import RefusedError
from postledger.lib.secrets import UnsealableError
from postledger.observability import masking
from postledger.providers import registry
from postledger.providers.smtp.settings import Settings as Smtp
from postledger.workers.doctor import smtp_login
from postledger.workers.doctor.findings import Finding, ok, problem

# Logging in to thousands would look like an attack, and nobody would wait for it.
MOST = 50


@dataclass(frozen=True, slots=True)
class Account:
    """An account that a sender uses, by the names that commands take."""

    workspace: str
    name: str
    kind: str
    sender_id: int

    @property
    def title(self) -> str:
        return f"The account {self.name} of {self.workspace}"

    @property
    def update(self) -> str:
        return _command("account", "update", self.workspace, self.name)


def look() -> Iterator[Finding]:
    if not Workspace.objects.exists():
        yield problem("senders", "There is no workspace to send for.", "Run postledger setup.")
    elif not Sender.objects.exists():
        remedy = "Run postledger sender create WORKSPACE ADDRESS --smtp HOST:PORT."
        yield problem("senders", "There is no sender to send as.", remedy)
    else:
        yield from _without_account()
        yield from _judge(_in_use())


def _without_account() -> Iterator[Finding]:
    waiting = Sender.objects.filter(account=None).order_by("pk")
    for workspace, address in waiting.values_list("workspace__name", "address")[:MOST]:
        command = _command("sender", "attach", workspace)
        yield problem(
            "senders",
            f"{address} of {workspace} has no provider account, so its mail waits.",
            f"Run {command} ADDRESS --account NAME.",
        )


def _in_use() -> list[Account]:
    one_each = Sender.objects.exclude(account=None).order_by("account_id", "pk")
    rows = one_each.distinct("account_id").values_list(
        "workspace__name", "account__name", "account__kind", "pk"
    )
    return [Account(*row) for row in rows[:MOST]]


def _judge(accounts: Sequence[Account]) -> Iterator[Finding]:
    opened = [(account, _open(account)) for account in accounts]
    useless = [result for _, result in opened if isinstance(result, Finding)]
    useless += asyncio.run(
        _log_in([(account, result) for account, result in opened if isinstance(result, Smtp)])
    )
    yield from useless
    if accounts and not useless:
        names = ", ".join(account.name for account in accounts)
        yield ok("senders", f"Every account in use can be used: {names}.")


def _open(account: Account) -> Smtp | Finding | None:
    """Opens the sealed settings and lets the provider judge them; returns what can log in."""
    try:
        outgoing = queries.outgoing(account.sender_id)
        settings = outgoing.settings if outgoing else {}
        registry.build(account.kind, settings)
        return Smtp.model_validate(settings) if account.kind == "smtp" else None
    except ValidationError as error:
        wrong = sorted({".".join(map(str, item["loc"])) or "all" for item in error.errors()})
        found = f"{account.title} has settings that cannot work: {', '.join(wrong)}."
        return problem("senders", found, f"Run {account.update} --set NAME=VALUE.")
    except (UnsealableError, ImproperlyConfigured):
        remedy = (
            "Name the old key in SECRET_KEY_PREVIOUS and run postledger account reseal, or enter"
            f" all settings again: {account.update} --anew --set NAME=VALUE."
        )
        found = f"{account.title} cannot be opened: it was sealed under another SECRET_KEY."
        return problem("senders", found, remedy)
    except RefusedError as refused:
        return problem("senders", f"{account.title}: {refused}", "Attach its senders to another.")


async def _log_in(accounts: Sequence[tuple[Account, Smtp]]) -> list[Finding]:
    answers = await asyncio.gather(
        *(smtp_login.log_in(settings) for _, settings in accounts), return_exceptions=True
    )
    return [
        _refused(account, answer)
        for (account, _), answer in zip(accounts, answers, strict=True)
        if answer is not None
    ]


def _refused(account: Account, answer: BaseException) -> Finding:
    if not isinstance(answer, smtp_login.NoLoginError):
        raise answer
    changes = "--set username=NAME --secret password=-"
    if not answer.is_about_login:
        changes = "--set host=HOST --set port=PORT --set tls=MODE"
    found = f"{account.title} does not get in: {answer}."
    return problem("senders", found, f"Run {account.update} {changes}, or mend the server.")


def _command(*words: str) -> str:
    """A command as it is typed; a name that is an address stays masked here too."""
    return shlex.join(["postledger", *map(masking.mask_text, words)])

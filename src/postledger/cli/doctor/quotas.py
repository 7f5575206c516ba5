"""Checks that the quotas of accounts in use are read."""

import shlex
from collections.abc import Iterator
from datetime import timedelta

from django.db.models import Exists, F, OuterRef
from django.db.models.functions import Now

from postledger.accounts.models import AccountQuota, Sender
from postledger.cli.doctor.work import format_duration
from postledger.lib.check_results import CheckResult, ok, warning
from postledger.observability import masking

# By then it was tried a few times.
LONG = timedelta(minutes=10)
_MOST_SHOWN = 20


def check_quotas() -> Iterator[CheckResult]:
    in_use = Sender.objects.filter(account_id=OuterRef("account_id"), archived_at=None)
    examined = AccountQuota.objects.filter(Exists(in_use)).select_related("account__workspace")
    unread = examined.annotate(failing=Now() - F("failed_since")).filter(failing__gt=LONG)
    failing = list(unread.order_by("failed_since")[:_MOST_SHOWN])
    for quota in failing:
        yield _describe(quota)
    if not failing:
        count = examined.exclude(synced_at=None).count()
        yield ok("quotas", f"Accounts whose provider says its quota: {count}.")


def _describe(quota: AccountQuota) -> CheckResult:
    account = quota.account
    duration = format_duration(quota.failing.total_seconds())  # type: ignore[attr-defined]  # annotated
    effect = "its mail goes without it" if quota.synced_at is None else "the last figure counts"
    names = map(masking.mask_text, (account.workspace.name, account.name))
    command = shlex.join(["postledger", "account", "quota", *names])
    return warning(
        "quotas",
        f"The quota of account {account.name} of {account.workspace.name} could not be read for"
        f" {duration}, and {effect}: {quota.error}",
        f"Correct that, then run {command}.",
    )

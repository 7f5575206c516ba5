"""Checks the installation: settings, migrations, partitions, filters, the fence and API keys."""

from collections.abc import Iterator
from datetime import UTC, datetime

from django.conf import settings
from django.core.checks import ERROR, CheckMessage, run_checks
from django.db.models import Q
from django.db.models.functions import Now

from postledger.accounts import hash_key
from postledger.accounts.models import ApiKey
from postledger.campaigns.models import Campaign
from postledger.contacts import index_advice
from postledger.contacts.filters import parsing
from postledger.deliveries import ledger, partitions
from postledger.deliveries.ledger import Epoch
from postledger.lib import ids
from postledger.lib.check_results import SETTINGS_TAG, CheckResult, ok, problem, warning
from postledger.lib.errors import RefusedError
from postledger.lib.secrets import UnsealableError
from postledger.observability import schema

_NEWEST_CAMPAIGNS = 20


def from_system_check(subject: str, message: CheckMessage) -> CheckResult:
    level = problem if message.level >= ERROR else warning
    return level(subject, str(message.msg), message.hint or "Run postledger check.")


def check_settings() -> Iterator[CheckResult]:
    # Those of URLs and models are for who changes the code, and load the whole application.
    messages = run_checks(tags=[SETTINGS_TAG])
    yield from (from_system_check("settings", message) for message in messages)
    if settings.DEBUG:
        message = "DEBUG is on: the secret key may be public, and error pages show details."
        yield warning("settings", message, "Unset DEBUG, and set SECRET_KEY.")
    elif not messages:
        yield ok("settings", "All required settings are present.")


def check_migrations() -> Iterator[CheckResult]:
    unapplied, unknown = schema.unapplied(), schema.unknown()
    if unknown:
        message = f"Migrations of another version were run: {len(unknown)}, the first {unknown[0]}."
        remedy = "Run that version of Postledger, or name another database in DATABASE_URL."
        yield problem("migrations", message, remedy)
    elif unapplied:
        message = f"{len(unapplied)} migrations are not applied; the first is {unapplied[0]}."
        yield problem("migrations", message, "Run postledger migrate.")
    else:
        yield ok("migrations", "All migrations are applied.")


def check_hashes() -> Iterator[CheckResult]:
    try:
        hash_key.read()
    except UnsealableError:
        yield problem(
            "hashes",
            "The key of hashed addresses cannot be unsealed: it was sealed under another"
            " SECRET_KEY. Nobody can be looked up among the suppressed addresses, so nothing is"
            " sent.",
            "Add the old key to SECRET_KEY_PREVIOUS, then run postledger account reseal.",
        )
    else:
        yield ok("hashes", "Suppressed addresses can be looked up.")


def check_partitions() -> Iterator[CheckResult]:
    this = partitions.this_month()
    remedy = "Run postledger partitions, and again every month."
    if not partitions.exists(this):
        message = f"The ledger has no partitions for {ids.month_name(this)}: no mail can be queued."
        yield problem("partitions", message, remedy)
    elif not partitions.exists(this + 1):
        message = f"The ledger has no partitions for the next month, {ids.month_name(this + 1)}."
        yield warning("partitions", message, remedy)
    else:
        yield ok("partitions", "The ledger has partitions for this month and the next.")


def check_audience_filters() -> Iterator[CheckResult]:
    """Estimates the cost of the filters of the newest campaigns; counts no contact."""
    slow = False
    for campaign in Campaign.objects.order_by("-pk")[:_NEWEST_CAMPAIGNS]:
        try:
            audience = parsing.parse(campaign.audience, now=datetime.now(UTC))
            remedy = index_advice.advise(campaign.workspace_id, audience)
        except RefusedError:
            continue  # the list of a filter was never created: a launch refuses it
        if remedy is not None:
            slow = True
            message = f"The audience filter of campaign {campaign.tag} reads very many contacts."
            yield warning("filters", message, remedy)
    if not slow:
        yield ok("filters", "The audience filters of the newest campaigns are served by indexes.")


def check_fence() -> Iterator[CheckResult]:
    yield judge_fence(ledger.current_epoch(), is_sending=settings.DISPATCH_OPTIONS.is_sending)


def judge_fence(epoch: Epoch, *, is_sending: bool) -> CheckResult:
    """Restored, promoted and copied databases must not send."""
    if not epoch.is_here:
        message = "This database was restored, promoted or copied: no mail is sent from it."
        return problem("fence", message, "Start a worker, then run postledger fence show.")
    if epoch.is_fenced:
        message = "This database is fenced: mail waits until a person lifts the fence."
        return problem("fence", message, "Run postledger fence show: it says what to do.")
    if not is_sending:
        message = "SENDING is off: workers send nothing."
        return warning("fence", message, "Set SENDING to on where mail is to be sent.")
    return ok("fence", f"This database may send mail (epoch {epoch.number}).")


def check_api_keys() -> Iterator[CheckResult]:
    is_valid = Q(revoked_at=None) & (Q(expires_at=None) | Q(expires_at__gt=Now()))
    count = ApiKey.objects.filter(is_valid).count()
    if count:
        yield ok("keys", f"Valid API keys: {count}.")
    else:
        message = "There is no valid API key, so no program can send mail."
        yield warning("keys", message, "Run postledger key create WORKSPACE --name NAME.")

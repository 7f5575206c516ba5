"""Verdicts on the records of a sender's domain, in words of pages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from postledger.accounts.models import Sender
from postledger.lib.check_results import Level
from postledger.providers.dns import dkim, spf
from postledger.providers.dns.records import DnsRecord
from postledger.providers.dns.verdicts import Code, Verdict

_PROVIDERS: Final = {"ses": "SES", "sendgrid": "SendGrid"}
_LEVELS: Final = {Level.OK: "", Level.WARNING: "warning", Level.PROBLEM: "problem"}

_TITLES: Final[Mapping[Code, object]] = {
    Code.SPF_RIGHT: gettext_lazy("SPF lets %(provider)s send"),
    Code.SPF_NAMES_SERVERS: gettext_lazy("SPF names the servers that may send"),
    Code.SPF_OF_PROVIDER: gettext_lazy("%(provider)s takes care of SPF"),
    Code.SPF_MISSING: gettext_lazy("There is no SPF record at %(name)s"),
    Code.SPF_SEVERAL: gettext_lazy("There are several SPF records, and only one may be there"),
    Code.SPF_BROKEN: gettext_lazy("SPF is broken: nobody understands “%(detail)s”"),
    Code.SPF_INCLUDE_BROKEN: gettext_lazy(
        "SPF includes %(detail)s, which has no record that works"
    ),
    Code.SPF_TOO_MANY_LOOKUPS: gettext_lazy(
        "SPF needs more than 10 look-ups, and receivers give up"
    ),
    Code.SPF_LACKS_PROVIDER: gettext_lazy("SPF does not let %(provider)s send"),
    Code.SPF_OPEN: gettext_lazy("SPF lets everybody send in your name"),
    Code.SPF_UNDECIDED: gettext_lazy("SPF does not say what to do with all others"),
    Code.SPF_UNANSWERED: gettext_lazy("SPF could not be checked"),
    Code.DKIM_RIGHT: gettext_lazy("DKIM is right, %(count)s of %(total)s records"),
    Code.DKIM_UNKNOWN: gettext_lazy("DKIM could not be checked: it is not known where the key is"),
    Code.DKIM_MISSING: gettext_lazy("A DKIM record is missing, %(count)s of %(total)s are right"),
    Code.DKIM_DOUBLED: gettext_lazy("A DKIM record stands at %(detail)s, with the domain twice"),
    Code.DKIM_ELSEWHERE: gettext_lazy("A DKIM record leads to %(detail)s"),
    Code.DKIM_SEVERAL: gettext_lazy("There are several DKIM keys at one name"),
    Code.DKIM_BROKEN: gettext_lazy("The DKIM record is broken at “%(detail)s”"),
    Code.DKIM_REVOKED: gettext_lazy("The DKIM key is revoked"),
    Code.DKIM_TOO_SHORT: gettext_lazy("The DKIM key has %(detail)s bits, and receivers ignore it"),
    Code.DKIM_SHORT: gettext_lazy("The DKIM key has only %(detail)s bits"),
    Code.DKIM_TESTING: gettext_lazy("The DKIM key says that it is only being tested"),
    Code.DKIM_UNANSWERED: gettext_lazy("DKIM could not be checked"),
    Code.DMARC_RIGHT: gettext_lazy("DMARC protects your name: %(detail)s"),
    Code.DMARC_WATCHES: gettext_lazy("DMARC only watches"),
    Code.DMARC_PARTLY: gettext_lazy("DMARC protects only %(detail)s%% of what is forged"),
    Code.DMARC_MISSING: gettext_lazy("There is no DMARC record"),
    Code.DMARC_SEVERAL: gettext_lazy("There are several DMARC records, so receivers ignore all"),
    Code.DMARC_BROKEN: gettext_lazy("DMARC is broken at “%(detail)s”, so receivers ignore it"),
    Code.DMARC_UNANSWERED: gettext_lazy("DMARC could not be checked"),
    Code.MAIL_FROM_RIGHT: gettext_lazy("Bounces return to %(name)s"),
    Code.MAIL_FROM_MISSING: gettext_lazy("Bounces have nowhere to return: %(name)s is missing"),
    Code.MAIL_FROM_ELSEWHERE: gettext_lazy(
        "Bounces do not return to %(provider)s, but to %(detail)s"
    ),
    Code.MAIL_FROM_UNANSWERED: gettext_lazy("The domain of bounces could not be checked"),
}
_REPLACE = gettext_lazy("Paste this in place of what is there:")
_TEXTS: Final[Mapping[Code, object]] = {
    Code.SPF_NAMES_SERVERS: gettext_lazy(
        "Ask whoever runs %(provider)s whether its servers are among them."
    ),
    Code.SPF_OF_PROVIDER: gettext_lazy(
        "The envelope has a domain of %(provider)s. DMARC rests on DKIM."
    ),
    Code.SPF_MISSING: gettext_lazy(
        "Large mailbox providers refuse bulk mail without it. Paste this:"
    ),
    Code.SPF_TOO_MANY_LOOKUPS: gettext_lazy(
        "This keeps your provider and your own addresses; add only who still sends for you:"
    ),
    Code.MAIL_FROM_MISSING: gettext_lazy("Paste this:"),
    Code.DKIM_UNKNOWN: gettext_lazy("Your provider did not say it, or the selector is not set."),
    Code.DKIM_MISSING: gettext_lazy(
        "Large mailbox providers refuse bulk mail without it. Paste this:"
    ),
    Code.DKIM_DOUBLED: gettext_lazy("Your DNS form adds the domain itself: leave it out there."),
    Code.DMARC_WATCHES: gettext_lazy(
        "Anybody can still write in your name. When reports look right:"
    ),
    Code.DMARC_MISSING: gettext_lazy(
        "Large mailbox providers refuse bulk mail without it. Paste this:"
    ),
}
_FILL_IN = gettext_lazy(
    "In place of SPF-OF-YOUR-RELAY write the name that the company whose mail server you use gives"
    " for SPF; its help pages have it. If the server is your own, write ip4: and its address in"
    " place of include:SPF-OF-YOUR-RELAY. Then paste this:"
)
_FILL_IN_AND_REPLACE = gettext_lazy(
    "In place of SPF-OF-YOUR-RELAY write the name that the company whose mail server you use gives"
    " for SPF; its help pages have it. If the server is your own, write ip4: and its address in"
    " place of include:SPF-OF-YOUR-RELAY. Then paste this in place of what is there:"
)
_UNANSWERED = gettext_lazy("No resolver answered about %(detail)s. Look up again later.")


@dataclass(frozen=True, slots=True)
class DnsLine:
    level: str  # as the list of checks has it: empty is right
    title: str
    text: str
    seen: Sequence[str]
    records: Sequence[DnsRecord]  # to paste

    @property
    def icon(self) -> str:
        return "alert" if self.level else "check"


def describe_verdicts(sender: Sender, verdicts: Sequence[Verdict]) -> list[DnsLine]:
    provider = name_provider(sender)
    return [_describe(verdict, provider) for verdict in verdicts]


def name_provider(sender: Sender) -> str:
    if sender.account is None:
        return _("no provider")
    return _PROVIDERS.get(sender.account.kind, sender.account.name)


def _explain_key(verdict: Verdict) -> list[str]:
    if not any(record.value == dkim.UNKNOWN_KEY for record in verdict.remedy):
        return []
    return [_("PUBLIC-KEY stands for the public key of the server that signs.")]


def _find_text(verdict: Verdict) -> object:
    if any(spf.GAP in record.value for record in verdict.remedy):
        return _FILL_IN_AND_REPLACE if verdict.seen else _FILL_IN
    if verdict.code.is_unanswered:
        return _UNANSWERED
    return _TEXTS.get(verdict.code, _REPLACE if verdict.remedy else "")


def _describe(verdict: Verdict, provider: str) -> DnsLine:
    values = {
        "provider": provider,
        "name": verdict.name,
        "detail": verdict.detail,
        "count": verdict.count,
        "total": max(verdict.count, verdict.count + len(verdict.remedy)),
    }
    return DnsLine(
        _LEVELS[verdict.code.level],
        str(_TITLES[verdict.code]) % values,
        " ".join([*_explain_key(verdict), str(_find_text(verdict)) % values]),
        verdict.seen,
        verdict.remedy,
    )

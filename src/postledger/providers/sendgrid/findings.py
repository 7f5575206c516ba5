"""Judges what SendGrid says of a key, its credits and its senders; pure.

A remedy names domains and no address: it may be passed on.
"""

from collections.abc import Sequence

from postledger.lib import sentences
from postledger.lib.check_results import Level
from postledger.lib.sentences import Sentence, say
from postledger.providers.base import Finding
from postledger.providers.http import checks
from postledger.providers.http.reading import Obstacle, Unread
from postledger.providers.sendgrid.documents import DomainState, SenderState
from postledger.providers.sendgrid.quota import CreditsState
from postledger.providers.sendgrid.settings import Region, SendGridSettings

_NEARLY_USED = 0.1
_EXEMPT = "sender_verification_exempt"
_KEYS = "in the console: Settings, API Keys, the key, Edit API Key"
# SendGrid's words for a key that is unknown, and for one that may not ask, are the same.
_DENIED = frozenset({Obstacle.DENIED, Obstacle.CREDENTIALS, Obstacle.ABSENT})


def unread_key(unread: Unread, settings: SendGridSettings) -> Finding:
    if unread.obstacle is Obstacle.CREDENTIALS:
        return Finding(
            "access",
            Level.PROBLEM,
            say("SendGrid refuses the API key: %(detail)s", detail=sentences.end(unread.detail)),
            say(
                "A new key comes from the console: Settings, API Keys, Create API Key. One of the"
                " EU works only if the region of the account is eu, and no other key does then."
            ),
            secrets=("api_key",),
        )
    if unread.obstacle is Obstacle.UNCONNECTED and not settings.endpoint:
        return checks.unconnected(unread, settings.actual_endpoint, "SendGrid")
    return Finding(
        "access",
        Level.PROBLEM,
        say(
            "SendGrid does not answer about the API key: %(detail)s",
            detail=sentences.end(unread.detail),
        ),
        say("Or allow connections to that endpoint."),
        ("endpoint",) if settings.endpoint else ("region",),
    )


def judge_key(*, may_send: bool, settings: SendGridSettings) -> Finding:
    if may_send:
        place = " in the EU" if settings.region == "eu" else ""
        return Finding("access", Level.OK, f"SendGrid{place} accepts the API key.")
    return Finding(
        "access",
        Level.PROBLEM,
        say("The API key may not send mail."),
        say(
            "Give it Mail Send (mail.send) in the console: Settings, API Keys, the key, Edit API"
            " Key."
        ),
    )


def judge_credits(credits_: CreditsState | Unread, scope: str) -> Finding:
    """SendGrid does not say whether it takes mail beyond the credits."""
    if isinstance(credits_, Unread):
        if credits_.obstacle in _DENIED:
            return denied("quota", "how many mails the plan has left", scope)
        return unsaid("quota", "how many mails the plan has left", credits_)
    if credits_.remain is None:
        return Finding("quota", Level.OK, "The account has no limit of its own.")
    total = credits_.total or 0
    of_total = f"{credits_.remain:,} of {total:,}" if total else f"{credits_.remain:,}"
    if credits_.remain > total * _NEARLY_USED:
        return Finding("quota", Level.OK, f"{of_total} credits of the plan are left.")
    return Finding(
        "quota",
        Level.WARNING,
        f"{of_total} credits of the plan are left. SendGrid may charge for mail beyond them, or"
        " refuse it; then it waits.",
        "Choose a larger plan in the console: Settings, Account Details, Your Products.",
    )


def authenticated(domain: str) -> Finding:
    return Finding("identity", Level.OK, f"{domain} is authenticated.")


def unread_domain(name: str, unread: Unread, scope: str) -> Finding:
    thing = f"whether {name} is authenticated"
    is_denied = unread.obstacle in _DENIED
    return denied("identity", thing, scope) if is_denied else unsaid("identity", thing, unread)


def judge_sender(
    address: str,
    domain: DomainState | None,
    singles: Sequence[SenderState] | Unread,
    *,
    region: Region,
    scopes: frozenset[str],
) -> Finding:
    """Of a sender whose own domain is not authenticated."""
    name = address.rpartition("@")[2]
    if isinstance(singles, Unread):
        return _unread_sender(address, singles)
    listed = [item for item in singles if item.from_email.lower() == address.lower()]
    if any(item.verified for item in listed):
        message = (
            f"{address} is a verified sender. Its mail is not signed for {name}, and may count as"
            " spam."
        )
        return Finding("identity", Level.WARNING, message, _authenticate(name))
    if domain is not None:
        return _judge_domain(name, domain)
    if listed:
        message = say(
            "%(address)s is not verified, so SendGrid sends nothing from there.", address=address
        )
        remedy = say("Follow the link in the mail that SendGrid sent to this address, or:")
        remedies = sentences.join([remedy, _authenticate(name)], between="\n")
        return Finding("identity", Level.PROBLEM, message, remedies)
    return _judge_unknown(address, name, region, is_exempt=_EXEMPT in scopes)


def _unread_sender(address: str, unread: Unread) -> Finding:
    thing = f"whether {address} is a verified sender"
    if unread.obstacle not in _DENIED:
        return unsaid("identity", thing, unread)
    message = f"The API key may not read {thing}, so it was not checked."
    remedy = _authenticate(address.rpartition("@")[2])
    return Finding("identity", Level.WARNING, message, remedy)


def _judge_domain(name: str, domain: DomainState) -> Finding:
    """It is above that of the sender, or is still to be authenticated."""
    if domain.valid:
        message = (
            f"SendGrid knows {domain.domain} as authenticated, and not {name}: it may refuse mail"
            " from there."
        )
        return Finding("identity", Level.WARNING, message, _authenticate(name))
    records = [
        f"{record.host} {record.type.upper()} {record.data}"
        for record in domain.dns.values()
        if not record.valid and record.host
    ]
    remedy = (
        say(
            "Publish these records in DNS, then choose Verify in the console: Settings, Sender"
            " Authentication, the domain:"
        )
        if records
        else say("Choose Verify in the console: Settings, Sender Authentication, the domain.")
    )
    message = say(
        "%(name)s is not authenticated yet, so SendGrid sends nothing from there.", name=name
    )
    remedies = sentences.join([remedy, *records], between="\n")
    return Finding("identity", Level.PROBLEM, message, remedies)


def _judge_unknown(address: str, name: str, region: Region, *, is_exempt: bool) -> Finding:
    """An account of the EU is a subuser, which does not see a domain that its parent lends."""
    if is_exempt or region == "eu":
        message = (
            f"SendGrid shows neither {name} as authenticated nor {address} as verified, and may"
            " refuse mail from there."
        )
        return Finding("identity", Level.WARNING, message, _authenticate(name))
    return Finding(
        "identity",
        Level.PROBLEM,
        say(
            "SendGrid shows neither %(name)s as authenticated nor %(address)s as verified, so it"
            " sends nothing from there.",
            name=name,
            address=address,
        ),
        _authenticate(name),
    )


def _authenticate(domain: str) -> Sentence:
    return say(
        "Authenticate the domain %(domain)s: Settings, Sender Authentication, in the console.",
        domain=domain,
    )


def denied(subject: str, thing: str, scope: str) -> Finding:
    message = f"The API key may not read {thing}, so it was not checked."
    return Finding(subject, Level.WARNING, message, f"Give it the permission {scope} {_KEYS}.")


def unsaid(subject: str, thing: str, unread: Unread) -> Finding:
    message = f"SendGrid did not say {thing}: {sentences.end(unread.detail)}"
    return Finding(subject, Level.WARNING, message, "Try again later.")

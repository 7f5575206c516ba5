"""Judges what SES says of an account, its identities and its configuration sets; pure.

A remedy names domains and no address: it may be passed on.
"""

from collections.abc import Iterator

from postledger.lib import sentences
from postledger.lib.check_results import Level
from postledger.lib.sentences import say
from postledger.providers.base import Finding
from postledger.providers.http import checks
from postledger.providers.http.reading import Obstacle, Unread
from postledger.providers.http.settings import Endpoint
from postledger.providers.ses import dns_records
from postledger.providers.ses.documents import (
    SUCCESS,
    AccountState,
    ConfigurationSetState,
    Dkim,
    IdentityState,
    MailFrom,
    Quota,
)

_UNLIMITED = -1
_NEARLY_USED = 0.9
_ENDPOINT = ("region", "endpoint")
_WRONG_REGION = "scoped to a valid region"  # of AWS's words
_KEYS = ("access_key_id",)
_SECRET_KEYS = ("secret_access_key",)
_POLICY = "Give them the policy that postledger ses policy prints."


def without_credentials(detail: str) -> Finding:
    return Finding(
        "access",
        Level.PROBLEM,
        say("There are no keys: %(detail)s.", detail=detail),
        say("Or give the machine credentials, and them the policy of postledger ses policy."),
        _KEYS,
        _SECRET_KEYS,
    )


def unread_account(unread: Unread, region: str, endpoint: Endpoint) -> Finding:
    if unread.obstacle is Obstacle.CREDENTIALS and _WRONG_REGION in unread.detail:
        return Finding(
            "access",
            Level.PROBLEM,
            say(
                "%(url)s is not in %(region)s, the region of the account: %(detail)s",
                url=endpoint.url,
                region=region,
                detail=sentences.end(unread.detail),
            ),
            say("The keys need no change."),
            _ENDPOINT,
        )
    if unread.obstacle is Obstacle.CREDENTIALS:
        return Finding(
            "access",
            Level.PROBLEM,
            say("SES refuses the keys: %(detail)s", detail=sentences.end(unread.detail)),
            say("New keys come from IAM, under Users, Security credentials, Create access key."),
            _KEYS,
            _SECRET_KEYS,
        )
    if unread.obstacle is Obstacle.UNCONNECTED and not endpoint.is_here:
        return checks.unconnected(unread, endpoint, "Amazon SES")
    return Finding(
        "access",
        Level.PROBLEM,
        say(
            "SES does not answer about the account: %(detail)s", detail=sentences.end(unread.detail)
        ),
        _name_scheme(endpoint) or say("Or allow connections to that endpoint."),
        _ENDPOINT,
    )


def _name_scheme(endpoint: Endpoint) -> str:
    """A server on this machine rarely speaks TLS, and what it answers then says nothing."""
    if not (endpoint.is_here and endpoint.is_encrypted):
        return ""
    return say(
        "If the server there speaks plain HTTP, the endpoint is http://%(authority)s.",
        authority=endpoint.authority,
    )


def judge_account(account: AccountState | Unread, region: str) -> Iterator[Finding]:
    if isinstance(account, Unread):
        yield denied("account", "the state of the account")
        return
    yield Finding("access", Level.OK, f"SES in {region} accepts the keys.")
    yield _judge_sending(account)
    yield _judge_quota(account.send_quota)
    yield _judge_production_access(account.production_access_enabled, region)


def _judge_sending(account: AccountState) -> Finding:
    if account.enforcement_status == "SHUTDOWN" or not account.sending_enabled:
        return Finding(
            "sending",
            Level.PROBLEM,
            say(
                "Sending is paused for the account (%(status)s).",
                status=account.enforcement_status,
            ),
            say(
                "See Account dashboard in the console: answer AWS's case, or resume with"
                " aws sesv2 put-account-sending-attributes --sending-enabled."
            ),
        )
    if account.enforcement_status != "HEALTHY":
        return Finding(
            "sending",
            Level.WARNING,
            f"AWS reviews the account ({account.enforcement_status}) and may pause it.",
            "See Reputation metrics in the console, and answer AWS's case.",
        )
    return Finding("sending", Level.OK, "Sending is enabled.")


def _judge_quota(quota: Quota) -> Finding:
    """Mail beyond the quota waits; AWS needs a day or so to raise it."""
    daily, sent = quota.max_24_hour_send, quota.sent_last_24_hours
    rate = "any number" if quota.max_send_rate == _UNLIMITED else f"{quota.max_send_rate:,.0f}"
    of_limit = f"{sent:,.0f} of {'any number' if daily == _UNLIMITED else f'{daily:,.0f}'}"
    message = f"{of_limit} sent in the last 24 hours; {rate} a second."
    if daily == _UNLIMITED or sent < daily * _NEARLY_USED:
        return Finding("quota", Level.OK, message)
    return Finding(
        "quota",
        Level.WARNING,
        f"{message} Mail beyond the quota waits.",
        "Request a higher one in the console: Account dashboard, Sending limits.",
    )


def _judge_production_access(is_enabled: bool, region: str) -> Finding:  # noqa: FBT001  a fact
    if is_enabled:
        return Finding("production", Level.OK, "The account has production access.")
    return Finding(
        "production",
        Level.PROBLEM,
        say("The account has no production access: SES sends to verified addresses only."),
        say(
            "Request it in the console in %(region)s: Account dashboard, Request production"
            " access.",
            region=region,
        ),
    )


def judge_identity(name: str, identity: IdentityState | Unread, region: str) -> Iterator[Finding]:
    if isinstance(identity, Unread):
        yield _judge_missing_identity(name, identity, region)
        return
    if identity.is_verified:
        yield Finding("identity", Level.OK, f"{name} is verified.")
        yield _judge_dkim(name, identity.dkim_attributes)
    else:
        yield _judge_unverified(name, identity)
    yield _judge_mail_from(name, identity.mail_from_attributes, region)


def foreign_identity(arn: str) -> Finding:
    message = f"{arn} belongs to another AWS account, and only its owner can check it."
    return Finding("identity", Level.OK, message)


def _judge_missing_identity(name: str, unread: Unread, region: str) -> Finding:
    if unread.obstacle is Obstacle.DENIED:
        return denied("identity", f"the identity {name}")
    if unread.obstacle is not Obstacle.ABSENT:
        return unsaid("identity", name, unread)
    domain = name.rpartition("@")[2]
    return Finding(
        "identity",
        Level.PROBLEM,
        say(
            "SES in %(region)s has no identity %(name)s, so it sends nothing from there.",
            region=region,
            name=name,
        ),
        say(
            "Create it in the console under Identities, or with aws sesv2 create-email-identity"
            " --region %(region)s --email-identity %(domain)s.",
            region=region,
            domain=domain,
        ),
    )


def _judge_unverified(name: str, identity: IdentityState) -> Finding:
    status = identity.verification_status or "PENDING"
    message = say(
        "%(name)s is not verified (%(status)s), so SES sends nothing from there.",
        name=name,
        status=status,
    )
    if "@" in name:
        remedy: str = say(
            "Follow the link in the mail that AWS sent to this address, or verify its domain."
        )
    else:
        remedy = _publish_dkim(name, identity.dkim_attributes)
    return Finding("identity", Level.PROBLEM, message, remedy)


def _judge_dkim(name: str, dkim: Dkim) -> Finding:
    if dkim.status == SUCCESS and dkim.signing_enabled:
        return Finding("dkim", Level.OK, f"Mail from {name} is signed.")
    if dkim.status == SUCCESS:
        return Finding(
            "dkim",
            Level.WARNING,
            f"Signing is switched off for {name}.",
            "Switch it on in the console: Identities, the identity, DKIM, Edit.",
        )
    message = f"Mail from {name} is not signed (DKIM is {dkim.status}), and may count as spam."
    if "@" in name:
        remedy = "Verify the domain of this address in SES: then its mail is signed."
    else:
        remedy = _publish_dkim(name, dkim)
    return Finding("dkim", Level.WARNING, message, remedy)


def _publish_dkim(domain: str, dkim: Dkim) -> str:
    """The records that SES looks for, up to 72 hours long."""
    keys = dns_records.list_keys(domain, dkim)
    if dkim.signing_attributes_origin == "EXTERNAL":
        names = ", ".join(key.name for key in keys)
        return say(
            "Publish your public key in DNS as the TXT record of %(names)s.", names=names or domain
        )
    if not keys:
        return say("Begin with DKIM in the console: Identities, the identity, DKIM, Edit.")
    return _publish([f"{key.name} {key.type} {key.value}" for key in keys])


def _judge_mail_from(name: str, mail_from: MailFrom, region: str) -> Finding:
    domain, status = mail_from.mail_from_domain, mail_from.mail_from_domain_status
    if not domain:
        message = f"{name} has no MAIL FROM domain of its own: DMARC rests on DKIM alone."
        return Finding("mail-from", Level.OK, message)
    if status == SUCCESS:
        return Finding("mail-from", Level.OK, f"{domain} is the MAIL FROM domain of {name}.")
    is_refused = mail_from.behavior_on_mx_failure == "REJECT_MESSAGE"
    effect = say("SES refuses its mail") if is_refused else say("amazonses.com stands in for it")
    records = [
        f"{domain} MX 10 feedback-smtp.{region}.amazonses.com",
        f'{domain} TXT "v=spf1 include:amazonses.com ~all"',
    ]
    return Finding(
        "mail-from",
        Level.PROBLEM if is_refused else Level.WARNING,
        say(
            "The MAIL FROM domain %(domain)s is not in order (%(status)s): %(effect)s.",
            domain=domain,
            status=status,
            effect=effect,
        ),
        _publish(records),
    )


def _publish(records: list[str]) -> str:
    sentence = say("Publish these records in DNS, and run this again when they are seen:")
    return sentences.join([sentence, *records], between="\n")


def judge_configuration_set(name: str, state: ConfigurationSetState | Unread) -> Finding:
    if not isinstance(state, Unread):
        if state.sending_options.sending_enabled:
            return Finding("config-set", Level.OK, f"The configuration set {name} exists.")
        return Finding(
            "config-set",
            Level.PROBLEM,
            say("Sending is switched off for the configuration set %(name)s.", name=name),
            say("Switch it on in the console: Configuration sets, the set, Sending status."),
        )
    if state.obstacle is Obstacle.DENIED:
        return denied("config-set", f"the configuration set {name}")
    if state.obstacle is not Obstacle.ABSENT:
        return unsaid("config-set", name, state)
    return Finding(
        "config-set",
        Level.PROBLEM,
        say("There is no configuration set %(name)s, so SES refuses all mail.", name=name),
        say("Or create it in the console under Configuration sets."),
        ("configuration_set",),
    )


def no_configuration_set() -> Finding:
    return Finding(
        "config-set",
        Level.WARNING,
        "No configuration set is named: SES reports neither bounces nor complaints of this mail.",
        "Or run postledger ses connect for this account with --create, which makes one.",
        ("configuration_set",),
    )


def denied(subject: str, thing: str) -> Finding:
    message = f"The keys may not read {thing}, so it was not checked."
    return Finding(subject, Level.WARNING, message, _POLICY)


def unsaid(subject: str, thing: str, unread: Unread) -> Finding:
    message = f"SES did not say what {thing} is like: {sentences.end(unread.detail)}"
    return Finding(subject, Level.WARNING, message, "Try again later.")

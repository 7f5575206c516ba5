"""Identities: the addresses and domains that mail may come from."""

from hashlib import blake2b
from typing import Any

from tools.fakes.http.routing import Call, Route
from tools.fakes.ses.account import Account, Identity
from tools.fakes.ses.documents import required_text, structure, text
from tools.fakes.ses.errors import SesError
from tools.fakes.ses.operations.paging import cut_page

_DKIM_KEYS = 3


def _create(account: Account, call: Call) -> object:
    name = required_text(call.document, "EmailIdentity").lower()
    if name in account.identities:
        raise SesError("AlreadyExistsException", f"Email identity {name} already exist.")
    configuration_set = text(call.document, "ConfigurationSetName")
    if configuration_set and configuration_set not in account.configuration_sets:
        raise SesError(
            "NotFoundException", f"Configuration set <{configuration_set}> does not exist."
        )
    state = account.new_identities
    identity = Identity(name, state, state, configuration_set=configuration_set)
    account.identities[name] = identity
    return {
        "IdentityType": _type(identity),
        "VerifiedForSendingStatus": identity.is_verified,
        "DkimAttributes": _describe_dkim(identity),
    }


def _get(account: Account, call: Call) -> object:
    name = call.parameters["EmailIdentity"].lower()
    identity = account.identities.get(name)
    if identity is None:
        raise SesError("NotFoundException", f"Email identity {name} does not exist.")
    named_set = identity.configuration_set
    return {
        "IdentityType": _type(identity),
        "FeedbackForwardingStatus": True,
        "VerifiedForSendingStatus": identity.is_verified,
        "VerificationStatus": identity.verification,
        "DkimAttributes": _describe_dkim(identity),
        "MailFromAttributes": _describe_mail_from(identity),
        "Policies": {},
        "Tags": [],
        **({"ConfigurationSetName": named_set} if named_set else {}),
    }


def _list(account: Account, call: Call) -> object:
    wanted = structure(call.document, "Filter")
    chosen = [
        {
            "IdentityType": _type(identity),
            "IdentityName": name,
            "SendingEnabled": identity.is_verified,
            "VerificationStatus": identity.verification,
        }
        for name, identity in sorted(account.identities.items())
        if text(wanted, "IDENTITY_NAME_CONTAINS") in name
        and text(wanted, "IDENTITY_TYPE") in {"", _type(identity)}
        and text(wanted, "VERIFICATION_STATUS") in {"", identity.verification}
    ]
    page, token = cut_page(chosen, text(call.document, "NextToken"), call.document.get("PageSize"))
    return {"EmailIdentities": page, **token}


def _type(identity: Identity) -> str:
    return "DOMAIN" if identity.is_domain else "EMAIL_ADDRESS"


def _describe_dkim(identity: Identity) -> dict[str, Any]:
    """A domain has three keys for its DNS; they depend on its name alone."""
    keys = [
        blake2b(f"{identity.name} {number}".encode(), digest_size=16).hexdigest()
        for number in range(_DKIM_KEYS)
    ]
    return {
        "SigningEnabled": identity.is_domain,
        "Status": identity.dkim if identity.is_domain else "NOT_STARTED",
        "Tokens": keys if identity.is_domain else [],
        "SigningAttributesOrigin": "AWS_SES",
        "NextSigningKeyLength": "RSA_2048_BIT",
        "CurrentSigningKeyLength": "RSA_2048_BIT",
    }


def _describe_mail_from(identity: Identity) -> dict[str, Any]:
    """Without a MAIL FROM domain of its own, mail goes out from amazonses.com."""
    rejects = identity.rejects_on_mail_from_failure
    behavior = {"BehaviorOnMxFailure": "REJECT_MESSAGE" if rejects else "USE_DEFAULT_VALUE"}
    if not identity.mail_from_domain:
        return behavior
    return {
        "MailFromDomain": identity.mail_from_domain,
        "MailFromDomainStatus": identity.mail_from,
        **behavior,
    }


ROUTES = (
    Route("CreateEmailIdentity", "POST", "identities", _create),
    Route("ListEmailIdentities", "POST", "list-identities", _list),
    Route("GetEmailIdentity", "GET", "identities/{EmailIdentity}", _get),
)

"""Who may open each page of the dashboard, read from its URLs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from django.urls import URLPattern, URLResolver

from postledger.accounts.people.roles import Permission


class Audience(StrEnum):
    """Of the pages that belong to no workspace."""

    EVERYONE = "everyone"
    SIGNED_IN = "everyone who signed in"


@dataclass(frozen=True, slots=True)
class OpenPage:
    """A page outside workspaces, with the reason why no membership is asked for."""

    audience: Audience
    reason: str


_SIGNS_IN = OpenPage(Audience.EVERYONE, "It signs people in.")
_RESETS = OpenPage(Audience.EVERYONE, "Who forgot the password cannot sign in; a mailed link may.")
_OWN_PASSWORD = OpenPage(Audience.SIGNED_IN, "It changes a person's own password.")
_OWN_FACTORS = OpenPage(Audience.SIGNED_IN, "It changes a person's own second factors.")
_ASKS_AGAIN = OpenPage(Audience.SIGNED_IN, "It asks a person again who they are.")

# By the names of the URLs. A page that is neither here nor a workspace's has no rule.
OPEN_PAGES: Mapping[str, OpenPage] = {
    "home": OpenPage(Audience.EVERYONE, "It leads to the first run, to sign-in or to a workspace."),
    "first_run": OpenPage(
        Audience.EVERYONE, "Nobody can sign in yet; it asks for the one-time code."
    ),
    "join": OpenPage(Audience.EVERYONE, "Its link is a secret that was mailed to one person."),
    "security": _OWN_FACTORS,
    "change_address": OpenPage(Audience.SIGNED_IN, "It changes a person's own address."),
    "address_link": OpenPage(
        Audience.EVERYONE, "Its link is a secret; only the person who asked for it can use it."
    ),
    "account_login": _SIGNS_IN,
    "account_inactive": OpenPage(
        Audience.EVERYONE, "It tells a person that their account is closed."
    ),
    "account_logout": OpenPage(Audience.EVERYONE, "Signing out twice does no harm."),
    "account_reauthenticate": _ASKS_AGAIN,
    "account_change_password": _OWN_PASSWORD,
    "account_reset_password": _RESETS,
    "account_reset_password_done": _RESETS,
    "account_reset_password_from_key": _RESETS,
    "account_reset_password_from_key_done": _RESETS,
    "mfa_authenticate": OpenPage(Audience.EVERYONE, "It is the second step of signing in."),
    "mfa_login_webauthn": _SIGNS_IN,
    "mfa_reauthenticate": _ASKS_AGAIN,
    "mfa_reauthenticate_webauthn": _ASKS_AGAIN,
    "mfa_index": OpenPage(Audience.EVERYONE, "It only leads to a person's own page."),
    "mfa_activate_totp": _OWN_FACTORS,
    "mfa_deactivate_totp": _OWN_FACTORS,
    "mfa_view_recovery_codes": _OWN_FACTORS,
    "mfa_generate_recovery_codes": _OWN_FACTORS,
    "mfa_download_recovery_codes": _OWN_FACTORS,
    "mfa_list_webauthn": _OWN_FACTORS,
    "mfa_add_webauthn": _OWN_FACTORS,
    "mfa_remove_webauthn": _OWN_FACTORS,
    "mfa_edit_webauthn": _OWN_FACTORS,
}


@dataclass(frozen=True, slots=True)
class PageRule:
    """One URL of the dashboard, and who may open it; None: nobody said who."""

    name: str
    route: str
    rule: Permission | OpenPage | None


def list_rules(patterns: Sequence[URLPattern | URLResolver]) -> list[PageRule]:
    return list(_walk(patterns, ""))


def _walk(patterns: Sequence[URLPattern | URLResolver], prefix: str) -> Iterator[PageRule]:
    for pattern in patterns:
        route = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from _walk(pattern.url_patterns, route)
            continue
        name = pattern.name or ""
        permission: Permission | None = getattr(pattern.callback, "permission", None)
        yield PageRule(name, f"/{route}", permission or OPEN_PAGES.get(name))

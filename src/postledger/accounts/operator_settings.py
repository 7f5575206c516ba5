"""Settings that reach the machine itself: only its operator gives them. Pure.

Who sets up a workspace over the network must not read files of the server, send with its
credentials, or reach services that listen on it or inside its network; nor send a stored password
to a server of their own.
"""

import socket
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import Final
from urllib.parse import urlsplit

from postledger.lib.errors import RefusedError
from postledger.lib.sentences import Sentence, say
from postledger.providers import public_addresses
from postledger.providers.smtp.settings import PORTS, Tls

_RESERVED: Final[Mapping[str, frozenset[str]]] = {
    "sandbox": frozenset({"journal"}),
    "sendgrid": frozenset({"endpoint"}),
    "ses": frozenset({"endpoint", "sqs_endpoint"}),
    "smtp": frozenset({"ca_file", "public_only"}),
}
_SERVER: Final = frozenset({"host", "port"})
_WEB_PORTS: Final = {"http": 80, "https": 443}
_LOCAL_NAMES: Final = frozenset({"0.0.0.0", "::", "localhost.localdomain", "ip6-localhost"})  # noqa: S104  none is bound


class OperatorOnlyError(RefusedError):
    code = "operator_only"


class ServerHereError(OperatorOnlyError):
    """A server on this machine that the installation does not allow everybody."""

    def __init__(self, sentence: Sentence, *, setting: str, server: str) -> None:
        super().__init__(sentence)
        self.setting = setting
        self.server = server  # as PRIVATE_HOSTS would name it


class CredentialsHereError(OperatorOnlyError):
    """The credentials of this machine."""


class ReservedSettingsError(OperatorOnlyError):
    """Settings that a person does not give at all."""

    def __init__(self, sentence: Sentence, *, settings: Sequence[str]) -> None:
        super().__init__(sentence)
        self.settings = settings


def screen_settings(
    kind: str,
    settings: Mapping[str, object],
    *,
    is_whole: bool,
    inside_hosts: Collection[str] = (),
) -> Mapping[str, object]:
    """The settings of somebody who is not the operator, as they may be stored; refuses those that
    only the command line gives.

    A name says nothing about where it leads, so their server is looked at whenever it is connected
    to. `is_whole`: these are all settings of the account, and not changes of some. `inside_hosts`
    are servers that the operator allows everybody, wherever they are.
    """
    server = _complete_port(settings) if kind == "smtp" and is_whole else settings
    is_inside = _is_named(server, inside_hosts)
    _check_settings(kind, settings, is_whole=is_whole, is_inside=is_inside)
    is_moved = is_whole or not settings.keys().isdisjoint(_SERVER)
    if is_inside:
        return server
    return {**settings, "public_only": True} if kind == "smtp" and is_moved else settings


def screen_hosts(
    kind: str, settings: Mapping[str, object], *, inside_hosts: Collection[str]
) -> Mapping[str, object]:
    """The settings of the operator as they came by a page: a browser may be led to post them, so
    a host inside is one of those that the installation allows.
    """
    _check_endpoint(str(settings.get("endpoint", "")), inside_hosts)
    if kind != "smtp":
        return settings
    server = _complete_port(settings)
    if _is_named(server, inside_hosts):
        return server
    if _names_this_machine(str(settings.get("host", ""))):
        raise _refuse_here("host", name_server(settings))
    return {**settings, "public_only": True}


def name_server(settings: Mapping[str, object]) -> str:
    """A server of SMTP as PRIVATE_HOSTS names it: with its port, so not the whole machine."""
    settings = _complete_port(settings)
    return _join(str(settings.get("host", "")), settings.get("port"))


def _join(host: str, port: object) -> str:
    host = host.strip("[]")
    host = f"[{host}]" if ":" in host else host
    return f"{host}:{port}" if port else host


def _check_endpoint(url: str, inside_hosts: Collection[str]) -> None:
    endpoint = urlsplit(url)
    host, port = endpoint.hostname or "", endpoint.port or _WEB_PORTS.get(endpoint.scheme)
    if public_addresses.is_here(host) and not _is_allowed(host, port, inside_hosts):
        raise _refuse_here("endpoint", _join(host, port))


def _complete_port(settings: Mapping[str, object]) -> Mapping[str, object]:
    """With the usual port, so that a later change of the encryption leads to no other one."""
    ports: Mapping[str, int] = {tls.value: port for tls, port in PORTS.items()}
    port = settings.get("port") or ports.get(str(settings.get("tls", Tls.STARTTLS)))
    return {**settings, "port": port} if port else settings


def _is_named(settings: Mapping[str, object], inside_hosts: Collection[str]) -> bool:
    host = settings.get("host")
    return host is not None and _is_allowed(str(host), settings.get("port"), inside_hosts)


def _is_allowed(host: str, port: object, inside_hosts: Collection[str]) -> bool:
    """Whether a host is named, for every port or for this one."""
    host = host.strip("[]")
    names = {host, f"[{host}]"}
    return not (names | {f"{name}:{port}" for name in names}).isdisjoint(inside_hosts)


def _refuse_here(setting: str, server: str) -> ServerHereError:
    return ServerHereError(
        say(
            "Only the operator of the installation sends through a server on this machine:"
            " postledger account create, or update."
        ),
        setting=setting,
        server=server,
    )


def lift_limits(kind: str, changes: Mapping[str, object]) -> Mapping[str, object]:
    """The operator's own changes: their server may be anywhere."""
    is_moved = kind == "smtp" and not changes.keys().isdisjoint(_SERVER)
    return {"public_only": None, **changes} if is_moved else changes


def _check_settings(
    kind: str, settings: Mapping[str, object], *, is_whole: bool, is_inside: bool
) -> None:
    reserved = sorted(_RESERVED.get(kind, frozenset()) & settings.keys())
    if reserved:
        raise ReservedSettingsError(
            say(
                "Only the operator of the installation sets %(settings)s: postledger account"
                " update.",
                settings=", ".join(reserved),
            ),
            settings=reserved,
        )
    if kind == "smtp":
        _check_server(settings, is_whole=is_whole, is_inside=is_inside)
    is_given = bool(settings.get("access_key_id"))
    if kind == "ses" and not is_given and (is_whole or "access_key_id" in settings):
        raise CredentialsHereError(
            say(
                "Without access_key_id and secret_access_key the account would use the credentials"
                " of the machine, which only its operator may choose: give the keys of an IAM user."
            )
        )


def _check_server(settings: Mapping[str, object], *, is_whole: bool, is_inside: bool) -> None:
    if not is_inside and _names_this_machine(str(settings.get("host", ""))):
        raise _refuse_here("host", name_server(settings))
    is_moved = not is_whole and not settings.keys().isdisjoint(_SERVER)
    if is_moved and "password" not in settings:
        raise OperatorOnlyError(
            say(
                "Only the operator of the installation sends the stored password to another server:"
                " give the password too, or null if there is none."
            )
        )


def _names_this_machine(host: str) -> bool:
    """Whether a host is this machine by its spelling; a name may still lead here."""
    name = host.strip("[]").rstrip(".").lower()
    with suppress(OSError):
        # As the resolver reads it: 127.1, 0x7f000001 and 0 are this machine too.
        name = socket.inet_ntoa(socket.inet_aton(name))
    is_local_name = name in _LOCAL_NAMES or name.endswith(".localhost")
    return is_local_name or public_addresses.is_here(name)


def check_quota_url(url: str) -> None:
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return  # it is no URL, and refused as such
    if public_addresses.is_here(host):
        raise OperatorOnlyError(
            say(
                "Only the operator of the installation has a quota read on this machine:"
                " postledger account quota."
            )
        )

"""Credentials of an account: its own, or those that botocore finds on the machine.

botocore may ask the network for them, and again before they expire. That happens in a thread.
"""

import asyncio
from collections.abc import Callable
from typing import Protocol

import structlog
from botocore.config import Config
from botocore.credentials import Credentials, ReadOnlyCredentials, RefreshableCredentials
from botocore.exceptions import BotoCoreError, ClientError
from botocore.session import Session

from postledger.lib.sentences import say
from postledger.providers.http import settings as http_settings
from postledger.providers.ses.settings import SesSettings

_log = structlog.get_logger(__name__)

FETCH_SECONDS = 10.0  # how long a mail waits for credentials when there are none
RETRY_SECONDS = 10.0  # after a fetch that failed


class NoCredentialsError(Exception):
    """There are no credentials, or they have expired and no new ones could be fetched."""


class CredentialSource(Protocol):
    async def get(self) -> ReadOnlyCredentials:
        """The credentials to sign with now; raises NoCredentialsError."""
        ...

    def distrust(self) -> None:
        """Notes that the service refused the credentials: a person may have changed them."""
        ...

    def close(self) -> None: ...


def open_source(settings: SesSettings) -> CredentialSource:
    if not settings.access_key_id:
        return MachineCredentials(find_credentials)
    token = settings.session_token.get_secret_value() or None
    return OwnCredentials(
        ReadOnlyCredentials(
            settings.access_key_id, settings.secret_access_key.get_secret_value(), token
        )
    )


class OwnCredentials:
    """Those of the account's settings; only new settings change them."""

    def __init__(self, credentials: ReadOnlyCredentials) -> None:
        self._credentials = credentials

    async def get(self) -> ReadOnlyCredentials:
        return self._credentials

    def distrust(self) -> None:
        """Nothing to do: the account is held, and a change of its settings opens it anew."""

    def close(self) -> None:
        """Nothing is open."""


def find_credentials() -> Credentials | None:
    """Asks botocore's chain: environment, files, web identity, container, instance; may block."""
    session = Session()
    # For a role that is assumed by a call of STS: botocore would wait and retry for minutes.
    limits = Config(connect_timeout=5, read_timeout=5, retries={"total_max_attempts": 1})
    session.set_default_client_config(limits)
    return session.get_credentials()


class MachineCredentials:
    """Renews them in time and beside the mail; mail waits only where none are valid."""

    def __init__(
        self, find: Callable[[], Credentials | None], *, retry_after: float = RETRY_SECONDS
    ) -> None:
        self._find = find
        self._retry_after = retry_after
        self._credentials: Credentials | None = None
        self._frozen: ReadOnlyCredentials | None = None
        self._fetching: asyncio.Task[None] | None = None
        self._retry_at = 0.0
        self._trouble: str = say("no AWS credentials were found on this machine")

    async def get(self) -> ReadOnlyCredentials:
        if self._frozen is None or self._expire_within(None):
            await self._renew()
        if self._frozen is None:
            raise NoCredentialsError(self._trouble)
        return self._frozen

    def distrust(self) -> None:
        self._credentials = self._frozen = None

    def close(self) -> None:
        if self._fetching is not None:
            self._fetching.cancel()

    async def _renew(self) -> None:
        """Fetches new ones; returns at once while the present ones are valid."""
        if self._fetching is None and asyncio.get_running_loop().time() >= self._retry_at:
            self._fetching = asyncio.create_task(self._fetch())
        is_urgent = self._frozen is None or self._expire_within(0)
        if is_urgent and self._fetching is not None:
            await asyncio.wait({self._fetching}, timeout=FETCH_SECONDS)
        if self._frozen is not None and self._expire_within(0):
            self._frozen = None

    async def _fetch(self) -> None:
        try:
            self._credentials, self._frozen = await asyncio.to_thread(self._ask_chain)
        # Any: botocore passes on what a file, a process or a metadata service makes it stumble
        # over, such as KeyError, and an error that got away would be the last fetch.
        except Exception as error:  # noqa: BLE001
            if isinstance(error, NoCredentialsError):
                self.distrust()  # the chain is asked anew, and not for what it has just given
            self._trouble = _name_trouble(error)
            _log.warning("aws credentials not renewed", error=type(error).__name__)
        finally:
            if self._frozen is None or self._expire_within(None):
                self._retry_at = asyncio.get_running_loop().time() + self._retry_after
            self._fetching = None

    def _ask_chain(self) -> tuple[Credentials | None, ReadOnlyCredentials | None]:
        credentials = self._credentials or self._find()
        if credentials is None:
            return None, None
        frozen = credentials.get_frozen_credentials()
        _refuse_damaged(frozen)
        return credentials, frozen

    def _expire_within(self, seconds: int | None) -> bool:
        """Whether they end so soon; None stands for botocore's own advice, 15 minutes."""
        credentials = self._credentials
        if not isinstance(credentials, RefreshableCredentials):
            return False
        return credentials.refresh_needed(seconds)


def _name_trouble(error: Exception) -> str:
    """The words of botocore's own errors name places; those of others may quote what they read."""
    if isinstance(error, NoCredentialsError):
        said: str = error.args[0]
        return said
    is_own = isinstance(error, BotoCoreError | ClientError | OSError | RuntimeError)
    cause = f"{type(error).__name__}: {error}" if is_own else type(error).__name__
    return say("AWS credentials could not be fetched: %(cause)s", cause=cause)


def _refuse_damaged(credentials: ReadOnlyCredentials) -> None:
    """Raises NoCredentialsError for a key that no request can have; never repeats it."""
    parts = {
        "access key id": credentials.access_key,
        "secret access key": credentials.secret_key,
        "session token": credentials.token,
    }
    for name, text in parts.items():
        if not http_settings.can_be_key(text or ""):
            raise NoCredentialsError(
                say(
                    "the %(name)s that this machine has for AWS contains a space, a line break or"
                    " a character outside ASCII: correct it where it is set",
                    name=name,
                )
            )

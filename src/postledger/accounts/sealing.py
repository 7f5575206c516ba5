"""Keeps settings of accounts and integrations sealed: they open in their own workspace only."""

import json
from collections.abc import Mapping, Sequence
from functools import cache

from django.conf import settings as installation
from django.utils.encoding import force_str

from postledger.lib import references, secrets
from postledger.lib.references import Key

PROVIDER = "provider settings"
INTEGRATION = "integration settings"


def seal(workspace_id: int, settings: Mapping[str, object], *, purpose: str = PROVIDER) -> bytes:
    data = json.dumps(dict(settings)).encode()
    return secrets.seal(
        data, secrets=_secrets(), purpose=purpose, bound_to=_workspace(workspace_id)
    )


def unseal(workspace_id: int, sealed: bytes, *, purpose: str = PROVIDER) -> dict[str, object]:
    """The settings as they were given; refused when they were sealed for another workspace."""
    data = secrets.unseal(
        sealed, secrets=_secrets(), purpose=purpose, bound_to=_workspace(workspace_id)
    )
    opened: dict[str, object] = json.loads(data)
    return opened


def reference_keys() -> Sequence[Key]:
    """The keys of references: the first one signs, every one verifies."""
    return _derived(tuple(_secrets()))


@cache
def _derived(installation_secrets: tuple[str, ...]) -> Sequence[Key]:
    return references.derive_keys(installation_secrets)


def _secrets() -> Sequence[str]:
    return [force_str(key) for key in (installation.SECRET_KEY, *installation.SECRET_KEY_FALLBACKS)]


def _workspace(workspace_id: int) -> str:
    return f"workspace {workspace_id}"

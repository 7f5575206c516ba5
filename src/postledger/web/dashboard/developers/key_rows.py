"""API keys as the page lists them: those that work, and those that ended."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from postledger.accounts.keys import USUAL_SCOPES, Scope
from postledger.accounts.models import ApiKey


@dataclass(frozen=True, slots=True)
class KeyRow:
    key: ApiKey
    has_all_scopes: bool
    has_usual_scopes: bool
    ended_at: datetime | None  # None: it works

    @property
    def is_rotated(self) -> bool:
        """It has a successor, and works a little longer."""
        return self.ended_at is None and self.key.expires_at is not None


def split_keys(keys: Sequence[ApiKey], *, now: datetime) -> tuple[list[KeyRow], list[KeyRow]]:
    """The keys that work, and those that ended, each with the newest first."""
    rows = [_make_row(key, now) for key in sorted(keys, key=lambda key: -key.pk)]
    working = [row for row in rows if row.ended_at is None]
    return working, [row for row in rows if row.ended_at is not None]


def _make_row(key: ApiKey, now: datetime) -> KeyRow:
    scopes = frozenset(key.scopes)
    return KeyRow(
        key,
        has_all_scopes=scopes == frozenset(Scope),
        has_usual_scopes=scopes == USUAL_SCOPES,
        ended_at=_find_end(key, now),
    )


def _find_end(key: ApiKey, now: datetime) -> datetime | None:
    ends = [end for end in (key.revoked_at, key.expires_at) if end is not None and end <= now]
    return min(ends, default=None)

"""Stores letters: a mail can be made again, and compared, as long as its workspace exists."""

from collections.abc import Mapping
from dataclasses import asdict
from threading import Lock
from typing import Any

from django.conf import settings

from postledger.accounts.queries import Organisation
from postledger.content import models
from postledger.content.rendering.footer import Footer
from postledger.content.rendering.letter import Letter, Script

# Hundreds of usual letters, as a newsletter of slices has. Authors decide how large a letter is.
_MOST_MEMORY = 64 << 20


class LetterCache[Key]:
    """The letters that a process made last, as many as fit into its memory for them."""

    def __init__(self, most_memory: int = _MOST_MEMORY) -> None:
        self._most_memory = most_memory
        self._letters: dict[Key, Letter] = {}
        self._lock = Lock()

    def get(self, key: Key) -> Letter | None:
        return self._letters.get(key)

    def put(self, key: Key, letter: Letter) -> None:
        """Gives up the oldest letters to make room; the new one stays, however large."""
        with self._lock:
            self._letters[key] = letter
            memory = sum(kept.memory for kept in self._letters.values())
            for oldest in list(self._letters)[:-1]:
                if memory <= self._most_memory:
                    break
                memory -= self._letters.pop(oldest).memory


_cache = LetterCache[tuple[int, str]]()


def keep(workspace_id: int, script: Script) -> str:
    """Stores a letter once, and returns its digest in hex; harmless when repeated."""
    digest = script.digest()
    if _cache.get((workspace_id, digest.hex())) is None:
        models.Letter.objects.bulk_create(
            [models.Letter(workspace_id=workspace_id, digest=digest, source=asdict(script))],
            ignore_conflicts=True,
        )
    return digest.hex()


def find(workspace_id: int, *, digest: str) -> Letter | None:
    """A compiled letter; a process compiles each once, because letters never change."""
    letter = _cache.get((workspace_id, digest))
    if letter is None:
        letters = models.Letter.objects.filter(workspace_id=workspace_id)
        source = letters.filter(digest=bytes.fromhex(digest)).values_list("source", flat=True)
        for stored in source:
            letter = Letter(_to_script(stored))
            _cache.put((workspace_id, digest), letter)
    return letter


def read_script(workspace_id: int, *, digest: str) -> Script | None:
    """A letter as the database has it now: its own digest shows whether it is the one it was."""
    stored = models.Letter.objects.filter(workspace_id=workspace_id, digest=bytes.fromhex(digest))
    source = stored.values_list("source", flat=True).first()
    return None if source is None else _to_script(source)


def _to_script(source: Mapping[str, Any]) -> Script:
    variables = {name: tuple(source[name]) for name in ("required", "optional")}
    return Script(**{**source, **variables})


def require_footer(organisation: Organisation) -> Footer:
    """The footer of a workspace's mail; raises FooterEnvMissingError where a part is missing."""
    return Footer.require(
        org_name=organisation.name,
        org_address=organisation.address,
        unsubscribe_page=organisation.unsubscribe_page,
        has_secret=bool(settings.UNSUBSCRIBE_SECRET),
    )

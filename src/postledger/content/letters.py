"""Stores letters: a mail can be made again, and compared, as long as its workspace exists."""

from dataclasses import asdict

from django.conf import settings

from postledger.accounts.queries import Organisation
from postledger.content import models
from postledger.content.rendering.footer import Footer
from postledger.content.rendering.letter import Letter, Script

# More than a newsletter of slices has: one that has more makes its letters again and again.
_MOST_CACHED = 1_024
_cache: dict[tuple[int, str], Letter] = {}


def keep(workspace_id: int, script: Script) -> str:
    """Stores a letter once, and returns its digest in hex; harmless when repeated."""
    digest = script.digest()
    if (workspace_id, digest.hex()) not in _cache:
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
            variables = {name: tuple(stored[name]) for name in ("required", "optional")}
            letter = Letter(Script(**{**stored, **variables}))
            if len(_cache) >= _MOST_CACHED:
                _cache.clear()
            _cache[workspace_id, digest] = letter
    return letter


def require_footer(organisation: Organisation) -> Footer:
    """The footer of a workspace's mail; raises FooterEnvMissingError where a part is missing."""
    return Footer.require(
        org_name=organisation.name,
        org_address=organisation.address,
        unsubscribe_base_url=organisation.unsubscribe_base_url,
        has_secret=bool(settings.UNSUBSCRIBE_SECRET),
    )

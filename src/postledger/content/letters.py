"""Keeps letters: a mail can be made again, and compared, as long as its workspace exists."""

from dataclasses import asdict

from postledger.content import models
from postledger.content.letter import Letter, Script


def keep(workspace_id: int, script: Script) -> str:
    """Stores a letter once, and answers its digest in hex; harmless when repeated."""
    digest = script.digest()
    if (workspace_id, digest.hex()) in _ready:
        return digest.hex()
    models.Letter.objects.bulk_create(
        [models.Letter(workspace_id=workspace_id, digest=digest, source=asdict(script))],
        ignore_conflicts=True,
    )
    return digest.hex()


# More than a newsletter of slices has: one that has more makes its letters again and again.
_MOST_READY = 1_024
_ready: dict[tuple[int, str], Letter] = {}


def find(workspace_id: int, *, digest: str) -> Letter | None:
    """A letter ready to be filled in; a process makes each once, for letters never change."""
    letter = _ready.get((workspace_id, digest))
    if letter is None:
        letter = _made(workspace_id, digest)
        if letter is not None:
            if len(_ready) >= _MOST_READY:
                _ready.clear()
            _ready[workspace_id, digest] = letter
    return letter


def _made(workspace_id: int, digest: str) -> Letter | None:
    row = (
        models.Letter.objects.filter(workspace_id=workspace_id, digest=bytes.fromhex(digest))
        .values_list("source", flat=True)
        .first()
    )
    if row is None:
        return None
    return Letter(
        Script(
            subject=row["subject"],
            html=row["html"],
            text=row["text"],
            required=tuple(row["required"]),
            optional=tuple(row["optional"]),
        )
    )

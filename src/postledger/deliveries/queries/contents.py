"""What one mail was, or will be, made from."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import LiteralString

from postledger.deliveries import ledger
from postledger.deliveries.entries import Body
from postledger.deliveries.ledger import sql
from postledger.deliveries.queries.work import read_bodies


@dataclass(frozen=True, slots=True)
class MailContent:
    """A mail's reader with the values of the letter, and its body or the one that it shares."""

    address: str
    variables: Mapping[str, object] | None
    body: Body | None  # None: none was stored, or its month was dropped
    is_unchanged: bool  # the body has the digest that it was stored with
    letter: int = 0  # which of its stream's letters it is filled in from

    @property
    def is_erased(self) -> bool:
        return self.address == ledger.ERASED


_RECIPIENT: LiteralString = """
SELECT address, variables, letter FROM deliveries_delivery
WHERE stream_id = %(stream)s AND position = %(position)s
"""
# The bodies that mails share lie below 0, the first letter's highest.
_SUBJECTS: LiteralString = """
SELECT -1 - position, subject FROM deliveries_body
WHERE stream_id = %(stream)s AND position < 0 ORDER BY position DESC LIMIT %(most)s
"""
_DIGEST: LiteralString = """
SELECT digest FROM deliveries_body WHERE stream_id = %(stream)s AND position = %(position)s
"""


def list_subjects(stream_id: int, *, most: int) -> list[tuple[int, str]]:
    """Of a stream's first letters, by number, before anything is filled in."""
    return [
        (number, subject)
        for number, subject in sql.rows(_SUBJECTS, {"stream": stream_id, "most": most})
    ]


def find_content(stream_id: int, position: int) -> MailContent | None:
    row = sql.first_row(_RECIPIENT, {"stream": stream_id, "position": position})
    if row is None:
        return None
    address, variables, letter = row
    bodies = read_bodies(stream_id, [position, ledger.shared_position(letter)])
    place = max(bodies, default=None)  # its own comes before the shared one, which lies below 0
    if place is None:
        return MailContent(address, variables, None, is_unchanged=False, letter=letter)
    [(digest,)] = sql.rows(_DIGEST, {"stream": stream_id, "position": place})
    is_unchanged = digest is not None and bytes(digest) == ledger.digest_body(bodies[place])
    return MailContent(address, variables, bodies[place], is_unchanged=is_unchanged, letter=letter)

"""Knows which addresses of a file came before, and in which row.

An address is remembered as 64 bits of a salted hash, so two of ten million are taken for one with a
chance of one in a few hundred thousand. What the rows before an import's cursor had is kept with
it, chunk by chunk, for whoever resumes it.
"""

from array import array
from hashlib import blake2b
from typing import LiteralString

from postledger.contacts import sql
from postledger.contacts.importing.rows import Line

_SMALLEST = 1 << 15

_SALT: LiteralString = "SELECT salt FROM contacts_salt"
_LOWER: LiteralString = """
SELECT lower(address) FROM unnest(%(addresses)s::text[]) WITH ORDINALITY AS one (address, place)
ORDER BY place
"""
_KEEP: LiteralString = """
INSERT INTO contacts_importedrow (import_id, first_row, hashes, row_numbers)
VALUES (%(import)s, %(first)s, %(hashes)s, %(rows)s)
"""
_KEPT: LiteralString = """
SELECT hashes, row_numbers FROM contacts_importedrow WHERE import_id = %(import)s ORDER BY first_row
"""


class Seen:
    """The addresses of the rows so far.

    Flat arrays, and a table of places in them: ten million rows take 200 MB, and a dict takes five
    times that.
    """

    def __init__(self) -> None:
        self._salt = b""
        self._hashes = array("Q")
        self._rows = array("I")
        self._places = array("I", bytes(4 * _SMALLEST))
        self._chunk = 0

    @property
    def is_empty(self) -> bool:
        return not self._hashes

    def repeated(self, lines: list[Line]) -> dict[int, int]:
        """Which of the next rows repeat an address, and the row that had it first."""
        self._chunk = len(self._hashes)
        found: dict[int, int] = {}
        for hashed, (row, _) in zip(self._hashed(lines), lines, strict=True):
            first = self._note(hashed, row)
            if first != row:
                found[row] = first
        return found

    def keep(self, import_id: int, *, first_row: int) -> None:
        """Writes down what the last rows had; the caller's transaction moves the cursor too."""
        params = {
            "import": import_id,
            "first": first_row,
            "hashes": self._hashes[self._chunk :].tobytes(),
            "rows": self._rows[self._chunk :].tobytes(),
        }
        sql.changed(_KEEP, params)

    def recall(self, import_id: int) -> None:
        """Learns what the rows before an import's cursor had."""
        for hashes, numbers in sql.rows(_KEPT, {"import": import_id}):
            for hashed, row in zip(
                array("Q", bytes(hashes)), array("I", bytes(numbers)), strict=True
            ):
                self._note(hashed, row)

    def _hashed(self, lines: list[Line]) -> list[int]:
        if not self._salt:
            [(salt,)] = sql.rows(_SALT, {})
            self._salt = bytes(salt)
        salt, digest, number = self._salt, blake2b, int.from_bytes
        return [
            number(digest(address.encode(), digest_size=8, key=salt).digest(), "little")
            for address in _lowered([text.partition("\t")[0] for _, text in lines])
        ]

    def _note(self, hashed: int, row: int) -> int:
        """The row that has the address first, which may be this one."""
        places, hashes = self._places, self._hashes
        mask = len(places) - 1
        at = hashed & mask
        while place := places[at]:
            if hashes[place - 1] == hashed:
                return self._rows[place - 1]
            at = (at + 1) & mask
        hashes.append(hashed)
        self._rows.append(row)
        places[at] = len(hashes)
        if len(hashes) * 3 > len(places) * 2:
            self._grow()
        return row

    def _grow(self) -> None:
        size = len(self._places) * 2
        mask = size - 1
        self._places = places = array("I", bytes(4 * size))
        for place, hashed in enumerate(self._hashes, 1):
            at = hashed & mask
            while places[at]:
                at = (at + 1) & mask
            places[at] = place


def _lowered(addresses: list[str]) -> list[str]:
    """In small letters, as the database has them: it compares addresses by its own.

    What has no letter that could be made small is not asked for.
    """
    asked = [
        place
        for place, address in enumerate(addresses)
        if not (address.isascii() and address.islower())
    ]
    if asked:
        params = {"addresses": [addresses[place] for place in asked]}
        for place, (lowered,) in zip(asked, sql.rows(_LOWER, params), strict=True):
            addresses[place] = lowered
    return addresses

"""Which characters the bytes of a file stand for, found out by reading all of it once."""

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from postledger.contacts.importing.refusals import FileRefusedError

_BLOCK = 1 << 20

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_OTHER_KINDS = (
    (b"PK\x03\x04", "an Excel or ZIP file"),
    (b"\xd0\xcf\x11\xe0", "an old Excel file, or one with a password"),
    (b"%PDF", "a PDF file"),
    (b"\x1f\x8b", "a compressed file"),
)
_HIGH = re.compile(rb"[\x80-\xff]+")
_UTF8 = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")


@dataclass(frozen=True, slots=True)
class Look:
    """What a file is as bytes."""

    encoding: str
    start: int  # how many bytes at its beginning only name the encoding
    size: int
    sha256: str


@dataclass(slots=True)
class _Tally:
    """Bytes beyond ASCII: how many, in words of several, and as UTF-8 would have them."""

    high: int = 0
    in_words: int = 0
    as_utf8: int = 0
    decoder: codecs.IncrementalDecoder = field(
        default_factory=codecs.getincrementaldecoder("utf-8")
    )
    is_utf8: bool = True

    def add(self, block: bytes) -> None:
        if self.is_utf8:
            self._decode(block, final=False)
        if not block.isascii():
            words = _HIGH.findall(block)
            self.high += sum(map(len, words))
            self.in_words += sum(len(word) for word in words if len(word) > 1)
            self.as_utf8 += sum(map(len, _UTF8.findall(block)))

    def end(self) -> None:
        if self.is_utf8:
            self._decode(b"", final=True)

    def _decode(self, block: bytes, *, final: bool) -> None:
        try:
            self.decoder.decode(block, final)
        except UnicodeDecodeError:
            self.is_utf8 = False


def look(path: Path) -> Look:
    """Reads a file once, as bytes; refuses what is no text."""
    digest, tally, size, named = sha256(), _Tally(), 0, None
    for block in _blocks(path):
        if not size:
            _refuse_other_kinds(block)
            named = next((bom for bom in _BOMS if block.startswith(bom[0])), None)
        digest.update(block)
        size += len(block)
        if named is None or named[1] == "utf-8":
            tally.add(block)
    tally.end()
    if not size:
        raise FileRefusedError("The file is empty. Export it again, with a row of column names.")
    start = len(named[0]) if named else 0
    encoding = named[1] if named and named[1] != "utf-8" else _encoding(tally)
    return Look(encoding, start, size, digest.hexdigest())


def _blocks(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                yield block
    except OSError as error:
        raise FileRefusedError(
            f"The file {path.name!r} cannot be read: {error.strerror}. Check its name and rights."
        ) from None


def _encoding(tally: _Tally) -> str:
    """UTF-8 where it is; else Cyrillic, whose words have many high bytes in a row, or Western."""
    if tally.is_utf8:
        return "utf-8"
    if tally.as_utf8 * 2 > tally.high:
        raise FileRefusedError(
            "The file is UTF-8 with damaged characters, so names in it would be wrong."
            " Export it again as UTF-8."
        )
    return "cp1251" if tally.in_words * 2 > tally.high else "cp1252"


def _refuse_other_kinds(block: bytes) -> None:
    for sign, kind in _OTHER_KINDS:
        if block.startswith(sign):
            raise FileRefusedError(f"This is {kind}, and no CSV file. Save it as CSV (UTF-8).")

"""The encoding of a file, found by reading all of its bytes once."""

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from postledger.imports.refusals import FileRefusedError
from postledger.lib.sentences import say

_BLOCK = 1 << 20

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_OTHER_TYPES = (
    (b"PK\x03\x04", say("an Excel or ZIP file")),
    (b"\xd0\xcf\x11\xe0", say("an old Excel file, or one with a password")),
    (b"\x1f\x8b", say("a compressed file")),
)
# Files that nobody can save as a table.
_NO_TABLES = (
    *(
        (signature, say("a picture"))
        for signature in (b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"RIFF", b"II*\0", b"MM\0*")
    ),
    (b"%PDF", say("a PDF file")),
    (b"\x7fELF", say("a program")),
    (b"MZ\x90", say("a program")),
)
_ASCII = bytes(range(0x80))
# Words without an ASCII letter: of Cyrillic ones all are so, and hardly a Western one.
_HIGH_WORD = re.compile(rb"(?<![A-Za-z\x80-\xff])[\x80-\xff]{2,}+(?![A-Za-z])")
_UTF8 = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")


@dataclass(frozen=True, slots=True)
class FileBytes:
    encoding: str
    start: int  # the length of the byte order mark
    size: int
    sha256: str


@dataclass(slots=True)
class _HighBytes:
    """Counts bytes beyond ASCII: all, those in words of such, and those in UTF-8 sequences."""

    count: int = 0
    in_high_words: int = 0
    in_utf8: int = 0
    is_utf8: bool = True
    decoder: codecs.IncrementalDecoder = field(
        default_factory=codecs.getincrementaldecoder("utf-8")
    )

    def add(self, block: bytes, *, is_last: bool = False) -> None:
        try:
            if self.is_utf8:
                self.decoder.decode(block, is_last)
        except UnicodeDecodeError:
            self.is_utf8 = False
        if not block.isascii():
            self.count += len(block.translate(None, _ASCII))
            self.in_high_words += sum(map(len, _HIGH_WORD.findall(block)))
            self.in_utf8 += sum(map(len, _UTF8.findall(block)))

    def guess(self) -> str:
        """UTF-8 if it is; else Cyrillic, whose words are all high bytes, or Western."""
        if self.is_utf8:
            return "utf-8"
        if self.in_utf8 * 2 > self.count:
            raise FileRefusedError(
                say(
                    "The file is UTF-8 with damaged characters, so names in it would be wrong."
                    " Export it again as UTF-8."
                )
            )
        return "cp1251" if self.in_high_words * 2 > self.count else "cp1252"


def inspect_bytes(path: Path) -> FileBytes:
    """Reads a file once; refuses one that is not text."""
    digest, high, size, mark, named = sha256(), _HighBytes(), 0, b"", "utf-8"
    for block in _blocks(path):
        if not size:
            _refuse_other_types(block)
            mark, named = next((bom for bom in _BOMS if block.startswith(bom[0])), (b"", "utf-8"))
        digest.update(block)
        size += len(block)
        if named == "utf-8":
            high.add(block)
    high.add(b"", is_last=True)
    if not size:
        raise FileRefusedError(
            say("The file is empty. Export it again, with a row of column names.")
        )
    encoding = high.guess() if named == "utf-8" else named
    return FileBytes(encoding, len(mark), size, digest.hexdigest())


def _blocks(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                yield block
    except OSError as error:
        raise FileRefusedError(
            say(
                "The file '%(name)s' cannot be read: %(reason)s. Check its name and rights.",
                name=path.name,
                reason=error.strerror,
            )
        ) from None


def _refuse_other_types(block: bytes) -> None:
    for signature, name in _OTHER_TYPES:
        if block.startswith(signature):
            raise FileRefusedError(
                say("This is %(type)s, not a CSV file. Save it as CSV (UTF-8).", type=name)
            )
    for signature, name in _NO_TABLES:
        if block.startswith(signature):
            raise FileRefusedError(
                say(
                    "This is no CSV file and no workbook, but %(type)s. Upload the table of the"
                    " contacts.",
                    type=name,
                )
            )

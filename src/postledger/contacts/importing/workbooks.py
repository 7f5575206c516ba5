"""Opens an Excel workbook (xlsx) that a stranger made, within bounds that hold before memory grows.

A part of it is read as a stream of XML events. What libraries do, to hold a sheet as a rectangle of
cells, lets a file of a kilobyte ask for half a terabyte.
"""

import struct
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, override
from xml.parsers import expat
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile

from postledger.contacts.importing.refusals import FileRefusedError

LARGEST = 200_000_000  # bytes, of all parts unpacked
_LARGEST_DIRECTORY = 1 << 20
_LONGEST_TAG = 1 << 20
_DEEPEST = 64  # elements within elements; a sheet has ten or so
_MOST_NAMES = 5_000  # of elements and attributes: a parser keeps each of them to its end
_ENCODINGS = {"US-ASCII", "ISO-8859-1", "UTF-8", "UTF-16", "UTF-16BE", "UTF-16LE"}
_BLOCK = 1 << 16
_TAIL = 20 + 22 + 65_536  # the end of a ZIP file: a locator, a record, and the longest comment
_RECORD = 22
_END = b"PK\x05\x06"
_END_OF_LARGE = b"PK\x06\x07"
_ENCRYPTED = 0x1

type Attributes = Mapping[str, str]


class Events:
    """Listens to the elements of a part; names come without a prefix."""

    def start(self, name: str, attributes: Attributes) -> None:
        raise NotImplementedError

    def end(self, name: str) -> None:
        """Nothing, for those who only want attributes."""

    def text(self, text: str) -> None:
        """Nothing, for those who only want attributes."""


@contextmanager
def opened(path: Path) -> Iterator[ZipFile]:
    """A workbook whose parts are as many and as large as they may be; damaged ones are refused."""
    try:
        with path.open("rb") as file:
            _refuse_long_directory(file)
            with ZipFile(file) as book:
                _refuse_large(book)
                yield book
    except (BadZipFile, EOFError, NotImplementedError, OSError, UnicodeError, zlib.error) as error:
        raise damaged(str(error)) from None
    except expat.ExpatError as error:
        raise damaged(str(error)) from None


def _refuse_long_directory(file: BinaryIO) -> None:
    """Before the directory is read: each of its entries would be an object."""
    size = file.seek(0, 2)
    file.seek(max(0, size - _TAIL))
    tail = file.read()
    at = _end_record(tail)
    if at < 0 or len(tail) < at + _RECORD:
        raise damaged("its end is missing")
    [length] = struct.unpack_from("<L", tail, at + 12)
    if length > _LARGEST_DIRECTORY or _END_OF_LARGE in tail:
        raise FileRefusedError("The workbook has too many parts. Save it as CSV (UTF-8).")


def _end_record(tail: bytes) -> int:
    """Where zipfile finds it, so that both go by the same one."""
    if tail[-_RECORD:].startswith(_END) and tail.endswith(b"\0\0"):
        return len(tail) - _RECORD
    return tail.rfind(_END)


def _refuse_large(book: ZipFile) -> None:
    parts = book.infolist()
    if sum(part.file_size for part in parts) > LARGEST:
        raise FileRefusedError(
            f"Unpacked, the workbook has more than {LARGEST // 1_000_000} MB."
            " Save the sheet with the contacts as CSV (UTF-8)."
        )
    if any(part.flag_bits & _ENCRYPTED for part in parts):
        raise FileRefusedError("The workbook has a password. Save it without one.")
    if any(part.compress_type not in {ZIP_STORED, ZIP_DEFLATED} for part in parts):
        raise damaged("it is packed in an unusual way")
    if "xl/workbook.xml" not in book.NameToInfo:
        raise FileRefusedError(
            "This is a ZIP file, and no Excel workbook. Save the contacts as .xlsx or as CSV."
        )


def read(book: ZipFile, part: str, events: Events) -> bool:
    """Reads a part to its end, if it is there; says whether it is."""
    if part not in book.NameToInfo:
        return False
    parser = _parser(events)
    with book.open(part) as file:
        fed = 0
        while block := file.read(_BLOCK):
            parser.Parse(block)
            fed += len(block)
            if fed - parser.CurrentByteIndex > _LONGEST_TAG:
                raise damaged("a tag of it does not end")
            if len(parser.intern) > _MOST_NAMES:
                raise damaged("it has more names of elements than any workbook")
        parser.Parse(b"", True)  # noqa: FBT003  this was all; it has no name
    return True


def _parser(events: Events) -> expat.XMLParserType:
    parser = expat.ParserCreate()
    parser.buffer_text = True

    def first(name: str, attributes: dict[str, str]) -> None:
        # Few workbooks have prefixes, and to look for one at each of millions of tags takes long.
        heard = _Unprefixed(events) if ":" in name else events
        _listen(parser, heard)(name, attributes)

    parser.StartElementHandler = first
    parser.CharacterDataHandler = events.text
    parser.XmlDeclHandler = _refuse_encoding
    # No workbook declares entities; whoever does means to multiply them.
    parser.StartDoctypeDeclHandler = _refuse_doctype
    return parser


def _listen(parser: expat.XMLParserType, events: Events) -> Callable[[str, Attributes], None]:
    """Passes elements on, and bounds how many are open: a parser keeps something of each."""
    start, end, depth = events.start, events.end, 0

    def deeper(name: str, attributes: Attributes) -> None:
        nonlocal depth
        depth += 1
        if depth > _DEEPEST:
            raise damaged("its elements are nested too deeply")
        start(name, attributes)

    def back(name: str) -> None:
        nonlocal depth
        depth -= 1
        end(name)

    parser.StartElementHandler = deeper
    parser.EndElementHandler = back
    return deeper


class _Unprefixed(Events):
    def __init__(self, events: Events) -> None:
        self._events = events

    @override
    def start(self, name: str, attributes: Attributes) -> None:
        self._events.start(name.rpartition(":")[2], attributes)

    @override
    def end(self, name: str) -> None:
        self._events.end(name.rpartition(":")[2])


def _refuse_encoding(_version: str, encoding: str | None, _standalone: int) -> None:
    """Takes what the parser knows by itself; a workbook may have UTF-8 and UTF-16 only."""
    if encoding is not None and encoding.upper() not in _ENCODINGS:
        raise damaged(f"a part of it is written as {encoding[:64]!r}, and not as UTF-8")


def _refuse_doctype(*_: object) -> None:
    raise damaged("it declares what no workbook declares")


def damaged(reason: str) -> FileRefusedError:
    return FileRefusedError(
        f"The workbook cannot be read: {reason[:200]}. Open it, and save it again as .xlsx or CSV."
    )

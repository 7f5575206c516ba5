"""Workbooks of the tests, made as spreadsheet programs make them, or as nobody should."""

import io
import struct
import zipfile
from collections.abc import Callable, Mapping
from zipfile import ZIP_DEFLATED, ZipFile

MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = 'xmlns="http://schemas.openxmlformats.org/package/2006/relationships"'

PEOPLE = (
    '<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="inlineStr"><is><t>name</t></is></c></row>'
    '<row r="2"><c r="A2" t="s"><v>1</v></c><c r="B2" t="str"><f>A1</f><v>Ann</v></c></row>'
)
TEXTS = "<si><t>email</t></si><si><t>r1@example.com</t></si>"
STYLES = (
    f'<styleSheet {MAIN}><numFmts><numFmt numFmtId="165" formatCode="&quot;day&quot; yyyy-mm-dd"/>'
    '<numFmt numFmtId="166" formatCode="0.00 &quot;days&quot;"/></numFmts>'
    '<cellStyleXfs><xf numFmtId="14"/></cellStyleXfs>'
    '<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="165"/><xf numFmtId="166"/>'
    '<xf numFmtId="22"/><xf numFmtId="20"/><xf numFmtId="46"/></cellXfs></styleSheet>'
)


def make_workbook(
    rows: str = PEOPLE,
    *,
    texts: str = TEXTS,
    more: Mapping[str, str | bytes] | None = None,
    without: str = "",
    properties: str = "",
) -> bytes:
    """A workbook with the sheets People and Others; `more` adds or replaces parts."""
    parts: dict[str, str | bytes] = {
        "[Content_Types].xml": "<Types/>",
        "_rels/.rels": (
            f'<Relationships {PACKAGE}><Relationship Id="rId1" Type="{RELATIONS}/officeDocument"'
            ' Target="xl/workbook.xml"/></Relationships>'
        ),
        "xl/workbook.xml": (
            f'<workbook {MAIN} xmlns:r="{RELATIONS}">{properties}<sheets>'
            '<sheet name="People" sheetId="1" r:id="rId1"/>'
            '<sheet name="Others" sheetId="2" r:id="rId2"/></sheets></workbook>'
        ),
        "xl/_rels/workbook.xml.rels": (
            f'<Relationships {PACKAGE}><Relationship Id="rId1" Target="worksheets/sheet1.xml"'
            f' Type="{RELATIONS}/worksheet"/><Relationship Id="rId2" Type="{RELATIONS}/worksheet"'
            ' Target="/xl/worksheets/sheet2.xml"/></Relationships>'
        ),
        "xl/sharedStrings.xml": f"<sst {MAIN}>{texts}</sst>",
        "xl/styles.xml": STYLES,
        "xl/worksheets/sheet1.xml": sheet(rows),
        "xl/worksheets/sheet2.xml": sheet(
            '<row><c t="str"><v>email</v></c></row><row><c t="str"><v>r2@example.com</v></c></row>'
        ),
        **(more or {}),
    }
    out = io.BytesIO()
    with ZipFile(out, "w", ZIP_DEFLATED) as book:
        for name, content in parts.items():
            if name != without:
                book.writestr(name, content)
    return out.getvalue()


def sheet(rows: str) -> str:
    return f"<worksheet {MAIN}><sheetData>{rows}</sheetData></worksheet>"


def cell(inner: str) -> str:
    """A sheet with one column, one cell of which is given."""
    return f'<row r="1"><c r="A1" t="str"><v>email</v></c></row><row r="2">{inner}</row>'


def _swollen() -> bytes:
    out = io.BytesIO(make_workbook())
    with ZipFile(out, "a", ZIP_DEFLATED) as book, book.open("xl/media/big.xml", "w") as part:
        block = b" " * 2**20
        for _ in range(200):
            part.write(block)
    return out.getvalue()


def _laughs() -> str:
    entities = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10 if n else "ha"}">' for n in range(10))
    return f"<!DOCTYPE w [{entities}]>{sheet(cell('<c t="str"><v>&l9;</v></c>'))}"


def _sheets(count: int) -> str:
    return "".join(f'<sheet name="s{n}" r:id="r{n}"/>' for n in range(count))


def _crowded() -> tuple[bytes, int]:
    """A workbook of ten thousand parts without its end, and how long its directory is."""
    content = make_workbook(more={f"xl/media/{'long-' * 30}{n}.png": b"" for n in range(10_000)})
    at = content.rfind(b"PK\x05\x06")
    [size] = struct.unpack_from("<L", content, at + 12)
    return content[:at], size


def _located() -> bytes:
    """Its directory is told by a ZIP64 record alone, before a comment of the greatest length.

    One byte more even than the comment's own length can say, which readers do not mind.
    """
    content, size = _crowded()
    start = len(content) - size
    record = struct.pack("<4sQHHLLQQQQ", b"PK\x06\x06", 44, 45, 45, 0, 0, 0, 0, size, start)
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, len(content), 1)
    end = struct.pack("<4s16xH", b"PK\x05\x06", 65_535)
    return content + record + locator + end + b"x" * 65_536


def _ended_twice() -> bytes:
    """The sign of an end record inside the end record: read from there, the directory is small."""
    content, size = _crowded()
    return content + struct.pack("<4s4s4xLLH", b"PK\x05\x06", b"PK\x05\x06", size, 0, 0)


def locked() -> bytes:
    """With a password on its parts, as ZIP programs set one: one bit in both headers says so."""
    content = bytearray(make_workbook())
    for sign, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = content.find(sign)
        while at >= 0:
            content[at + place] |= 1
            at = content.find(sign, at + 4)
    return bytes(content)


def damaged() -> bytes:
    """The same length and directory, and something else inside."""
    content = bytearray(make_workbook())
    with zipfile.ZipFile(io.BytesIO(bytes(content))) as book:
        start = book.getinfo("xl/worksheets/sheet1.xml").header_offset
    content[start + 60 : start + 120] = b"\xff" * 60
    return bytes(content)


def announcing(size: int) -> bytes:
    """A workbook whose directory says that a part of it has this many bytes."""
    content = bytearray(make_workbook())
    entry = content.index(b"PK\x01\x02")
    content[entry + 24 : entry + 28] = size.to_bytes(4, "little")
    return bytes(content)


def wrong() -> dict[str, tuple[bytes, str]]:
    """Files that are no workbook, or not one that can be read, and what is said of them."""
    archive = io.BytesIO()
    with ZipFile(archive, "w") as book:
        book.writestr("people.csv", "email\nr1@example.com\n")
    return {
        "a ZIP file": (archive.getvalue(), "not an Excel workbook"),
        "an empty ZIP file": (b"PK\x05\x06" + b"\0" * 18, "zero byte"),
        "a cut off workbook": (make_workbook()[:-200], "damaged"),
        "a damaged workbook": (damaged(), "damaged"),
        "a locked workbook": (locked(), "password"),
        "a workbook of 600 MB": (announcing(700_000_000), "Unzipped"),
        "a workbook with a password of Excel": (b"\xd0\xcf\x11\xe0" + b"\0" * 600, "password"),
        "an empty sheet": (make_workbook(""), "empty"),
        "a sheet that is not there": (make_workbook(without="xl/worksheets/sheet1.xml"), "damaged"),
        "no sheets": (make_workbook(more={"xl/workbook.xml": f"<workbook {MAIN}/>"}), "damaged"),
        "a sheet that is no XML": (
            make_workbook(more={"xl/worksheets/sheet1.xml": "a,b"}),
            "damaged",
        ),
        "an encoding that nobody knows": (
            make_workbook(
                more={"xl/worksheets/sheet1.xml": '<?xml version="1.0" encoding="foo"?><a/>'}
            ),
            "empty",
        ),
        "an encoding of two bytes": (
            make_workbook(more={"xl/styles.xml": '<?xml version="1.0" encoding="shift_jis"?><a/>'}),
            "damaged",
        ),
        "a cell nowhere": (make_workbook('<row><c r="?1"><v>1</v></c></row>'), "damaged"),
        "a text that is not there": (make_workbook('<row><c t="s"><v>7</v></c></row>'), "damaged"),
        "a binary workbook": (
            make_workbook(more={"xl/workbook.bin": b"x"}, without="xl/workbook.xml"),
            "not an Excel workbook",
        ),
    }


# Files that would take all memory in a careless reader, and a part of the refusal; None if it is
# read.
BOMBS: dict[str, tuple[Callable[[], bytes], str | None]] = {
    "two hundred megabytes of spaces": (_swollen, None),
    "a cell in the last corner": (
        lambda: make_workbook(cell('<c r="XFD1048576"><v>1</v></c>')),
        "too large",
    ),
    "a row beyond the last": (
        lambda: make_workbook('<row r="1048577"><c><v>1</v></c></row>'),
        "first row",
    ),
    "a row of a million cells": (
        lambda: make_workbook(f"<row>{'<c><v>1</v></c>' * 10**6}</row>"),
        "longer than",
    ),
    "one text in every cell": (
        lambda: make_workbook(
            f"<row>{'<c t="s"><v>0</v></c>' * 200}</row>" * 20,
            texts=f"<si><t>{'x' * 30_000}</t></si>",
        ),
        "As CSV",
    ),
    "a text without end": (
        lambda: make_workbook(texts=f"<si><t>{'x' * 10**6}</t></si>"),
        "damaged",
    ),
    "entities in entities": (
        lambda: make_workbook(more={"xl/worksheets/sheet1.xml": _laughs()}),
        "damaged",
    ),
    "a tag without end": (
        lambda: make_workbook(more={"xl/worksheets/sheet1.xml": f"<worksheet {'a' * 3_000_000}"}),
        "damaged",
    ),
    "ten thousand parts": (
        lambda: make_workbook(more={f"xl/media/{'long-' * 30}{n}.png": b"" for n in range(10_000)}),
        None,
    ),
    "ten thousand parts behind a long comment": (_located, "damaged"),
    "ten thousand parts behind two ends": (_ended_twice, "damaged"),
    "elements without end": (
        lambda: make_workbook(more={"xl/worksheets/sheet1.xml": "<a>" * 3_000_000}),
        "empty",
    ),
    "rows in rows": (lambda: make_workbook("<row>" * 1_000_000), "empty"),
    "a million names": (
        lambda: make_workbook("".join(f"<a{n}/>" for n in range(2_000_000))),
        "empty",
    ),
    "a million names of attributes": (
        lambda: make_workbook("".join(f'<a a{n}=""/>' for n in range(1_500_000))),
        "empty",
    ),
    "a thousand sheets": (
        lambda: make_workbook(more={"xl/workbook.xml": f"<workbook>{_sheets(2_000)}</workbook>"}),
        "damaged",
    ),
}

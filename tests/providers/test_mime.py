"""The bytes of a mail: legal, the same every time, and saying what was meant."""

import re
from dataclasses import replace
from email.header import decode_header, make_header
from email.message import EmailMessage
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postledger.lib import references
from postledger.lib.errors import RefusedError
from postledger.lib.ids import DeliveryId
from postledger.lib.references import Reference
from postledger.providers import addresses, headers, mime
from postledger.providers.base import Attachment, Mailbox, Parts
from tests.providers import strict
from tests.providers.messages import KEY, a_letter, a_reference, an_id

# Everything a header may hold: no controls, no Unicode line ends, no half characters.
speakable = st.text(
    st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]) | st.sampled_from(' "\\=?<>@,;:()%')
)
anything = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("\r\n.= \t\0"))


def wire(letter: Parts) -> bytes:
    return mime.compose(letter, reference=a_reference(7))


def read(letter: Parts) -> EmailMessage:
    return strict.parsed(wire(letter))


def body(message: EmailMessage, kind: str) -> str:
    part = cast("EmailMessage | None", message.get_body((kind,)))
    assert part is not None
    payload = part.get_payload(decode=True)
    assert isinstance(payload, bytes)
    return payload.decode()


def with_crlf(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\n", "\r\n")


def test_a_letter_in_full() -> None:
    letter = replace(
        a_letter(),
        reply_to=(Mailbox("office@acme.example", 'The "Office"'),),
        headers={"List-Unsubscribe": "<https://acme.example/u?t=1>"},
    )

    assert wire(letter).decode() == (
        'From: "Acme News" <news@acme.example>\r\n'
        "To: alice@example.com\r\n"
        'Reply-To: "The \\"Office\\"" <office@acme.example>\r\n'
        "Subject: Hello\r\n"
        "Date: Sun, 15 Nov 2026 12:00:00 +0000\r\n"
        "Message-ID: <01420000-0001-8000-8000-000000000007@acme.example>\r\n"
        "X-Postledger-Id: 01420000-0001-8001-8000-000000000007_3_k4ell3aymmveqmpl\r\n"
        "MIME-Version: 1.0\r\n"
        "List-Unsubscribe: <https://acme.example/u?t=1>\r\n"
        "Content-Type: multipart/alternative;\r\n"
        ' boundary="=_01420000-0001-8001-8000-000000000007-a"\r\n'
        "\r\n"
        "--=_01420000-0001-8001-8000-000000000007-a\r\n"
        "Content-Type: text/plain; charset=utf-8\r\n"
        "Content-Transfer-Encoding: quoted-printable\r\n"
        "\r\n"
        "Good morning.\r\n"
        "--=_01420000-0001-8001-8000-000000000007-a\r\n"
        "Content-Type: text/html; charset=utf-8\r\n"
        "Content-Transfer-Encoding: quoted-printable\r\n"
        "\r\n"
        "<p>Good morning.</p>\r\n"
        "--=_01420000-0001-8001-8000-000000000007-a--\r\n"
    )


def test_every_try_of_a_mail_bears_the_same_message_id() -> None:
    first = mime.compose(a_letter(), reference=a_reference(7, try_number=1))
    second = mime.compose(a_letter(), reference=a_reference(7, try_number=2))
    other = mime.compose(a_letter(), reference=a_reference(8, try_number=1))

    assert strict.parsed(first)["Message-ID"] == strict.parsed(second)["Message-ID"]
    assert strict.parsed(first)["Message-ID"] != strict.parsed(other)["Message-ID"]
    assert references.read(strict.parsed(second)["X-Postledger-Id"], [KEY]) == Reference(
        DeliveryId(1_382_979_469_313, 7, 2), 3
    )


def test_a_reference_that_is_not_ours_is_a_bug() -> None:
    for reference in [
        "17",
        "17\r\nBcc: x@y.example",
        f"{an_id(7)}_3_x\r\nBcc: x@y.example",
        f"{an_id(7)}_3 x",
        "_3",
    ]:
        with pytest.raises(ValueError, match="not a reference"):
            mime.compose(a_letter(), reference=reference)


@given(speakable)
def test_any_subject_arrives_as_it_was(subject: str) -> None:
    assert read(replace(a_letter(), subject=subject))["Subject"] == subject


@pytest.mark.slow
@given(speakable.filter(str.strip))
def test_any_name_arrives_as_it_was(name: str) -> None:
    letter = replace(a_letter(), sender=Mailbox("news@acme.example", name))

    [address] = read(letter)["From"].addresses
    assert address.addr_spec == "news@acme.example"
    # This reader drops spaces inside encoded words and adds some between them.
    assert "".join(address.display_name.split()) == "".join(name.split())
    phrase = dict(strict.read(wire(letter)).headers)["From"].rpartition(b" <")[0].decode()
    assert unquoted(phrase) == name


def unquoted(phrase: str) -> str:
    if phrase.startswith('"'):
        return re.sub(r"\\(.)", r"\1", phrase[1:-1])
    return str(make_header(decode_header(phrase)))


@given(st.lists(speakable, max_size=4))
def test_each_of_several_reply_addresses_arrives(display_names: list[str]) -> None:
    boxes = tuple(Mailbox(f"r{n}@acme.example", name) for n, name in enumerate(display_names))

    message = read(replace(a_letter(), reply_to=boxes))

    reply_boxes = message["Reply-To"].addresses if boxes else []
    assert [address.addr_spec for address in reply_boxes] == [box.address for box in boxes]


@given(speakable)
def test_any_header_value_arrives_as_it_was(value: str) -> None:
    assert read(replace(a_letter(), headers={"X-Any": value}))["X-Any"] == value


@given(anything, anything)
def test_any_text_arrives_with_its_line_ends_made_alike(text: str, html: str) -> None:
    message = read(replace(a_letter(), text=f"x{text}", html=f"y{html}"))

    assert body(message, "plain") == with_crlf(f"x{text}")
    assert body(message, "html") == with_crlf(f"y{html}")


def test_a_long_line_arrives_whole() -> None:
    for width in (76, 77, 998, 5_000):
        for line_end in ("", "\n", "\r", "\r\n"):
            text = f"{'x' * width} {line_end}{'.' * width}{line_end}"

            got = body(read(replace(a_letter(), text=text)), "plain")

            assert got == with_crlf(text), (width, line_end)


@given(anything)
def test_a_mail_of_one_part_ends_with_a_line_end_of_its_own(text: str) -> None:
    message = read(replace(a_letter(), text=f"x{text}", html=""))

    assert body(message, "plain") in {with_crlf(f"x{text}"), with_crlf(f"x{text}") + "\r\n"}


# Python's parser takes brackets around a name away, as it does with quotes.
names = speakable.map(str.strip).filter(lambda name: name and not name.startswith("<"))


@given(st.binary(max_size=300), names)
def test_any_attachment_arrives_as_it_was(content: bytes, filename: str) -> None:
    attachment = Attachment(filename, "application/pdf", content)

    message = read(replace(a_letter(), attachments=(attachment,)))

    [part] = message.iter_attachments()
    assert part.get_payload(decode=True) == content
    assert part.get_filename() == filename
    assert body(message, "plain") == "Good morning."


@given(anything)
def test_every_mail_to_an_ascii_address_is_ascii(text: str) -> None:
    assert wire(replace(a_letter(), text=text, html=text, subject="Grüße")).isascii()


def test_a_text_full_of_boundaries_stays_one_text() -> None:
    boundary = f"--=_{an_id(7)}-a--"

    message = read(replace(a_letter(), text=f"{boundary}\r\n{boundary}", html=boundary))

    assert body(message, "plain") == f"{boundary}\r\n{boundary}"
    assert len(list(message.walk())) == 3


def test_an_address_has_an_ascii_domain_on_the_wire() -> None:
    for address, canonical in [
        ("Alice@Example.COM", "Alice@example.com"),
        ("a.b+c@x-y.example", "a.b+c@x-y.example"),
        ("info@bücher.example", "info@xn--bcher-kva.example"),
        ("info@BÜCHER.example", "info@xn--bcher-kva.example"),
        ("почта@пример.example", "почта@xn--e1afmkfd.example"),
        ("root@localhost", "root@localhost"),
    ]:
        assert addresses.canonical(address) == canonical, address
        assert dict(strict.read(wire(a_letter(to=address))).headers)["To"] == canonical.encode(), (
            address
        )


def test_what_is_no_address_is_refused() -> None:
    for address in [
        "",
        "alice",
        "@example.com",
        "alice@",
        "a b@example.com",
        "a..b@example.com",
        ".a@example.com",
        '"a b"@example.com',
        "a@[127.0.0.1]",
        "a@b@example.com",
        "a@-x.example",
        "a@x..example",
        "a@example.com\r\nBcc: b@example.com",
        "a\u2028b@example.com",
        "a\u0085b@example.com",
        "a\u200bb@example.com",
        "a@exam\u2028ple.com",
        "a\ud800b@example.com",
        "<a@example.com>",
        "a@example.com,b@example.com",
        "a@example.com>",
        "=?utf-8?q?=0ABcc=3Amallory?=@example.com",
        f"{'a' * 65}@example.com",
        f"a@{'b' * 64}.example",
        f"a@{'b.' * 130}example",
        "a." * 32_000 + "@example.com",
        "@" * 50_000,
    ]:
        with pytest.raises(addresses.InvalidAddressError):
            addresses.canonical(address)


def test_what_a_letter_must_not_hold_is_refused() -> None:
    for letter in [
        replace(a_letter(), headers={"Bcc": "x@y.example"}),
        replace(a_letter(), headers={"subject": "twice"}),
        replace(a_letter(), headers={"Content-Type": "text/x"}),
        replace(a_letter(), headers={"Resent-To": "x@y.example"}),
        replace(a_letter(), headers={"X-Postledger-Id": "forged"}),
        replace(a_letter(), headers={"X-A": "1", "x-a": "2"}),
        replace(a_letter(), headers={"": "1"}),
        replace(a_letter(), headers={"X Y": "1"}),
        replace(a_letter(), headers={"X:Y": "1"}),
        replace(a_letter(), headers={"Ünique": "1"}),
        replace(a_letter(), headers={"X" * 77: "1"}),
        replace(a_letter(), attachments=(Attachment("a", "multipart/mixed", b""),)),
        replace(a_letter(), attachments=(Attachment("a", "message/rfc822", b""),)),
        replace(a_letter(), attachments=(Attachment("a", "text/plain; charset=x", b""),)),
        replace(a_letter(), attachments=(Attachment("a", "pdf", b""),)),
        replace(a_letter(), text="half \ud83d a smile"),
        replace(a_letter(), subject="half \ud83d a smile"),
    ]:
        with pytest.raises(RefusedError):
            wire(letter)


def test_a_header_that_commands_or_deceives_is_refused_and_no_other() -> None:
    for name in [
        *("X-SMTPAPI", "x-smtpapi", "X-SES-CONFIGURATION-SET", "X-SES-MESSAGE-TAGS", "X-MC-BCC"),
        *("X-Mailgun-Recipient-Variables", "X-PM-Message-Stream", "X-MSYS-API", "X-MJ-CustomID"),
        *("DKIM-Signature", "Authentication-Results", "Delivered-To", "ARC-Seal", "Received-SPF"),
        *("X-Spam-Status", "X-Original-To", "X-Google-DKIM-Signature", "Content-Location"),
    ]:
        with pytest.raises(headers.InvalidHeaderError, match=name):
            wire(replace(a_letter(), headers={name: "1"}))
    for name in [
        *("X-Priority", "Importance", "In-Reply-To", "References", "List-Unsubscribe", "List-Id"),
        *("Precedence", "Auto-Submitted", "X-Entity-Ref-ID", "Feedback-ID", "X-Mailer"),
        *("X-Auto-Response-Suppress", "X-MSMail-Priority", "Organization", "X-Order-Id"),
    ]:
        assert f"{name}: 1\r\n".encode() in wire(replace(a_letter(), headers={name: "1"})), name


def test_a_long_subject_is_folded() -> None:
    for subject in ["w" * 5_000, "two words " * 500 + "end", "ж" * 5_000]:
        assert read(replace(a_letter(), subject=subject))["Subject"] == subject, subject

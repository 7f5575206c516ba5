"""The drill's SMTP server says what the address and the mood ask for, and writes it down."""

import smtplib
from collections.abc import Iterator
from email.message import EmailMessage
from pathlib import Path

import pytest

from postledger.lib.ids import DeliveryId
from tools.drill import reading, smtp_server
from tools.drill.services import is_open
from tools.drill.smtp import Smtp
from tools.drill.waiting import until

pytestmark = pytest.mark.slow

PATIENCE = 60.0


@pytest.fixture
def client(tmp_path: Path) -> Iterator[smtplib.SMTP]:
    server = Smtp(tmp_path, pace=0)
    server.start()
    until(lambda: is_open(server.port), seconds=PATIENCE)
    client = smtplib.SMTP("127.0.0.1", server.port)
    yield client
    client.close()
    server.end()


def lines(folder: Path) -> list[str]:
    return (folder / "journal").read_text().splitlines(keepends=True)


def send(client: smtplib.SMTP, address: str) -> int:
    """The code of the last thing that was said."""
    message = EmailMessage()
    message["To"], message["From"] = f"Ann <{address}>", "news@acme.example"
    message["X-Postledger-Id"] = DeliveryId(7, 1, 2).text()
    message.set_content(f"News {smtp_server.mark(address)}")
    try:
        client.send_message(message, to_addrs=[address])
    except smtplib.SMTPRecipientsRefused as refused:
        [(code, _)] = refused.recipients.values()
        return code
    except smtplib.SMTPResponseException as refused:
        return refused.smtp_code
    return 250


def test_what_is_taken_is_written_down_with_the_recipients_that_its_bytes_name(
    client: smtplib.SMTP, tmp_path: Path
) -> None:
    assert send(client, "r1@drill.example") == 250

    [taken] = reading.journal(lines(tmp_path))
    assert (taken.mail, taken.try_number) == (DeliveryId(7, 1).text(), 2)
    assert taken.inside == ["r1@drill.example"]
    named = b"To: a@x\r\n\r\n" + smtp_server.mark("b@x").encode()
    assert smtp_server.inside(named) == "a@x,b@x"


def test_an_address_decides_what_is_said_to_it(client: smtplib.SMTP, tmp_path: Path) -> None:
    words = ["refuse+r1", "later+r2", "soon+2+r3", "soon+2+r3", "soon+2+r3", "hide+r4"]

    codes = [send(client, f"{word}@drill.example") for word in words]

    assert codes == [550, 451, 451, 451, 250, 550]
    exchanges = reading.exchanges(lines(tmp_path))
    assert [exchange.code for exchange in exchanges] == codes
    assert len(reading.journal(lines(tmp_path))) == 1
    assert reading.refused(exchanges) == {"refuse+r1@drill.example", "hide+r4@drill.example"}


@pytest.mark.parametrize(("mood", "code"), [("throttle", 450), ("busy", 421), ("block", 554)])
def test_a_mood_is_said_to_everybody_until_it_ends(
    mood: str, code: int, client: smtplib.SMTP, tmp_path: Path
) -> None:
    (tmp_path / "mood").write_text(mood)
    assert send(client, "r1@drill.example") == code

    (tmp_path / "mood").write_text("")
    if mood != "busy":  # then it has hung up
        assert send(client, "r1@drill.example") == 250


def test_a_rate_is_kept_in_any_second_and_what_comes_faster_is_throttled(tmp_path: Path) -> None:
    (tmp_path / "mood").write_text("2/s")
    times = iter([0.0, 0.6, 0.9, 1.0, 1.1, 1.6, 1.9, 9.0])
    answers = smtp_server.Answers(tmp_path / "mood", clock=lambda: next(times))

    codes = [int(answers.to_command("MAIL", "")[:3]) for _ in range(8)]

    assert codes == [250, 250, 450, 250, 450, 250, 450, 250]


def test_a_client_that_leaves_in_the_middle_is_written_down(
    client: smtplib.SMTP, tmp_path: Path
) -> None:
    client.ehlo()
    client.mail("news@acme.example")
    client.rcpt("r1@drill.example")
    client.close()

    until((tmp_path / "journal").read_text, seconds=PATIENCE)
    [exchange] = reading.exchanges(lines(tmp_path))
    assert (exchange.address, exchange.code, exchange.mail) == ("r1@drill.example", None, None)

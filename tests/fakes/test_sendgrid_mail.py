"""mail/send: what is accepted, what is refused with SendGrid's own document, what it would send."""

import json
from base64 import b64encode
from email import message_from_bytes, policy
from importlib.resources import files
from pathlib import Path
from typing import Any

import httpx

from tests.fakes import sendgrid
from tools.fakes import sendgrid as package
from tools.fakes.http import journal
from tools.fakes.http.journal import Journal
from tools.fakes.http.server import serving_in_thread
from tools.fakes.sendgrid.server import FakeSendGrid
from tools.fakes.sendgrid.service import API_KEY, SENDING_KEY, Service

LIMITS = ("x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset")
API: dict[str, Any] = json.loads(files(package).joinpath("mail_v3.openapi.json").read_bytes())


def post(fake: FakeSendGrid, document: object, *, key: str = API_KEY) -> httpx.Response:
    return sendgrid.call(fake, "POST", "/v3/mail/send", document, key=key)


def read_errors(answer: httpx.Response) -> list[dict[str, Any]]:
    errors: list[dict[str, Any]] = answer.json()["errors"]
    assert all(set(error) == {"message", "field", "help"} for error in errors)
    assert all(name in answer.headers for name in LIMITS)
    return errors


def test_accepted_mail_is_answered_by_its_id_alone_and_is_in_the_journal(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    service = Service(journal=Journal(path), eml_folder=tmp_path)
    service.account.add_identities(sendgrid.DOMAIN)
    with serving_in_thread(FakeSendGrid(service)) as fake:
        answer = post(fake, sendgrid.mail(categories=["news"]))

    message_id = answer.headers["X-Message-Id"]
    assert (answer.status_code, answer.content) == (202, b"")
    assert all(int(answer.headers[name]) >= 0 for name in LIMITS)
    [entry] = journal.read_mails(path)
    assert entry["message_id"] == message_id
    assert entry["destination"] == [sendgrid.RECIPIENT]
    assert entry["custom_args"] == [{sendgrid.REFERENCE: "reference of ann@example.com"}]
    assert len(entry["sha256"]) == 64
    assert b"Subject: Hi" in (tmp_path / f"{message_id}.eml").read_bytes()


def test_twilios_own_examples_fit_the_schema(sendgrid_fake: FakeSendGrid) -> None:
    sendgrid_fake.service.account.add_identities("example.com")
    body = API["components"]["requestBodies"]["PostMailSend"]["content"]["application/json"]
    for name, shown in body["examples"].items():
        example = {**shown["value"], "subject": "Hi"}

        answer = post(sendgrid_fake, example)

        is_refused = answer.status_code == 400
        fields = [error["field"] for error in read_errors(answer)] if is_refused else []
        assert fields == (["template_id", "content"] if "template_id" in example else []), name


def broken(**changes: object) -> dict[str, Any]:
    """A mail whose only personalization is changed."""
    document = sendgrid.mail()
    document["personalizations"][0].update(changes)
    return document


TWICE = [{"email": "ann@example.com"}, {"email": "ANN@example.com"}]
MANY = [{"email": f"{number}@example.com"} for number in range(1001)]
TEXTS = [{"type": f"text/{kind}", "value": "Hi!"} for kind in ("html", "plain")]
FILE = {"content": "no base64!", "filename": "a.txt"}


def test_what_does_not_fit_is_refused_with_its_field(sendgrid_fake: FakeSendGrid) -> None:
    cases: list[tuple[object, str | None]] = [
        (sendgrid.mail(personalizations=[]), "personalizations"),
        (broken(to=[]), "personalizations.0.to"),
        (broken(to=MANY), "personalizations"),
        (broken(to=TWICE), "personalizations.0"),
        (broken(to=[{"email": "nobody"}]), "personalizations.0.to.0.email"),
        (broken(to=[{"email": "änn@example.com"}]), "personalizations.0.to.0.email"),
        (broken(cc=[{"name": "Ann"}]), "personalizations.0.cc.0.email"),
        (broken(custom_args={"a": "x" * 10_000}), "personalizations.0.custom_args"),
        (broken(custom_args={"a": 1}), "personalizations.0.custom_args"),
        (broken(headers={"Reply-To": "a@b.example"}), "personalizations.0.headers.Reply-To"),
        (sendgrid.mail(headers={"DKIM-Signature": "v=1"}), "headers.DKIM-Signature"),
        (sendgrid.mail(headers={"X-A": "1\r\nBcc: b@example.com"}), "headers.X-A"),
        (sendgrid.mail(headers={"X-A\nB": "1"}), "headers.X-A\nB"),
        (sendgrid.mail(subject=""), "subject"),
        (sendgrid.mail(subject="a\nBcc: b@example.com"), "subject"),
        (sendgrid.mail(content=[]), "content"),
        (sendgrid.mail(content=TEXTS), "content"),
        (sendgrid.mail(attachments=[FILE]), "attachments.0.content"),
        (sendgrid.mail(categories=["a"] * 2), "categories"),
        (sendgrid.mail(tracking_settings={"open_tracking": {"enable": "no"}}), None),
        ({"personalizations": []}, "from"),
        ([], None),
    ]
    for document, field in cases:
        answer = post(sendgrid_fake, document)

        assert answer.status_code == 400, field
        [error] = read_errors(answer)
        assert error["message"], field
        assert error["field"] == (field or error["field"])
    assert sendgrid.recipients(sendgrid_fake) == []


def test_the_path_the_method_the_key_and_the_sender_are_checked(
    sendgrid_fake: FakeSendGrid,
) -> None:
    def refuse(method: str, path: str, key: str = API_KEY) -> tuple[int, str]:
        answer = sendgrid.call(sendgrid_fake, method, path, sendgrid.mail(), key=key)
        return answer.status_code, read_errors(answer)[0]["message"]

    assert refuse("GET", "/v3/nothing") == (404, "not found")
    assert refuse("GET", "/v3/mail/send") == (405, "method not allowed")
    assert refuse("POST", "/v3/mail/send", "") == (401, "authorization required")
    assert refuse("POST", "/v3/mail/send", "SG.a.b")[0] == 401
    assert refuse("GET", "/v3/user/credits", SENDING_KEY) == (403, "access forbidden")
    for sender in ("news@globex.example", "news@notacme.example"):
        [error] = read_errors(post(sendgrid_fake, sendgrid.mail(**{"from": {"email": sender}})))
        assert error["field"] == "from"
        assert "does not match a verified Sender Identity" in error["message"]
    sendgrid.send(sendgrid_fake, **{"from": {"email": "news@mail.acme.example"}})


def test_credits_end_and_requests_are_limited(sendgrid_fake: FakeSendGrid) -> None:
    sendgrid.control(sendgrid_fake, "PATCH", "account", {"credits": 1})
    sendgrid.send(sendgrid_fake)
    answer = post(sendgrid_fake, sendgrid.mail())
    assert answer.status_code == 401
    assert read_errors(answer)[0]["message"] == "Maximum credits exceeded"
    left = sendgrid.call(sendgrid_fake, "GET", "/v3/user/credits").json()
    assert (left["remain"], left["total"], left["used"]) == (0, 1, 1)

    sendgrid.control(sendgrid_fake, "PATCH", "account", {"allows_overage": True})
    sendgrid.send(sendgrid_fake)
    assert sendgrid.call(sendgrid_fake, "GET", "/v3/user/credits").json()["overage"] == 1

    sendgrid.control(sendgrid_fake, "PATCH", "account", {"rate_limit": 4, "credits": -1})
    assert post(sendgrid_fake, sendgrid.mail()).headers["X-RateLimit-Remaining"] == "0"
    answer = post(sendgrid_fake, sendgrid.mail())
    assert (answer.status_code, answer.headers["X-RateLimit-Remaining"]) == (429, "0")
    assert read_errors(answer)[0]["message"] == "too many requests"


def test_the_mail_that_would_be_sent_can_be_read_part_by_part(sendgrid_fake: FakeSendGrid) -> None:
    html = '<p>Ünïcode <img src="cid:logo"></p>'
    file = {"content": b64encode(b"%PDF").decode(), "type": "application/pdf"}
    id_ = sendgrid.send(
        sendgrid_fake,
        subject="Ünïcode",
        content=[
            {"type": "text/plain", "value": "Ünïcode\r\nwithout an end"},
            {"type": "text/html", "value": html},
        ],
        reply_to={"email": "help@acme.example", "name": "Help, please"},
        headers={"List-Unsubscribe": "<https://acme.example/u>", "Message-ID": "<1@acme.example>"},
        attachments=[
            {**file, "filename": "prïces.pdf"},
            {**file, "filename": "l.png", "content_id": "logo", "disposition": "inline"},
        ],
    )

    raw = sendgrid.call(sendgrid_fake, "GET", f"/_fake/messages/{id_}").content
    message = message_from_bytes(raw, policy=policy.default)

    assert message["Subject"] == "Ünïcode"
    assert message["From"] == "News <news@acme.example>"
    assert message["Reply-To"] == '"Help, please" <help@acme.example>'
    assert message["List-Unsubscribe"] == "<https://acme.example/u>"
    assert message.get_all("Message-ID") == ["<1@acme.example>"]
    parts = [part for part in message.walk() if not part.is_multipart()]
    assert [part.get_filename() for part in parts] == [None, None, "l.png", "prïces.pdf"]
    assert parts[0].get_payload(decode=True) == "Ünïcode\r\nwithout an end".encode()
    assert parts[1].get_payload(decode=True) == html.encode()
    assert [part["Content-ID"] for part in parts] == [None, None, "<logo>", None]

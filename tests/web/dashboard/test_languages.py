"""What services say is said in the language of the page."""

from datetime import UTC, datetime

import pytest
from django.conf import LazySettings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import translation

from postledger.accounts import provider_accounts, senders
from postledger.accounts.models import User
from postledger.contacts import lists
from postledger.web.dashboard import formats
from tests import cast
from tests.contacts import people
from tests.web import uploads
from tests.web.dashboard import visitors
from tests.web.dashboard.visitors import Person
from tools.fakes.http.server import serving_in_thread
from tools.fakes.sendgrid.account import ApiKey
from tools.fakes.sendgrid.server import FakeSendGrid
from tools.fakes.sendgrid.service import API_KEY

pytestmark = pytest.mark.django_db


@pytest.fixture
def olga() -> Person:
    person = visitors.sign_in(cast.sender().workspace_id, name="Ольга")
    User.objects.update(language="ru")
    return person


def test_what_services_refuse_is_explained_in_russian(olga: Person) -> None:
    people.news(olga.workspace_id)
    smtp = {"kind": "smtp", "host": "a.example", "tls": "none", "address": "new@acme.example"}
    notion = {"token": "x", "mailouts": "no id"}

    wrong_filter = olga.get("contacts/", filter='{"field": "shoe", "is": 42}')
    assert "Поля «shoe» нет. Напишите одно из этого: state, " in wrong_filter.content.decode()
    for path, fields, sentence in (
        ("lists/new/", {"name": "Новости", "key": "news"}, "Список «news» уже есть."),
        ("senders/connect/", {**smtp, "host": "no host"}, "то не имя и не адрес сервера"),
        ("senders/connect/", {**smtp, "port": "x"}, "апишите целое число, например 587."),
        ("senders/connect/", {**smtp, "port": "70000"}, "кажите число не больше 65535"),
        ("senders/connect/", {**smtp, "kind": "ses", "region": "Ireland"}, "апишите, как AWS"),
        ("settings/integrations/notion/", notion, "Вставьте ссылку на базу данных"),
    ):
        answer = olga.post(path, **fields)

        assert answer.status_code == 422, fields
        assert sentence in answer.content.decode()


def test_a_dry_run_is_kept_in_every_language(olga: Person) -> None:
    number = bring(olga, b"Mail;Zone\nann@example.com;Mars\nnobody;\n")
    olga.post(f"imports/{number}/try/", **{"target-0": "email", "target-1": "time_zone"})
    uploads.work()

    shown = olga.read(f"imports/{number}/live/")
    assert "«Mars» — не часовой пояс: укажите, например, Europe/Lisbon." in shown
    assert "Это не адрес электронной почты." in shown
    User.objects.update(language="pt")
    assert "Isto não é um endereço de email." in olga.read(f"imports/{number}/live/")


def test_what_stopped_a_dry_run_is_kept_in_every_language(olga: Person) -> None:
    people.news(olga.workspace_id)
    number = bring(olga, b"Mail\nann@example.com\n")
    olga.post(f"imports/{number}/try/", **{"target-0": "email", "list": "news"})
    lists.archive_list(olga.workspace_id, key="news", actor="test")
    uploads.work()

    assert "Списка «news» нет, или он в архиве." in olga.read(f"imports/{number}/live/")


def test_a_server_that_is_not_there_is_named_in_russian(
    olga: Person, settings: LazySettings
) -> None:
    settings.PRIVATE_HOSTS = frozenset({"127.0.0.1"})
    fields = {"kind": "smtp", "host": "127.0.0.1", "port": "1", "tls": "none"}

    answer = olga.post("senders/connect/", **fields, address="new@acme.example")

    said = "Подключиться не удалось: там никто не принимает соединений."
    assert f"{said} Исправьте и проверьте ещё раз." in answer.content.decode()


def test_an_account_that_cannot_be_attached_is_refused_in_russian(olga: Person) -> None:
    account_id = provider_accounts.ensure_sandbox(olga.workspace_id, actor="test")
    provider_accounts.archive_account(olga.workspace_id, account_id=account_id, actor="test")

    answer = olga.post("senders/connect/", kind="sandbox", address="new@acme.example")

    assert "Аккаунт «sandbox» в архиве, и ни один отправитель" in answer.content.decode()


def test_a_test_of_a_sender_is_told_in_russian(olga: Person) -> None:
    url = olga.url(f"attention/senders/{cast.sender().pk}/test/")
    answer = olga.client.post(url, follow=True)

    assert "отправителя нет аккаунта. Привяжите" in answer.content.decode()


def test_what_a_provider_refuses_to_set_up_is_told_in_russian(
    olga: Person, settings: LazySettings
) -> None:
    settings.PUBLIC_URL = "http://127.0.0.1:9"
    with serving_in_thread(FakeSendGrid()) as sendgrid:
        sendgrid.service.account.keys[API_KEY] = ApiKey(frozenset({"mail.send"}))
        account_id = provider_accounts.create_account(
            olga.workspace_id,
            name="relay",
            kind="sendgrid",
            settings={"api_key": API_KEY, "endpoint": sendgrid.endpoint},
            actor="test",
        )
        sender_id = senders.create_sender(
            olga.workspace_id, address="new@acme.example", account_id=account_id, actor="test"
        )
        answer = olga.post(f"senders/{sender_id}/reports/")

    assert "Ключ API не может изменять вебхуки событий." in answer.content.decode()


def bring(who: Person, content: bytes) -> int:
    """The number of the import."""
    file = SimpleUploadedFile("people.csv", content)
    answer = who.client.post(who.url("imports/upload/"), {"file": file})
    return int(answer.headers["Location"].split("/")[-2])


def test_days_are_in_lower_case_in_portuguese_and_not_in_english() -> None:
    moment = datetime(2026, 11, 19, 9, tzinfo=UTC)

    with translation.override("pt"):
        assert "19 de novembro de 2026" in formats.day(moment)
    with translation.override("en"):
        assert formats.day(moment) == "Thursday 19 November 2026"

"""What services say is said in the language of the page."""

from datetime import UTC, datetime

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import translation

from postledger.accounts.models import User
from postledger.contacts import lists
from postledger.contacts.models import List
from postledger.content import articles
from postledger.content.slices import SliceFields
from postledger.web.dashboard import formats
from tests import cast
from tests.contacts import people
from tests.web import newsroom, uploads
from tests.web.callers import Caller
from tests.web.dashboard import visitors
from tests.web.dashboard.visitors import Person

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


def test_what_a_check_finds_is_said_with_its_values_in_russian(olga: Person) -> None:
    articles.create(olga.workspace_id, key="may", title="May", actor="test")
    fields = SliceFields(title="News", body_md="{{ city | shout }}", is_published=True)
    articles.add_slice(olga.workspace_id, article_key="may", fields=fields, actor="test")

    shown = olga.read("content/articles/may/")

    assert "Фильтра «shout» нет; используйте один из описанных в документации." in shown


@pytest.mark.usefixtures("furnished")
def test_why_planning_stopped_is_kept_in_every_language(alice: Caller, olga: Person) -> None:
    lists.create_list(olga.workspace_id, key="news", name="News", actor="test")
    launch = f"/v1/campaigns/{newsroom.make_campaign(alice, list='news')}/launch"
    run_id = alice.post(launch, None).body["run_id"]
    List.objects.update(key="olds")
    newsroom.plan(run_id)
    page = f"campaigns/runs/{run_id}/"

    assert "Планирование аудитории остановилось: list_unknown: Списка «news» нет" in olga.read(page)
    User.objects.update(language="pt")
    assert "list_unknown: Não há nenhuma lista “news”" in olga.read(page)
    told = alice.get(f"/v1/runs/{run_id}").body["trouble"]["detail"]
    assert told.startswith("list_unknown: There is no list 'news'")

"""What services say is said in the language of the page."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from postledger.accounts.models import User
from postledger.contacts import lists
from tests import cast
from tests.contacts import people
from tests.web import uploads
from tests.web.dashboard import visitors
from tests.web.dashboard.visitors import Person

pytestmark = pytest.mark.django_db


@pytest.fixture
def olga() -> Person:
    person = visitors.sign_in(cast.sender().workspace_id, name="Ольга")
    User.objects.update(language="ru")
    return person


def test_a_refusal_speaks_russian_beside_its_field(olga: Person) -> None:
    people.news(olga.workspace_id)

    answer = olga.post("lists/new/", name="Новости", key="news")

    assert "Список «news» уже есть." in answer.content.decode()


def test_a_wrong_filter_is_explained_in_russian(olga: Person) -> None:
    answer = olga.get("contacts/", filter='{"field": "shoe", "is": 42}')

    assert "Поля «shoe» нет. Напишите одно из этого: state, " in answer.content.decode()


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


def bring(who: Person, content: bytes) -> int:
    """The number of the import."""
    file = SimpleUploadedFile("people.csv", content)
    answer = who.client.post(who.url("imports/upload/"), {"file": file})
    return int(answer.headers["Location"].split("/")[-2])

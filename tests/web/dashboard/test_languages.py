"""What services say is said in the language of the page."""

import pytest

from postledger.accounts.models import User
from tests import cast
from tests.contacts import people
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

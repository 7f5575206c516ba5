"""What services say of content and campaigns is said in the language of the page."""

import pytest

from postledger.accounts.models import User
from postledger.contacts import lists
from postledger.contacts.models import List
from postledger.content import articles
from postledger.content.slices import SliceFields
from tests.web import newsroom
from tests.web.callers import Caller
from tests.web.dashboard import visitors
from tests.web.dashboard.visitors import Person

pytestmark = pytest.mark.usefixtures("furnished")


@pytest.fixture
def olga(alice: Caller) -> Person:
    person = visitors.sign_in(alice.workspace_id, name="Ольга")
    User.objects.update(language="ru")
    return person


@pytest.fixture
def may(olga: Person) -> str:
    articles.create(olga.workspace_id, key="may", title="May", actor="test")
    return "content/articles/may/"


def test_what_a_check_finds_is_said_with_its_values_in_russian(olga: Person, may: str) -> None:
    fields = SliceFields(title="News", body_md="{{ city | shout }}", is_published=True)
    articles.add_slice(olga.workspace_id, article_key="may", fields=fields, actor="test")

    shown = olga.read(may)

    assert "Фильтра «shout» нет; используйте один из описанных в документации." in shown


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

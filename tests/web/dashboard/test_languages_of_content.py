"""What services say of content and campaigns is said in the language of the page."""

import pytest

from postledger.accounts.models import User, Workspace
from postledger.campaigns.runs import run_control
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


def test_a_refused_slice_and_a_pale_colour_are_explained_in_russian(olga: Person, may: str) -> None:
    slice_ = olga.post(f"{may}slices/new/", body_md="Text", is_headline="on")
    pale = olga.post("content/branding/save/", accent="#ffee00", name="Acme", address="1 Road")

    assert "Часть не сохранена: главной нужен заголовок" in slice_.content.decode()
    assert "Цвет #ffee00 слишком бледный: контраст" in pale.content.decode()


def test_what_a_check_finds_is_said_with_its_values_in_russian(olga: Person, may: str) -> None:
    fields = SliceFields(title="News", body_md="{{ city | shout }}", is_published=True)
    articles.add_slice(olga.workspace_id, article_key="may", fields=fields, actor="test")

    shown = olga.read(may)

    assert "Фильтра «shout» нет; используйте один из описанных в документации." in shown


def test_content_that_no_test_can_be_sent_of_is_named_by_its_line_in_russian(
    alice: Caller, olga: Person
) -> None:
    content = {
        "kind": "inline",
        "subject": "News",
        "format": "markdown",
        "body": "Hi\n\n{{ a | b }}",
    }
    draft = newsroom.make_campaign(alice, content=content)

    answer = olga.post(f"campaigns/{draft}/edit/test/", to="ann@example.com")

    assert "Текст, строка 3: Фильтра «b» нет; используйте" in answer.content.decode()


def test_an_incomplete_footer_names_the_settings_and_no_command(
    alice: Caller, olga: Person
) -> None:
    draft = newsroom.make_campaign(alice)
    Workspace.objects.update(org_address="")

    answer = olga.post(f"campaigns/{draft}/edit/test/", to="ann@example.com")

    assert "страницу отписки — владелец в настройках" in answer.content.decode()
    assert "postledger workspace footer" not in answer.content.decode()


def test_a_step_that_came_too_late_says_so_in_russian(alice: Caller, olga: Person) -> None:
    run_id = newsroom.launched(alice, newsroom.make_campaign(alice))
    run_control.end_finished_runs()

    answer = olga.client.post(olga.url(f"campaigns/runs/{run_id}/pause/"), follow=True)

    assert "Запуск закончен: всё отправлено. Отправьте остальным" in answer.content.decode()


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

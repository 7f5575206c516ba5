"""Every page has a rule, and answers each role and each outsider as the rule says."""

from collections.abc import Iterator
from http import HTTPStatus
from typing import Literal

import pytest
from django.test import Client
from django.urls import reverse

from postledger.accounts.people.roles import Permission, Role, may
from postledger.web.dashboard import page_rules, urls
from postledger.web.dashboard.page_rules import Audience, OpenPage, PageRule
from tests.web.dashboard import access_table
from tests.web.dashboard.examples import EXAMPLES, Example
from tests.web.dashboard.visitors import Person, person

RULES = page_rules.list_rules(urls.urlpatterns)
OF_WORKSPACES = [page for page in RULES if isinstance(page.rule, Permission)]
OUTSIDE = [page for page in RULES if isinstance(page.rule, OpenPage)]
SIGN_IN = "/account/login/"
METHOD_NOT_ALLOWED = HTTPStatus.METHOD_NOT_ALLOWED
METHODS: tuple[Literal["GET"], Literal["POST"]] = ("GET", "POST")


@pytest.fixture
def members(db: None) -> dict[Role, Person]:
    """Of acme, one for each role."""
    return {role: person(role) for role in Role}


@pytest.fixture
def stranger(db: None) -> Person:
    """The owner of globex."""
    return person(workspace="globex")


def by_name(page: PageRule) -> str:
    return page.name


def ask(client: Client, method: Literal["GET", "POST"], url: str) -> int:
    return int(client.generic(method, url).status_code)


def test_every_page_has_a_rule_and_a_name_of_its_own() -> None:
    names = [page.name for page in RULES]

    assert [page.route for page in RULES if page.rule is None or not page.name] == []
    assert sorted(names) == sorted(set(names))
    assert page_rules.OPEN_PAGES.keys() - set(names) == set()


def test_every_page_whose_url_has_values_has_an_example() -> None:
    """In tests/web/dashboard/examples.py."""
    with_values = {page.name for page in OF_WORKSPACES if page.route.count("<") > 1}

    assert with_values - EXAMPLES.keys() == set()
    assert EXAMPLES.keys() - {page.name for page in RULES} == set()


def test_every_page_of_a_workspace_asks_for_a_permission() -> None:
    assert {page.name for page in OUTSIDE if page.route.startswith("/w/")} == set()


@pytest.mark.parametrize("page", OF_WORKSPACES, ids=by_name)
def test_a_page_of_a_workspace_answers_each_role_as_the_table_says(
    page: PageRule, members: dict[Role, Person], stranger: Person
) -> None:
    example = EXAMPLES.get(page.name, Example())
    acme = members[Role.OWNER].workspace
    values = example.make_values(acme)
    url = reverse(page.name, kwargs={"workspace_id": acme.pk, **values})

    assert {role: ask(members[role].client, "GET", url) for role in Role} == {
        role: expected_status(page, role, example) for role in Role
    }
    for role in roles_without(page):
        assert ask(members[role].client, "POST", url) == HTTPStatus.FORBIDDEN
    for method in METHODS:
        assert ask(stranger.client, method, url) == HTTPStatus.NOT_FOUND
        signed_out = Client().generic(method, url)
        assert signed_out.status_code == HTTPStatus.FOUND
        assert signed_out.headers["Location"].startswith(f"{SIGN_IN}?next=")


@pytest.mark.parametrize(
    "page", [page for page in OF_WORKSPACES if page.route.count("<") > 1], ids=by_name
)
def test_what_a_url_names_is_not_found_in_another_workspace(
    page: PageRule, stranger: Person
) -> None:
    example = EXAMPLES[page.name]
    values = example.make_values(person().workspace)
    url = reverse(page.name, kwargs={"workspace_id": stranger.workspace.pk, **values})

    if not example.is_post:
        assert ask(stranger.client, "GET", url) == HTTPStatus.NOT_FOUND
    assert ask(stranger.client, "POST", url) in {HTTPStatus.NOT_FOUND, METHOD_NOT_ALLOWED}


def expected_status(page: PageRule, role: Role, example: Example) -> int:
    if role in roles_without(page):
        return HTTPStatus.FORBIDDEN
    return HTTPStatus.FOUND if example.is_post else example.status


def roles_without(page: PageRule) -> Iterator[Role]:
    assert isinstance(page.rule, Permission)
    permission = page.rule
    return (role for role in Role if not may(role, permission))


@pytest.mark.django_db
@pytest.mark.parametrize(
    "page",
    [
        page
        for page in OUTSIDE
        if isinstance(page.rule, OpenPage) and page.rule.audience is Audience.SIGNED_IN
    ],
    ids=by_name,
)
def test_a_persons_own_pages_ask_who_they_are(page: PageRule) -> None:
    url = reverse(page.name, kwargs={"pk": 1} if "<int:pk>" in page.route else {})

    for method in METHODS:
        answer = Client().generic(method, url)
        assert answer.status_code == HTTPStatus.FOUND
        assert answer.headers["Location"].startswith(SIGN_IN)


def test_the_documents_show_the_same_table() -> None:
    assert access_table.PAGE.read_text() == access_table.render(), (
        "run python -m tests.web.dashboard.access_table"
    )

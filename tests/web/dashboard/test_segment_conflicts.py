"""Two people who change the conditions of one segment."""

import re
from urllib.parse import parse_qsl, urlsplit

import pytest

from postledger.contacts import segments
from postledger.contacts.models import Segment
from tests.web.dashboard import visitors
from tests.web.dashboard.visitors import Person

pytestmark = pytest.mark.django_db


def test_conditions_that_somebody_else_changed_since_are_replaced_only_by_a_second_word(
    olivia: Person,
) -> None:
    bob = visitors.sign_in(olivia.workspace_id, name="Bob")
    fields = {"match": "all", "field": "attributes.plan", "op": "is"}
    olivia.post("segments/new/", name="Readers", value="plus", **fields)
    number = str(Segment.objects.get().pk)
    page = olivia.read("segments/")
    opened = page.partition('rowheader"><a href="')[2].partition('"')[0].replace("&amp;", "&")
    searched = olivia.read("contacts/", **dict(parse_qsl(urlsplit(opened).query), value="gold"))
    bob.post("segments/new/", replaced=number, value="free", **fields)
    again = olivia.read("contacts/", **dict(parse_qsl(urlsplit(opened).query), value="gold"))

    def save(page: str) -> str:
        [seen, *_] = re.findall(r'name="seen" value="(\w+)"', page)
        mine = {**fields, "value": "gold", "replaced": number, "seen": seen}
        answer = olivia.client.post(olivia.url("segments/new/"), mine, follow=True)
        return str(answer.content.decode())

    refused = [save(searched), save(again)]

    assert all("Somebody has changed the conditions of the segment" in page for page in refused)
    assert Segment.objects.get().filter == {"all": [{"field": "attributes.plan", "is": "free"}]}
    assert all("They are now: plan is free." in page for page in refused)
    assert 'value="gold"' in refused[0], "what was typed stays"
    bob.post("segments/new/", replaced=number, value="basic", **fields)
    assert "They are now: plan is basic." in save(refused[0]), "nobody saw that one"
    bob.post("segments/new/", replaced=number, value="free", **fields)
    assert "Saved." in save(refused[0])
    assert Segment.objects.get().filter == {"all": [{"field": "attributes.plan", "is": "gold"}]}


def test_the_same_conditions_by_two_people_are_no_conflict(olivia: Person) -> None:
    fields = {"match": "all", "field": "attributes.plan", "op": "is"}
    olivia.post("segments/new/", name="Readers", value="plus", **fields)
    number, seen = (
        str(Segment.objects.get().pk),
        segments.digest_filter(Segment.objects.get().filter),
    )

    for _each in range(2):
        answer = olivia.post("segments/new/", replaced=number, seen=seen, value="gold", **fields)
        assert answer.headers["Location"] == olivia.url("segments/")

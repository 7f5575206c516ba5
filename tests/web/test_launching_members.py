"""A run that a key launches is of the key's member, whose daily limit counts its mails."""

from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest
from django.conf import LazySettings

from postledger.accounts.people import members
from postledger.accounts.people.roles import Role
from postledger.campaigns.models import Run
from postledger.deliveries import queries
from tests.web import newsroom
from tests.web.callers import Caller, caller


@pytest.fixture(autouse=True)
def furnished(alice: Caller, settings: LazySettings) -> None:
    newsroom.furnish(alice, settings)
    newsroom.people(alice, 2)


@pytest.fixture
def member_id(alice: Caller) -> int:
    return members.add_member(
        alice.workspace_id, email="m@acme.example", role=Role.MANAGER, actor="setup"
    )


def member_of(run_id: str) -> int | None:
    stream = queries.find_stream(Run.objects.get(pk=UUID(run_id)).stream_id)
    assert stream
    return stream.member_id


def launch(who: Caller, campaign_id: int) -> str:
    reply = who.post(f"/v1/campaigns/{campaign_id}/launch", None)
    assert reply.status == 202, reply.body
    return str(reply.body["run_id"])


def test_a_launch_with_a_members_key_is_the_members_unless_it_is_into_the_sandbox(
    alice: Caller, member_id: int
) -> None:
    mine = caller("acme", member_id=member_id)
    at = datetime.now(UTC) + timedelta(days=1)

    run_id = launch(mine, newsroom.make_campaign(mine))
    rest = alice.post(f"/v1/runs/{run_id}/remaining", None).body["run_id"]
    rest_of_mine = mine.post(f"/v1/runs/{run_id}/remaining", None).body["run_id"]
    path = f"/v1/campaigns/{newsroom.make_campaign(mine, tag='c')}/test"
    tested = mine.post(path, {"addresses": ["a@example.com"]}).body["run_id"]
    later = newsroom.make_campaign(mine, tag="e", timing={"at": at.isoformat()})
    by_nobody = launch(alice, newsroom.make_campaign(alice, tag="d"))
    tester = caller("acme", member_id=member_id, is_test=True)
    tried = launch(tester, newsroom.make_campaign(alice, tag="f"))

    of_member = (run_id, rest_of_mine, tested, launch(mine, later))
    assert [member_of(id_) for id_ in of_member] == [member_id] * 4
    assert [member_of(id_) for id_ in (rest, by_nobody, tried)] == [None] * 3


def test_an_article_that_is_sent_in_one_request_is_the_members(
    alice: Caller, member_id: int
) -> None:
    mine = caller("acme", member_id=member_id)
    mine.post("/v1/articles", {"key": "flood", "title": "Flood"})
    piece = {"title": "Rivers", "body_md": "Rise.", "is_headline": True, "is_published": True}
    mine.post("/v1/articles/flood/slices", piece)
    request = {"campaign_tag": "f", "article_key": "flood", "send_batch_id": str(uuid4())}

    first, again = (who.post("/v1/campaigns/send", request) for who in (mine, alice))

    assert first.body == again.body
    assert member_of(first.body["run_id"]) == member_id

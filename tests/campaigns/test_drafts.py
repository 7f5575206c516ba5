"""Requests that send under a name, at the same moment: one run of each name, of what it wanted."""

from functools import partial
from uuid import UUID, uuid4

import pytest

from postledger.accounts.models import AuditEntry
from postledger.campaigns.drafts import drafts
from postledger.campaigns.drafts.drafts import Draft
from postledger.campaigns.launches import launching
from postledger.campaigns.launches.launching import AlreadyLaunchedError, CampaignChangedError
from postledger.campaigns.models import Campaign, Run
from tests.campaigns import press
from tests.races import collide


def test_a_batch_never_sends_what_another_one_made_of_the_campaign(acme: int) -> None:
    first, second = uuid4(), uuid4()
    wanted = Draft("news", "News", press.WORDS)
    other = Draft("news", "News", press.WORDS, audience={"state": "TX"})
    put = drafts.put_campaign(acme, wanted, launch_id=first, actor="alice", now=press.NOW)
    drafts.put_campaign(acme, other, launch_id=second, actor="bob", now=press.NOW)
    # The clock of one transaction stands still; two requests are two transactions.
    Campaign.objects.update(updated_at=press.NOW)

    with pytest.raises(CampaignChangedError):
        launching.launch_once(put, launch_id=first, actor="alice", now=press.NOW)

    assert not Run.objects.exists()


@pytest.mark.race
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_known", [False, True], ids=["new tag", "known tag"])
def test_of_many_requests_at_once_under_one_name_all_get_the_same_run(
    acme: int, *, is_known: bool
) -> None:
    if is_known:
        press.campaign(acme, tag="news", audience={"state": "TX"})
    draft, launch_id = Draft("news", "News", press.WORDS), uuid4()

    def send() -> UUID:
        put = drafts.put_campaign(acme, draft, launch_id=launch_id, actor="alice", now=press.NOW)
        return launching.launch_once(put, launch_id=launch_id, actor="alice", now=press.NOW)

    runs = collide.together([send] * 6)

    assert set(runs) == {Run.objects.get().pk}


def test_a_campaign_that_has_a_run_keeps_its_tag_and_everything_else_may_change(
    acme: int,
) -> None:
    campaign_id = press.campaign(acme, tag="news")
    drafts.change_campaign(acme, campaign_id, {"tag": "may-news"}, actor="alice", now=press.NOW)
    press.launched(acme, campaign_id)

    with pytest.raises(AlreadyLaunchedError, match="'may-news' has runs"):
        drafts.change_campaign(acme, campaign_id, {"tag": "news"}, actor="alice", now=press.NOW)
    drafts.change_campaign(acme, campaign_id, {"name": "Other"}, actor="alice", now=press.NOW)

    campaign = drafts.find_campaign(acme, campaign_id)
    assert (campaign.tag, campaign.name) == ("may-news", "Other")


@pytest.mark.race
@pytest.mark.django_db(transaction=True)
def test_of_a_launch_and_another_tag_at_once_the_later_one_is_refused(acme: int) -> None:
    campaigns = [press.campaign(acme, tag=tag) for tag in ("launched-first", "renamed-first")]

    def launch(campaign_id: int) -> UUID:
        return press.launch(acme, campaign_id)

    def rename(campaign_id: int) -> None:
        renamed = {"tag": f"other-{campaign_id}"}
        drafts.change_campaign(acme, campaign_id, renamed, actor="bob", now=press.NOW)

    with collide.uncommitted(lambda: launch(campaigns[0])):
        late_rename = collide.start(lambda: rename(campaigns[0]))
        late_rename.must_wait()
    with collide.uncommitted(lambda: rename(campaigns[1])):
        late_launch = collide.start(lambda: launch(campaigns[1]))
        late_launch.must_wait()

    with pytest.raises(AlreadyLaunchedError):
        late_rename.answer()
    with pytest.raises(CampaignChangedError):
        late_launch.answer()
    assert Run.objects.get().campaign.tag == "launched-first"


def test_what_a_batch_makes_of_its_campaign_is_on_the_trail(acme: int) -> None:
    drafts_ = [Draft("news", "News", press.WORDS, audience=meant) for meant in ({}, {}, {"a": "b"})]

    for draft in drafts_:
        drafts.put_campaign(acme, draft, launch_id=uuid4(), actor="alice", now=press.NOW)

    noted = AuditEntry.objects.filter(subject="campaign news").order_by("pk")
    assert list(noted.values_list("action", "actor")) == [
        ("campaign.created", "alice"),
        ("campaign.changed", "alice"),
    ]


@pytest.mark.race
@pytest.mark.django_db(transaction=True)
def test_however_many_campaigns_of_one_name_are_created_at_once_each_gets_a_tag(acme: int) -> None:
    def create(name: str) -> int:
        draft = Draft("", name, press.WORDS)
        return drafts.create_with_free_tag(acme, draft, actor="alice", now=press.NOW)

    created = collide.together([partial(create, "News"), partial(create, "Зима")] * 4)

    assert len(set(created)) == 8
    of_news = set(Campaign.objects.filter(name="News").values_list("tag", flat=True))
    assert {"news", "news-2"} < of_news
    assert len(of_news) == 4
    assert Campaign.objects.filter(name="Зима").count() == 4

"""Requests that send under a name, at the same moment: one run of each name, of what it wanted."""

from uuid import UUID, uuid4

import pytest
from pytest_django import Settings

from postledger.campaigns import drafts, launching
from postledger.campaigns.drafts import Draft
from postledger.campaigns.launching import CampaignChangedError
from postledger.campaigns.models import Campaign, Run
from tests.campaigns import press
from tests.races import collide


@pytest.mark.django_db
def test_a_batch_never_sends_what_another_one_made_of_the_campaign(settings: Settings) -> None:
    acme, first, second = press.found(settings), uuid4(), uuid4()
    wanted = Draft("news", "News", press.WORDS)
    other = Draft("news", "News", press.WORDS, audience={"state": "TX"})
    put = drafts.put(acme, wanted, batch_id=first, actor="alice", now=press.NOW)
    drafts.put(acme, other, batch_id=second, actor="bob", now=press.NOW)
    # The clock of one transaction stands still; two requests are two transactions.
    Campaign.objects.update(updated_at=press.NOW)

    with pytest.raises(CampaignChangedError):
        launching.send_batch(put, batch_id=first, actor="alice", now=press.NOW)

    assert not Run.objects.exists()


@pytest.mark.race
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_known", [False, True], ids=["new tag", "known tag"])
def test_of_many_requests_at_once_under_one_name_all_get_the_same_run(
    settings: Settings, *, is_known: bool
) -> None:
    acme = press.found(settings)
    if is_known:
        press.campaign(acme, tag="news", audience={"state": "TX"})
    draft, batch_id = Draft("news", "News", press.WORDS), uuid4()

    def send() -> UUID:
        put = drafts.put(acme, draft, batch_id=batch_id, actor="alice", now=press.NOW)
        return launching.send_batch(put, batch_id=batch_id, actor="alice", now=press.NOW)

    runs = collide.together([send] * 6)

    assert set(runs) == {Run.objects.get().pk}

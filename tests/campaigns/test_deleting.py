"""Campaigns that are deleted before anybody launched them."""

import pytest

from postledger.accounts.models import AuditEntry
from postledger.campaigns import listing
from postledger.campaigns.drafts import drafts
from postledger.campaigns.launches.launching import AlreadyLaunchedError, CampaignChangedError
from postledger.campaigns.models import Campaign, Run
from postledger.campaigns.runs import live_run, run_lookup
from postledger.campaigns.runs.run_lookup import CampaignUnknownError
from postledger.contacts.models import Contact
from postledger.deliveries import queries
from postledger.mailing import content_source
from postledger.privacy import erasure
from tests.campaigns import press
from tests.races import collide


def delete(workspace_id: int, campaign_id: int) -> None:
    drafts.delete_campaign(workspace_id, campaign_id, actor="alice")


def test_a_deleted_draft_is_nowhere_and_its_tag_is_free(acme: int) -> None:
    campaign_id = press.campaign(acme, tag="news", audience={"state": "TX"})
    Campaign.objects.update(kept_text=content_source.to_json(press.WORDS))

    delete(acme, campaign_id)

    with pytest.raises(CampaignUnknownError):
        drafts.find_campaign(acme, campaign_id)
    with pytest.raises(CampaignUnknownError):
        delete(acme, campaign_id)
    assert drafts.list_campaigns(acme) == []
    assert sum(listing.read_page(acme, now=press.NOW).counts.values()) == 0
    row = Campaign.with_deleted.get(pk=campaign_id)
    # What somebody wrote is gone.
    assert (row.content, row.kept_text, row.audience) == ({}, None, {})
    assert press.campaign(acme, tag="news") != campaign_id
    entry = AuditEntry.objects.get(action="campaign.deleted")
    assert (entry.actor, entry.subject, entry.data) == ("alice", "campaign news", {"name": "News"})


def test_neither_a_change_that_nobody_saw_nor_what_was_launched_is_deleted(acme: int) -> None:
    campaign_id, launched = press.campaign(acme), press.campaign(acme, tag="launched")
    seen = drafts.find_campaign(acme, campaign_id).updated_at
    Campaign.objects.update(updated_at=press.NOW)  # somebody changed it
    press.launch(acme, launched)

    with pytest.raises(CampaignChangedError):
        drafts.delete_campaign(acme, campaign_id, actor="alice", as_of=seen)
    with pytest.raises(AlreadyLaunchedError, match="Cancel its run"):
        delete(acme, launched)

    drafts.delete_campaign(acme, campaign_id, actor="alice", as_of=press.NOW)
    assert Campaign.objects.get().content == content_source.to_json(press.WORDS)


def test_the_mail_of_its_tests_stays_in_the_books_and_is_still_erased(acme: int) -> None:
    press.people(acme, 1)
    [contact] = Contact.objects.all()
    campaign_id = press.campaign(acme)
    run_id = press.send_test(acme, campaign_id, "editor@acme.example", contact_id=contact.pk)
    [stream_id] = run_lookup.list_streams(acme, campaign_id)

    delete(acme, campaign_id)

    live = live_run.read_live_run(acme, run_id, now=press.NOW)
    assert (live.name, live.is_deleted) == ("News", True)
    assert queries.read_books([stream_id])[stream_id].planned == 1
    erasure.erase(acme, address=contact.address, actor="alice", now=press.NOW)
    assert collide.column(stream_id, "address") == {0: "editor@acme.example"}
    assert collide.column(stream_id, "variables") == {0: None}


@pytest.mark.race
@pytest.mark.django_db(transaction=True)
def test_of_a_launch_and_a_deletion_at_once_exactly_one_wins(acme: int) -> None:
    launched, deleted = (press.campaign(acme, tag=tag) for tag in ("launched", "deleted"))

    with collide.uncommitted(lambda: press.launch(acme, launched)):
        late_deletion = collide.start(lambda: delete(acme, launched))
        late_deletion.must_wait()
    with collide.uncommitted(lambda: delete(acme, deleted)):
        late_launch = collide.start(lambda: press.launch(acme, deleted))
        late_launch.must_wait()

    with pytest.raises(AlreadyLaunchedError):
        late_deletion.answer()
    with pytest.raises(CampaignUnknownError):
        late_launch.answer()
    assert Run.objects.get().campaign_id == launched
    assert Campaign.objects.get().pk == launched


@pytest.mark.race
@pytest.mark.django_db(transaction=True)
def test_a_change_that_comes_during_a_deletion_finds_nothing(acme: int) -> None:
    campaign_id = press.campaign(acme)

    def change() -> None:
        changes = {"name": "Other"}
        drafts.change_campaign(acme, campaign_id, changes, actor="bob", now=press.NOW)

    with collide.uncommitted(lambda: delete(acme, campaign_id)):
        late_change = collide.start(change)
        late_change.must_wait()

    with pytest.raises(CampaignUnknownError):
        late_change.answer()

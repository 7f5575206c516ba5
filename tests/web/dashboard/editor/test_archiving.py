"""A draft whose list or sender was archived says so, and gets others."""

from datetime import UTC, datetime

from postledger.accounts import senders
from postledger.accounts.models import Sender
from postledger.campaigns.drafts import drafts
from postledger.campaigns.models import Campaign
from postledger.contacts import lists
from tests.campaigns import press
from tests.web.dashboard.editor.draft_forms import autosave, launch, read_text, save
from tests.web.dashboard.visitors import Person


def archive_sender(workspace_id: int) -> None:
    """Another one becomes the default before."""
    [old] = Sender.objects.filter(workspace_id=workspace_id)
    account_id, address = old.account_id, "other@acme.example"
    other = senders.create_sender(
        workspace_id, address=address, account_id=account_id, actor="alice"
    )
    senders.set_default(workspace_id, sender_id=other, actor="alice")
    senders.archive_sender(workspace_id, sender_id=old.pk, actor="alice")


def archive_list(workspace_id: int, draft: int) -> None:
    """The list of a draft."""
    lists.create_list(workspace_id, key="gone", name="Gone", actor="alice")
    change = {"list_key": "gone"}
    drafts.change_campaign(workspace_id, draft, change, actor="alice", now=datetime.now(UTC))
    lists.archive_list(workspace_id, key="gone", actor="alice")


def test_a_draft_whose_list_and_sender_were_archived_is_saved_and_gets_others(
    anna: Person, draft: int
) -> None:
    press.people(anna.workspace_id, 1)
    archive_list(anna.workspace_id, draft)
    refused_list = launch(anna, draft)
    archive_sender(anna.workspace_id)
    sender = Sender.objects.get(is_default=True).address

    renamed = save(anna, draft, name="June")
    page = read_text(anna.get(f"campaigns/{draft}/edit/"))
    part = read_text(autosave(anna, draft, name="July"))
    stored = Campaign.objects.get(pk=draft)
    other_list = save(anna, draft, name="July", list_key="")
    refused_sender = launch(anna, draft)
    mended = save(anna, draft, name="August", list_key="", sender=sender)

    assert (renamed.status_code, stored.name) == (302, "July")
    for field, words in (
        ("list_key", "There is no list 'gone', or it is archived."),
        ("sender", "is archived and takes no new mail."),
    ):
        assert f'<li data-field="id_{field}">' in part
        assert f'<span class="error" id="id_{field}_error">' in page
        assert words in page
    for refused in (refused_list, refused_sender):
        assert refused.status_code == 422
        assert "It was not launched: The " in read_text(refused)
    assert (other_list.status_code, mended.status_code) == (302, 302)
    campaign = Campaign.objects.select_related("sender").get(pk=draft)
    assert (campaign.name, campaign.list_key) == ("August", "")
    assert campaign.sender.address == sender
    assert launch(anna, draft).status_code == 302

"""A draft whose list or sender was archived says so, and gets others."""

from datetime import UTC, datetime

import pytest

from postledger.accounts import senders
from postledger.accounts.models import Sender
from postledger.campaigns.drafts import drafts
from postledger.campaigns.models import Campaign, Run
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


def test_an_archived_list_keeps_its_name_and_refuses_the_launch(anna: Person, draft: int) -> None:
    lists.create_list(anna.workspace_id, key="leser-2", name="Leser", actor="alice")
    save(anna, draft, list_key="leser-2")
    lists.archive_list(anna.workspace_id, key="leser-2", actor="alice")

    page = anna.read(f"campaigns/{draft}/edit/")
    checks = anna.read(f"campaigns/{draft}/edit/checks/")
    refused = launch(anna, draft)

    assert '<option value="leser-2" selected>Leser (archived)</option>' in page
    assert "The list Leser is archived" in checks
    assert "Choose another list, or take this one into use again" in checks
    assert refused.status_code == 422
    assert not Run.objects.exists()


@pytest.mark.parametrize("archived", [("list",), ("sender",), ("list", "sender")], ids=" and ".join)
def test_a_draft_whose_list_or_sender_was_archived_is_saved_and_gets_others(
    anna: Person, draft: int, archived: tuple[str, ...]
) -> None:
    press.people(anna.workspace_id, 1)
    if "list" in archived:
        archive_list(anna.workspace_id, draft)
    if "sender" in archived:
        archive_sender(anna.workspace_id)
    others = {"list_key": "", "sender": Sender.objects.get(is_default=True).address}

    renamed = save(anna, draft, name="June")
    page = read_text(anna.get(f"campaigns/{draft}/edit/"))
    part = read_text(autosave(anna, draft, name="July"))
    checks = read_text(anna.get(f"campaigns/{draft}/edit/checks/"))
    refused = read_text(launch(anna, draft))
    stored = Campaign.objects.get(pk=draft)
    mended = save(anna, draft, name="August", **others)
    after = read_text(anna.get(f"campaigns/{draft}/edit/"))

    assert (renamed.status_code, stored.name) == (302, "July")
    words = {"list": "There is no list 'gone', or it is archived.", "sender": "is archived and"}
    for one in archived:
        field = "list_key" if one == "list" else one
        assert f'<li data-field="id_{field}">' in part
        assert f'<span class="error" id="id_{field}_error">' in page
        assert words[one] in page
        assert words[one] in part
        assert "postledger sender" not in checks
        assert (words[one] if one == "sender" else "The list Gone is archived") in checks
        assert words[one] not in after
    assert "It was not launched: The " in refused
    assert mended.status_code == 302
    campaign = Campaign.objects.select_related("sender").get(pk=draft)
    assert (campaign.name, campaign.list_key) == ("August", "")
    assert campaign.sender.address == others["sender"]
    assert launch(anna, draft).status_code == 302


def test_what_became_wrong_with_a_draft_takes_the_focus_from_nobody_who_opens_it(
    anna: Person, draft: int
) -> None:
    archive_list(anna.workspace_id, draft)

    page = anna.read(f"campaigns/{draft}/edit/")
    with_one_more_line = save(anna, draft, add="1")

    assert 'aria-invalid="true"' in page
    assert "autofocus" not in page
    assert "autofocus" not in read_text(with_one_more_line)


def test_a_copy_of_a_campaign_whose_list_and_sender_were_archived_says_so(
    anna: Person, draft: int
) -> None:
    archive_list(anna.workspace_id, draft)
    archive_sender(anna.workspace_id)

    answer = anna.post(f"campaigns/{draft}/duplicate/")

    copied = Campaign.objects.order_by("pk").last()
    assert copied is not None
    assert answer.headers["Location"] == anna.url(f"campaigns/{copied.pk}/edit/")
    page = read_text(anna.client.get(answer.headers["Location"]))
    assert copied.list_key == "gone"
    assert "There is no list 'gone', or it is archived." in page
    assert "is archived and takes no new mail." in page

"""`postledger supabase` syncs, and tells people how that goes."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from postledger.contacts.models import Contact
from postledger.supabase.models import Sync
from postledger.workers import tasks
from tests.fakes.postgrest import FakePostgrest
from tests.supabase import projects


def run_command(*arguments: str) -> str:
    out = StringIO()
    call_command("supabase", *arguments, stdout=out)
    return out.getvalue()


def test_a_sync_says_what_it_did_and_what_it_could_not_do(acme: int, fake: FakePostgrest) -> None:
    fake.add("a@example.com")
    fake.add("b@example.com", "unsubscribed")
    fake.add("odd@example.com", "maybe")

    done = run_command("sync")

    assert "3 subscribers read: 2 new contacts, 0 new From names, 1 unsubscribed or bounced" in done
    assert "Rows that could not be applied, written or found: 1." in done
    assert "o***@example.com  not applied since" in done
    assert "odd@" not in done
    assert run_command("status") == done
    assert "o***" not in run_command("status", "--most", "0")


def test_a_wrong_key_ends_the_command_with_what_to_do_and_the_right_one_syncs_on_schedule(
    acme: int, fake: FakePostgrest
) -> None:
    projects.change(acme, api_key="another-key")
    with pytest.raises(CommandError, match=r"Copy the service role's key"):
        run_command("sync")
    assert "Copy the service role's key" in run_command("status")

    projects.change(acme, api_key=fake.key)
    fake.add("a@example.com")
    Sync.objects.all().delete()
    tasks.supabase()
    assert Contact.objects.get(workspace_id=acme).address == "a@example.com"


def test_without_a_project_the_command_says_what_to_set(acme: int) -> None:
    with pytest.raises(CommandError, match="postledger integration set WORKSPACE supabase"):
        run_command("sync")

    sentence = (
        "No Supabase project is configured; use postledger integration set WORKSPACE supabase"
    )
    assert sentence in run_command("status")
    assert "Nothing has been synced yet." in run_command("status")


def test_rows_that_are_missing_are_told_and_accepted(acme: int, fake: FakePostgrest) -> None:
    fake.add_many(3)
    run_command("sync")
    fake.remove_many(3)

    with pytest.raises(CommandError, match="postledger supabase sync --accept-missing"):
        run_command("sync")
    status = run_command("status")
    done = run_command("sync", "--accept-missing")

    assert "The pass failed at" in status
    assert "subscribers  not found since" in status
    assert "3 deleted there, 0 there again." in done
    assert "No row has a problem." in done
    assert not Contact.objects.filter(deleted_at=None).exists()

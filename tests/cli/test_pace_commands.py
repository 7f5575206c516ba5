"""Commands on limits and working hours of senders, workspaces and members."""

import re

import pytest

from postledger.accounts.models import ApiKey, Member, Sender, Workspace
from tests.cli.command_line import ME, refusal, run, trail

pytestmark = pytest.mark.django_db

NEWS = "news@acme.example"
ALICE = "alice@acme.example"


@pytest.fixture(autouse=True)
def acme() -> None:
    run("workspace", "create", "acme")
    run("workspace", "zone", "acme", "Europe/Berlin")
    run("sender", "create", "acme", NEWS, "--sandbox")
    run("member", "add", "acme", ALICE, "--name", "Alice")
    run("workspace", "create", "globex")


def test_the_limits_of_a_sender_are_set_shown_and_removed() -> None:
    first = run("sender", "limit", "acme", NEWS)
    both = run("sender", "limit", "acme", NEWS, "--per-second", "14", "--per-hour", "1000")
    changed = run("sender", "limit", "acme", NEWS, "--per-hour", "none", "--per-day", "50000")
    shown = run("sender", "limit", "acme", "NEWS@acme.example")

    assert first == [f"{NEWS} sends without a limit of its own."]
    assert both == [f"{NEWS} sends at most 14 a second, 1,000 an hour."]
    assert changed == shown == [f"{NEWS} sends at most 14 a second, 50,000 a day."]
    changes = {"rate_per_hour": None, "daily_limit": 50_000}
    subject = f"sender {Sender.objects.get().pk}"
    assert trail()[-1] == ("acme", ME, "sender.limits_changed", subject, changes)
    for option, value, advice in (
        ("--per-second", "0", "To let mail wait, hold its stream: postledger stream hold."),
        ("--per-second", "nan", "use a number from 0.00001 to 10,000, such as 5 or 0.5"),
        ("--per-second", "fast", "use one such as 5 or 0.5, or none for no limit"),
        ("--per-hour", "0", "To end a limit, write none."),
        ("--per-hour", "1.5", "use one such as 100, or none for no limit"),
        ("--per-day", "-5", "use 1 to 1,000,000,000"),
        ("--per-day", "1,000", "use one such as 100, or none for no limit"),
    ):
        assert advice in refusal("sender", "limit", "acme", NEWS, option, value)


def test_the_hours_of_a_sender_are_set_shown_and_removed() -> None:
    always = run("sender", "hours", "acme", NEWS)
    whole_days = run("sender", "hours", "acme", NEWS, "00:00-24:00", "--zone", "Asia/Tokyo")
    weekdays = run(
        "sender", "hours", "acme", NEWS, "9:00-12:00", "13:00-18:00", "--days", "mon-fri"
    )
    listed = run("sender", "list", "acme")
    removed = run("sender", "hours", "acme", NEWS, "none")

    assert always == [f"{NEWS} has no hours of its own.", "It is open now."]
    assert whole_days == [
        f"Bulk mail of {NEWS} goes every day 00:00-00:00 Asia/Tokyo.",
        "It is open now.",
    ]
    assert weekdays[0] == (
        f"Bulk mail of {NEWS} goes mon-fri 09:00-12:00, 13:00-18:00 Europe/Berlin."
    )
    assert re.fullmatch(r"It is open now\.|It opens next at NOW\.", weekdays[1])
    assert listed == [
        f"{NEWS}  through sandbox  default  mon-fri 09:00-12:00, 13:00-18:00 Europe/Berlin"
    ]
    assert removed == always
    assert [entry[2] for entry in trail()][-3:] == ["sender.hours_changed"] * 3


def test_the_hours_of_a_workspace_hold_beside_those_of_its_senders() -> None:
    run("sender", "hours", "acme", NEWS, "00:00-24:00", "--days", "sat,sun")

    changed = run("workspace", "hours", "acme", "00:00-24:00", "--days", "mon-thu")
    shown = run("sender", "hours", "acme", NEWS)
    listed = run("workspace", "list")
    removed = run("workspace", "hours", "acme", "none")

    never = (
        "These hours and those of the workspace are never open together: its bulk mail waits until"
        " one of them is changed."
    )
    hours = "mon-thu 00:00-00:00 Europe/Berlin"
    assert changed[0] == f'Bulk mail of workspace "acme" goes {hours}.'
    assert changed[2] == f"{NEWS} has hours of its own, too. {never}"
    assert shown[1:] == [f"The hours of its workspace hold, too: {hours}.", never]
    assert [line.endswith(hours) for line in listed] == [True, False]
    assert removed[0] == 'Bulk mail of workspace "acme" goes at all hours.'
    assert Workspace.objects.get(name="acme").working_hours is None


def test_wrong_hours_are_refused_with_the_right_form() -> None:
    for arguments, advice in {
        ("9-18",): "use the form 09:00-18:00",
        ("09:00-18:00", "--days", "weekdays"): "as in mon-fri or sat,sun",
        ("09:00-18:00", "--zone", "Berlin"): "use an IANA name such as Europe/Lisbon",
        ("--days", "mon-fri"): "Use 1 to 24 times of the form 09:00-18:00",
        ("none", "09:00-18:00"): "none removes the hours: use it alone",
        ("none", "--days", "mon"): "none removes the hours: use it alone",
    }.items():
        for subject in (("sender", "hours", "acme", NEWS), ("workspace", "hours", "acme")):
            assert advice in refusal(*subject, *arguments)
    assert not Sender.objects.exclude(working_hours=None).exists()
    assert not Workspace.objects.exclude(working_hours=None).exists()


def test_the_daily_limit_of_a_member_is_set_listed_and_removed() -> None:
    limited = run("member", "limit", "acme", "Alice@acme.example", "--per-day", "1000")
    listed = run("member", "list", "acme")
    removed = run("member", "limit", "acme", ALICE, "--per-day", "none")

    assert limited == [f"Runs that {ALICE} launches send at most 1,000 a day."]
    assert listed == [f"{ALICE}  manager  “Alice”  at most 1,000 a day"]
    assert removed == [f"Runs that {ALICE} launches send without a limit."]
    assert "hold its stream" in refusal("member", "limit", "acme", ALICE, "--per-day", "0")
    assert Member.objects.get().daily_limit is None
    run("key", "create", "acme", "--name", "shop", "--member", "ALICE@acme.example")
    [for_alice] = run("key", "list", "acme")
    assert for_alice.endswith(f"never used  launches for {ALICE}")


def test_senders_and_members_of_another_workspace_are_unknown() -> None:
    for command, unknown in (
        (("sender", "limit", "globex", NEWS, "--per-day", "1"), "sender"),
        (("sender", "hours", "globex", NEWS, "09:00-18:00"), "sender"),
        (("member", "limit", "globex", ALICE, "--per-day", "1"), "member"),
        (("key", "create", "globex", "--name", "shop", "--member", ALICE), "member"),
    ):
        refused = refusal(*command)
        assert refused.startswith(f"globex has no {unknown} ")
        assert f"see postledger {unknown} list globex" in refused
    assert not ApiKey.objects.exists()

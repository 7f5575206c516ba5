"""Why something waits, over HTTP and on the command line: a mail, a stream, a run or a sender."""

from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any

import pytest
from django.conf import LazySettings
from django.core.management import CommandError, call_command

from postledger.accounts.keys import Scope
from postledger.campaigns.models import Run
from postledger.deliveries import ledger
from postledger.deliveries.ledger.holds.limit_holds import LimitCause
from postledger.deliveries.reasons import Reason
from postledger.lib.ids import DeliveryId
from tests import cast
from tests.web import newsroom
from tests.web.callers import Caller, caller

SOON = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=1)
LATER = SOON + timedelta(hours=5)
ADDRESS = "news@acme.example"


@pytest.fixture(autouse=True)
def furnished(alice: Caller, settings: LazySettings) -> None:
    newsroom.furnish(alice, settings)
    newsroom.people(alice, 2)


@pytest.fixture
def run_id(alice: Caller) -> str:
    """A run that waits for two limits."""
    launched = newsroom.launched(alice, newsroom.make_campaign(alice))
    causes = [LimitCause(Reason.RATE_PER_HOUR, SOON), LimitCause(Reason.DAILY_LIMIT, LATER)]
    ledger.hold_for_limits(newsroom.stream_of(launched), causes)
    return launched


def names_of(run_id: str) -> dict[str, str]:
    """The mail, the stream, the run and the sender by which the same wait can be asked about."""
    stream_id = newsroom.stream_of(run_id)
    mail = DeliveryId(stream_id, 0).text()
    return {"mail": mail, "stream": str(stream_id), "run": run_id, "sender": ADDRESS}


def ask(who: Caller, id_: str) -> Any:
    reply = who.get(f"/v1/why/{id_}")
    assert reply.status == 200, reply.body
    return reply.body


def codes(answer: Any) -> list[str]:
    return [cause["code"] for cause in answer["causes"]]


def say(id_: str) -> str:
    out = StringIO()
    call_command("why", id_, stdout=out)
    return out.getvalue()


def test_both_causes_are_told_first_the_one_that_ends_last(alice: Caller, run_id: str) -> None:
    for kind, name in names_of(run_id).items():
        answer = alice.ask("GET", f"/v1/why/{name}", Accept_Language="ru").body

        assert (answer["id"], answer["kind"]) == (name, kind)
        assert codes(answer) == ["daily_limit", "rate_per_hour"], kind
        first, second = answer["causes"]
        ends = [datetime.fromisoformat(cause["until"]) for cause in (first, second)]
        assert ends == [LATER, SOON], kind
        assert first["since"] < first["until"]
        assert all(first[words] for words in ("resumed_by", "advice")), kind
        if kind == "run":
            assert first["sentence"] == "It is held because the daily limit is reached."
        said = say(name)
        assert said.index("daily_limit since") < said.index("rate_per_hour since"), kind


def test_the_command_knows_what_it_does_not_find(alice: Caller) -> None:
    for id_ in ("7", "x", "nobody@acme.example", "6f1c1f4e-3f0e-4a55-9d7c-0d2f9d3f6a11"):
        with pytest.raises(CommandError, match="no delivery, stream, run or sender"):
            say(id_)
    assert "Nothing holds it." in say(ADDRESS)


def test_nothing_of_acme_exists_for_charlie(alice: Caller, charlie: Caller, run_id: str) -> None:
    for kind, name in names_of(run_id).items():
        reply = charlie.get(f"/v1/why/{name}")
        assert (reply.status, reply.body["code"]) == (404, "not_found"), kind
    for unknown in ("1", "9" * 30, "x", "nobody@acme.example", "²"):
        assert alice.get(f"/v1/why/{unknown}").status == 404, unknown


def test_mail_of_campaigns_takes_the_scope_that_reads_campaigns(run_id: str) -> None:
    mailer = caller("acme", scopes=[Scope.READ])

    statuses = {
        kind: mailer.get(f"/v1/why/{name}").status for kind, name in names_of(run_id).items()
    }

    assert statuses == {"mail": 403, "stream": 403, "run": 403, "sender": 200}


def test_a_mail_by_api_is_explained_too(alice: Caller) -> None:
    mail = alice.send().body["id"]
    assert codes(ask(alice, mail)) == ["ready"]

    ledger.hold_sender(
        cast.sender().pk, reason=Reason.PAUSED, actor="bob", detail="asked by a@example.com"
    )

    [cause] = ask(alice, mail)["causes"]
    assert (cause["code"], cause["until"]) == ("paused", None)
    assert cause["sentence"] == (
        "The sender is held because a person paused it (asked by a@example.com)."
    )
    stranger = caller("acme", scopes=[Scope.READ])
    assert "a@example.com" not in ask(stranger, mail)["causes"][0]["sentence"]


def test_a_run_says_whether_it_is_planned_open_or_done(alice: Caller) -> None:
    id_ = newsroom.make_campaign(alice)
    run_id = alice.post(f"/v1/campaigns/{id_}/launch", None).body["run_id"]
    assert codes(ask(alice, run_id)) == ["planning"]
    moment = datetime.now(UTC)
    Run.objects.update(trouble="The list is gone.", trouble_since=moment)
    [stopped] = ask(alice, run_id)["causes"]
    assert (stopped["code"], stopped["sentence"]) == (
        "planning_stopped",
        "Planning its audience has stopped: The list is gone.",
    )

    newsroom.plan(run_id)
    newsroom.book(run_id, newsroom.taken, size=1)
    assert codes(ask(alice, run_id)) == ["ready"]
    newsroom.book(run_id, newsroom.refused, size=1)
    assert codes(ask(alice, run_id)) == ["open"]
    alice.post(f"/v1/runs/{run_id}/close", None)
    assert ask(alice, run_id)["causes"] == []

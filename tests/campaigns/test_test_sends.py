"""Tests of a campaign go to the addresses that were named for it, and to nobody else."""

import pytest

from postledger.accounts.models import Workspace
from postledger.campaigns.launches import test_sends
from postledger.campaigns.launches.test_sends import NoTestAddressError, NoTestLetterError
from postledger.campaigns.models import Run
from postledger.contacts.details import Details
from postledger.contacts.models import Subscription
from postledger.content import articles, templates
from postledger.content.rendering.letter import TO_NAME
from postledger.content.rendering.source import Format, Source
from postledger.content.slices import SliceFields as Slice
from postledger.content.versions import Version
from postledger.deliveries import ledger, queries
from postledger.deliveries.entries import Body
from postledger.mailing.content_source import ArticleSource, InlineSource, TemplateSource
from tests.campaigns import press
from tests.contacts import people

OHIO = "ocd-division/country:us/state:oh"


def test_addresses_stand_between_commas_semicolons_and_white_space() -> None:
    written = "a@example.com, b@example.com;c@example.com\n d@example.com\te@example.com"
    assert test_sends.parse_addresses(written) == tuple(
        f"{letter}@example.com" for letter in "abcde"
    )


def test_an_address_counts_once_whatever_its_capitals() -> None:
    assert test_sends.parse_addresses("A@example.com a@example.com A@EXAMPLE.com") == (
        "A@example.com",
    )


def test_what_is_no_address_is_left_out() -> None:
    assert test_sends.parse_addresses("nobody, @, a@example.com, b@@example.com") == (
        "a@example.com",
    )


def test_without_an_address_there_is_no_test() -> None:
    for written in ("", " ,;\n", "nobody, @"):
        with pytest.raises(NoTestAddressError) as refused:
            test_sends.parse_addresses(written)
        assert refused.value.code == "test_emails_empty", written


def test_a_test_goes_to_the_workspaces_addresses_only_and_may_be_repeated(acme: int) -> None:
    people.contact(acme, "reader@example.com")
    Workspace.objects.filter(pk=acme).update(test_emails="b@example.com; A@example.com")
    campaign_id = press.campaign(acme)

    runs = [press.send_test(acme, campaign_id, None) for _ in range(2)]

    for run in Run.objects.filter(pk__in=runs):
        assert run.is_test
        assert press.addresses(press.planned(run.pk)) == ["A@example.com", "b@example.com"]
    assert press.addresses(press.launched(acme, campaign_id)) == ["reader@example.com"]


def test_who_is_no_contact_sees_the_names_of_values_and_a_contact_its_own(acme: int) -> None:
    details = Details(name="Ann", attributes={"plan": "pro"})
    people.contact(acme, "ann@example.com", details)
    words = InlineSource("News", "{{ plan }}", Format.MARKDOWN, required=("plan",))
    campaign_id = press.campaign(acme, content=words)

    run_id = press.send_test(acme, campaign_id, "ann@example.com b@example.com")

    values = [line[2] for line in press.lines(Run.objects.get(pk=run_id))]
    assert values == [
        {"name": "Ann", "plan": "pro"},
        {"name": "[name]", "plan": "[plan]", TO_NAME: ""},
    ]


def test_a_test_as_a_contact_has_its_values_and_its_language_for_every_address(acme: int) -> None:
    details = Details(name="Ann", from_name="Ann's club", locale="en", attributes={"plan": "pro"})
    people.news(acme)
    ann = people.contact(acme, "ann@example.com", details)
    people.contact(acme, "bob@example.com", Details(name="Bob", attributes={"plan": "free"}))
    people.subscribe(acme, ann)
    Subscription.objects.update(locale="pt")
    templates.create(acme, key="news", name="News", actor="alice")
    texts = tuple(
        Source(subject, "{{ plan }}", Format.MARKDOWN, locale=locale)
        for locale, subject in (("en", "News"), ("pt", "Novidades"))
    )
    version = Version(("plan",), (), "en", texts)
    templates.add_version(acme, key="news", version=version, actor="alice")
    campaign_id = press.campaign(acme, content=TemplateSource("news"), list_key="news")

    run_id = press.send_test(acme, campaign_id, "bob@example.com c@example.com", contact_id=ann)

    run = Run.objects.get(pk=run_id)
    values = {"name": "Ann", "from_name": "Ann's club", "plan": "pro"}
    assert [line[:3] for line in press.lines(run)] == [
        ("bob@example.com", None, values),
        ("c@example.com", None, values),
    ]
    [letter] = {line[3] for line in press.lines(run)}
    assert read_body(run, letter).subject == "[Test] Novidades"


def read_body(run: Run, letter: int) -> Body:
    position = ledger.shared_position(letter)
    return queries.read_bodies(run.stream_id, [position])[position]


def test_a_test_is_marked_in_its_subject_and_in_a_header_and_a_launch_is_not(acme: int) -> None:
    people.contact(acme, "reader@example.com")
    campaign_id = press.campaign(acme)
    test_id = press.send_test(acme, campaign_id, "a@example.com")

    bodies = [
        read_body(run, 0)
        for run in (Run.objects.get(pk=test_id), press.launched(acme, campaign_id))
    ]

    assert [body.subject for body in bodies] == ["[Test] News", "News"]
    assert [body.headers for body in bodies] == [{"X-Postledger-Test": "yes"}, None]


def test_testers_for_whom_there_is_no_letter_are_counted_and_a_test_of_those_alone_is_refused(
    acme: int,
) -> None:
    articles.create(acme, key="may", title="May", actor="alice")
    piece = Slice(
        title="Ohio", body_md="Ohio.", is_headline=True, is_published=True, scope_ocd_id=OHIO
    )
    articles.add_slice(acme, article_key="may", fields=piece, actor="alice")
    campaign_id = press.campaign(acme, content=ArticleSource("may"))
    people.contact(acme, "ohio@example.com", Details(ocd_ids=(OHIO,)))

    with pytest.raises(NoTestLetterError, match=r"\(subject_required\)"):
        press.send_test(acme, campaign_id, "a@example.com")
    assert not Run.objects.exists()
    given = "a@example.com b@example.com ohio@example.com"
    run = press.planned(press.send_test(acme, campaign_id, given))

    assert press.addresses(run) == ["ohio@example.com"]
    assert run.excluded == {"subject_required": 2}

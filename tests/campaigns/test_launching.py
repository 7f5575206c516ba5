"""What is frozen at a launch, what is refused, and that a launch happens once."""

from dataclasses import replace
from datetime import timedelta
from uuid import UUID, uuid4

import pytest

from postledger.accounts import workspaces
from postledger.accounts.queries import Organisation
from postledger.campaigns.drafts import drafts
from postledger.campaigns.drafts.drafts import Draft
from postledger.campaigns.launches import launching
from postledger.campaigns.launches.launching import AlreadyLaunchedError, BatchTakenError
from postledger.campaigns.models import Run
from postledger.contacts.details import Details
from postledger.content import articles, templates
from postledger.content.rendering.footer import FooterEnvMissingError
from postledger.content.rendering.source import Format, Source
from postledger.content.slices import SliceFields as Slice
from postledger.content.versions import Version
from postledger.deliveries import queries
from postledger.lib.errors import RefusedError
from postledger.mailing.content_source import ArticleSource, TemplateSource
from postledger.mailing.snapshot import EmptyBodyError
from tests.campaigns import press
from tests.contacts import people

pytestmark = pytest.mark.django_db

US = "ocd-division/country:us"
OHIO = f"{US}/state:oh"


def test_a_campaign_is_launched_once(acme: int) -> None:
    campaign_id = press.campaign(acme)
    press.launched(acme, campaign_id)

    with pytest.raises(AlreadyLaunchedError):
        press.launch(acme, campaign_id)
    assert Run.objects.count() == 1


def test_what_cannot_be_sent_is_not_launched(acme: int) -> None:
    for words, code in (
        (replace(press.WORDS, subject=" "), "subject_required"),
        (replace(press.WORDS, body="\n"), "empty_body"),
        (replace(press.WORDS, body="{{ nobody_knows }}"), "invalid_template"),
    ):
        campaign_id = press.campaign(acme, tag=code.replace("_", "-"), content=words)
        with pytest.raises(RefusedError) as refused:
            press.launch(acme, campaign_id)
        assert refused.value.code == code

    assert not Run.objects.exists()


def test_without_a_footer_nothing_is_launched(acme: int) -> None:
    whole = Organisation("Acme", "1 Main St", "https://acme.example/unsubscribe")
    campaign_id = press.campaign(acme)
    for missing in (
        replace(whole, name=""),
        replace(whole, address=""),
        replace(whole, unsubscribe_base_url=""),
    ):
        workspaces.set_organisation(acme, missing, actor="alice")
        with pytest.raises(FooterEnvMissingError):
            press.launch(acme, campaign_id)


def test_a_later_edit_does_not_change_what_was_launched(acme: int) -> None:
    people.contact(acme)
    campaign_id = press.campaign(acme)
    run_id = press.launch(acme, campaign_id)
    other = replace(press.WORDS, subject="Other")
    changes = {"name": "Other", "content": other, "audience": {"a": "b"}}
    drafts.change_campaign(acme, campaign_id, changes, actor="alice", now=press.NOW)

    run = press.planned(run_id)

    assert press.addresses(run) == [people.R1]
    assert queries.read_bodies(run.stream_id, [-1])[-1].subject == "News"


def batch(acme: int, draft: Draft, launch_id: UUID) -> UUID:
    put = drafts.put_campaign(acme, draft, launch_id=launch_id, actor="alice", now=press.NOW)
    return launching.launch_once(put, launch_id=launch_id, actor="alice", now=press.NOW)


def test_a_repeated_batch_is_the_same_run_and_changes_no_row(acme: int) -> None:
    press.people(acme, 20)
    draft = Draft("news", "News", press.WORDS)
    launch_id = uuid4()
    run = press.planned(batch(acme, draft, launch_id))
    before = press.lines(run)

    again = press.planned(batch(acme, draft, launch_id))

    assert again.pk == run.pk
    assert press.lines(run) == before
    assert Run.objects.count() == 1


def test_a_batch_with_other_input_is_refused_and_the_campaign_stays_as_it_was(acme: int) -> None:
    launch_id = uuid4()
    batch(acme, Draft("news", "News", press.WORDS), launch_id)

    with pytest.raises(BatchTakenError):
        batch(acme, Draft("news", "News", press.WORDS, audience={"state": "OH"}), launch_id)

    [facts] = drafts.list_campaigns(acme)
    assert facts.audience == {}


def test_another_batch_of_a_tag_is_another_run_to_everybody(acme: int) -> None:
    press.people(acme, 2)
    runs = [
        press.planned(batch(acme, Draft("news", "News", press.WORDS), uuid4())) for _ in range(2)
    ]
    assert [len(press.addresses(run)) for run in runs] == [2, 2]
    assert runs[0].pk != runs[1].pk


def campaign_in_two_languages(acme: int, *, fallback: str) -> int:
    templates.create(acme, key="hello", name="Hello", actor="alice")
    texts = tuple(
        Source(f"Subject {locale}", "Hello.", Format.MARKDOWN, locale=locale)
        for locale in ("en", "pt")
    )
    version = Version((), (), fallback, texts)
    templates.add_version(acme, key="hello", version=version, actor="alice")
    return press.campaign(acme, content=TemplateSource("hello"))


def test_each_gets_the_template_in_a_language_of_theirs_or_the_fallback(acme: int) -> None:
    for name, locale in (("a", "pt-BR"), ("b", "ru"), ("c", ""), ("d", "en")):
        people.contact(acme, f"{name}@example.com", Details(locale=locale))

    run = press.launched(acme, campaign_in_two_languages(acme, fallback="en"))

    bodies = queries.read_bodies(run.stream_id, [-1, -2])
    subjects = [bodies[-1 - letter].subject for *_, letter in press.lines(run)]
    assert subjects == ["Subject pt", "Subject en", "Subject en", "Subject en"]


def test_without_a_fallback_who_reads_another_language_is_counted_and_not_mailed(acme: int) -> None:
    people.contact(acme, "a@example.com", Details(locale="ru"))
    people.contact(acme, "b@example.com", Details(locale="pt"))

    run = press.launched(acme, campaign_in_two_languages(acme, fallback=""))

    assert press.addresses(run) == ["b@example.com"]
    assert run.excluded == {"template_missing_locale": 1}


def article(acme: int) -> None:
    articles.create(acme, key="may", title="May", actor="alice")
    for slice_ in (
        Slice(title="For all", body_md="All.", is_headline=True, is_published=True),
        Slice(body_md="Ohio.", scope_ocd_id=OHIO, is_published=True),
        Slice(
            body_md="Later.",
            scope_ocd_id=US,
            is_published=True,
            published_from=press.NOW + timedelta(hours=1),
        ),
    ):
        articles.add_slice(acme, article_key="may", fields=slice_, actor="alice")


def test_recipients_whose_places_meet_the_same_slices_share_a_letter(acme: int) -> None:
    article(acme)
    places = {"a": (), "b": (OHIO,), "c": (US, OHIO), "d": (US,)}
    for name, ids in places.items():
        people.contact(acme, f"{name}@example.com", Details(ocd_ids=ids))

    run = press.launched(acme, press.campaign(acme, content=ArticleSource("may")))

    letters = [line[3] for line in press.lines(run)]
    assert letters[0] == letters[3] != letters[1] == letters[2]


def test_an_article_without_a_slice_for_now_is_not_launched(acme: int) -> None:
    articles.create(acme, key="may", title="May", actor="alice")

    with pytest.raises(EmptyBodyError):
        press.launch(acme, press.campaign(acme, content=ArticleSource("may")))

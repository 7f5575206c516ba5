"""What is frozen at a launch, what is refused, and that a launch happens once."""

from dataclasses import replace
from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from pytest_django import Settings

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
from postledger.content.slices import SubjectRequiredError
from postledger.content.versions import Version
from postledger.deliveries import queries
from postledger.lib.errors import RefusedError
from postledger.mailing.content_source import ArticleSource, InlineSource, TemplateSource
from postledger.mailing.snapshot import EmptyBodyError
from tests.campaigns import press
from tests.contacts import people

pytestmark = pytest.mark.django_db

US = "ocd-division/country:us"
OHIO = f"{US}/state:oh"


@pytest.fixture
def acme(settings: Settings) -> int:
    return press.set_up_workspace(settings)


def test_a_campaign_is_launched_once(acme: int) -> None:
    campaign_id = press.campaign(acme)
    press.launched(acme, campaign_id)

    with pytest.raises(AlreadyLaunchedError):
        launching.launch_campaign(acme, campaign_id, actor="alice", now=press.NOW)
    assert Run.objects.count() == 1


@pytest.mark.parametrize(
    ("words", "error", "code"),
    [
        (replace(press.WORDS, subject=" "), SubjectRequiredError, "subject_required"),
        (replace(press.WORDS, body="\n"), EmptyBodyError, "empty_body"),
        (replace(press.WORDS, body="{{ nobody_knows }}"), RefusedError, "invalid_template"),
    ],
)
def test_what_cannot_be_sent_is_not_launched(
    acme: int, words: InlineSource, error: type[RefusedError], code: str
) -> None:
    campaign_id = press.campaign(acme, content=words)

    with pytest.raises(error) as refused:
        launching.launch_campaign(acme, campaign_id, actor="alice", now=press.NOW)

    assert refused.value.code == code
    assert not Run.objects.exists()


@pytest.mark.parametrize("missing", ["name", "address", "unsubscribe_base_url"])
def test_without_a_footer_nothing_is_launched(acme: int, missing: str) -> None:
    whole = Organisation("Acme", "1 Main St", "https://acme.example/unsubscribe")
    fields = {field: getattr(whole, field) for field in ("name", "address", "unsubscribe_base_url")}
    workspaces.set_organisation(acme, Organisation(**{**fields, missing: ""}), actor="alice")

    with pytest.raises(FooterEnvMissingError):
        launching.launch_campaign(acme, press.campaign(acme), actor="alice", now=press.NOW)


def test_a_later_edit_does_not_change_what_was_launched(acme: int) -> None:
    people.contact(acme)
    campaign_id = press.campaign(acme)
    run_id = launching.launch_campaign(acme, campaign_id, actor="alice", now=press.NOW)
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


def test_each_gets_the_template_in_a_language_of_theirs_or_the_fallback(acme: int) -> None:
    templates.create(acme, key="hello", name="Hello", actor="alice")
    texts = [
        Source(f"Subject {locale}", "Hello.", Format.MARKDOWN, locale=locale)
        for locale in ("en", "pt")
    ]
    templates.add_version(
        acme,
        key="hello",
        version=Version((), (), "en", tuple(texts)),
        actor="alice",
    )
    for name, locale in (("a", "pt-BR"), ("b", "ru"), ("c", ""), ("d", "en")):
        people.contact(acme, f"{name}@example.com", Details(locale=locale))

    run = press.launched(acme, press.campaign(acme, content=TemplateSource("hello")))

    subjects = {
        number: queries.read_bodies(run.stream_id, [-1 - number])[-1 - number].subject
        for number in (0, 1)
    }
    assert [subjects[line[3]] for line in press.lines(run)] == [
        "Subject pt",
        "Subject en",
        "Subject en",
        "Subject en",
    ]


def test_without_a_fallback_who_reads_another_language_is_counted_and_not_mailed(acme: int) -> None:
    templates.create(acme, key="hello", name="Hello", actor="alice")
    texts = [
        Source(f"Subject {locale}", "Hello.", Format.MARKDOWN, locale=locale)
        for locale in ("en", "pt")
    ]
    templates.add_version(
        acme, key="hello", version=Version((), (), "", tuple(texts)), actor="alice"
    )
    people.contact(acme, "a@example.com", Details(locale="ru"))
    people.contact(acme, "b@example.com", Details(locale="pt"))

    run = press.launched(acme, press.campaign(acme, content=TemplateSource("hello")))

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
        launching.launch_campaign(
            acme, press.campaign(acme, content=ArticleSource("may")), actor="alice", now=press.NOW
        )

"""A template is found by key, version and locale, in its own workspace, and never rewritten."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import pytest
from django.db import IntegrityError, transaction

from postledger.accounts import workspaces
from postledger.accounts.constraints import InvalidNameError
from postledger.accounts.models import AuditEntry
from postledger.content import models, templates
from postledger.content.locales import InvalidLocaleError, MissingLocaleError
from postledger.content.rendering.html.checks import UnstorableTextError
from postledger.content.rendering.source import Format, Source
from postledger.content.templates import (
    InvalidTemplateKeyError,
    TemplateExistsError,
    TemplateUnknownError,
)
from postledger.content.versions import InvalidVersionError, Version
from tests import round_trips
from tests.races import collide

ENGLISH = Source("Hello {{ name }}", "Hello, {{ name }}.", Format.MARKDOWN, locale="en")
BRAZILIAN = Source("Olá {{ name }}", "<p>Olá, {{ name }}.</p>", Format.HTML, "Olá.", "pt-BR")


@pytest.fixture
def acme(db: None) -> int:
    return workspaces.create_workspace("acme", actor="alice")


@pytest.fixture
def globex(db: None) -> int:
    return workspaces.create_workspace("globex", actor="charlie")


def make(workspace_id: int, key: str = "welcome") -> int:
    return templates.create(workspace_id, key=key, name="Welcome", actor="alice")


def add(
    workspace_id: int,
    *texts: Source,
    key: str = "welcome",
    required: Sequence[str] = ("name",),
    optional: Sequence[str] = (),
    fallback: str = "",
) -> int:
    return templates.add_version(
        workspace_id,
        key=key,
        version=Version(tuple(required), tuple(optional), fallback, texts or (ENGLISH,)),
        actor="bob",
    )


class Chosen(NamedTuple):
    version: int
    text: Source
    required: tuple[str, ...]
    optional: tuple[str, ...]


def find(
    workspace_id: int, key: str = "welcome", version: int | None = None, locale: str = "en"
) -> Chosen:
    chosen = templates.find_version(workspace_id, key=key, number=version)
    return Chosen(chosen.number, chosen.text(locale), chosen.required, chosen.optional)


def test_a_text_is_found_as_it_was_written_with_two_questions(acme: int) -> None:
    make(acme)
    add(acme)
    add(acme, ENGLISH, BRAZILIAN, optional=("notes",))

    with round_trips.counted() as asked:
        found = find(acme, locale="pt_br")

    assert asked() == 2
    assert found == Chosen(2, BRAZILIAN, ("name",), ("notes",))
    assert find(acme, locale="en-GB").text == ENGLISH


def test_without_a_version_the_newest_is_found_older_ones_stay_and_others_are_unknown(
    acme: int,
) -> None:
    make(acme)
    with pytest.raises(TemplateUnknownError, match="has no version yet: add one"):
        find(acme)
    assert templates.list_versions(acme, key="welcome") == []
    newer = replace(ENGLISH, subject="Good day")

    assert [add(acme), add(acme, newer), add(acme)] == [1, 2, 3]

    assert find(acme).version == 3
    assert find(acme, version=2).text == newer
    assert find(acme, version=1).text == ENGLISH
    for version in (0, 4, -1, 2**31, 2**70):
        with pytest.raises(TemplateUnknownError, match=f"has no version {version}: choose another"):
            find(acme, version=version)


def test_a_locale_that_is_not_there_is_missing_unless_there_is_a_fallback(acme: int) -> None:
    make(acme)
    add(acme, ENGLISH, BRAZILIAN)
    with pytest.raises(MissingLocaleError, match="'ru'; it has en, pt-BR"):
        find(acme, locale="ru")

    add(acme, ENGLISH, BRAZILIAN, fallback="PT_br")

    assert find(acme, locale="ru").text == BRAZILIAN


def test_an_archived_template_is_found_no_more_until_it_is_restored(acme: int) -> None:
    make(acme)
    add(acme)

    templates.archive(acme, key="welcome", actor="bob")

    with pytest.raises(TemplateUnknownError, match="'welcome' not found, or archived"):
        find(acme)
    with pytest.raises(TemplateUnknownError, match="restore it if it is archived"):
        add(acme)
    with pytest.raises(TemplateUnknownError, match="or it is archived already"):
        templates.archive(acme, key="welcome", actor="bob")
    with pytest.raises(TemplateExistsError):
        make(acme)

    templates.restore(acme, key="welcome", actor="bob")

    assert find(acme).text == ENGLISH
    with pytest.raises(TemplateUnknownError, match="no archived template"):
        templates.restore(acme, key="welcome", actor="bob")


def test_charlie_meets_acmes_template_as_one_that_does_not_exist(acme: int, globex: int) -> None:
    make(acme)
    add(acme)

    for attempt in (
        lambda: find(globex),
        lambda: find(globex, version=1),
        lambda: templates.list_versions(globex, key="welcome"),
        lambda: add(globex),
        lambda: templates.archive(globex, key="welcome", actor="charlie"),
        lambda: templates.restore(globex, key="welcome", actor="charlie"),
    ):
        with pytest.raises(TemplateUnknownError) as refused:
            attempt()
        assert refused.value.code == "template_unknown"

    assert "welcome" not in [facts.key for facts in templates.list_templates(globex)]
    assert find(acme).version == 1

    templates.archive(acme, key="welcome", actor="bob")
    with pytest.raises(TemplateUnknownError):
        templates.restore(globex, key="welcome", actor="charlie")
    with pytest.raises(TemplateUnknownError):
        find(acme)

    # One of the same key is another.
    templates.restore(acme, key="welcome", actor="bob")
    make(globex)
    add(acme)
    assert add(globex, BRAZILIAN) == 1
    assert find(globex, locale="pt-BR").text == BRAZILIAN
    with pytest.raises(TemplateUnknownError):
        find(globex, version=2)


def test_every_workspace_sees_the_built_in_template_unless_it_has_one_of_its_own(
    acme: int, globex: int
) -> None:
    chosen = find(acme, "open-seat", locale="pt-BR")
    assert (chosen.version, chosen.text.locale) == (1, "pt")
    assert find(acme, "open-seat", version=1, locale="pt") == chosen
    for number in (0, 2):
        with pytest.raises(TemplateUnknownError, match=f"'open-seat' has no version {number}"):
            find(acme, "open-seat", version=number)
    [version] = templates.list_versions(acme, key="open-seat")
    assert (version.number, version.locales) == (1, ["en", "pt", "ru"])

    make(acme, "open-seat")
    add(acme, key="open-seat")
    assert find(acme, "open-seat").text == ENGLISH
    assert find(globex, "open-seat").text != ENGLISH
    templates.archive(acme, key="open-seat", actor="bob")
    assert find(acme, "open-seat").text != ENGLISH


def test_lists_show_what_can_be_found_and_what_was_archived(acme: int) -> None:
    make(acme)
    add(acme)
    add(acme, BRAZILIAN, ENGLISH, optional=("notes",), fallback="en")
    make(acme, "open-seat")

    newest, oldest = templates.list_versions(acme, key="welcome")
    assert (newest.number, newest.locales, newest.fallback_locale) == (2, ["en", "pt-BR"], "en")
    assert (newest.required, newest.optional) == (["name"], ["notes"])
    assert (oldest.number, oldest.locales, oldest.fallback_locale) == (1, ["en"], "")

    def list_facts() -> list[tuple[str, int | None, bool, bool]]:
        return [
            (facts.key, facts.newest, facts.is_builtin, facts.archived_at is not None)
            for facts in templates.list_templates(acme)
        ]

    assert list_facts() == [("open-seat", None, False, False), ("welcome", 2, False, False)]
    templates.archive(acme, key="open-seat", actor="bob")
    assert list_facts() == [
        ("open-seat", None, False, True),
        ("open-seat", 1, True, False),
        ("welcome", 2, False, False),
    ]


def test_what_is_no_key_is_refused_and_a_key_is_taken_once(acme: int) -> None:
    for key in ("", "-a", "Welcome", "a_b", "a\n", "é", "a" * 65):
        with pytest.raises(InvalidTemplateKeyError, match="use up to 64 lowercase letters, digits"):
            make(acme, key)
    for key in ("a", "0", "a-", "a" * 64):
        make(acme, key)
        with pytest.raises(TemplateExistsError, match="already: add a version to it"):
            make(acme, key)
    with pytest.raises(InvalidNameError):
        templates.create(acme, key="welcome", name="", actor="alice")


def test_texts_that_could_not_be_sent_or_kept_are_refused(acme: int) -> None:
    make(acme)

    for texts, message in [
        ([ENGLISH, replace(ENGLISH, locale="EN")], "two texts for the locale en"),
        ([replace(ENGLISH, subject=" ")], "no subject for the locale en"),
        ([replace(ENGLISH, body="\n")], "no body for the locale en"),
        ([replace(ENGLISH, body="{{ nmae }}")], "for the locale en. nmae: Declare the variable"),
        ([ENGLISH, replace(BRAZILIAN, body="{% if name %}")], "for the locale pt-BR. .*endif"),
        ([replace(ENGLISH, body="<mjml>", format=Format.MJML)], "for the locale en. body, line 1"),
    ]:
        with pytest.raises(InvalidVersionError, match=message):
            add(acme, *texts)
    for place in ("subject", "preheader", "body", "text"):
        with pytest.raises(UnstorableTextError, match=f"The {place} was not stored"):
            add(acme, replace(ENGLISH, **{place: "a\x00"}))  # type: ignore[arg-type]  # one field
    with pytest.raises(InvalidVersionError, match="it has no text"):
        templates.add_version(acme, key="welcome", version=Version((), (), "", ()), actor="bob")
    with pytest.raises(InvalidVersionError, match="no text for its fallback locale ru"):
        add(acme, fallback="ru")
    with pytest.raises(InvalidLocaleError):
        add(acme, fallback="?")

    assert not models.TemplateVersion.objects.exists()


def test_a_variable_has_a_name_that_liquid_reads_and_is_declared_once(acme: int) -> None:
    make(acme)

    for name in ("", "1st", "a-b", "a.b", "имя", "a" * 65, "a\n"):
        with pytest.raises(InvalidVersionError, match="cannot be the name of a variable"):
            add(acme, required=[name])
    for required, optional in [(("a", "a"), ()), (("a",), ("a",))]:
        with pytest.raises(InvalidVersionError, match="the variable a is declared twice"):
            add(acme, required=required, optional=optional)


def test_nothing_rewrites_a_version(acme: int) -> None:
    make(acme)
    add(acme)

    with pytest.raises(IntegrityError, match="are never changed"), transaction.atomic():
        models.TemplateVersion.objects.update(required=[])
    with pytest.raises(IntegrityError, match="are never changed"), transaction.atomic():
        models.TemplateText.objects.update(body="Rewritten.")

    assert find(acme).text == ENGLISH


def test_the_database_takes_every_format_no_other_and_no_number_below_1(acme: int) -> None:
    version = models.TemplateVersion(
        template_id=make(acme), number=0, required=[], optional=[], fallback_locale=""
    )
    with pytest.raises(IntegrityError, match="content_version_number"), transaction.atomic():
        version.save()
    version.number = 1
    version.save()
    text = models.TemplateText(version=version, locale="en", format="word")
    with pytest.raises(IntegrityError, match="content_text_format"), transaction.atomic():
        text.save()

    for written_as in Format:
        body = "<mjml><mj-body></mj-body></mjml>" if written_as is Format.MJML else "<p>Hello.</p>"
        add(acme, replace(ENGLISH, body=body, format=written_as))

        assert find(acme).text.format is written_as


def test_the_trail_says_who_changed_what(acme: int) -> None:
    make(acme)
    add(acme, BRAZILIAN, ENGLISH)
    templates.archive(acme, key="welcome", actor="bob")
    templates.restore(acme, key="welcome", actor="alice")

    entries = AuditEntry.objects.exclude(action="workspace.created").order_by("pk")

    added = {"version": 1, "locales": ["en", "pt-BR"]}
    assert [(entry.actor, entry.action, entry.subject, entry.data) for entry in entries] == [
        ("alice", "template.created", "template welcome", {"name": "Welcome"}),
        ("bob", "template.version_added", "template welcome", added),
        ("bob", "template.archived", "template welcome", {}),
        ("alice", "template.restored", "template welcome", {}),
    ]


@pytest.mark.race
@pytest.mark.django_db(transaction=True)
def test_versions_added_at_the_same_time_are_numbered_without_a_gap() -> None:
    acme = workspaces.create_workspace("acme", actor="alice")
    make(acme)
    with transaction.atomic():
        add(acme)
        second = collide.start(partial(add, acme))
        second.must_wait()
        transaction.set_rollback(True)
    assert second.answer() == 1  # the number of the one that was given up

    numbers = collide.together([partial(add, acme)] * 7)

    assert sorted(numbers) == [2, 3, 4, 5, 6, 7, 8]

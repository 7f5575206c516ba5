"""Shows what one reader would get of a campaign, without sending or storing anything."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import assert_never

from postledger.campaigns import drafts, freezing, sources
from postledger.campaigns.drafts import CampaignFacts
from postledger.campaigns.material import OfArticle, OfPage, OfTemplate, Words
from postledger.contacts import profiles
from postledger.contacts.actions import contacts as unknowns
from postledger.content import article_letters, mailouts, slices, trials
from postledger.content.checks import Finding
from postledger.content.locales import MissingLocaleError
from postledger.content.slices import SubjectRequiredError
from postledger.content.source import Source, SourceError
from postledger.content.trials import Trial
from postledger.lib.errors import RefusedError


def _nothing() -> dict[str, object]:
    return {}


@dataclass(frozen=True, slots=True)
class Reader:
    """Who reads it; without attributes, every value that it needs is shown by its name."""

    name: str | None = None
    address: str | None = None
    from_name: str = ""  # empty: the sender's own
    locale: str = ""
    ocd_ids: Sequence[str] = ()
    attributes: Mapping[str, object] | None = field(default_factory=_nothing)


SOMEBODY = Reader(attributes=None)


@dataclass(frozen=True, slots=True)
class Preview:
    trial: Trial
    from_name: str


def contact(workspace_id: int, contact_id: int, *, list_key: str | None) -> Reader:
    """A contact as a reader, in the language in which it wants the mail of this list."""
    found = profiles.find(workspace_id, contact_id=contact_id)
    if found is None:
        raise unknowns.unknown(contact_id)
    wanted = [one.preferences.locale for one in found.subscriptions if one.list_key == list_key]
    return Reader(
        found.name,
        found.address,
        found.from_name or "",
        next(filter(None, wanted), None) or found.locale or "",
        found.ocd_ids,
        found.attributes,
    )


def of(workspace_id: int, campaign: CampaignFacts, reader: Reader, *, now: datetime) -> Preview:
    """What keeps it from being sent to this reader is among the findings."""
    sender = drafts.sender(workspace_id, campaign.sender)
    trial = _tried(workspace_id, campaign, reader, now)
    return Preview(trial, reader.from_name or sender.name)


def _tried(workspace_id: int, campaign: CampaignFacts, reader: Reader, now: datetime) -> Trial:
    match campaign.material:
        case Words() as words:
            source = Source(words.subject, words.body, words.format, words.text, words.locale)
            return _of(workspace_id, source, words.required, words.optional, reader)
        case OfTemplate(key, version):
            chosen = sources.template(workspace_id, key, version)
            try:
                source = chosen.text(reader.locale)
            except MissingLocaleError as missing:
                return _impossible(missing.code, "locale", missing)
            return _of(workspace_id, source, chosen.required, chosen.optional, reader)
        case OfArticle(key):
            return _of_article(workspace_id, key, reader, now)
        case OfPage(page_id):
            return _of_page(workspace_id, page_id, reader)
        case _:
            assert_never(campaign.material)


def _of_article(workspace_id: int, key: str, reader: Reader, now: datetime) -> Trial:
    published = sources.slices(workspace_id, key)
    try:
        found = slices.assemble(published, ocd_ids=frozenset(reader.ocd_ids), now=now)
    except SubjectRequiredError as refused:
        return _impossible(refused.code, "subject", refused)
    return _of(workspace_id, article_letters.source(found), (), (), reader)


def _of(
    workspace_id: int,
    source: Source,
    required: tuple[str, ...],
    optional: tuple[str, ...],
    reader: Reader,
) -> Trial:
    return trials.of(
        source,
        required=required,
        optional=optional,
        values=_values(reader, (*required, *optional)),
        footing=trials.footing(workspace_id),
    )


def _of_page(workspace_id: int, page_id: str, reader: Reader) -> Trial:
    page = mailouts.read(mailouts.notion_of(workspace_id), page_id)
    footing = trials.footing(workspace_id)
    try:
        freezing.check_page(page)
        script = mailouts.script(page, locale="en", footer=footing.footer)
    except SourceError as refused:
        return Trial((*refused.findings, *page.findings))
    except RefusedError as refused:
        return _impossible(refused.code, "page", refused)
    trial = trials.of_script(script, values=_values(reader, ()), footing=footing)
    return replace(trial, findings=(*trial.findings, *page.findings))


def _values(reader: Reader, names: tuple[str, ...]) -> dict[str, object]:
    given = {"name": reader.name, "email": reader.address}
    known = {name: value for name, value in given.items() if value is not None}
    if reader.attributes is None:
        return {**{name: f"[{name}]" for name in names}, **known}
    held = {name: reader.attributes[name] for name in names if name in reader.attributes}
    return {**held, **known}


def _impossible(code: str, place: str, why: Exception) -> Trial:
    return Trial((Finding(code, place, str(why)),))

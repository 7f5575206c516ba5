"""Previews a campaign without sending or storing anything: the mail of one recipient, and the
contacts that lack a value.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import assert_never

from postledger.accounts import queries as accounts
from postledger.accounts.queries import SenderArchivedError
from postledger.campaigns.drafts import recipients
from postledger.campaigns.drafts.drafts import CampaignFacts
from postledger.contacts import audience, queries
from postledger.content import notion_pages, previews, slices
from postledger.content.brandings import find_branding
from postledger.content.locales import MissingLocaleError
from postledger.content.rendering.html.checks import Finding
from postledger.content.rendering.mail_preview import MailPreview
from postledger.content.rendering.source import SourceError
from postledger.content.slices import SubjectRequiredError
from postledger.lib.errors import RefusedError, TooManyRequestsError
from postledger.mailing import content_source, missing_values, snapshot
from postledger.mailing.content_source import (
    ArticleSource,
    InlineSource,
    PageSource,
    TemplateSource,
)
from postledger.mailing.missing_values import MissingValue

CHECKED = 10_000  # contacts of an audience that takes too long to check as a whole
_ALL = 2**62


@dataclass(frozen=True, slots=True)
class PreviewRecipient:
    name: str | None = None
    address: str | None = None
    from_name: str = ""  # empty: the sender's own
    locale: str = ""
    ocd_ids: Sequence[str] = ()
    # None: each variable is shown by its name.
    attributes: Mapping[str, object] | None = field(default_factory=dict)


ANYBODY = PreviewRecipient(attributes=None)


@dataclass(frozen=True, slots=True)
class Preview:
    mail: MailPreview
    from_name: str


def find_recipient(workspace_id: int, contact_id: int, *, list_key: str | None) -> PreviewRecipient:
    """A contact as a recipient, in the language of its subscription to this list."""
    contact = queries.get_contact(workspace_id, contact_id=contact_id)
    locales = queries.list_locales(workspace_id, contact_ids=[contact_id], list_key=list_key)
    return PreviewRecipient(
        contact.name,
        contact.address,
        contact.from_name or "",
        locales.get(contact_id, ""),
        contact.ocd_ids,
        contact.attributes,
    )


def render_preview(
    workspace_id: int, campaign: CampaignFacts, recipient: PreviewRecipient, *, now: datetime
) -> Preview:
    """The findings say what would keep the mail from being sent to this recipient."""
    sender = accounts.find_sender(workspace_id, address=campaign.sender)
    mail = _preview_content(workspace_id, campaign, recipient, now)
    try:
        accounts.refuse_archived(sender)
    except SenderArchivedError as error:
        finding = Finding(error.code, "sender", error.sentence)
        mail = replace(mail, findings=(*mail.findings, finding))
    return Preview(mail, recipient.from_name or sender.name)


@dataclass(frozen=True, slots=True)
class AudienceCheck:
    """The required values that contacts lack, by variable: their mail would fail."""

    is_complete: bool  # False: only the first contacts were checked, or none
    missing_values: Sequence[MissingValue] | None  # None: even that took too long


def check_audience(
    workspace_id: int,
    campaign: CampaignFacts,
    *,
    now: datetime,
    patience: timedelta = audience.PATIENCE,
    patience_for_some: timedelta = audience.PATIENCE,
) -> AudienceCheck:
    """Reads every contact that a launch would send to now, or the first ones if that takes long.

    A filter may find few contacts among many, so that the first ones take as long as all: then
    none is checked.
    """
    required = _find_required(workspace_id, campaign)
    if not required:
        return AudienceCheck(is_complete=True, missing_values=())
    for limit, most_time in ((_ALL, patience), (CHECKED, patience_for_some)):
        with suppress(audience.FilterTooCostlyError), audience.limited_time(most_time):
            frozen = recipients.freeze_audience(workspace_id, campaign, now=now)
            people = audience.compile_chunk(workspace_id, frozen, after="", limit=limit)
            unserved = recipients.list_unserved_locales(workspace_id, campaign, now=now)
            missing = missing_values.list_missing(people, required, unserved_locales=unserved)
            return AudienceCheck(is_complete=limit == _ALL, missing_values=missing)
    return AudienceCheck(is_complete=False, missing_values=None)


def _find_required(workspace_id: int, campaign: CampaignFacts) -> Sequence[str]:
    match campaign.content:
        case InlineSource(required=required):
            return required
        case TemplateSource() as content:
            return content_source.find_template(workspace_id, content).required
        case ArticleSource() | PageSource():
            return ()
        case _:
            assert_never(campaign.content)


def _preview_content(
    workspace_id: int, campaign: CampaignFacts, recipient: PreviewRecipient, now: datetime
) -> MailPreview:
    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    try:
        match campaign.content:
            case InlineSource(required=required, optional=optional) as content:
                source = content.source
            case TemplateSource() as content:
                version = content_source.find_template(workspace_id, content)
                source = version.text(recipient.locale)
                required, optional = version.required, version.optional
            case ArticleSource() as content:
                published = content_source.find_slices(workspace_id, content)
                places = frozenset(recipient.ocd_ids)
                source = slices.assemble(published, ocd_ids=places, now=now).source()
            case PageSource(page_id):
                return preview_page(workspace_id, page_id, recipient)
            case _:
                assert_never(campaign.content)
    except MissingLocaleError as error:
        return _impossible(error, "locale")
    except SubjectRequiredError as error:
        return _impossible(error, "subject")
    return previews.preview_source(
        workspace_id,
        source,
        required=required,
        optional=optional,
        values=choose_values(recipient, (*required, *optional)),
        footer=previews.preview_footer(workspace_id),
    )


def preview_page(workspace_id: int, page_id: str, recipient: PreviewRecipient) -> MailPreview:
    """A Notion page, which is read over the network."""
    page = notion_pages.look_at_page(notion_pages.require_notion(workspace_id), page_id)
    footer = previews.preview_footer(workspace_id)
    try:
        snapshot.check_page(page)
        script = notion_pages.make_script(
            workspace_id,
            page,
            locale="en",
            footer=footer.footer,
            branding=find_branding(workspace_id),
        )
    except SourceError as error:
        return MailPreview((*error.findings, *page.findings))
    except TooManyRequestsError:
        raise  # says nothing about the page
    except RefusedError as error:
        return _impossible(error, "page")
    values = choose_values(recipient, ())
    mail = previews.preview_script(workspace_id, script, values=values, footer=footer)
    return replace(mail, findings=(*mail.findings, *page.findings))


def choose_values(recipient: PreviewRecipient, names: tuple[str, ...]) -> dict[str, object]:
    """What fills in these variables in the mail of a recipient."""
    if recipient.attributes is None:
        values: dict[str, object] = {name: _stand_in(name) for name in names}
    else:
        given = recipient.attributes
        values = {name: given[name] for name in names if name in given}
    if recipient.name is not None:
        values["name"] = recipient.name
    if recipient.address is not None:
        values["email"] = recipient.address
    return values


def _stand_in(name: str) -> str:
    """A variable by its name; one for links as a link, because nothing else is sent as one."""
    is_link = name.lower().endswith(("url", "link"))
    return f"https://example.com/{name}" if is_link else f"[{name}]"


def _impossible(error: RefusedError, field_name: str) -> MailPreview:
    return MailPreview((Finding(error.code, field_name, error.sentence),))

"""Renders a campaign for one recipient, without sending or storing anything."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import assert_never

from postledger.accounts import queries as accounts
from postledger.accounts.queries import SenderArchivedError
from postledger.campaigns.drafts import CampaignFacts
from postledger.contacts import queries
from postledger.content import notion_pages, previews, slices
from postledger.content.locales import MissingLocaleError
from postledger.content.rendering.checks import Finding
from postledger.content.rendering.mail_preview import MailPreview
from postledger.content.rendering.source import SourceError
from postledger.content.slices import SubjectRequiredError
from postledger.lib.errors import RefusedError, TooManyRequestsError
from postledger.mailing import content_source, snapshot
from postledger.mailing.content_source import (
    ArticleSource,
    InlineSource,
    PageSource,
    TemplateSource,
)


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
        finding = Finding(error.code, "sender", str(error))
        mail = replace(mail, findings=(*mail.findings, finding))
    return Preview(mail, recipient.from_name or sender.name)


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
                return _preview_page(workspace_id, page_id, recipient)
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
        values=_values(recipient, (*required, *optional)),
        footer=previews.preview_footer(workspace_id),
    )


def _preview_page(workspace_id: int, page_id: str, recipient: PreviewRecipient) -> MailPreview:
    page = notion_pages.read_page(notion_pages.require_notion(workspace_id), page_id)
    footer = previews.preview_footer(workspace_id)
    try:
        snapshot.check_page(page)
        script = notion_pages.make_script(workspace_id, page, locale="en", footer=footer.footer)
    except SourceError as error:
        return MailPreview((*error.findings, *page.findings))
    except TooManyRequestsError:
        raise  # says nothing about the page
    except RefusedError as error:
        return _impossible(error, "page")
    values = _values(recipient, ())
    mail = previews.preview_script(workspace_id, script, values=values, footer=footer)
    return replace(mail, findings=(*mail.findings, *page.findings))


def _values(recipient: PreviewRecipient, names: tuple[str, ...]) -> dict[str, object]:
    if recipient.attributes is None:
        values: dict[str, object] = {name: f"[{name}]" for name in names}
    else:
        given = recipient.attributes
        values = {name: given[name] for name in names if name in given}
    if recipient.name is not None:
        values["name"] = recipient.name
    if recipient.address is not None:
        values["email"] = recipient.address
    return values


def _impossible(error: RefusedError, field_name: str) -> MailPreview:
    return MailPreview((Finding(error.code, field_name, str(error)),))

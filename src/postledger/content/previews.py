"""Previews content of authors, within the limits of `isolation`, and with a workspace's footer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from postledger.accounts import queries as accounts
from postledger.content import isolation, letters, slices
from postledger.content.brandings import find_branding
from postledger.content.rendering import mail_preview
from postledger.content.rendering.compiled_template import Values
from postledger.content.rendering.footer import FooterEnvMissingError
from postledger.content.rendering.html.checks import Finding
from postledger.content.rendering.letter import Script
from postledger.content.rendering.mail_preview import MailPreview, PreviewFooter
from postledger.content.rendering.source import Source
from postledger.content.slices import Slice, SubjectRequiredError


def preview_footer(workspace_id: int) -> PreviewFooter:
    """The link is the unsubscribe page without a token: following it unsubscribes nobody."""
    organisation = accounts.organisation(workspace_id)
    try:
        footer = letters.require_footer(organisation)
    except FooterEnvMissingError as missing:
        return PreviewFooter(missing=(Finding(missing.code, "footer", missing.sentence),))
    return PreviewFooter(footer, values={"unsubscribe_url": organisation.unsubscribe_page})


def preview_source(  # noqa: PLR0913  the parts of a preview, each by its name
    workspace_id: int,
    source: Source,
    *,
    required: tuple[str, ...] = (),
    optional: tuple[str, ...] = (),
    values: Values | None = None,
    footer: PreviewFooter | None = None,
) -> MailPreview:
    """With a reader's values it is also filled in; without a footer, it is mail without one."""
    return isolation.render(
        workspace_id,
        mail_preview.preview_source,
        source,
        required=required,
        optional=optional,
        values=values,
        footer=footer,
        branding=find_branding(workspace_id),
    )


@dataclass(frozen=True, slots=True)
class ArticlePreview:
    slices: Sequence[Slice]  # of the body, in order
    dek: str | None  # None: there is no letter
    mail: MailPreview


def preview_article(
    workspace_id: int, published: Sequence[Slice], *, ocd_ids: frozenset[str], now: datetime
) -> ArticlePreview:
    """The letter of a recipient with these OCD ids, with the workspace's footer."""
    chosen = slices.choose(published, ocd_ids=ocd_ids, now=now)
    try:
        letter = slices.assemble(chosen, ocd_ids=ocd_ids, now=now)
    except SubjectRequiredError as refused:
        finding = Finding(refused.code, "subject", refused.sentence)
        return ArticlePreview(chosen, None, MailPreview((finding,)))
    footer = preview_footer(workspace_id)
    mail = preview_source(workspace_id, letter.source(), values={}, footer=footer)
    return ArticlePreview(chosen, letter.dek, mail)


def preview_script(
    workspace_id: int, script: Script, *, values: Values | None, footer: PreviewFooter | None
) -> MailPreview:
    """The same for a letter that was made already."""
    return isolation.render(
        workspace_id, mail_preview.preview_script, script, values=values, footer=footer
    )


def list_variables(workspace_id: int, source: Source) -> Mapping[str, bool] | None:
    """The variables of contacts that the texts use, each with whether it leaves a gap where it is
    missing; None if their Liquid cannot be read.
    """
    return isolation.render(workspace_id, mail_preview.list_variables, source)

"""Previews content of authors, within the limits of `isolation`, and with a workspace's footer."""

from postledger.accounts import queries as accounts
from postledger.content import isolation, letters
from postledger.content.rendering import mail_preview
from postledger.content.rendering.checks import Finding
from postledger.content.rendering.compiled_template import Values
from postledger.content.rendering.footer import FooterEnvMissingError
from postledger.content.rendering.letter import Script
from postledger.content.rendering.mail_preview import MailPreview, PreviewFooter
from postledger.content.rendering.source import Source


def preview_footer(workspace_id: int) -> PreviewFooter:
    """The link is the unsubscribe page without a token: following it unsubscribes nobody."""
    organisation = accounts.organisation(workspace_id)
    try:
        footer = letters.require_footer(organisation)
    except FooterEnvMissingError as missing:
        return PreviewFooter(missing=(Finding(missing.code, "footer", str(missing)),))
    return PreviewFooter(footer, values={"unsubscribe_url": organisation.unsubscribe_base_url})


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
    )


def preview_script(
    workspace_id: int, script: Script, *, values: Values | None, footer: PreviewFooter | None
) -> MailPreview:
    """The same for a letter that was made already."""
    return isolation.render(
        workspace_id, mail_preview.preview_script, script, values=values, footer=footer
    )


def list_variables(workspace_id: int, source: Source) -> tuple[str, ...] | None:
    """The variables of contacts that the texts use; None if their Liquid cannot be read."""
    return isolation.render(workspace_id, mail_preview.list_variables, source)

"""Routes that check and preview content without storing it."""

from pydantic import Field

from postledger.accounts.keys import Scope
from postledger.content import previews
from postledger.content.rendering.compiled_template import Values as TemplateValues
from postledger.content.rendering.mail_preview import MailPreview
from postledger.web.api.common.fields import Locale, Values
from postledger.web.api.common.routing import Call, Routes
from postledger.web.api.common.schemas import (
    DeclaredVariables,
    FindingOut,
    PreviewOut,
    ResponseSchema,
    SourceIn,
    preview_fields,
)

routes = Routes("content", read=Scope.CONTENT_READ, write=Scope.CONTENT_READ)


class ContentIn(SourceIn, DeclaredVariables):
    """Content that is about to be sent."""

    locale: Locale = "en"
    values: Values | None = Field(
        default=None, description="Values of one recipient; the check then renders with them."
    )
    has_footer: bool = Field(default=False, description="Whether to add the workspace's footer.")


class CheckOut(ResponseSchema):
    """All findings: errors first, then warnings."""

    findings: list[FindingOut]
    can_be_sent: bool = Field(description="Whether there is no error.")


class ContentPreview(PreviewOut, CheckOut):
    """The findings, and what one recipient would get."""


@routes.post("/check", CheckOut)
def check_content(call: Call, payload: ContentIn) -> dict[str, object]:
    """Reports whether the content can be sent, and what to do if not. Stores nothing."""
    preview = _render(call, payload, payload.values)
    return {"findings": preview.findings, "can_be_sent": not preview.faults()}


@routes.post("/preview", ContentPreview)
def preview_content(call: Call, payload: ContentIn) -> dict[str, object]:
    """Checks the content and renders it if that is possible. Stores nothing."""
    preview = _render(call, payload, payload.values or {})
    return preview_fields(preview, can_be_sent=not preview.faults())


def _render(call: Call, payload: ContentIn, values: TemplateValues | None) -> MailPreview:
    return previews.preview_source(
        call.workspace_id,
        payload.source(payload.locale),
        required=tuple(payload.required),
        optional=tuple(payload.optional),
        values=values,
        footer=previews.preview_footer(call.workspace_id) if payload.has_footer else None,
    )

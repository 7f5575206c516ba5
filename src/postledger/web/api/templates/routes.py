"""Routes for templates and their versions."""

from dataclasses import asdict, replace
from typing import Annotated

from ninja import Path

from postledger.accounts.keys import Scope
from postledger.content import previews, templates
from postledger.content.rendering.html.checks import Finding
from postledger.content.templates import TemplateSummary, TemplateUnknownError
from postledger.content.versions import Version
from postledger.transactional.requests import InvalidMailError, MailIssue, Validation
from postledger.web.api.common.fields import LAST_NUMBER, TemplateKey
from postledger.web.api.common.routing import Call, Routes
from postledger.web.api.common.schemas import preview_fields
from postledger.web.api.templates.schemas import (
    AddedVersion,
    NewTemplateIn,
    TemplateList,
    TemplateOut,
    TemplatePreview,
    TemplatePreviewIn,
    VersionIn,
    VersionList,
    VersionWithTexts,
)

routes = Routes("templates", read=Scope.CONTENT_READ, write=Scope.CONTENT_WRITE)

TemplateId = Annotated[TemplateKey, Path(description="The id of the template.")]
Number = Annotated[int, Path(ge=1, le=LAST_NUMBER, description="The number of the version.")]


@routes.get("", TemplateList)
def list_templates(call: Call) -> dict[str, object]:
    """The workspace's templates, archived ones included, and the built-in ones; by id."""
    return {"templates": templates.list_templates(call.workspace_id)}


@routes.post("", TemplateOut, status=201, shown_with=None)
def create_template(call: Call, payload: NewTemplateIn) -> TemplateSummary:
    """Creates a template without a version. It replaces a built-in template of the same id."""
    templates.create(call.workspace_id, key=payload.id, name=payload.name, actor=call.actor)
    return _find_own(call, payload.id)


@routes.get("/{template_id}", TemplateOut)
def get_template(call: Call, template_id: TemplateId) -> TemplateSummary:
    """The template that mail with this id is made from; an archived one if there is no other."""
    same_key = _find_all(call, template_id)
    in_use = [template for template in same_key if template.archived_at is None]
    return (in_use or same_key)[0]


@routes.post("/{template_id}/versions", AddedVersion, status=201, shown_with=None)
def add_template_version(
    call: Call, template_id: TemplateId, payload: VersionIn
) -> dict[str, object]:
    """Adds the version that new mail is made from. Texts that cannot be sent are refused."""
    version = payload.version()
    warnings = _review(call, version)
    number = templates.add_version(
        call.workspace_id, key=template_id, version=version, actor=call.actor
    )
    return {"version": number, "findings": warnings}


def _review(call: Call, version: Version) -> list[Finding]:
    """The warnings about all texts; errors refuse the version, each under its locale."""
    warnings: list[Finding] = []
    issues: list[MailIssue] = []
    for index, source in enumerate(version.texts):
        preview = previews.preview_source(
            call.workspace_id, source, required=version.required, optional=version.optional
        )
        for finding in preview.findings:
            place = f"{source.locale}: {finding.place}"
            if finding.is_warning:
                warnings.append(replace(finding, place=place))
            else:
                detail = f"{finding.code}: {finding.remedy}"
                issues.append(MailIssue(Validation.INVALID_TEMPLATE, place, detail, index))
    if issues:
        raise InvalidMailError(issues)
    return warnings


@routes.get("/{template_id}/versions", VersionList)
def list_template_versions(call: Call, template_id: TemplateId) -> dict[str, object]:
    """All versions, without their texts."""
    return {"versions": templates.list_versions(call.workspace_id, key=template_id)}


@routes.get("/{template_id}/versions/{int:number}", VersionWithTexts)
def get_template_version(call: Call, template_id: TemplateId, number: Number) -> dict[str, object]:
    """A version with its texts in all locales."""
    for summary in templates.list_versions(call.workspace_id, key=template_id):
        if summary.number == number:
            version = templates.find_version(call.workspace_id, key=template_id, number=number)
            return {**asdict(summary), "texts": version.texts}
    raise TemplateUnknownError


@routes.post("/{template_id}/archive", TemplateOut)
def archive_template(call: Call, template_id: TemplateId) -> TemplateSummary:
    """Makes no new mail from the template. Its id stays taken."""
    templates.archive(call.workspace_id, key=template_id, actor=call.actor)
    return _find_own(call, template_id)


@routes.post("/{template_id}/restore", TemplateOut)
def restore_template(call: Call, template_id: TemplateId) -> TemplateSummary:
    """Takes an archived template into use again."""
    templates.restore(call.workspace_id, key=template_id, actor=call.actor)
    return _find_own(call, template_id)


@routes.post("/{template_id}/preview", TemplatePreview, scopes=[Scope.CONTENT_READ])
def preview_template(
    call: Call, template_id: TemplateId, payload: TemplatePreviewIn
) -> dict[str, object]:
    """Renders a text with the variables; the findings say what would prevent sending it."""
    version = templates.find_version(call.workspace_id, key=template_id, number=payload.version)
    text = version.text(payload.locale)
    preview = previews.preview_source(
        call.workspace_id,
        text,
        required=version.required,
        optional=version.optional,
        values=payload.variables,
    )
    return preview_fields(preview, version=version.number, locale=text.locale)


def _find_all(call: Call, key: str) -> list[TemplateSummary]:
    """The workspace's own template of this key, the built-in one, or both."""
    same_key = [
        template for template in templates.list_templates(call.workspace_id) if template.key == key
    ]
    if not same_key:
        raise TemplateUnknownError
    return same_key


def _find_own(call: Call, key: str) -> TemplateSummary:
    return next(template for template in _find_all(call, key) if not template.is_builtin)

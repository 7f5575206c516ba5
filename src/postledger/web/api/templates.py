"""The door for templates: make them, add versions, look at them, and see what a reader gets."""

from dataclasses import replace
from typing import Annotated

from django.http import HttpRequest
from ninja import Path, Router
from ninja.responses import Status

from postledger.accounts.keys import Scope
from postledger.content import templates, trials
from postledger.content.checks import Finding
from postledger.content.templates import TemplateFacts, TemplateUnknownError
from postledger.transactional import values
from postledger.transactional.values import Flaw, Validation
from postledger.web.api import findings, template_forms
from postledger.web.api.template_forms import (
    AddedVersion,
    NewTemplateIn,
    TemplateList,
    TemplateOut,
    TemplatePreview,
    TemplatePreviewIn,
    VersionIn,
    VersionList,
    WholeVersion,
)
from postledger.web.api.words import TemplateKey
from postledger.web.shared import auth
from postledger.web.shared.problems import KINDS, Problem

router = Router(tags=["templates"])

_PROBLEMS = frozenset(KINDS)

_reader = auth.ApiKey(Scope.CONTENT_READ)
_writer = auth.ApiKey(Scope.CONTENT_WRITE)

TemplateId = Path[TemplateKey]
Number = Annotated[int, Path(ge=1, le=2**31 - 1)]


@router.get(
    "",
    auth=_reader,
    response={200: TemplateList, _PROBLEMS: Problem},
    operation_id="listTemplates",
    summary="List templates",
)
def listing(request: HttpRequest) -> TemplateList:
    """The workspace's own, archived ones too, and those that come with the product; by id."""
    found = templates.listing(auth.caller(request).workspace_id)
    return TemplateList(templates=[template_forms.template(facts) for facts in found])


@router.post(
    "",
    auth=_writer,
    response={201: TemplateOut, _PROBLEMS: Problem},
    operation_id="createTemplate",
    summary="Create a template",
)
def create(request: HttpRequest, payload: NewTemplateIn) -> Status[TemplateOut]:
    """Makes a template without a version; it stands before one of the product with its id."""
    caller = auth.caller(request)
    templates.create(caller.workspace_id, key=payload.id, name=payload.name, actor=caller.actor)
    return Status(201, _own(caller.workspace_id, payload.id))


@router.get(
    "/{template_id}",
    auth=_reader,
    response={200: TemplateOut, _PROBLEMS: Problem},
    operation_id="getTemplate",
    summary="Look at a template",
)
def look(request: HttpRequest, template_id: TemplateId) -> TemplateOut:
    """The one that mail of this id is made from; an archived one where there is no other."""
    found = _facts(auth.caller(request).workspace_id, template_id)
    in_use = [facts for facts in found if facts.archived_at is None]
    return template_forms.template(next(iter(in_use or found)))


@router.post(
    "/{template_id}/versions",
    auth=_writer,
    response={201: AddedVersion, _PROBLEMS: Problem},
    operation_id="addTemplateVersion",
    summary="Add a version",
)
def add_version(
    request: HttpRequest, template_id: TemplateId, payload: VersionIn
) -> Status[AddedVersion]:
    """Says what the template says from now on; texts that could not be sent are refused."""
    caller = auth.caller(request)
    warnings = _reviewed(payload)
    number = templates.add_version(
        caller.workspace_id,
        key=template_id,
        required=payload.required,
        optional=payload.optional,
        fallback_locale=payload.fallback_locale or "",
        texts=payload.sources(),
        actor=caller.actor,
    )
    return Status(201, AddedVersion(version=number, findings=findings.told(warnings)))


def _reviewed(payload: VersionIn) -> list[Finding]:
    """The warnings about all texts; faults refuse the version, each under its locale."""
    required, optional = tuple(payload.required), tuple(payload.optional)
    warnings: list[Finding] = []
    flaws: list[Flaw] = []
    for index, source in enumerate(payload.sources()):
        for found in trials.of(source, required=required, optional=optional).findings:
            placed = replace(found, place=f"{source.locale}: {found.place}")
            if found.is_warning:
                warnings.append(placed)
            else:
                detail = f"{found.code}: {found.remedy}"
                flaws.append(Flaw(Validation.INVALID_TEMPLATE, placed.place, detail, index))
    if flaws:
        raise values.refusal(flaws)
    return warnings


@router.get(
    "/{template_id}/versions",
    auth=_reader,
    response={200: VersionList, _PROBLEMS: Problem},
    operation_id="listTemplateVersions",
    summary="List a template's versions",
)
def versions(request: HttpRequest, template_id: TemplateId) -> VersionList:
    """All that the template ever said, without the words."""
    found = templates.versions(auth.caller(request).workspace_id, key=template_id)
    return VersionList(versions=[template_forms.version(facts) for facts in found])


@router.get(
    "/{template_id}/versions/{int:number}",
    auth=_reader,
    response={200: WholeVersion, _PROBLEMS: Problem},
    operation_id="getTemplateVersion",
    summary="Look at a version",
)
def version(request: HttpRequest, template_id: TemplateId, number: Number) -> WholeVersion:
    """What the template says, in all its locales."""
    workspace_id = auth.caller(request).workspace_id
    known = templates.versions(workspace_id, key=template_id)
    facts = next((facts for facts in known if facts.number == number), None)
    if facts is None:
        raise TemplateUnknownError
    texts = [
        templates.find(workspace_id, key=template_id, version=number, locale=locale).text
        for locale in facts.locales
    ]
    return template_forms.whole(facts, texts)


@router.post(
    "/{template_id}/archive",
    auth=_writer,
    response={200: TemplateOut, _PROBLEMS: Problem},
    operation_id="archiveTemplate",
    summary="Take a template out of use",
)
def archive(request: HttpRequest, template_id: TemplateId) -> TemplateOut:
    """No new mail is made from it; its id stays taken."""
    caller = auth.caller(request)
    templates.archive(caller.workspace_id, key=template_id, actor=caller.actor)
    return _own(caller.workspace_id, template_id)


@router.post(
    "/{template_id}/restore",
    auth=_writer,
    response={200: TemplateOut, _PROBLEMS: Problem},
    operation_id="restoreTemplate",
    summary="Take a template into use again",
)
def restore(request: HttpRequest, template_id: TemplateId) -> TemplateOut:
    """Ends what archiving began."""
    caller = auth.caller(request)
    templates.restore(caller.workspace_id, key=template_id, actor=caller.actor)
    return _own(caller.workspace_id, template_id)


@router.post(
    "/{template_id}/preview",
    auth=_reader,
    response={200: TemplatePreview, _PROBLEMS: Problem},
    operation_id="previewTemplate",
    summary="See what a reader gets",
)
def preview(
    request: HttpRequest, template_id: TemplateId, payload: TemplatePreviewIn
) -> TemplatePreview:
    """Fills a text in; what would keep it from being sent is among the findings."""
    found = templates.find(
        auth.caller(request).workspace_id,
        key=template_id,
        version=payload.version,
        locale=payload.locale,
    )
    trial = trials.of(
        found.text, required=found.required, optional=found.optional, values=payload.variables
    )
    return findings.preview(TemplatePreview, trial, version=found.version, locale=found.text.locale)


def _facts(workspace_id: int, key: str) -> list[TemplateFacts]:
    """What goes under this key: the workspace's own, the built-in one, or both."""
    found = [facts for facts in templates.listing(workspace_id) if facts.key == key]
    if not found:
        raise TemplateUnknownError
    return found


def _own(workspace_id: int, key: str) -> TemplateOut:
    found = _facts(workspace_id, key)
    return template_forms.template(next(facts for facts in found if not facts.is_builtin))

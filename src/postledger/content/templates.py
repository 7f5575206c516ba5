"""A workspace's templates: creates them, adds versions, and finds the text that is to be filled."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from django.contrib.postgres.aggregates import ArrayAgg
from django.db import transaction
from django.db.models import Max, QuerySet
from django.db.models.functions import Now

from postledger.accounts import constraints, trail
from postledger.content import models
from postledger.content.rendering.source import Format, Source
from postledger.content.versions import BuiltinTemplate, Version, builtin_templates, check_version
from postledger.lib.errors import ConflictError, NotFoundError, RefusedError
from postledger.lib.sentences import say


class TemplateExistsError(ConflictError):
    code = "template_exists"


class NewerVersionError(ConflictError):
    code = "newer_version"


class TemplateUnknownError(NotFoundError):
    code = "template_unknown"


class InvalidTemplateKeyError(RefusedError):
    code = "invalid_template_key"


@dataclass(frozen=True, slots=True)
class TemplateSummary:
    """A template in a list; a built-in one has no dates."""

    key: str
    name: str
    newest: int | None
    created_at: datetime | None = None
    archived_at: datetime | None = None
    is_builtin: bool = False


@dataclass(frozen=True, slots=True)
class VersionSummary:
    """A version in a list, without its texts."""

    number: int
    required: Sequence[str]
    optional: Sequence[str]
    fallback_locale: str
    locales: Sequence[str]
    created_at: datetime | None = None


def create(workspace_id: int, *, key: str, name: str, actor: str) -> int:
    """Creates a template without a version; it hides a built-in one with the same key."""
    constraints.check_name("a template", name)
    taken = TemplateExistsError(
        say(
            "This workspace has a template '%(key)s' already: add a version to it, restore it"
            " if it is archived, or choose another key.",
            key=key,
        )
    )
    wrong = InvalidTemplateKeyError(
        say(
            "'%(key)s' cannot be the key of a template: use up to 64 lowercase letters, digits"
            " and hyphens, and begin with no hyphen.",
            key=key[:64],
        )
    )
    with constraints.refusing(content_template_once=taken, content_template_key=wrong):
        template = models.Template.objects.create(workspace_id=workspace_id, key=key, name=name)
        _note(workspace_id, actor, "template.created", key, name=name)
    return template.pk


def add_version(
    workspace_id: int, *, key: str, version: Version, actor: str, after: int | None = None
) -> int:
    """Adds a version, from now on the newest, and returns its number: 1, 2, 3 without a gap.

    With `after`, the number of the version that the caller has seen, or 0, the version is refused
    if a newer one exists.
    """
    checked = check_version(version, workspace_id=workspace_id)
    with transaction.atomic():
        template = _lock(workspace_id, key)
        if after not in {None, _find_newest(template)}:
            raise NewerVersionError(
                say(
                    "The template '%(key)s' has a newer version meanwhile: look at it before you"
                    " add yours.",
                    key=key,
                )
            )
        number = _store(template, checked)
        added: dict[str, trail.Fact] = {"version": number, "locales": checked.locales()}
        _note(workspace_id, actor, "template.version_added", key, **added)
    return number


def archive(workspace_id: int, *, key: str, actor: str) -> None:
    """Takes a template out of use; a built-in one with the same key is seen again."""
    with transaction.atomic():
        if not _in_use(workspace_id, key).update(archived_at=Now()):
            raise TemplateUnknownError(
                say(
                    "This workspace has no template '%(key)s' of its own, or it is archived"
                    " already.",
                    key=key,
                )
            )
        _note(workspace_id, actor, "template.archived", key)


def restore(workspace_id: int, *, key: str, actor: str) -> None:
    """Takes an archived template into use again."""
    archived = models.Template.objects.filter(
        workspace_id=workspace_id, key=key, archived_at__isnull=False
    )
    with transaction.atomic():
        if not archived.update(archived_at=None):
            raise TemplateUnknownError(
                say("This workspace has no archived template '%(key)s'.", key=key)
            )
        _note(workspace_id, actor, "template.restored", key)


def find_version(workspace_id: int, *, key: str, number: int | None) -> Version:
    """A version in all its locales; without a number, the newest.

    A workspace's own template hides the built-in one with the same key.
    """
    return _find_own(workspace_id, key, number) or _find_builtin(key, number)


def list_templates(workspace_id: int) -> list[TemplateSummary]:
    """A workspace's own templates, and the built-in ones that these do not hide; by key."""
    own = [
        TemplateSummary(**row)
        for row in models.Template.objects.filter(workspace_id=workspace_id)
        .annotate(newest=Max("templateversion__number"))
        .values("key", "name", "newest", "created_at", "archived_at")
    ]
    hidden = {template.key for template in own if template.archived_at is None}
    builtins = [
        TemplateSummary(key, template.name, len(template.versions), is_builtin=True)
        for key, template in builtin_templates().items()
        if key not in hidden
    ]
    return sorted([*own, *builtins], key=lambda template: (template.key, template.is_builtin))


def list_versions(workspace_id: int, *, key: str) -> list[VersionSummary]:
    """All versions of the template that `find_version` looks into, the newest first."""
    template_id = _in_use(workspace_id, key).values_list("pk", flat=True).first()
    if template_id is None:
        return [_summarize(version) for version in reversed(_builtin(key).versions)]
    rows = (
        models.TemplateVersion.objects.filter(template_id=template_id)
        .annotate(locales=ArrayAgg("templatetext__locale", order_by="templatetext__locale"))
        .order_by("-number")
        .values("number", "required", "optional", "fallback_locale", "locales", "created_at")
    )
    return [VersionSummary(**row) for row in rows]


def _summarize(version: Version) -> VersionSummary:
    return VersionSummary(
        version.number,
        version.required,
        version.optional,
        version.fallback_locale,
        version.locales(),
    )


def _in_use(workspace_id: int, key: str) -> QuerySet[models.Template]:
    return models.Template.objects.filter(workspace_id=workspace_id, key=key, archived_at=None)


def _lock(workspace_id: int, key: str) -> int:
    """Versions are added one after the other, so that two at once get two numbers."""
    own = _in_use(workspace_id, key).select_for_update(no_key=True).order_by("pk")
    template_id = own.values_list("pk", flat=True).first()
    if template_id is None:
        raise TemplateUnknownError(
            say(
                "This workspace has no template '%(key)s' of its own: create it, or restore it"
                " if it is archived.",
                key=key,
            )
        )
    return template_id


def _find_newest(template_id: int) -> int:
    """0 without any version."""
    versions = models.TemplateVersion.objects.filter(template_id=template_id)
    newest: int | None = versions.aggregate(newest=Max("number"))["newest"]
    return newest or 0


def _store(template_id: int, version: Version) -> int:
    number = _find_newest(template_id) + 1
    row = models.TemplateVersion.objects.create(
        template_id=template_id,
        number=str(number),
        required=list(version.required),
        optional=list(version.optional),
        fallback_locale=version.fallback_locale,
    )
    models.TemplateText.objects.bulk_create(
        models.TemplateText(version=row, **{**asdict(text), "format": text.format.value})
        for text in version.texts
    )
    return number


def _find_own(workspace_id: int, key: str, number: int | None) -> Version | None:
    """None when the workspace has no template with this key; two statements when it has."""
    versions = models.TemplateVersion.objects.filter(
        template__workspace_id=workspace_id, template__key=key, template__archived_at=None
    )
    if number is not None:
        versions = versions.filter(number=number)
    row = versions.order_by("-number").first()
    if row is None:
        if _in_use(workspace_id, key).exists():
            raise _no_version(key, number)
        return None
    texts = tuple(
        Source(text.subject, text.body, Format(text.format), text.text, text.locale, text.preheader)
        for text in models.TemplateText.objects.filter(version=row).order_by("locale")
    )
    return Version(tuple(row.required), tuple(row.optional), row.fallback_locale, texts, row.number)


def _find_builtin(key: str, number: int | None) -> Version:
    versions = _builtin(key).versions
    index = (len(versions) if number is None else number) - 1
    if not 0 <= index < len(versions):
        raise _no_version(key, number)
    return versions[index]


def _builtin(key: str) -> BuiltinTemplate:
    template = builtin_templates().get(key)
    if template is None:
        raise TemplateUnknownError(
            say(
                "Template '%(key)s' not found, or archived: choose one from the list of templates.",
                key=key,
            )
        )
    return template


def _no_version(key: str, number: int | None) -> TemplateUnknownError:
    if number is None:
        return TemplateUnknownError(
            say("The template '%(key)s' has no version yet: add one.", key=key)
        )
    return TemplateUnknownError(
        say(
            "The template '%(key)s' has no version %(number)s: choose another, or use the newest.",
            key=key,
            number=str(number),
        )
    )


def _note(
    workspace_id: int, actor: str, action: trail.Action, key: str, **data: trail.Fact
) -> None:
    trail.note(workspace_id, actor=actor, action=action, subject=f"template {key}", data=data)

"""A workspace's templates: makes them, adds versions, and finds the text that is to be filled."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.contrib.postgres.aggregates import ArrayAgg
from django.db import transaction
from django.db.models import Max, QuerySet
from django.db.models.functions import Now

from postledger.accounts import constraints, names, trail
from postledger.content import builtin, models, wording
from postledger.content.source import Format, Source
from postledger.content.wording import Version
from postledger.lib.errors import RefusedError


class TemplateExistsError(RefusedError):
    code = "template_exists"


class TemplateUnknownError(RefusedError):
    code = "template_unknown"


class InvalidTemplateKeyError(RefusedError):
    code = "invalid_template_key"


@dataclass(frozen=True, slots=True)
class Found:
    """A template as one mail needs it: in one version and one locale."""

    key: str
    version: int
    text: Source
    required: tuple[str, ...]
    optional: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TemplateFacts:
    """A template in a list; one that comes with the product has no dates."""

    key: str
    name: str
    newest: int | None
    created_at: datetime | None
    archived_at: datetime | None
    is_builtin: bool = False


@dataclass(frozen=True, slots=True)
class VersionFacts:
    """A version in a list."""

    number: int
    required: tuple[str, ...]
    optional: tuple[str, ...]
    fallback_locale: str
    locales: tuple[str, ...]
    created_at: datetime | None


def create(workspace_id: int, *, key: str, name: str, actor: str) -> int:
    """Makes a template without a version; from now on it stands before a built-in one."""
    names.check("a template", name)
    taken = TemplateExistsError(
        f"This workspace has a template {key!r} already: add a version to it, restore it if it is"
        " archived, or choose another key."
    )
    wrong = InvalidTemplateKeyError(
        f"{key[:64]!r} cannot be the key of a template: write up to 64 small letters, digits and"
        " hyphens, and no hyphen first."
    )
    with constraints.kept(content_template_once=taken, content_template_key=wrong):
        template = models.Template.objects.create(workspace_id=workspace_id, key=key, name=name)
        _note(workspace_id, "template.created", key, actor=actor, data={"name": name})
    return template.pk


def add_version(  # noqa: PLR0913  what a version is, each part by its name
    workspace_id: int,
    *,
    key: str,
    required: Sequence[str],
    optional: Sequence[str],
    fallback_locale: str,
    texts: Sequence[Source],
    actor: str,
) -> int:
    """Adds what the template says from now on, and returns its number: 1, 2, 3 without a gap."""
    version = wording.checked(
        Version(tuple(required), tuple(optional), fallback_locale, tuple(texts))
    )
    with transaction.atomic():
        template_id = _locked(workspace_id, key)
        number = _store(template_id, version)
        data: dict[str, trail.Fact] = {"version": number, "locales": version.locales()}
        _note(workspace_id, "template.version_added", key, actor=actor, data=data)
    return number


def archive(workspace_id: int, *, key: str, actor: str) -> None:
    """Takes a template out of use; a built-in one of the same key is seen again."""
    with transaction.atomic():
        if not _in_use(workspace_id, key).update(archived_at=Now()):
            raise TemplateUnknownError(
                f"This workspace has no template {key!r} of its own, or it is archived already."
            )
        _note(workspace_id, "template.archived", key, actor=actor)


def restore(workspace_id: int, *, key: str, actor: str) -> None:
    """Takes an archived template into use again."""
    archived = models.Template.objects.filter(
        workspace_id=workspace_id, key=key, archived_at__isnull=False
    )
    with transaction.atomic():
        if not archived.update(archived_at=None):
            raise TemplateUnknownError(f"This workspace has no archived template {key!r}.")
        _note(workspace_id, "template.restored", key, actor=actor)


def find(workspace_id: int, *, key: str, version: int | None, locale: str) -> Found:
    """The text that serves a reader; without a version, that of the newest.

    A workspace's own template stands before the built-in one of the same key.
    """
    number, chosen = whole(workspace_id, key=key, version=version)
    return Found(key, number, chosen.text(locale), chosen.required, chosen.optional)


def whole(workspace_id: int, *, key: str, version: int | None) -> tuple[int, Version]:
    """A version in all its locales, with its number; the same one that `find` looks into."""
    return _own(workspace_id, key, version) or _builtin(key, version)


def listing(workspace_id: int) -> list[TemplateFacts]:
    """A workspace's own templates, and the built-in ones that none of these hides; by key."""
    own = [
        TemplateFacts(*row)
        for row in models.Template.objects.filter(workspace_id=workspace_id)
        .annotate(newest=Max("templateversion__number"))
        .values_list("key", "name", "newest", "created_at", "archived_at")
    ]
    hidden = {facts.key for facts in own if facts.archived_at is None}
    others = [
        TemplateFacts(key, shipped.name, len(shipped.versions), None, None, is_builtin=True)
        for key, shipped in builtin.templates().items()
        if key not in hidden
    ]
    return sorted([*own, *others], key=lambda facts: (facts.key, facts.is_builtin))


def versions(workspace_id: int, *, key: str) -> list[VersionFacts]:
    """All versions of the template that `find` would look into, the newest first."""
    template_id = _in_use(workspace_id, key).values_list("pk", flat=True).first()
    if template_id is None:
        return list(_builtin_versions(key))
    rows = (
        models.TemplateVersion.objects.filter(template_id=template_id)
        .annotate(locales=ArrayAgg("templatetext__locale", order_by="templatetext__locale"))
        .order_by("-number")
        .values_list("number", "required", "optional", "fallback_locale", "locales", "created_at")
    )
    return [
        VersionFacts(number, tuple(required), tuple(optional), fallback, tuple(locales), created)
        for number, required, optional, fallback, locales, created in rows
    ]


def _in_use(workspace_id: int, key: str) -> QuerySet[models.Template]:
    return models.Template.objects.filter(workspace_id=workspace_id, key=key, archived_at=None)


def _locked(workspace_id: int, key: str) -> int:
    """Versions are added one after the other, so that two at once get two numbers."""
    own = _in_use(workspace_id, key).select_for_update(no_key=True).order_by("pk")
    locked = own.values_list("pk", flat=True).first()
    if locked is None:
        raise TemplateUnknownError(
            f"This workspace has no template {key!r} of its own: create it, or restore it if it is"
            " archived."
        )
    return locked


def _store(template_id: int, version: Version) -> int:
    earlier = models.TemplateVersion.objects.filter(template_id=template_id)
    number = (earlier.aggregate(newest=Max("number"))["newest"] or 0) + 1
    row = models.TemplateVersion.objects.create(
        template_id=template_id,
        number=number,
        required=list(version.required),
        optional=list(version.optional),
        fallback_locale=version.fallback_locale,
    )
    models.TemplateText.objects.bulk_create(
        models.TemplateText(
            version=row,
            locale=text.locale,
            subject=text.subject,
            body=text.body,
            format=text.format.value,
            text=text.text,
        )
        for text in version.texts
    )
    return number


def _own(workspace_id: int, key: str, version: int | None) -> tuple[int, Version] | None:
    """None when the workspace has no template of this key; two statements when it has."""
    wanted = models.TemplateVersion.objects.filter(
        template__workspace_id=workspace_id, template__key=key, template__archived_at=None
    )
    if version is not None:
        wanted = wanted.filter(number=version)
    row = wanted.order_by("-number").first()
    if row is None:
        if _in_use(workspace_id, key).exists():
            raise _no_version(key, version)
        return None
    texts = tuple(
        Source(text.subject, text.body, Format(text.format), text.text, text.locale)
        for text in models.TemplateText.objects.filter(version=row).order_by("locale")
    )
    found = Version(tuple(row.required), tuple(row.optional), row.fallback_locale, texts)
    return row.number, found


def _builtin(key: str, version: int | None) -> tuple[int, Version]:
    shipped = _shipped(key)
    number = len(shipped.versions) if version is None else version
    if not 1 <= number <= len(shipped.versions):
        raise _no_version(key, version)
    return number, shipped.versions[number - 1]


def _builtin_versions(key: str) -> Iterator[VersionFacts]:
    numbered = list(enumerate(_shipped(key).versions, start=1))
    for number, version in reversed(numbered):
        yield VersionFacts(
            number=number,
            required=version.required,
            optional=version.optional,
            fallback_locale=version.fallback_locale,
            locales=tuple(version.locales()),
            created_at=None,
        )


def _shipped(key: str) -> builtin.Builtin:
    shipped = builtin.templates().get(key)
    if shipped is None:
        raise TemplateUnknownError(
            f"There is no template {key!r} here, or it is archived: choose one of the list."
        )
    return shipped


def _no_version(key: str, version: int | None) -> TemplateUnknownError:
    if version is None:
        return TemplateUnknownError(f"The template {key!r} has no version yet: add one.")
    return TemplateUnknownError(
        f"The template {key!r} has no version {version}: choose another, or ask for the newest."
    )


def _note(
    workspace_id: int,
    action: str,
    key: str,
    *,
    actor: str,
    data: dict[str, trail.Fact] | None = None,
) -> None:
    trail.note(workspace_id, actor=actor, action=action, subject=f"template {key}", data=data or {})

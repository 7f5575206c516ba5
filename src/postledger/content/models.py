"""The content of mail: templates and their versions, articles and their slices, and letters."""

from datetime import UTC, datetime

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Length, Now
from django.db.models.lookups import Exact

from postledger.accounts.models import Workspace
from postledger.lib import moments
from postledger.lib.values import KEY_PATTERN


class Template(models.Model):
    """A text with placeholders, under a key of the workspace; an archived one makes no new mail.

    Its key is never given to another template, so key and version always name the same text.
    """

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT)
    key = models.TextField()
    name = models.TextField()
    created_at = models.DateTimeField(db_default=Now())
    archived_at = models.DateTimeField(null=True)

    class Meta:
        constraints = (
            # Serves the look-up of a template by its key, and the list of a workspace's own.
            models.UniqueConstraint(fields=["workspace", "key"], name="content_template_once"),
            models.CheckConstraint(
                condition=models.Q(key__regex=KEY_PATTERN),
                name="content_template_key",
            ),
        )


class TemplateVersion(models.Model):
    """One version of a template's texts, and the variables that fill it.

    Never changed: a trigger of the migration refuses it.
    """

    template = models.ForeignKey(Template, on_delete=models.PROTECT)
    number = models.IntegerField()
    required = ArrayField(models.TextField())
    optional = ArrayField(models.TextField())
    fallback_locale = models.TextField(default="")  # empty: a missing locale is an error
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = (
            # Serves the newest version of a template, or the one with a number.
            models.UniqueConstraint(fields=["template", "number"], name="content_version_once"),
            models.CheckConstraint(
                condition=models.Q(number__gte=1), name="content_version_number"
            ),
        )


class TemplateText(models.Model):
    """A version in one locale. Never changed: a trigger of the migration refuses it."""

    version = models.ForeignKey(TemplateVersion, on_delete=models.PROTECT)
    locale = models.TextField()
    subject = models.TextField()
    body = models.TextField()
    format = models.TextField()
    text = models.TextField(default="")  # empty: made from the body
    preheader = models.TextField(db_default="")

    class Meta:
        constraints = (
            # Serves the text of a version in the locale that was chosen.
            models.UniqueConstraint(fields=["version", "locale"], name="content_text_once"),
            models.CheckConstraint(
                condition=models.Q(format__in=("markdown", "mjml", "html")),
                name="content_text_format",
            ),
        )


class Article(models.Model):
    """Content of a campaign; each recipient gets the slices for everybody and for their places."""

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT)
    key = models.TextField()
    title = models.TextField()
    created_at = models.DateTimeField(db_default=Now())
    updated_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = (
            # Serves the look-up of an article by its key, and the list of a workspace's own.
            models.UniqueConstraint(fields=["workspace", "key"], name="content_article_once"),
            models.CheckConstraint(
                condition=models.Q(key__regex=r"^[a-z0-9-]{1,200}$"), name="content_article_key"
            ),
        )


def _has_near_year(field: str) -> models.Q:
    """In no zone of the world is the moment behind the end of a calendar."""
    first = datetime(moments.FIRST_YEAR - 1, 12, 31, tzinfo=UTC)
    last = datetime(moments.LAST_YEAR + 1, 1, 2, tzinfo=UTC)
    return models.Q(**{field: None}) | models.Q(**{f"{field}__range": (first, last)})


class Slice(models.Model):
    """A piece of an article, for everybody or for one place, perhaps for some time only."""

    # The index of this key serves the slices of an article, which are read all at once.
    article = models.ForeignKey(Article, on_delete=models.CASCADE)
    scope_ocd_id = models.TextField(null=True)
    section = models.TextField(default="")
    section_order = models.IntegerField(default=0)
    sort_index = models.IntegerField(default=0)
    is_headline = models.BooleanField(default=False)
    title = models.TextField(default="")
    dek = models.TextField(default="")
    preheader = models.TextField(db_default="")
    body_md = models.TextField(default="")
    published_from = models.DateTimeField(null=True)
    published_until = models.DateTimeField(null=True)
    is_published = models.BooleanField(default=False)
    created_at = models.DateTimeField(db_default=Now())
    updated_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = (
            models.CheckConstraint(
                condition=models.Q(scope_ocd_id=None) | models.Q(scope_ocd_id__regex=r"^\S+$"),
                name="content_slice_scope",
            ),
            models.CheckConstraint(
                condition=models.Q(published_from=None)
                | models.Q(published_until=None)
                | models.Q(published_from__lt=models.F("published_until")),
                name="content_slice_window",
            ),
            models.CheckConstraint(
                condition=models.Q(is_headline=False)
                | models.Q(title__regex=r"\S")
                | models.Q(dek__regex=r"\S"),
                name="content_slice_headline",
            ),
            # Days of any zone: the years are those that somebody wrote.
            models.CheckConstraint(
                condition=_has_near_year("published_from") & _has_near_year("published_until"),
                name="content_slice_years",
            ),
        )


class Letter(models.Model):
    """The content of sent mail, under its SHA-256 digest.

    Never changed: a trigger of the migration refuses it. So it shows what was sent, even after the
    template or the article was changed.
    """

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT)
    digest = models.BinaryField()
    source = models.JSONField()
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = (
            # Serves the storing of a letter, which may exist already.
            models.UniqueConstraint(fields=["workspace", "digest"], name="content_letter_once"),
            models.CheckConstraint(
                condition=Exact(Length("digest"), 32), name="content_letter_digest"
            ),
        )


class Picture(models.Model):
    """A picture for mail, at a public address that ends in its name, which nobody can guess.

    Never changed: a trigger of the migration refuses it. It stays as long as its workspace, because
    mail that was sent still shows it.
    """

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT)
    name = models.TextField(unique=True)
    digest = models.BinaryField()
    media_type = models.TextField()
    content = models.BinaryField()
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = (
            # Serves the storing of a picture, which may exist already.
            models.UniqueConstraint(fields=["workspace", "digest"], name="content_picture_once"),
            models.CheckConstraint(
                condition=models.Q(name__regex=r"^[0-9a-f]{64}$"), name="content_picture_name"
            ),
            models.CheckConstraint(
                condition=models.Q(
                    media_type__in=("image/png", "image/jpeg", "image/gif", "image/webp")
                ),
                name="content_picture_type",
            ),
        )


class Branding(models.Model):
    """How the mail of a workspace looks in our layout."""

    workspace = models.OneToOneField(Workspace, on_delete=models.PROTECT, primary_key=True)
    logo_url = models.TextField(default="")
    accent = models.TextField(default="")  # as #1d4ed8; empty: the layout's own
    updated_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = (
            models.CheckConstraint(
                condition=models.Q(accent__regex=r"^(#[0-9a-f]{6})?$"),
                name="content_branding_accent",
            ),
        )

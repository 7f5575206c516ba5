"""The articles of a workspace, and each as it is seen from any places."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import ClassVar

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_safe

from postledger.accounts import constraints
from postledger.accounts.constraints import InvalidNameError
from postledger.accounts.people.roles import Permission
from postledger.accounts.trail import Action
from postledger.campaigns import article_deletion, listing
from postledger.campaigns.article_deletion import ArticleInUseError
from postledger.content import articles, previews
from postledger.content.articles import ArticleExistsError, InvalidArticleKeyError
from postledger.content.previews import ArticlePreview
from postledger.content.rendering.mail_preview import MailPreview
from postledger.content.slices import Slice
from postledger.lib.errors import NotFoundError, RefusedError
from postledger.lib.keys import make_key
from postledger.web.dashboard.access import Visitor
from postledger.web.dashboard.components.badges import Badge
from postledger.web.dashboard.components.finding_words import describe_refusal, name_for_slices
from postledger.web.dashboard.content import seen_from
from postledger.web.dashboard.content.seen_from import SeenFrom
from postledger.web.dashboard.forms import PageForm
from postledger.web.dashboard.frame import render_page
from postledger.web.dashboard.letter_frame import show_in_frame
from postledger.web.dashboard.shared_form import SharedForm

_LONGEST_KEY = 200
_SHOWN = ("desktop", "phone", "text")


class TitleForm(PageForm):
    title = forms.CharField(
        label=gettext_lazy("Title"),
        max_length=constraints.LONGEST_NAME,
        help_text=gettext_lazy(
            "For you and your colleagues; readers see the title of their headline."
        ),
        widget=forms.TextInput({"autocomplete": "off"}),
    )


class RenameForm(TitleForm, SharedForm):
    changed_by: ClassVar[Mapping[str, Action]] = {"title": "article.updated"}


class NewArticleForm(TitleForm):
    key = forms.CharField(
        label=gettext_lazy("Key"),
        required=False,
        max_length=_LONGEST_KEY,
        help_text=gettext_lazy(
            "Programs use it, as news-of-may. Empty: made from the title. It cannot be changed"
            " later."
        ),
        widget=forms.TextInput({"autocomplete": "off", "class": "input mono"}),
    )

    def clean_key(self) -> str:
        title = self.cleaned_data.get("title", "")
        key: str = self.cleaned_data["key"] or _make_key(title)
        if title and not key:
            raise ValidationError(_("Write a key: it has letters from a to z, and digits."))
        return key


def _make_key(title: str) -> str:
    return make_key(title, longest=_LONGEST_KEY)


@dataclass(frozen=True, slots=True)
class Row:
    """One slice of the list."""

    piece: Slice
    badge: Badge
    is_seen: bool


@require_safe
def show_list(request: HttpRequest, visitor: Visitor) -> HttpResponse:
    values = {
        "title": _("Articles"),
        "rows": articles.list_articles(visitor.workspace.pk),
        "may_write": visitor.may(Permission.WRITE_CONTENT),
    }
    return render_page(request, visitor, "dashboard/content/articles.html", values)


@require_http_methods(["GET", "HEAD", "POST"])
def create(request: HttpRequest, visitor: Visitor) -> HttpResponse:
    form = NewArticleForm(request.POST if request.method == "POST" else None)
    if form.is_valid() and _create(visitor, form):
        return redirect("article", visitor.workspace.pk, form.cleaned_data["key"])
    values = {"title": _("New article"), "form": form}
    status = 422 if form.errors else 200
    return render_page(
        request, visitor, "dashboard/content/new_article.html", values, status=status
    )


def _create(visitor: Visitor, form: NewArticleForm) -> bool:
    given = form.cleaned_data
    try:
        articles.create(
            visitor.workspace.pk, key=given["key"], title=given["title"], actor=visitor.actor
        )
    except InvalidNameError:
        form.add_error("title", _("Use printable characters only."))
    except InvalidArticleKeyError:
        form.add_error("key", _("Use up to 200 lowercase letters, digits and hyphens."))
    except ArticleExistsError:
        form.add_error("key", _("An article has this key already."))
    return form.is_valid()


@require_http_methods(["GET", "HEAD", "POST"])
def rename(request: HttpRequest, visitor: Visitor, key: str) -> HttpResponse:
    article = articles.find_article(visitor.workspace.pk, key=key)
    posted = request.POST if request.method == "POST" else None
    form = RenameForm({"title": article.title}, posted)
    if form.is_valid() and _rename(visitor, key, form):
        messages.success(request, _("Saved."))
        return redirect("article", visitor.workspace.pk, key)
    values = {"title": _("Rename the article"), "article": article, "form": form}
    return render_page(
        request, visitor, "dashboard/content/article_rename.html", values, status=form.status
    )


def _rename(visitor: Visitor, key: str, form: RenameForm) -> bool:
    """Writes a changed title; False if it is refused or in conflict."""
    workspace_id = visitor.workspace.pk
    try:
        with transaction.atomic():
            articles.lock(workspace_id, key=key)
            stored = articles.find_article(workspace_id, key=key)
            if not form.take_over({"title": stored.title}):
                url = reverse("article_rename", args=[workspace_id, key])
                form.describe_conflict(visitor, subjects=[f"article {key}"], url=url)
                return False
            if form.changed:
                title = form.cleaned_data["title"]
                articles.update(workspace_id, key=key, title=title, actor=visitor.actor)
    except InvalidNameError:
        form.add_error("title", _("Use printable characters only."))
    return form.is_valid()


@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: HttpRequest, visitor: Visitor, key: str) -> HttpResponse:
    """Asks first, and refuses while drafts would lose their content."""
    article = articles.find_article(visitor.workspace.pk, key=key)
    workspace_id = visitor.workspace.pk
    status = 200
    if request.method == "POST":
        try:
            article_deletion.delete_article(workspace_id, key=key, actor=visitor.actor)
        except ArticleInUseError:
            status = 409
        else:
            messages.success(request, _("The article is deleted."))
            return redirect("articles", workspace_id)
    drafts = listing.list_drafts_of_article(workspace_id, key)
    values = {"title": _("Delete this article?"), "article": article, "drafts": drafts}
    return render_page(
        request, visitor, "dashboard/content/article_delete.html", values, status=status
    )


@require_safe
def show(request: HttpRequest, visitor: Visitor, key: str) -> HttpResponse:
    article = articles.find_article(visitor.workspace.pk, key=key)
    pieces = articles.list_slices(visitor.workspace.pk, article_key=key)
    seen = seen_from.read_seen_from(request.GET, now=datetime.now(UTC))
    preview, trouble = _preview(visitor, pieces, seen)
    shown = request.GET.get("show", "")
    values = {
        "title": article.title or article.key,
        "article": article,
        "rows": _list_rows(pieces, preview, seen),
        "places": seen_from.list_places(pieces, seen),
        "seen": seen,
        "preview": preview.mail if preview and pieces else None,
        "trouble": trouble,
        "shown": shown if shown in _SHOWN else "desktop",
        "query": request.GET.urlencode(),
        "may_write": visitor.may(Permission.WRITE_CONTENT),
    }
    return render_page(request, visitor, "dashboard/content/article.html", values)


@require_safe
def show_letter(request: HttpRequest, visitor: Visitor, key: str) -> HttpResponse:
    """The HTML alone, for the frame of the preview."""
    pieces = articles.list_slices(visitor.workspace.pk, article_key=key)
    seen = seen_from.read_seen_from(request.GET, now=datetime.now(UTC))
    preview, _trouble = _preview(visitor, pieces, seen)
    mail: MailPreview | None = preview.mail if preview else None
    if mail is None or mail.mail is None:
        raise Http404
    return show_in_frame(mail.mail.html)


def _preview(
    visitor: Visitor, pieces: list[Slice], seen: SeenFrom
) -> tuple[ArticlePreview | None, str]:
    try:
        preview = previews.preview_article(
            visitor.workspace.pk,
            pieces,
            ocd_ids=seen.places,
            now=seen.now,
        )
    except NotFoundError:
        raise
    except RefusedError as error:
        return None, describe_refusal(error)
    mail = replace(preview.mail, findings=name_for_slices(preview.mail.findings))
    return replace(preview, mail=mail), ""


def _list_rows(pieces: list[Slice], preview: ArticlePreview | None, seen: SeenFrom) -> list[Row]:
    seen_ids = {piece.id for piece in preview.slices} if preview else set()
    return [Row(piece, _make_badge(piece, seen.now), piece.id in seen_ids) for piece in pieces]


def _make_badge(piece: Slice, now: datetime) -> Badge:
    if not piece.is_published:
        return Badge("skipped", "pen", _("Draft"))
    if piece.published_from is not None and now < piece.published_from:
        return Badge("waiting", "clock", _("Not yet"))
    if piece.published_until is not None and piece.published_until <= now:
        return Badge("expired", "hourglass", _("Over"))
    return Badge("ok", "check", _("Published"))

"""The slices of an article: written, changed and deleted."""

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from postledger.content import articles
from postledger.content.articles import SliceUnknownError
from postledger.content.slice_checks import InvalidSliceError
from postledger.content.slices import Slice, SliceFields
from postledger.lib.errors import NotFoundError, RefusedError
from postledger.web.dashboard.access import Visitor
from postledger.web.dashboard.content.slice_form import SliceForm
from postledger.web.dashboard.frame import render_page
from postledger.web.shared.sentences import translate

_SAVED_DRAFT = gettext_lazy("Saved as a draft: readers do not get it yet.")


@require_http_methods(["GET", "HEAD", "POST"])
def add(request: HttpRequest, visitor: Visitor, key: str) -> HttpResponse:
    articles.find_article(visitor.workspace.pk, key=key)
    return _write(request, visitor, key, None)


@require_http_methods(["GET", "HEAD", "POST"])
def change(request: HttpRequest, visitor: Visitor, key: str, slice_id: int) -> HttpResponse:
    try:
        return _write(request, visitor, key, _find(visitor, key, slice_id))
    except SliceUnknownError:
        if request.method != "POST":
            raise
        return _offer_as_new(request, visitor, key)


def _offer_as_new(request: HttpRequest, visitor: Visitor, key: str) -> HttpResponse:
    """What was typed into a slice that somebody deleted meanwhile stays on the page."""
    form = SliceForm(None, request.POST)
    text = _(
        "Somebody deleted this slice meanwhile, so nothing was saved. Save again to add it as a"
        " new one."
    )
    form.add_error(None, text)
    return _show_form(request, visitor, key, form, status=409)


def _write(request: HttpRequest, visitor: Visitor, key: str, piece: Slice | None) -> HttpResponse:
    form = SliceForm(piece, request.POST if request.method == "POST" else None)
    fields = form.read_fields() if request.method == "POST" else None
    if fields is not None and _store(visitor, key, piece, fields, form):
        said = _("Saved.") if fields.is_published else _SAVED_DRAFT
        messages.success(request, str(said))
        return redirect("article", visitor.workspace.pk, key)
    return _show_form(request, visitor, key, form, status=form.status)


def _show_form(
    request: HttpRequest, visitor: Visitor, key: str, form: SliceForm, *, status: int
) -> HttpResponse:
    values = {
        "title": _("Change a slice") if form.piece else _("New slice"),
        "article": articles.find_article(visitor.workspace.pk, key=key),
        "piece": form.piece,
        "form": form,
    }
    return render_page(request, visitor, "dashboard/content/slice.html", values, status=status)


def _store(
    visitor: Visitor, key: str, piece: Slice | None, fields: SliceFields, form: SliceForm
) -> bool:
    workspace_id, actor = visitor.workspace.pk, visitor.actor
    try:
        if piece is None:
            articles.add_slice(workspace_id, article_key=key, fields=fields, actor=actor)
        else:
            return _change(visitor, key, piece, fields, form)
    except NotFoundError:
        raise
    except RefusedError as error:
        form.add_error(
            error.field if isinstance(error, InvalidSliceError) else None, translate(error)
        )
        return False
    return True


def _change(visitor: Visitor, key: str, piece: Slice, fields: SliceFields, form: SliceForm) -> bool:
    """Stores what was changed; False if somebody else changed it meanwhile."""
    workspace_id = visitor.workspace.pk
    with transaction.atomic():
        stored = articles.lock_slice(workspace_id, article_key=key, slice_id=piece.id)
        merged = form.merge_fields(stored, fields)
        if merged is None:
            url = reverse("slice", args=[workspace_id, key, piece.id])
            form.describe_conflict(visitor, subjects=[f"slice {piece.id}"], url=url)
            return False
        if form.changed:
            articles.change_slice(
                workspace_id,
                article_key=key,
                slice_id=piece.id,
                fields=merged,
                actor=visitor.actor,
            )
    return True


@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: HttpRequest, visitor: Visitor, key: str, slice_id: int) -> HttpResponse:
    """Asks first: a deleted slice does not come back."""
    piece = _find(visitor, key, slice_id)
    if request.method == "POST":
        articles.delete_slice(
            visitor.workspace.pk, article_key=key, slice_id=slice_id, actor=visitor.actor
        )
        messages.success(request, _("The slice is deleted."))
        return redirect("article", visitor.workspace.pk, key)
    values = {
        "title": _("Delete this slice?"),
        "article": articles.find_article(visitor.workspace.pk, key=key),
        "piece": piece,
    }
    return render_page(request, visitor, "dashboard/content/slice_delete.html", values)


def _find(visitor: Visitor, key: str, slice_id: int) -> Slice:
    for piece in articles.list_slices(visitor.workspace.pk, article_key=key):
        if piece.id == slice_id:
            return piece
    raise SliceUnknownError

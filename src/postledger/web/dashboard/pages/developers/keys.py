"""API keys: list, create, rotate and revoke them. A token is shown once."""

from datetime import UTC, datetime

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from postledger.accounts import keys, queries
from postledger.accounts.constraints import InvalidNameError
from postledger.accounts.keys import KeyEndedError, NewKey
from postledger.accounts.models import ApiKey
from postledger.accounts.people import grants
from postledger.accounts.people.grants import GrantRefusedError
from postledger.accounts.queries import MemberUnknownError
from postledger.web.dashboard.access import Visitor
from postledger.web.dashboard.developers import key_rows
from postledger.web.dashboard.developers.api_url import find_base_url
from postledger.web.dashboard.developers.key_forms import NewKeyForm, RotationForm
from postledger.web.dashboard.frame import render_page

_NONCES = "nonces_of_keys"  # in the session
_MOST_NONCES = 20


@require_safe
def show(request: HttpRequest, visitor: Visitor) -> HttpResponse:
    own = queries.keys(visitor.workspace.pk)
    working, ended = key_rows.split_keys(own, now=datetime.now(UTC))
    context = {
        "tab": "keys",
        "working": working,
        "ended": ended,
        "base_url": find_base_url(request),
    }
    return render_page(request, visitor, "dashboard/developers/keys.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def create(request: HttpRequest, visitor: Visitor) -> HttpResponse:
    form = NewKeyForm(visitor, request.POST if request.method == "POST" else None)
    if form.is_valid() and _is_resent(request, form):
        messages.warning(request, _("This key was created already; its token is shown once."))
        return redirect("developers", visitor.workspace.pk)
    if form.is_valid():
        new = _create(visitor, form)
        if new is not None:
            _remember(request, form)
            return _show_token(request, visitor, new, form.cleaned_data["name"])
    status = 422 if form.errors else 200
    context = {"form": form}
    return render_page(
        request, visitor, "dashboard/developers/new_key.html", context, status=status
    )


def _is_resent(request: HttpRequest, form: NewKeyForm) -> bool:
    """Whether a key was made of this very form, as after a reload of the page with its token."""
    nonce = form.cleaned_data["nonce"]
    return bool(nonce) and nonce in request.session.get(_NONCES, ())


def _remember(request: HttpRequest, form: NewKeyForm) -> None:
    earlier = request.session.get(_NONCES, [])
    request.session[_NONCES] = [*earlier, form.cleaned_data["nonce"]][-_MOST_NONCES:]


def _create(visitor: Visitor, form: NewKeyForm) -> NewKey | None:
    """The form has offered no other scopes than the visitor may pass on."""
    try:
        return keys.create_key(
            visitor.workspace.pk,
            name=form.cleaned_data["name"],
            scopes=form.chosen_scopes,
            is_test=form.is_test,
            member_id=form.member_id,
            actor=visitor.actor,
        )
    except InvalidNameError:
        form.add_error("name", _("Use printable characters only."))
    except MemberUnknownError:
        form.add_error("member", _("This person is no longer a member. Choose another one."))
    return None


@require_http_methods(["GET", "HEAD", "POST"])
def rotate(request: HttpRequest, visitor: Visitor, prefix: str) -> HttpResponse:
    """Asks how long the old key still works, and shows the token of the new one."""
    key = keys.get_key(visitor.workspace.pk, prefix)
    form = RotationForm(request.POST if request.method == "POST" else None)
    trouble = _find_trouble(visitor, key)
    if not trouble and form.is_valid():
        try:
            new = keys.rotate_key(
                visitor.workspace.pk,
                prefix=prefix,
                overlap=form.chosen_overlap,
                actor=visitor.actor,
                now=datetime.now(UTC),
            )
        except KeyEndedError:
            trouble = _ended()
        else:
            return _show_token(request, visitor, new, key.name, old=prefix)
    context = {"key": key, "form": form, "trouble": trouble}
    status = 409 if trouble and request.method == "POST" else 422 if form.errors else 200
    return render_page(
        request, visitor, "dashboard/developers/rotate_key.html", context, status=status
    )


def _find_trouble(visitor: Visitor, key: ApiKey) -> str:
    """Why the visitor cannot rotate the key; empty if they can."""
    if key.revoked_at is not None or key.expires_at is not None:
        return _ended()
    try:
        grants.check_scopes(key.scopes, granted=grants.scopes_of(visitor.role))
    except GrantRefusedError:
        return _("This key may do more than your role does. Ask an owner to rotate it.")
    return ""


def _ended() -> str:
    return _("This key was rotated or revoked already. Rotate its successor, or create a new key.")


@require_http_methods(["GET", "HEAD", "POST"])
def revoke(request: HttpRequest, visitor: Visitor, prefix: str) -> HttpResponse:
    """Asks first, and says what stops."""
    key = keys.get_key(visitor.workspace.pk, prefix)
    if request.method == "POST":
        now = datetime.now(UTC)
        keys.revoke_key(visitor.workspace.pk, prefix=prefix, actor=visitor.actor, now=now)
        messages.success(request, _("%(name)s is revoked.") % {"name": key.name})
        return redirect("developers", visitor.workspace.pk)
    context = {"key": key}
    return render_page(request, visitor, "dashboard/developers/revoke_key.html", context)


def _show_token(
    request: HttpRequest, visitor: Visitor, new: NewKey, name: str, *, old: str = ""
) -> HttpResponse:
    """This answer is the only place that has the token."""
    context = {
        "new": new,
        "name": name,
        "old": old,
        "base_url": find_base_url(request),
    }
    return render_page(request, visitor, "dashboard/developers/new_token.html", context)

"""The members of a workspace: invite them, change their roles and limits, remove them."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, ClassVar

from django import forms
from django.conf import settings
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from postledger.accounts import constraints
from postledger.accounts.constraints import InvalidNameError
from postledger.accounts.people import invitations, member_list, members
from postledger.accounts.people.invitations import AlreadyJoinedError
from postledger.accounts.people.member_list import ListedMember
from postledger.accounts.people.members import LastOwnerError, MemberExistsError
from postledger.accounts.people.roles import Role
from postledger.accounts.trail import Action
from postledger.deliveries import account_changes
from postledger.lib.errors import NotFoundError
from postledger.providers import addresses
from postledger.web.dashboard.access import Visitor
from postledger.web.dashboard.forms import AddressField, PageForm, WholeNumberField
from postledger.web.dashboard.frame import render_page
from postledger.web.dashboard.people import invitation_letters
from postledger.web.dashboard.people.roles import ROLE_NAMES, list_roles
from postledger.web.dashboard.settings import tabs
from postledger.web.dashboard.shared_form import SharedForm

_CHOICES = [(role.value, name) for role, name in ROLE_NAMES.items()]
_LAST_OWNER = gettext_lazy(
    "This is the last owner who can sign in, and a workspace needs one. Make another member an"
    " owner first."
)
_LARGEST_LIMIT = 1_000_000_000


class InviteForm(PageForm):
    email = AddressField(
        label=gettext_lazy("Email address"), widget=forms.EmailInput({"autocomplete": "off"})
    )
    name = forms.CharField(
        label=gettext_lazy("Name"),
        max_length=constraints.LONGEST_NAME,
        required=False,
        widget=forms.TextInput({"autocomplete": "off"}),
    )
    role = forms.ChoiceField(label=gettext_lazy("Role"), choices=_CHOICES, initial=Role.MANAGER)

    def __init__(self, own_address: str, posted: QueryDict | None = None) -> None:
        super().__init__(posted)
        self._own_address = own_address

    def clean_email(self) -> str:
        email: str = self.cleaned_data["email"]
        if addresses.lacks_ending(email, known=[self._own_address]):
            raise ValidationError(
                gettext_lazy(
                    "The domain of this address has no ending such as .com: look whether a part is"
                    " missing."
                ),
                code="invalid",
            )
        return email


class MemberForm(SharedForm):
    changed_by: ClassVar[Mapping[str, Action]] = {
        "role": "member.role_changed",
        "daily_limit": "member.limit_changed",
    }

    role = forms.ChoiceField(label=gettext_lazy("Role"), choices=_CHOICES)
    daily_limit = WholeNumberField(
        label=gettext_lazy("Emails a day"),
        min_value=1,
        max_value=_LARGEST_LIMIT,
        required=False,
        help_text=gettext_lazy("For all campaigns that they launch. Empty: no limit."),
    )


@require_safe
def show(request: HttpRequest, visitor: Visitor) -> HttpResponse:
    return _show_list(request, visitor, InviteForm(visitor.user.email))


@require_POST
def invite(request: HttpRequest, visitor: Visitor) -> HttpResponse:
    form = InviteForm(visitor.user.email, request.POST)
    if form.is_valid():
        try:
            member_id = members.add_member(
                visitor.workspace.pk,
                email=form.cleaned_data["email"],
                name=form.cleaned_data["name"],
                role=Role(form.cleaned_data["role"]),
                actor=visitor.actor,
            )
        except MemberExistsError:
            form.add_error("email", _("This person is a member already, or was invited."))
        except InvalidNameError:
            form.add_error("name", _("Use printable characters only."))
        else:
            return _hand_out(request, visitor, member_id)
    return _show_list(request, visitor, form)


@require_POST
def invite_again(request: HttpRequest, visitor: Visitor, member_id: int) -> HttpResponse:
    _find(visitor, member_id)
    try:
        return _hand_out(request, visitor, member_id)
    except AlreadyJoinedError:
        messages.error(request, _("They have joined meanwhile; no invitation is needed."))
        return redirect("members", visitor.workspace.pk)


def _hand_out(request: HttpRequest, visitor: Visitor, member_id: int) -> HttpResponse:
    """Mails a new invitation, or shows its link: this answer is the only place that has it."""
    now = datetime.now(UTC)
    invitation = invitations.invite_member(
        visitor.workspace.pk, member_id=member_id, now=now, actor=visitor.actor
    )
    link = invitation_letters.deliver_invitation(request, visitor, invitation, now=now)
    if link is not None:
        context = {
            "link": link,
            "invitation": invitation,
            "has_public_url": bool(settings.PUBLIC_URL),
        }
        return render_page(request, visitor, "dashboard/members_link.html", context)
    text = _("An invitation is on its way to %(email)s.") % {"email": invitation.email}
    messages.success(request, text)
    return redirect("members", visitor.workspace.pk)


@require_http_methods(["GET", "HEAD", "POST"])
def change(request: HttpRequest, visitor: Visitor, member_id: int) -> HttpResponse:
    member = _find(visitor, member_id)
    first = {"role": member.role.value, "daily_limit": member.daily_limit}
    form = MemberForm(first, request.POST or None)
    if request.method == "POST" and form.is_valid() and _store(form, visitor, member):
        messages.success(request, _("Saved."))
        return _leave(visitor, member)
    return _show_member(request, visitor, member, form)


def _store(form: MemberForm, visitor: Visitor, member: ListedMember) -> bool:
    workspace_id, values = visitor.workspace.pk, form.cleaned_data
    try:
        with transaction.atomic():
            stored = members.lock_member(workspace_id, member.id)
            if not form.take_over({"role": stored.role, "daily_limit": stored.daily_limit}):
                url = reverse("member", args=[workspace_id, member.id])
                form.describe_conflict(visitor, subjects=[f"member {member.id}"], url=url)
                return False
            members.change_role(
                workspace_id, member_id=member.id, role=Role(values["role"]), actor=visitor.actor
            )
            if "daily_limit" in form.changed:
                account_changes.set_member_limit(
                    workspace_id,
                    member_id=member.id,
                    daily_limit=values["daily_limit"],
                    actor=visitor.actor,
                )
    except LastOwnerError:
        form.add_error("role", _LAST_OWNER)
        return False
    return True


@require_http_methods(["GET", "HEAD", "POST"])
def remove(request: HttpRequest, visitor: Visitor, member_id: int) -> HttpResponse:
    """Asks first, and says what is lost."""
    member = _find(visitor, member_id)
    trouble = ""
    if request.method == "POST":
        try:
            members.remove_member(
                visitor.workspace.pk,
                member_id=member_id,
                now=datetime.now(UTC),
                actor=visitor.actor,
            )
        except LastOwnerError:
            trouble = str(_LAST_OWNER)
        else:
            text = _("%(email)s is no longer a member.") % {"email": member.email}
            messages.success(request, text)
            return _leave(visitor, member)
    context = {"member": member, "is_self": member_id == visitor.member.pk, "trouble": trouble}
    return render_page(
        request,
        visitor,
        "dashboard/member_remove.html",
        context,
        status=409 if trouble else 200,
    )


def _find(visitor: Visitor, member_id: int) -> ListedMember:
    try:
        return member_list.find_member(visitor.workspace.pk, member_id, now=datetime.now(UTC))
    except NotFoundError:
        raise Http404 from None


def _leave(visitor: Visitor, member: ListedMember) -> HttpResponse:
    """Back to the list; whoever changed themselves may be allowed no more to see it."""
    if member.id == visitor.member.pk:
        return redirect("home")
    return redirect("members", visitor.workspace.pk)


def _show_list(request: HttpRequest, visitor: Visitor, form: InviteForm) -> HttpResponse:
    rows = member_list.list_members(visitor.workspace.pk, now=datetime.now(UTC))
    context = {
        "title": _("Members"),
        "tabs": tabs.list_tabs(visitor, "members"),
        "members": [{"row": row, "role": ROLE_NAMES[row.role]} for row in rows],
        "roles": list_roles(),
        "form": form,
    }
    status = 422 if form.errors else 200
    return render_page(request, visitor, "dashboard/members.html", context, status=status)


def _show_member(
    request: HttpRequest, visitor: Visitor, member: ListedMember, form: MemberForm
) -> HttpResponse:
    context: dict[str, Any] = {
        "member": member,
        "role": ROLE_NAMES[member.role],
        "roles": list_roles(),
        "form": form,
        "is_self": member.id == visitor.member.pk,
    }
    return render_page(request, visitor, "dashboard/member.html", context, status=form.status)

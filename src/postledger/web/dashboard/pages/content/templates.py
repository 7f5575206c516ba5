"""The templates of a workspace: their list, a template with its versions, and new ones."""

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from postledger.accounts import constraints
from postledger.accounts.constraints import InvalidNameError
from postledger.accounts.people.roles import Permission
from postledger.content import templates
from postledger.content.templates import (
    InvalidTemplateKeyError,
    TemplateExistsError,
    TemplateSummary,
    TemplateUnknownError,
)
from postledger.lib.keys import make_key
from postledger.web.dashboard.access import Visitor
from postledger.web.dashboard.forms import PageForm
from postledger.web.dashboard.frame import render_page


class NewTemplateForm(PageForm):
    name = forms.CharField(
        label=pgettext_lazy("of a thing", "Name"),
        max_length=constraints.LONGEST_NAME,
        help_text=gettext_lazy("For you and your colleagues; readers see the subject."),
        widget=forms.TextInput({"autocomplete": "off"}),
    )
    key = forms.CharField(
        label=gettext_lazy("Key"),
        required=False,
        max_length=64,
        help_text=gettext_lazy(
            "Empty: made from the name, as welcome-mail. Programs use it; it cannot be changed"
            " later, nor given to another template."
        ),
        widget=forms.TextInput({"autocomplete": "off", "class": "input mono"}),
    )

    def clean_key(self) -> str:
        name: str = self.cleaned_data.get("name", "")
        key: str = self.cleaned_data["key"] or make_key(name, longest=64)
        if not key:
            raise ValidationError(_("Write a key: it has letters from a to z, and digits."))
        return key


@require_safe
def show_list(request: HttpRequest, visitor: Visitor) -> HttpResponse:
    every = templates.list_templates(visitor.workspace.pk)
    values = {
        "title": _("Templates"),
        "rows": [template for template in every if not template.is_builtin],
        "builtins": [template for template in every if template.is_builtin],
        "may_write": visitor.may(Permission.WRITE_CONTENT),
    }
    return render_page(request, visitor, "dashboard/content/templates.html", values)


@require_http_methods(["GET", "HEAD", "POST"])
def create(request: HttpRequest, visitor: Visitor) -> HttpResponse:
    form = NewTemplateForm(request.POST if request.method == "POST" else None)
    if form.is_valid() and _create(visitor, form):
        return redirect("template_write", visitor.workspace.pk, form.cleaned_data["key"])
    values = {"title": _("New template"), "form": form}
    status = 422 if form.errors else 200
    return render_page(
        request, visitor, "dashboard/content/new_template.html", values, status=status
    )


def _create(visitor: Visitor, form: NewTemplateForm) -> bool:
    given = form.cleaned_data
    try:
        templates.create(
            visitor.workspace.pk, key=given["key"], name=given["name"], actor=visitor.actor
        )
    except InvalidNameError:
        form.add_error("name", _("Use printable characters only."))
    except InvalidTemplateKeyError:
        text = _("Use up to 64 lowercase letters, digits and hyphens, and begin with no hyphen.")
        form.add_error("key", text)
    except TemplateExistsError:
        text = _("A template has this key already, or had it before it was archived.")
        form.add_error("key", text)
    return form.is_valid()


@require_safe
def show(request: HttpRequest, visitor: Visitor, key: str) -> HttpResponse:
    template = find_template(visitor, key)
    versions = []
    if template.archived_at is None:
        versions = templates.list_versions(visitor.workspace.pk, key=key)
    may_write = visitor.may(Permission.WRITE_CONTENT) and not template.is_builtin
    values = {
        "title": template.name,
        "template": template,
        "versions": versions,
        "may_write": may_write and template.archived_at is None,
        "may_restore": may_write and template.archived_at is not None,
    }
    return render_page(request, visitor, "dashboard/content/template.html", values)


def find_template(visitor: Visitor, key: str) -> TemplateSummary:
    """The template that mail with this key is made from; an archived one if there is no other."""
    same_key = [
        template
        for template in templates.list_templates(visitor.workspace.pk)
        if template.key == key
    ]
    if not same_key:
        raise TemplateUnknownError
    return next((one for one in same_key if one.archived_at is None), same_key[0])


@require_POST
def archive(request: HttpRequest, visitor: Visitor, key: str) -> HttpResponse:
    templates.archive(visitor.workspace.pk, key=key, actor=visitor.actor)
    messages.success(request, _("It is archived: no new mail is made from it."))
    return redirect("template", visitor.workspace.pk, key)


@require_POST
def restore(request: HttpRequest, visitor: Visitor, key: str) -> HttpResponse:
    templates.restore(visitor.workspace.pk, key=key, actor=visitor.actor)
    messages.success(request, _("It is in use again."))
    return redirect("template", visitor.workspace.pk, key)

"""Imports: upload a file, map its columns, try it, and watch it."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib import messages
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from postledger.accounts.constraints import InvalidNameError
from postledger.accounts.people.roles import Permission
from postledger.contacts import lists
from postledger.contacts import queries as contact_queries
from postledger.contacts.csv_columns import Field
from postledger.contacts.lists import ListExistsError, ListUnknownError
from postledger.contacts.states import ListKind
from postledger.imports import overview, problems, queries, uploads
from postledger.imports.columns import exact_mapping
from postledger.imports.files import workbooks
from postledger.imports.models import ImportState
from postledger.imports.old_states import OldState
from postledger.imports.overview import ImportOverview
from postledger.lib.errors import NotFoundError, RefusedError
from postledger.web.dashboard.access import Visitor
from postledger.web.dashboard.audience import import_columns, import_figures, received_file
from postledger.web.dashboard.audience.import_columns import ImportSettings
from postledger.web.dashboard.audience.import_words import say_on_page
from postledger.web.dashboard.audience.questions import Question, ask
from postledger.web.dashboard.components import actor_names
from postledger.web.dashboard.editor.choices import list_attributes
from postledger.web.dashboard.forms import PageForm
from postledger.web.dashboard.frame import render_fragment, render_page
from postledger.web.dashboard.parameters import read_number
from postledger.web.shared.bodies import LARGEST_UPLOAD, MIB
from postledger.web.shared.csv_files import csv_response

_ON_A_PAGE = 20
_MOVING = (ImportState.PREVIEWING, ImportState.RUNNING)


class UploadForm(PageForm):
    file = forms.FileField(
        label=gettext_lazy("File"),
        allow_empty_file=True,  # the reader says what a file must have
        help_text=gettext_lazy("CSV, or an Excel workbook (xlsx). Its first row has the names."),
        widget=forms.FileInput({"accept": ".csv,.txt,.tsv,.xlsx"}),
    )
    sheet = forms.CharField(
        label=gettext_lazy("Sheet of a workbook"),
        required=False,
        max_length=255,
        help_text=gettext_lazy("Empty: the first one."),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # A script refuses it before it is sent.
        self.fields["file"].widget.attrs |= {
            "data-most": LARGEST_UPLOAD,
            "data-too-large": _say_too_large(),
        }

    def clean_file(self) -> UploadedFile:
        file: UploadedFile = self.cleaned_data["file"]
        if (file.size or 0) > LARGEST_UPLOAD:
            raise forms.ValidationError(_say_too_large())
        return file


def _say_too_large() -> str:
    text = _("The file is larger than %(size)s MiB. Divide it into smaller ones.")
    return text % {"size": LARGEST_UPLOAD // MIB}


@require_safe
def show(request: HttpRequest, visitor: Visitor) -> HttpResponse:
    return _show_all(request, visitor, UploadForm())


@require_POST
def upload(request: HttpRequest, visitor: Visitor) -> HttpResponse:
    """Keeps a file that can be read to its end; imports nothing yet."""
    form = UploadForm(request.POST, request.FILES)
    if form.is_valid():
        try:
            return redirect("import", visitor.workspace.pk, _store(visitor, form))
        except RefusedError as error:
            form.add_error("file", say_on_page(error))
    return _show_all(request, visitor, form, status=422)


@require_POST
def refuse_large(request: HttpRequest, visitor: Visitor) -> HttpResponse:
    form = UploadForm({})
    form.full_clean()
    del form.errors["file"]  # that there was none
    form.add_error("file", _say_too_large())
    return _show_all(request, visitor, form, status=413)


def _show_all(
    request: HttpRequest, visitor: Visitor, form: UploadForm, *, status: int = 200
) -> HttpResponse:
    imports = overview.list_newest(
        visitor.workspace.pk, limit=_ON_A_PAGE + 1, before=read_number(request.GET, "before")
    )
    shown = imports[:_ON_A_PAGE]
    values = {
        "title": _("Imports"),
        "may_manage": visitor.may(Permission.MANAGE_CONTACTS),
        "form": form,
        "rows": _make_rows(visitor, shown),
        "older_url": f"?before={shown[-1].id}" if len(imports) > _ON_A_PAGE else "",
    }
    return render_page(request, visitor, "dashboard/audience/imports.html", values, status=status)


def _store(visitor: Visitor, form: UploadForm) -> int:
    file: UploadedFile = form.cleaned_data["file"]
    with (
        received_file.keep_file(file) as path,
        workbooks.open_as_csv(path, sheet=form.cleaned_data["sheet"] or None) as table,
    ):
        return uploads.store_upload(
            visitor.workspace.pk,
            table,
            made_of=path,
            file_name=file.name or "",
            actor=visitor.actor,
        )


def _make_rows(visitor: Visitor, imports: list[ImportOverview]) -> list[Mapping[str, Any]]:
    names = actor_names.name_actors(visitor.workspace.pk, (one.actor for one in imports))
    return [
        {"of": one, "badge": import_figures.make_badge(one.state), "by": names[one.actor]}
        for one in imports
    ]


@require_safe
def show_import(request: HttpRequest, visitor: Visitor, import_id: int) -> HttpResponse:
    shown = overview.find_overview(visitor.workspace.pk, import_id)
    return _show(request, visitor, shown)


@require_safe
def refresh(request: HttpRequest, visitor: Visitor, import_id: int) -> HttpResponse:
    """The same without the frame, while a worker reads the file."""
    shown = overview.find_overview(visitor.workspace.pk, import_id)
    values = _describe(visitor, shown)
    return render_fragment(request, visitor, "dashboard/audience/import_live.html", values)


@require_POST
def try_out(request: HttpRequest, visitor: Visitor, import_id: int) -> HttpResponse:
    """Lets a worker make a dry run with the columns as they were chosen.

    A list that is named here is created when the import starts.
    """
    shown = overview.find_overview(visitor.workspace.pk, import_id)
    chosen = import_columns.read_settings(shown, request.POST)
    if chosen.list_key and chosen.new_list:
        text = _("Choose a list, or write the name of a new one; not both.")
        return _refuse(request, visitor, shown, chosen, {"list_error": text})
    try:
        uploads.request_preview(
            visitor.workspace.pk,
            import_id,
            mapping=import_columns.build_mapping(chosen.columns),
            list_key=chosen.list_key or None,
            new_list=chosen.new_list,
        )
    except NotFoundError:
        raise
    except (InvalidNameError, ListExistsError, ListUnknownError) as error:
        return _refuse(request, visitor, shown, chosen, {"list_error": say_on_page(error)})
    except RefusedError as error:
        return _refuse(request, visitor, shown, chosen, {"mapping_error": say_on_page(error)})
    return redirect("import", visitor.workspace.pk, import_id)


def _refuse(
    request: HttpRequest,
    visitor: Visitor,
    shown: ImportOverview,
    chosen: ImportSettings,
    errors: Mapping[str, str],
) -> HttpResponse:
    """Shows what was chosen, without a dry run, which was of other choices."""
    typed = {
        "columns": chosen.columns,
        "list_key": chosen.list_key,
        "new_list": chosen.new_list,
        "tried": None,
        **errors,
    }
    return _show(request, visitor, shown, typed, status=422)


@require_POST
def start(request: HttpRequest, visitor: Visitor, import_id: int) -> HttpResponse:
    """Lets a worker import the file, with the columns and the list of its dry run.

    Other ones are refused until they are tried: nobody has seen what they would do.
    """
    shown = overview.find_overview(visitor.workspace.pk, import_id)
    chosen = import_columns.read_settings(shown, request.POST)
    if shown.state is ImportState.PREVIEWING:
        messages.error(request, _("Wait for the dry run: it shows what would happen."))
        return redirect("import", visitor.workspace.pk, import_id)
    if shown.state is ImportState.UPLOADED and (missing := _miss_dry_run(shown, chosen)):
        return _refuse(request, visitor, shown, chosen, {"mapping_error": missing})
    header = shown.upload["header"] if shown.upload else []
    try:
        uploads.start_import(
            visitor.workspace.pk,
            import_id,
            mapping=exact_mapping(header, shown.mapping),
            list_key=shown.list,
            new_list=shown.new_list,
            actor=visitor.actor,
        )
    except NotFoundError:
        raise
    except RefusedError as error:  # it was started or abandoned meanwhile
        messages.error(request, say_on_page(error))
    return redirect("import", visitor.workspace.pk, import_id)


def _miss_dry_run(shown: ImportOverview, chosen: ImportSettings) -> str:
    """Why nobody can have seen what these settings would do; empty if they were tried."""
    if shown.preview is None:
        return _(
            "There is no dry run of these columns and this list. Try it to see what would happen;"
            " nothing was imported."
        )
    if import_columns.differ_from_dry_run(shown, chosen):
        return _(
            "The columns or the list are not those of the dry run. Try it again to see what would"
            " happen; nothing was imported."
        )
    return ""


@require_http_methods(["GET", "HEAD", "POST"])
def abandon(request: HttpRequest, visitor: Visitor, import_id: int) -> HttpResponse:
    shown = overview.find_overview(visitor.workspace.pk, import_id)
    url = reverse("import", args=[visitor.workspace.pk, import_id])
    if request.method == "POST":
        try:
            uploads.abandon_import(visitor.workspace.pk, import_id, actor=visitor.actor)
        except RefusedError as error:
            messages.error(request, say_on_page(error))
        return redirect(url)
    question = Question(
        heading=_("Cancel the import of %(file)s?") % {"file": shown.file_name},
        sentences=[
            _("The file is deleted here. Rows that were already imported stay, and are counted.")
        ],
        go=_("Cancel the import"),
        stay=_("Go on"),
        back_url=url,
        back_title=shown.file_name,
    )
    return ask(request, visitor, question, PageForm())


@require_safe
def get_problems(request: HttpRequest, visitor: Visitor, import_id: int) -> HttpResponseBase:  # noqa: ARG001  every view gets it
    rows = queries.read_problems(visitor.workspace.pk, import_id)
    return csv_response(problems.csv_lines(rows), file_name=f"import-{import_id}-problems.csv")


def _show(
    request: HttpRequest,
    visitor: Visitor,
    shown: ImportOverview,
    typed: Mapping[str, Any] | None = None,
    *,
    status: int = 200,
) -> HttpResponse:
    values = {**_describe(visitor, shown), **(typed or {})}
    return render_page(request, visitor, "dashboard/audience/import.html", values, status=status)


def _describe(visitor: Visitor, shown: ImportOverview) -> dict[str, Any]:
    names = actor_names.name_actors(visitor.workspace.pk, [shown.actor])
    values: dict[str, Any] = {
        "title": shown.file_name,
        "import": shown,
        "badge": import_figures.make_badge(shown.state),
        "steps": import_figures.list_steps(shown),
        "by": names[shown.actor],
        "may_manage": visitor.may(Permission.MANAGE_CONTACTS),
        "is_moving": shown.state in _MOVING,
        "tenths": 10 * (10 * shown.done // shown.row_count) if shown.row_count else 0,
        "done": import_figures.sum_done(shown) if shown.started_at else None,
        "kept_off": import_figures.list_kept_back(shown.kept_back_reasons),
    }
    if shown.state is ImportState.UPLOADED and shown.upload:
        active = lists.list_all(visitor.workspace.pk).filter(archived_at=None)
        values |= {
            "columns": import_columns.list_choices(
                shown.upload, shown.mapping, known_keys=list_attributes(visitor.workspace.pk)
            ),
            "targets": import_columns.TARGETS.items(),
            "lists": lists.name_apart(active.filter(kind=ListKind.LIST.value)),
            "list_key": shown.list or "",
            "new_list": shown.new_list,
        }
    if shown.list:
        values["list"] = lists.list_all(visitor.workspace.pk).get(key=shown.list)
    elif shown.new_list:
        values["list"] = {"name": shown.new_list}
    if shown.preview:
        values |= {
            "tried": import_figures.sum_preview(shown.preview),
            "changes": _list_changes(visitor, shown.preview),
            "own_choices": _list_own_choices(visitor, shown.preview),
            "kept_back": import_figures.list_kept_back(shown.preview["kept_back"]),
            "kept_back_count": sum(shown.preview["kept_back"].values()),
            "not_subscribed_count": shown.preview["kept_back"].get(OldState.NOT_SUBSCRIBED, 0),
            "unknown_count": shown.preview["kept_back"].get(OldState.UNKNOWN, 0),
            "reads_old_states": Field.OLD_STATE in shown.mapping.values(),
            "problem_count": shown.preview.get("problem_count", 0),  # older dry runs have none
            "changes_nothing": _changes_nothing(shown, shown.preview),
            "importable": sum(shown.preview[name] for name in ("created", "updated", "unchanged")),
        }
    return values


def _changes_nothing(shown: ImportOverview, preview: Mapping[str, Any]) -> bool:
    """Whether an import would be for nothing: it would not even end a consent, or make a list."""
    counts = sum(preview[name] for name in ("created", "updated", "subscribed"))
    return not (counts or shown.new_list or Field.OLD_STATE in shown.mapping.values())


def _list_own_choices(
    visitor: Visitor, preview: Mapping[str, Any]
) -> list[import_figures.OwnChoiceLine]:
    ids = [pk for choosers in preview.get("choosers", {}).values() for pk in choosers]
    addresses = contact_queries.find_addresses(visitor.workspace.pk, ids)
    return import_figures.list_own_choices(preview, addresses)


def _list_changes(visitor: Visitor, preview: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The changes of a dry run, which masks addresses, with those that its contacts have."""
    changes: list[Mapping[str, Any]] = preview["changes"]
    addresses = contact_queries.find_addresses(
        visitor.workspace.pk, [change["contact_id"] for change in changes]
    )
    return [
        {**change, "address": addresses.get(change["contact_id"], change["address"])}
        for change in changes
    ]

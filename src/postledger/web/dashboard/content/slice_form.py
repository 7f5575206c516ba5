"""A slice of an article as a person writes it."""

from collections.abc import Mapping
from dataclasses import fields as dataclass_fields
from datetime import datetime
from typing import Any, ClassVar, override

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from postledger.accounts.trail import Action
from postledger.content.slices import Slice, SliceFields
from postledger.web.dashboard import formats
from postledger.web.dashboard.editor import readings
from postledger.web.dashboard.editor.readings import WrongFieldError
from postledger.web.dashboard.forms import WholeNumberField
from postledger.web.dashboard.shared_form import SharedForm

_LARGEST = 2**31 - 1
_TEXTS = ("title", "dek", "body_md")
_MOMENTS = ("published_from", "published_until")


class SliceForm(SharedForm):
    title = forms.CharField(
        label=gettext_lazy("Title"),
        required=False,
        max_length=500,
        help_text=gettext_lazy(
            "Readers see it if this slice is their headline: as the subject, and above the text."
            " Of another slice they see only the text."
        ),
    )
    dek = forms.CharField(
        label=gettext_lazy("Short text under the title"),
        required=False,
        max_length=2_000,
        help_text=gettext_lazy("Readers see it if this slice is their headline."),
    )
    is_headline = forms.BooleanField(
        label=gettext_lazy("A headline: its title is the subject of the email"),
        required=False,
        help_text=gettext_lazy(
            "Of several headlines, each reader gets that of the smallest place they live in."
        ),
    )
    preheader = forms.CharField(
        label=gettext_lazy("Preheader"),
        required=False,
        max_length=2_000,
        help_text=gettext_lazy(
            "Mail programs show it beside the subject, if this is the headline."
        ),
        widget=forms.TextInput({"autocomplete": "off"}),
    )
    body_md = forms.CharField(
        label=gettext_lazy("Text"),
        required=False,
        strip=False,
        help_text=gettext_lazy(
            "Markdown. Values of the reader: {{ name }}, {{ email }}, {{ from_name }}, and the link"
            " {{ unsubscribe_url }}. Slices have no others."
        ),
        widget=forms.Textarea({"rows": 13, "class": "area"}),
    )
    scope_ocd_id = forms.CharField(
        label=gettext_lazy("Place (OCD id)"),
        required=False,
        max_length=500,
        help_text=gettext_lazy(
            "As ocd-division/country:us/state:oh. Empty: everybody gets the slice."
        ),
    )
    is_published = forms.BooleanField(label=gettext_lazy("Published"), required=False)
    published_from = forms.CharField(
        label=gettext_lazy("Readers get it from"),
        required=False,
        widget=forms.DateTimeInput({"type": "datetime-local"}),
    )
    published_until = forms.CharField(
        label=gettext_lazy("Readers get it until"),
        required=False,
        widget=forms.DateTimeInput({"type": "datetime-local"}),
    )
    section = forms.CharField(label=gettext_lazy("Section"), required=False, max_length=200)
    section_order = WholeNumberField(
        label=gettext_lazy("Order of the section"),
        example="2",
        required=False,
        min_value=-_LARGEST - 1,
        max_value=_LARGEST,
        help_text=gettext_lazy("Sections with smaller numbers come first."),
    )
    sort_index = WholeNumberField(
        label=gettext_lazy("Order in the section"),
        example="2",
        required=False,
        min_value=-_LARGEST - 1,
        max_value=_LARGEST,
        help_text=gettext_lazy("Among slices for equally broad places."),
    )

    changed_by: ClassVar[Mapping[str, Action]] = {
        field.name: "slice.changed" for field in dataclass_fields(SliceFields)
    }

    def __init__(self, piece: Slice | None, posted: QueryDict | None = None) -> None:
        super().__init__(list_first_values(piece), posted)
        self.piece = piece

    def merge_fields(self, stored: Slice, fields: SliceFields) -> SliceFields | None:
        """The stored slice with what was changed of it; None if somebody else changed that too."""
        if not self.take_over(list_first_values(stored)):
            return None
        names = [field.name for field in dataclass_fields(SliceFields)]
        return SliceFields(
            **{name: getattr(fields if name in self.changed else stored, name) for name in names}
        )

    @override
    def clean(self) -> dict[str, Any] | None:
        """A headline without a title is refused beside its title."""
        values = self.cleaned_data
        if not (
            self.errors or values["is_headline"] or any(values[name].strip() for name in _TEXTS)
        ):
            self.add_error("body_md", _("Write a text: the slice is empty."))
        return super().clean()

    def read_fields(self) -> SliceFields | None:
        """None, with errors beside what is wrong."""
        if not self.is_valid():
            return None
        given = self.cleaned_data
        moments = {name: self._read_moment(name) for name in _MOMENTS}
        if self.errors:
            return None
        return SliceFields(
            scope_ocd_id=given["scope_ocd_id"] or None,
            section=given["section"],
            section_order=given["section_order"] or 0,
            sort_index=given["sort_index"] or 0,
            is_headline=given["is_headline"],
            title=given["title"],
            dek=given["dek"],
            preheader=given["preheader"],
            body_md=given["body_md"].replace("\r\n", "\n"),
            is_published=given["is_published"],
            **moments,
        )

    def _read_moment(self, name: str) -> datetime | None:
        """What is stored if its text is unchanged: a field shows less, as no seconds."""
        text = self.cleaned_data[name]
        if self.piece is not None and text == self.initial[name]:
            stored: datetime | None = getattr(self.piece, name)
            return stored
        try:
            return readings.parse_moment(name, text) if text else None
        except WrongFieldError as error:
            self.add_error(name, str(error))
            return None


def list_first_values(piece: Slice | None) -> Mapping[str, Any]:
    if piece is None:
        return {"section_order": 0, "sort_index": 0}
    values = {name: getattr(piece, name) for name in SliceForm.base_fields}
    moments = {
        name: formats.input_moment(values[name]) if values[name] else "" for name in _MOMENTS
    }
    return values | moments | {"scope_ocd_id": piece.scope_ocd_id or ""}

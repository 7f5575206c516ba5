"""A new version of a template as a person writes it: its variables, and a text for each locale."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, override

from django import forms
from django.forms import BaseFormSet, formset_factory
from django.http import QueryDict
from django.utils.translation import gettext, gettext_lazy

from postledger.content import locales, previews
from postledger.content.locales import InvalidLocaleError
from postledger.content.rendering.source import Format, Source
from postledger.content.versions import Version
from postledger.imports.locales import read_locale
from postledger.lib.errors import RefusedError
from postledger.web.dashboard.components.finding_words import describe_finding
from postledger.web.dashboard.forms import PageForm
from postledger.web.dashboard.parameters import read_number
from postledger.web.dashboard.shared_form import Conflict
from postledger.web.shared.sentences import translate

MOST_TEXTS = 20
_PREFIX = "texts"
_OWN_FAULTS = ("subject", "preheader", "text")  # the fields beside which their faults are shown
_BETWEEN = re.compile(r"[\s,;]+")
_FORMATS = (
    (Format.MARKDOWN.value, "Markdown"),
    (Format.MJML.value, "MJML"),
    (Format.HTML.value, "HTML"),
)


class VariablesForm(PageForm):
    """What fills in the texts, and which of them serves readers of other languages."""

    base = forms.IntegerField(required=False, widget=forms.HiddenInput)  # the newest that was seen
    required = forms.CharField(
        label=gettext_lazy("Required variables"),
        required=False,
        help_text=gettext_lazy("Mail without one of them is refused. Separate them by commas."),
    )
    optional = forms.CharField(
        label=gettext_lazy("Optional variables"),
        required=False,
        help_text=gettext_lazy("They may be missing; the text says what stands there then."),
    )
    fallback_locale = forms.CharField(
        label=gettext_lazy("Language for everybody else"),
        required=False,
        max_length=locales.LONGEST,
        help_text=gettext_lazy(
            "Empty: a template in one language is for everybody; of several, each is for its own"
            " readers, and other people get no email."
        ),
    )


class TextForm(PageForm):
    """No field is required here: an empty one is refused with its language's name."""

    above: Sequence[PageForm] = ()  # on the page

    locale = forms.CharField(
        label=gettext_lazy("Language"),
        required=False,
        max_length=locales.LONGEST,
        help_text=gettext_lazy("As en, pt-BR or German."),
    )
    format = forms.ChoiceField(label=gettext_lazy("Format"), choices=_FORMATS)
    subject = forms.CharField(
        label=gettext_lazy("Subject"),
        required=False,
        widget=forms.TextInput({"autocomplete": "off"}),
    )
    preheader = forms.CharField(
        label=gettext_lazy("Preheader"),
        required=False,
        help_text=gettext_lazy(
            "Mail programs show it beside the subject. Empty: they show the text."
        ),
        widget=forms.TextInput({"autocomplete": "off"}),
    )
    body = forms.CharField(
        label=gettext_lazy("Text"),
        required=False,
        strip=False,
        widget=forms.Textarea({"rows": 13, "class": "area"}),
    )
    text = forms.CharField(
        label=gettext_lazy("Plain text of your own"),
        required=False,
        strip=False,
        help_text=gettext_lazy("Empty: it is made from the text above."),
        widget=forms.Textarea({"rows": 5, "class": "area"}),
    )

    @property
    @override
    def yields_focus(self) -> bool:
        return any(form.errors for form in self.above)

    def read_source(self) -> Source | None:
        """None, with an error beside it, if the locale is none."""
        given = self.cleaned_data
        try:
            locale = locales.canonical(read_locale(given["locale"]))
        except InvalidLocaleError as error:
            self.add_error("locale", translate(error))
            return None
        body, text = (given[name].replace("\r\n", "\n") for name in ("body", "text"))
        format_ = Format(given["format"])
        return Source(given["subject"], body, format_, text, locale, given["preheader"])


_TextForms = formset_factory(
    TextForm, extra=0, can_delete=True, max_num=MOST_TEXTS, absolute_max=MOST_TEXTS
)


class VersionForm:
    """Both forms of the page."""

    def __init__(
        self, workspace_id: int, newest: Version | None, posted: QueryDict | None = None
    ) -> None:
        self.workspace_id = workspace_id
        self.newest = newest.number if newest else 0
        self.conflict: Conflict | None = None
        self.proposed: tuple[str, ...] = ()  # undeclared variables that were filled in
        self.needless: tuple[str, ...] = ()  # required ones without which no text has a gap
        self.variables = VariablesForm(posted, initial=_list_variables(newest))
        self.texts: BaseFormSet[TextForm] = _TextForms(
            _add_text(posted),
            initial=_list_texts(newest),
            prefix=_PREFIX,
            # A text of which nothing arrived is refused, and passes for none that was left empty.
            form_kwargs={"empty_permitted": False},
        )
        for number, text in enumerate(self.texts.forms):
            text.above = [self.variables, *self.texts.forms[:number]]

    @property
    def base(self) -> int | None:
        """The newest version when the page was shown, or 0; None if it did not say."""
        number: int | None = self.variables.cleaned_data["base"]
        return number

    def show_conflict(self, conflict: Conflict) -> None:
        """Saving again is meant to follow the newest version."""
        self.conflict = conflict
        self.variables.data = {**dict(self.variables.data.items()), "base": str(self.newest)}

    @property
    def has_errors(self) -> bool:
        return any(form.errors for form in (self.variables, *self.texts.forms))

    @property
    def may_add(self) -> bool:
        return len(self.texts.forms) < MOST_TEXTS

    def propose_variables(self) -> None:
        """Fills in the variables that the texts use and no field names: a person saves them."""
        if not (self.variables.is_valid() and self.texts.is_valid()):
            return
        required, optional = self._read_names()
        named = list(self._read_names())
        used = dict[str, bool]()  # and whether no text has a gap without it
        for form in self._list_kept():
            for name, is_covered in self._list_used(form):
                used[name] = used.get(name, True) and is_covered
        self.needless = tuple(name for name in required if used.get(name))
        missing = [name for name in used if name not in {*required, *optional}]
        for name in missing:
            named[used[name]] = (*named[used[name]], name)
        filled = dict(zip(("required", "optional"), map(", ".join, named), strict=True))
        self.variables.data = {**self.variables.data.dict(), **filled}  # type: ignore[attr-defined]
        self.variables.cleaned_data |= filled
        self.proposed = tuple(missing)

    def _list_used(self, form: TextForm) -> Iterator[tuple[str, bool]]:
        """The variables of a text, each with whether it leaves no gap where it is missing."""
        given = form.cleaned_data
        source = Source(
            given["subject"],
            given["body"],
            Format(given["format"]),
            given["text"],
            preheader=given["preheader"],
        )
        try:
            gaps = previews.list_variables(self.workspace_id, source)
        except RefusedError:
            gaps = None  # what is wrong with it is said when it is saved
        for name, is_gap in (gaps or {}).items():
            yield name, not is_gap

    def read_version(self) -> Version | None:
        """None, with errors beside what is wrong, if no mail can be made of it.

        Nor is a version made of variables that nobody has declared: they are proposed.
        """
        is_valid = self.variables.is_valid() and self.texts.is_valid()
        if not is_valid:
            return None
        fallback = read_locale(self.variables.cleaned_data["fallback_locale"].strip())
        self.propose_variables()
        texts = [(form, form.read_source()) for form in self._list_kept()]
        sources = [source for _form, source in texts if source]
        if not fallback and len(texts) == len(sources) == 1:
            fallback = sources[0].locale  # else nobody without a language would get any mail
        version = Version(*self._read_names(), fallback, tuple(sources))
        has_errors = _refuse_repeated(texts) or len(sources) < len(texts)
        for form, source in texts:
            if source:
                has_errors = self._show_faults(form, source, version) or has_errors
        return None if has_errors or self.proposed else version

    def read_text(self, number: int) -> tuple[Source, Version] | None:
        """One of the texts that stay, to be tried before the version is complete."""
        if not (self.variables.is_valid() and self.texts.is_valid()):
            return None
        self.propose_variables()
        prefix = self.texts.add_prefix(number)
        form = next((each for each in self._list_kept() if each.prefix == prefix), None)
        source = None if form is None else form.read_source()
        if source is None:
            return None
        return source, Version(*self._read_names(), "", (source,))

    def _read_names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        given = self.variables.cleaned_data
        return _split_names(given["required"]), _split_names(given["optional"])

    def _list_kept(self) -> Iterator[TextForm]:
        return (form for form in self.texts.forms if not form.cleaned_data.get("DELETE"))

    def _show_faults(self, form: TextForm, source: Source, version: Version) -> bool:
        preview = previews.preview_source(
            self.workspace_id, source, required=version.required, optional=version.optional
        )
        for fault in preview.faults():
            field = fault.place.partition(",")[0]
            form.add_error(field if field in _OWN_FAULTS else "body", describe_finding(fault))
        return bool(preview.faults())


def _refuse_repeated(texts: Sequence[tuple[TextForm, Source | None]]) -> bool:
    """Whether two texts have one language, with an error beside the later one."""
    seen = set[str]()
    repeated = False
    for form, source in texts:
        if source and source.locale in seen:
            repeated = True
            form.add_error("locale", gettext("Another text has this language. Keep one of them."))
        elif source:
            seen.add(source.locale)
    return repeated


def _split_names(text: str) -> tuple[str, ...]:
    return tuple(name for name in _BETWEEN.split(text) if name)


def _list_variables(newest: Version | None) -> Mapping[str, Any]:
    if newest is None:
        return {"base": 0}
    return {
        "base": newest.number,
        "required": ", ".join(newest.required),
        "optional": ", ".join(newest.optional),
        "fallback_locale": newest.fallback_locale,
    }


def _list_texts(newest: Version | None) -> Sequence[Mapping[str, Any]]:
    texts = newest.texts if newest else (Source("", "", Format.MARKDOWN),)
    return [
        {
            "locale": text.locale,
            "format": text.format.value,
            "subject": text.subject,
            "preheader": text.preheader,
            "body": text.body,
            "text": text.text,
        }
        for text in texts
    ]


def _add_text(posted: QueryDict | None) -> QueryDict | None:
    """With one more text, if that was asked for."""
    if posted is None or "add" not in posted:
        return posted
    added, total = posted.copy(), f"{_PREFIX}-TOTAL_FORMS"
    number = read_number(posted, total) or 0
    added[total] = str(min(number + 1, MOST_TEXTS))
    added.setdefault(f"{_PREFIX}-{number}-format", Format.MARKDOWN.value)
    return added

"""The editor's form: a draft as a person writes it, and the parts of a campaign that it means."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, override

from django import forms
from django.http import QueryDict
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from postledger.accounts import constraints, working_hours
from postledger.accounts.working_hours import WEEKDAYS, Hours
from postledger.campaigns.drafts.drafts import CampaignFacts
from postledger.contacts import segments
from postledger.content import articles
from postledger.content.rendering.source import Format, Source
from postledger.lib import values
from postledger.mailing.content_source import (
    ArticleSource,
    ContentSource,
    InlineSource,
    PageSource,
    TemplateSource,
)
from postledger.mailing.send_times import SendTime
from postledger.web.dashboard.editor import audience_exceptions, conditions, readings
from postledger.web.dashboard.editor.choices import (
    Choice,
    Choices,
    ask_to_choose,
    include_value,
)
from postledger.web.dashboard.editor.conditions import Condition, IncompleteConditionError
from postledger.web.dashboard.editor.first_values import NOT_CHOSEN, list_first_values
from postledger.web.dashboard.editor.readings import WrongFieldError
from postledger.web.dashboard.editor.variables import (
    Variable,
    list_stored,
    list_texts,
    list_used,
)
from postledger.web.dashboard.forms import PageForm, WholeNumberField

KINDS: Sequence[Choice] = (
    (Format.MARKDOWN.value, "Markdown"),
    (Format.MJML.value, "MJML"),
    (Format.HTML.value, "HTML"),
    ("template", gettext_lazy("Template")),
    ("page", gettext_lazy("Notion page")),
    ("article", gettext_lazy("Article slices")),
)
TIMES: Sequence[tuple[str, tuple[Promise | str, Promise | str]]] = (
    ("now", (gettext_lazy("Now"), gettext_lazy("As fast as the limits allow"))),
    ("at", (gettext_lazy("At a time"), gettext_lazy("The same moment for everybody"))),
    ("local", (gettext_lazy("Each reader's local time"), gettext_lazy("Wherever they are"))),
)
_DAYS: Sequence[Choice] = tuple(
    zip(
        WEEKDAYS,
        (
            *(gettext_lazy("Mon"), gettext_lazy("Tue"), gettext_lazy("Wed"), gettext_lazy("Thu")),
            *(gettext_lazy("Fri"), gettext_lazy("Sat"), gettext_lazy("Sun")),
        ),
        strict=True,
    )
)


# The other fields that a part reads, by its first.
_READ_WITH: Mapping[str, Sequence[str]] = {
    "list_key": ("match", "filter_json", "segment"),
    "kind": (
        *("subject", "preheader", "body", "text", "locale"),
        *("template", "version", "article", "page"),
    ),
    "when": ("at", "local_at", "has_window", "opens", "closes", "weekdays"),
}


@dataclass(frozen=True, slots=True)
class Part:
    """Fields that are saved together, or together are not."""

    field: str  # beside which a refusal is shown
    # In the transaction that saves them; raises WrongFieldError or IncompleteConditionError.
    read_changes: Callable[[], Mapping[str, Any]]


class DraftForm(PageForm):
    """Everything of a draft; no field but the name is required, because drafts are unfinished."""

    name = forms.CharField(
        label=pgettext_lazy("of a thing", "Name"), max_length=constraints.LONGEST_NAME
    )
    list_key = forms.ChoiceField(label=gettext_lazy("List"), required=False)
    match = forms.ChoiceField(
        choices=[
            ("all", gettext_lazy("who match all of")),
            ("any", gettext_lazy("who match any of")),
        ],
        required=False,
    )
    filter_json = forms.CharField(
        label=gettext_lazy("Filter as JSON"),
        required=False,
        help_text=gettext_lazy("It says more than the builder can show. {} means everybody."),
        widget=forms.Textarea({"rows": 6, "class": "area", "spellcheck": "false"}),
    )
    segment = forms.ChoiceField(
        label=gettext_lazy("Saved segment"),
        required=False,
        help_text=gettext_lazy(
            "“Use it” puts its conditions in the place of those above. “Leave it out” keeps those,"
            " and leaves its people out."
        ),
    )
    kind = forms.ChoiceField(choices=KINDS)
    subject = forms.CharField(
        label=gettext_lazy("Subject"),
        required=False,
        strip=False,
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
    locale = forms.CharField(
        label=gettext_lazy("Language of the text"),
        required=False,
        max_length=35,
        help_text=gettext_lazy("As en, pt-BR or German. Screen readers and mail programs use it."),
    )
    template = forms.ChoiceField(label=gettext_lazy("Template"), required=False)
    version = WholeNumberField(
        label=gettext_lazy("Version"),
        required=False,
        min_value=1,
        max_value=2**31 - 1,
        help_text=gettext_lazy("Empty: the newest at launch."),
    )
    page = forms.CharField(
        label=gettext_lazy("Link or id of the Notion page"),
        required=False,
        max_length=500,
        help_text=gettext_lazy("It is read again at launch."),
    )
    article = forms.ChoiceField(label=gettext_lazy("Article"), required=False)
    sender = forms.ChoiceField(label=gettext_lazy("Sender"))
    when = forms.ChoiceField(choices=[(key, label) for key, (label, _hint) in TIMES])
    at = forms.CharField(
        label=gettext_lazy("Time"),
        required=False,
        widget=forms.DateTimeInput({"type": "datetime-local"}),
    )
    local_at = forms.CharField(
        label=gettext_lazy("Each reader's local time"),
        required=False,
        widget=forms.DateTimeInput({"type": "datetime-local"}),
    )
    has_window = forms.BooleanField(required=False)
    opens = forms.CharField(
        label=gettext_lazy("From"), required=False, widget=forms.TimeInput({"type": "time"})
    )
    closes = forms.CharField(
        label=gettext_lazy("To"), required=False, widget=forms.TimeInput({"type": "time"})
    )
    weekdays = forms.MultipleChoiceField(
        choices=_DAYS, required=False, widget=forms.CheckboxSelectMultiple
    )

    def __init__(
        self,
        workspace_id: int,
        campaign: CampaignFacts,
        choices: Choices,
        posted: QueryDict | None = None,
    ) -> None:
        first = list_first_values(campaign)
        super().__init__(posted, initial=first)
        self.workspace_id, self.campaign = workspace_id, campaign
        offers = {
            "list_key": self._list_lists(choices.lists, posted),
            "template": ask_to_choose(choices.templates, first.get("template")),
            "article": ask_to_choose(choices.articles, first.get("article")),
            "sender": choices.senders,
            "segment": choices.segments,
        }
        for name, offered in offers.items():
            known = choices.archived_lists if name == "list_key" else ()
            included = include_value(offered, str(first.get(name, "")), known)
            self.fields[name].choices = included  # type: ignore[attr-defined]  # of a ChoiceField
        self.conditions, self.excepted, self.is_json = self._read_conditions(posted)
        self.condition_error: IncompleteConditionError | None = None  # it stands at its line
        self.variables = self._list_shown(posted)

    def _list_lists(self, lists: Sequence[Choice], posted: QueryDict | None) -> Sequence[Choice]:
        """With the choice to choose later, as long as nobody has chosen, or on an older page."""
        is_asked = posted is not None and posted.get("list_key") == NOT_CHOSEN
        later = [(NOT_CHOSEN, _("Choose…"))] if self.campaign.lacks_list or is_asked else []
        return [*later, *lists]

    def _read_conditions(self, posted: QueryDict | None) -> tuple[list[Condition], list[str], bool]:
        """The lines of the builder, the exceptions as JSON, and whether JSON stands for all."""
        if posted is not None:
            excepted = posted.getlist("excepted")
            return conditions.read_lines(posted), excepted, "filter_json" in posted
        people, filters = audience_exceptions.split_filter(self.campaign.audience)
        stored = conditions.read_filter(people)
        if stored is None:
            return [], [], True
        return stored[1], [json.dumps(one, ensure_ascii=False) for one in filters], False

    def _list_shown(self, posted: QueryDict | None) -> list[Variable]:
        """The variables that the page has a choice for."""
        if posted is None:
            return list_stored(self.workspace_id, self.campaign.text)
        optional = set(posted.getlist("may_be_empty"))
        names = filter(values.is_storable, posted.getlist("variable"))
        return [Variable(name, name in optional) for name in names]

    def list_parts(self) -> Iterator[Part]:
        """The parts whose fields can be read; the form has the errors of the others.

        Which ones is decided before the first is saved: what is wrong with it skips no other.
        """
        self.is_valid()
        parts = {
            "name": Part("name", lambda: {"name": self.cleaned_data["name"]}),
            "list_key": Part("filter_json", self._read_audience),
            "kind": Part("kind", self._read_content),
            "sender": Part("sender", lambda: {"sender": self.cleaned_data["sender"]}),
            "when": Part("when", self._read_times),
        }
        return iter([part for name, part in parts.items() if not self.is_wrong(name)])

    def is_wrong(self, first: str) -> bool:
        """Whether something of a part has an error; `first` is the first of its fields."""
        has_wrong_line = first == "list_key" and self.condition_error is not None
        return has_wrong_line or bool(self.errors.keys() & {first, *_READ_WITH.get(first, ())})

    def _read_audience(self) -> Mapping[str, Any]:
        audience, list_key = self._read_people(), self.cleaned_data["list_key"]
        if list_key == NOT_CHOSEN:
            return {"audience": audience}
        return {"list_key": list_key or None, "audience": audience}

    def _read_people(self) -> Mapping[str, Any]:
        excepted = [readings.parse_json(text) for text in self.excepted]
        if "leave_out_segment" in self.data:
            excepted += self._find_segment_filters()
        audience = audience_exceptions.join_filter(self._read_included(), excepted)
        stored = self.campaign.audience
        if audience_exceptions.split_filter(audience) == audience_exceptions.split_filter(stored):
            return stored  # written otherwise, and the same
        return audience

    def _read_included(self) -> Mapping[str, Any]:
        taken = self._find_segment_filters() if "use_segment" in self.data else []
        if taken:
            return taken[0]
        if self.is_json:
            return readings.parse_json(self.cleaned_data["filter_json"])
        match = self.cleaned_data["match"] or "all"
        audience = conditions.build_filter(match, self.conditions)
        stored, _excepted = audience_exceptions.split_filter(self.campaign.audience)
        is_same = conditions.read_filter(stored) == (match, self.conditions)
        return stored if is_same else audience

    def _find_segment_filters(self) -> list[Mapping[str, Any]]:
        """That of the segment that was chosen, if one was."""
        chosen = self.cleaned_data["segment"]
        return [segments.get_segment(self.workspace_id, int(chosen)).filter] if chosen else []

    def _read_content(self) -> Mapping[str, Any]:
        kind = self.cleaned_data["kind"]
        if kind in Format:
            return {"content": self._read_inline(Format(kind)), "kept_text": None}
        return {"content": self._read_other(kind), "kept_text": self._read_kept_text()}

    def _read_other(self, kind: str) -> ContentSource:
        given = self.cleaned_data
        if kind == "page":
            return PageSource(readings.parse_page(given["page"]))
        if kind == "article":
            readings.require("article", given["article"], _("Choose an article."))
            return self._read_article(given["article"])
        readings.require("template", given["template"], _("Choose a template."))
        return TemplateSource(given["template"], given["version"])

    def _read_kept_text(self) -> InlineSource | None:
        """What was written before other content was chosen; its fields are not shown now."""
        before = self.campaign.text
        try:
            text = self._read_inline(before.format if before else Format.MARKDOWN)
        except WrongFieldError:  # nobody sees that its language is wrong
            return before
        return text if any(list_texts(text.source)) else None

    def _read_article(self, key: str) -> ArticleSource:
        content = ArticleSource(key)
        if content != self.campaign.content:
            with readings.beside("article"):  # it may be deleted in this moment
                articles.lock(self.workspace_id, key=key)
        return content

    def _read_inline(self, format_: Format) -> InlineSource:
        given = self.cleaned_data
        locale = readings.parse_locale("locale", given["locale"])
        body = given["body"].replace("\r\n", "\n")
        text = given["text"].replace("\r\n", "\n")
        subject, preheader = given["subject"].strip(), given["preheader"]
        source = Source(subject, body, format_, text, locale, preheader)
        self.variables = list_used(self.workspace_id, source, self.variables)
        return InlineSource(
            subject,
            body,
            format_,
            text,
            locale,
            tuple(one.name for one in self.variables if not one.may_be_empty),
            tuple(one.name for one in self.variables if one.may_be_empty),
            preheader,
        )

    def _read_times(self) -> Mapping[str, Any]:
        return {"timing": self._read_timing(), "delivery_window": self._read_window()}

    def _read_timing(self) -> SendTime:
        """What is stored if its fields are untouched: they show no seconds, and no second 02:30."""
        given, when = self.cleaned_data, self.cleaned_data["when"]
        if when == "now":
            return SendTime()
        field = "at" if when == "at" else "local_at"
        if self._is_untouched("when", field):
            return self.campaign.timing
        if when == "at":
            return SendTime(at=readings.parse_moment(field, given[field]))
        return SendTime(local_time=readings.parse_time(field, given[field]))

    def _read_window(self) -> Hours | None:
        given, stored = self.cleaned_data, self.campaign.delivery_window
        if not given["has_window"]:
            return None
        readings.require("opens", given["opens"], _("Write when the hours begin."))
        readings.require("closes", given["closes"], _("Write when the hours end."))
        readings.require("weekdays", given["weekdays"], _("Choose at least one day."))
        if stored is not None and self._is_untouched("opens", "closes"):
            # All its spans, of which the fields show the first.
            with readings.beside("weekdays"):
                days = working_hours.parse_days(",".join(given["weekdays"]))
            return replace(stored, weekdays=days)
        with readings.beside("opens"):
            span = f"{given['opens'][:5]}-{given['closes'][:5]}"
            return working_hours.parse_hours([span], days=",".join(given["weekdays"]))

    def _is_untouched(self, *names: str) -> bool:
        """Whether fields have what they show of the stored campaign."""
        return all(self.cleaned_data[name] == self.initial[name] for name in names)

    @property
    @override
    def yields_focus(self) -> bool:
        """To the line of a condition, unless something above it is wrong; and to nobody's work when
        a draft is opened, or gets one more line.
        """
        if not self.is_bound or "add" in self.data:
            return True
        return bool(self.condition_error) and self.errors.keys().isdisjoint({"name", "list_key"})

    @property
    def spans(self) -> str:
        """The hours in words if there are more of them than the fields show."""
        window = self.campaign.delivery_window
        if window is None or len(window.spans) == 1:
            return ""
        return ", ".join(f"{opens:%H:%M}-{closes:%H:%M}" for opens, closes in window.spans)

"""Forms over what several people change: nobody's change is lost because another page was older.

Such a form carries a digest of each value that it showed. What was not touched is not written; what
was touched is refused once, if somebody else changed it in between.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, override

from django import forms
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from postledger.accounts import trail
from postledger.accounts.trail import Action
from postledger.lib.digests import digest_json
from postledger.web.dashboard.access import Visitor
from postledger.web.dashboard.components import actor_names
from postledger.web.dashboard.forms import PageForm

_SHOWN = "shown"  # the hidden field

type Group = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Conflict:
    """Somebody else changed meanwhile what was to be saved."""

    text: str
    at: datetime | None
    url: str  # where theirs is shown


class SharedForm(PageForm):
    """Its page has `{{ form.shown }}`. A page that was sent without it counts as just read."""

    # What the audit trail calls the change of a field.
    changed_by: ClassVar[Mapping[str, Action]] = {}
    together: ClassVar[Sequence[Group]] = ()  # fields that make one value

    def __init__(self, stored: Mapping[str, Any], posted: Any = None, files: Any = None) -> None:
        super().__init__(posted, files, initial=dict(stored))
        self.changed: frozenset[str] = frozenset()
        self.conflicting: Sequence[str] = ()
        self.conflict: Conflict | None = None
        self._untouched = set[Group]()
        self._shown = self._read_shown() if self.is_bound else self._digest_all(stored)

    @property
    def shown(self) -> SafeString:
        text = " ".join(f"{key}:{digest}" for key, digest in self._shown.items())
        return format_html('<input type="hidden" name="{}" value="{}">', _SHOWN, text)

    @property
    def status(self) -> int:
        """That of an answer with this form."""
        return 409 if self.conflict else 422 if self.errors else 200

    def take_over(self, stored: Mapping[str, Any]) -> bool:
        """Takes what was not touched from what is stored now; False if the rest is in conflict.

        The form is valid, and what is stored was read under a lock. `changed` has the fields that
        are to be written afterwards.
        """
        changed, conflicting, kept = set[str](), list[str](), list[str]()
        digests = self._digest_all(stored)
        for group in self._list_groups():
            now, typed = digests[_name(group)], self._digest(group, self.cleaned_data)
            shown = self._shown.get(_name(group), now)
            if typed == shown or group in self._untouched:
                kept += group
            elif typed != now:
                changed |= set(group)
                conflicting += group if now != shown else ()
        self.cleaned_data |= {name: stored.get(name) for name in kept}
        self.changed, self.conflicting = frozenset(changed), conflicting
        if conflicting:
            self._shown = digests
            self._show(kept, stored)
        return not conflicting

    def describe_conflict(self, visitor: Visitor, *, subjects: Sequence[str], url: str) -> None:
        """Says who changed what, by the audit trail."""
        actions = {self.changed_by[name] for name in self.conflicting}
        labels = [str(self.fields[name].label) for name in self.conflicting]
        self.conflict = find_conflict(visitor, subjects, actions, ", ".join(labels), url)

    @override
    def _clean_fields(self) -> None:  # type: ignore[misc]  # Django's stubs leave it out
        """What was not touched is valid, also by rules and choices that are newer than the page.

        What is required and was empty already is still missing.
        """
        super()._clean_fields()  # type: ignore[misc]
        for group in self._list_groups():
            posted = {name: self[name].data for name in group}
            shown = self._shown.get(_name(group)) or self._digest(group, self.initial)
            if self._digest(group, posted) == shown:
                self._untouched.add(group)
                for name in self.errors.keys() & set(group):
                    if not self.has_error(name, "required"):
                        del self.errors[name]
                        self.cleaned_data[name] = posted[name]

    def _show(self, names: Sequence[str], stored: Mapping[str, Any]) -> None:
        """Puts stored values into the fields, as if they had been typed."""
        self.data = self.data.copy()  # type: ignore[attr-defined]  # of a posted form
        for name in names:
            value = self.fields[name].prepare_value(stored.get(name))
            if isinstance(value, list):
                self.data.setlist(name, value)  # type: ignore[attr-defined]
            elif value is None or value is False:
                self.data.pop(name, None)  # type: ignore[attr-defined]
            else:
                self.data[name] = "on" if value is True else str(value)  # type: ignore[index]

    def _list_groups(self) -> Iterator[Group]:
        grouped = {name for group in self.together for name in group}
        yield from self.together
        yield from ((name,) for name in self.fields if name not in grouped)

    def _digest_all(self, values: Mapping[str, Any]) -> dict[str, str]:
        return {_name(group): self._digest(group, values) for group in self._list_groups()}

    def _digest(self, group: Group, values: Mapping[str, Any]) -> str:
        return digest_json([_write(self.fields[name], values.get(name)) for name in group])

    def _read_shown(self) -> dict[str, str]:
        pairs = (part.partition(":") for part in str(self.data.get(_SHOWN, "")).split())
        return {key: digest for key, _colon, digest in pairs}


def find_conflict(
    visitor: Visitor, subjects: Sequence[str], actions: set[Action], what: str, url: str
) -> Conflict:
    """Who changed one of the subjects last, in words."""
    workspace_id = visitor.workspace.pk
    actor, at = trail.find_last(workspace_id, subjects=subjects, actions=actions) or ("", None)
    name = actor_names.name_actors(workspace_id, [actor])[actor] or _("Somebody")
    text = _("%(name)s changed this while you had it open: %(what)s.")
    return Conflict(text % {"name": name, "what": what}, at, url)


def _name(group: Group) -> str:
    return "+".join(group)


def _write(field: forms.Field, value: Any) -> str:
    """A value as the page sends it back when nobody touches it."""
    value = field.prepare_value(value)
    if value is None or value is False:
        return ""
    if isinstance(value, list):
        return " ".join(sorted(map(str, value)))
    text = str(value).replace("\r\n", "\n")
    if not isinstance(field.widget, forms.Textarea):
        text = text.replace("\n", "")
    return text.strip() if getattr(field, "strip", True) else text

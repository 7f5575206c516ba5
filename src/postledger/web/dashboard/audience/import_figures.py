"""What an import does with the rows of its file, as a bar and a sum, and where it stands."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from postledger.deliveries.states import State
from postledger.imports.models import ImportState
from postledger.imports.old_states import OldState
from postledger.imports.overview import ImportOverview
from postledger.imports.remarks import OwnChoice
from postledger.web.dashboard import formats
from postledger.web.dashboard.components import balance
from postledger.web.dashboard.components.badges import Badge

type Word = Promise | str

STATES: Mapping[ImportState, tuple[Word, str, str]] = {
    ImportState.UPLOADED: (gettext_lazy("Not started"), "pen", "draft"),
    ImportState.PREVIEWING: (gettext_lazy("Dry run"), "clock", "waiting"),
    ImportState.RUNNING: (gettext_lazy("Importing"), "send", "sending"),
    ImportState.FINISHED: (gettext_lazy("Finished"), "check", "sent"),
    ImportState.ABANDONED: (gettext_lazy("Cancelled"), "x", "cancelled"),
}
# Each kind of row, with the pattern that it has in the bar.
_KINDS: Mapping[str, tuple[Word, State]] = {
    "created": (gettext_lazy("New"), State.ACCEPTED),
    "updated": (gettext_lazy("Changed"), State.WAITING),
    "unchanged": (gettext_lazy("Unchanged"), State.SKIPPED),
    "duplicates": (gettext_lazy("Repeated"), State.EXPIRED),
    "refused": (gettext_lazy("Refused"), State.FAILED),
    "blank": (gettext_lazy("Blank"), State.CANCELLED),
}
_MEANINGS: Mapping[str, Word] = {
    "duplicates": gettext_lazy(
        "If several rows have the same address, the first row counts; an unsubscribe in any of"
        " them counts, too."
    ),
}
_WITH_PROBLEMS = frozenset({"duplicates", "refused"})
KEPT_BACK: Mapping[str, Word] = {
    "unsubscribed": gettext_lazy("Unsubscribed before"),
    "bounced": gettext_lazy("Bounced"),
    "complained": gettext_lazy("Reported spam"),
    "by_hand": gettext_lazy("Suppressed by hand"),
    "suppressed": gettext_lazy("Suppressed for the list"),
    OldState.UNSUBSCRIBED: gettext_lazy("Unsubscribed in the old tool"),
    OldState.BOUNCED: gettext_lazy("Bounced in the old tool"),
    OldState.COMPLAINED: gettext_lazy("Reported spam in the old tool"),
    OldState.NOT_SUBSCRIBED: gettext_lazy("Not subscribed in the old tool"),
    OldState.UNKNOWN: gettext_lazy("Unknown state in the old tool"),
}


@dataclass(frozen=True, slots=True)
class RowKind:
    label: Word
    meaning: Word
    state: State
    count: int
    share: str
    x: str
    width: str
    has_problems: bool  # whose rows the list of problems names


@dataclass(frozen=True, slots=True)
class RowSum:
    total: int
    kinds: Sequence[RowKind]

    @property
    def balances(self) -> bool:
        return self.total == sum(kind.count for kind in self.kinds)


def sum_rows(total: int, counts: Mapping[str, int]) -> RowSum:
    """The rows by what became of them, or would; they add up to the total. Pure."""
    by_state = {state: counts[name] for name, (_label, state) in _KINDS.items()}
    kinds, x = [], 0.0
    widths = balance.find_widths(by_state)
    for name, (label, state) in _KINDS.items():
        share = formats.share(counts[name], total)
        place = (f"{x:.2f}", f"{widths[state]:.2f}")
        has_problems = name in _WITH_PROBLEMS
        meaning = _MEANINGS.get(name, "") if counts[name] else ""
        kinds.append(RowKind(label, meaning, state, counts[name], share, *place, has_problems))
        x += widths[state]
    return RowSum(total, kinds)


def sum_done(overview: ImportOverview) -> RowSum:
    """The rows that were imported so far."""
    return sum_rows(overview.done, {name: getattr(overview, name) for name in _KINDS})


def sum_preview(preview: Mapping[str, Any]) -> RowSum:
    return sum_rows(preview["row_count"], {name: preview[name] for name in _KINDS})


def list_kept_back(counts: Mapping[str, int]) -> list[tuple[Word, int]]:
    """Why contacts stay off the list, the most frequent reason first."""
    reasons = sorted(counts.items(), key=lambda item: -item[1])
    return [(KEPT_BACK.get(reason, reason), count) for reason, count in reasons]


@dataclass(frozen=True, slots=True)
class OwnChoiceLine:
    """People of the file who confirmed or left here by themselves; the first ones by address."""

    sentence: str
    people: Sequence[tuple[int, str]]
    others: int


def list_own_choices(
    preview: Mapping[str, Any], addresses: Mapping[int, str]
) -> list[OwnChoiceLine]:
    """What people did here themselves, and what the import would make of it. Pure."""
    lines = []
    for choice in OwnChoice:
        if count := preview.get("own_choices", {}).get(choice, 0):  # older dry runs have none
            ids = preview["choosers"][choice]
            people = [(pk, addresses[pk]) for pk in ids if pk in addresses]
            sentence = _choose_form(choice, count) % {"count": formats.count(count)}
            lines.append(OwnChoiceLine(sentence, people, count - len(people)))
    return lines


def _choose_form(choice: OwnChoice, count: int) -> str:
    match choice:
        case OwnChoice.RETURNING:
            return ngettext(
                "%(count)s person of the file had left every list they were on here. This import"
                " would put them on a list again: remove the row, unless they asked for it.",
                "%(count)s people of the file had left every list they were on here. This import"
                " would put them on a list again: remove the rows of those who did not ask for it.",
                count,
            )
        case OwnChoice.CONFIRMED:
            return ngettext(
                "%(count)s person of the file confirmed here themselves (double opt-in). The import"
                " does not change that.",
                "%(count)s people of the file confirmed here themselves (double opt-in). The import"
                " does not change that.",
                count,
            )
        case OwnChoice.LEFT:
            return ngettext(
                "%(count)s person of the file unsubscribed here themselves. The import does not"
                " change that, and does not subscribe them.",
                "%(count)s people of the file unsubscribed here themselves. The import does not"
                " change that, and does not subscribe them.",
                count,
            )
        case OwnChoice.ENDED:
            return ngettext(
                "%(count)s person confirmed here themselves, and left your old tool or bounced"
                " there, as the file says. The import ends their email here, too.",
                "%(count)s people confirmed here themselves, and left your old tool or bounced"
                " there, as the file says. The import ends their email here, too.",
                count,
            )


def make_badge(state: ImportState) -> Badge:
    label, icon, name = STATES[state]
    return Badge(name, icon, label)


def list_steps(overview: ImportOverview) -> list[Mapping[str, Any]]:
    """The way of a file; the step at which it stands is the current one."""
    titles = (_("File"), _("Columns"), _("Dry run"), _("Import"))
    current = {
        ImportState.UPLOADED: 2 if overview.preview else 1,
        ImportState.PREVIEWING: 2,
    }.get(overview.state, 3)
    is_over = overview.state is ImportState.FINISHED
    return [
        {"title": title, "is_done": number < current or is_over, "is_current": number == current}
        for number, title in enumerate(titles)
    ]

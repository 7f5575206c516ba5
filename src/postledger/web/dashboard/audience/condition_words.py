"""The conditions of a stored filter in words, as the builder shows them. Pure."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from postledger.web.dashboard import formats
from postledger.web.dashboard.editor import conditions
from postledger.web.dashboard.editor.conditions import ATTRIBUTE, COMPARISONS, LIST, Condition

_LABELS = {one.key: one.label for one in COMPARISONS}


def describe_filter(stored: Mapping[str, Any], labels: Mapping[str, str]) -> str:
    """As `City is Lisbon and plan is pro`; a filter that the builder does not know has no words.

    `labels` are those of the fields.
    """
    read = conditions.read_filter(stored)
    if read is None:
        return _("Conditions that only JSON can show")
    match, lines = read
    between = _("and") if match == "all" else _("or")
    return f" {between} ".join(_describe(line, labels) for line in lines)


def _describe(line: Condition, labels: Mapping[str, str]) -> str:
    field = labels.get(line.field, line.field.removeprefix(ATTRIBUTE).removeprefix(LIST))
    if line.comparison == "within_days":
        sentence = ngettext(
            "%(field)s in the last %(number)s day",
            "%(field)s in the last %(number)s days",
            int(float(line.value)),
        )
        return sentence % {"field": field, "number": line.value}
    words = (field, str(_LABELS[line.comparison]), _write_value(line))
    return " ".join(word for word in words if word)


def _write_value(line: Condition) -> str:
    """A moment in words, as the run to the rest of an audience has one; a day as it was typed."""
    if line.kind != "time" or "T" not in line.value:
        return line.words
    try:
        return formats.spell_moment(datetime.fromisoformat(line.value))
    except OverflowError:  # stored before filters refused years that no zone can show
        return line.words

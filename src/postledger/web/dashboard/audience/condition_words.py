"""The conditions of a stored filter in words, as the builder shows them. Pure."""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

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
    plain = line.field.removeprefix(ATTRIBUTE).removeprefix(LIST)
    words = (labels.get(line.field, plain), str(_LABELS[line.comparison]), line.words)
    return " ".join(word for word in words if word)

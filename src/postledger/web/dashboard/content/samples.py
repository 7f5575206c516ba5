"""Values that somebody tries a template with: typed ones, those of a contact, or names alone."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.http import QueryDict

from postledger.campaigns.drafts import preview
from postledger.campaigns.drafts.preview import PreviewRecipient
from postledger.content.versions import Version
from postledger.web.dashboard.editor import readings
from postledger.web.dashboard.parameters import read_text

PREFIX = "value."  # of the parameter that has a variable's value


@dataclass(frozen=True, slots=True)
class Sample:
    """A variable, and what was typed for it."""

    name: str
    is_required: bool
    typed: str

    @property
    def parameter(self) -> str:
        return PREFIX + self.name


def read_samples(version: Version, values: QueryDict) -> list[Sample]:
    return [
        Sample(name, name in version.required, read_text(values, PREFIX + name))
        for name in (*version.required, *version.optional)
    ]


def find_values(workspace_id: int, samples: Sequence[Sample], address: str) -> Mapping[str, object]:
    """What was typed comes first. Raises RefusedError if no contact has the address.

    Of nobody in particular, optional values are missing: a name does not fit every filter.
    """
    names = tuple(sample.name for sample in samples if address or sample.is_required)
    values = preview.choose_values(_find_reader(workspace_id, address), names)
    return values | {sample.name: _read_value(sample.typed) for sample in samples if sample.typed}


def _find_reader(workspace_id: int, address: str) -> PreviewRecipient:
    if not address:
        return preview.ANYBODY
    contact_id = readings.find_contact_id(workspace_id, address)
    return preview.find_recipient(workspace_id, contact_id, list_key=None)


def _read_value(typed: str) -> object:
    """A list or an object if it is written as JSON, so that loops can be tried; else the text."""
    if not typed.lstrip().startswith(("[", "{")):
        return typed
    try:
        return json.loads(typed)
    except (ValueError, RecursionError):
        return typed

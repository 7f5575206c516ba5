"""Says the sentences of services in the language of the page."""

from django.utils.formats import number_format
from django.utils.translation import gettext

from postledger.lib.errors import RefusedError
from postledger.lib.sentences import Sentence


def translate(said: str | RefusedError) -> str:
    """What a service or a refusal says; a text that is no sentence stays as it is."""
    text = said.sentence if isinstance(said, RefusedError) else said
    if not isinstance(text, Sentence):
        return str(text)
    return gettext(text.form) % {name: _write(value) for name, value in text.values.items()}


def _write(value: object) -> object:
    if isinstance(value, Sentence):
        return translate(value)
    if type(value) is int:
        return number_format(value, use_l10n=True, force_grouping=True)
    return value

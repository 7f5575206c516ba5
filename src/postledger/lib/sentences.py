"""Sentences for people, which a page can say in other languages.

To whoever logs, stores, compares or answers with it, a sentence is an English string. Beside that
it keeps the form and the values that it was made of, and the form is what is translated.
"""

from collections.abc import Iterable, Mapping
from typing import LiteralString, Self, override

# Values come from anywhere: a terminal obeys control characters, and half a surrogate pair has no
# UTF-8.
_ESCAPES = {
    code: repr(chr(code))[1:-1] for code in (*range(32), *range(127, 160), *range(0xD800, 0xE000))
}


class Sentence(str):
    """An English string that knows how it was made. Use `say`."""

    __slots__ = ("form", "values")

    form: str
    values: Mapping[str, object]

    def __new__(cls, form: str, values: Mapping[str, object]) -> Self:
        shown = {name: _show(value) for name, value in values.items()}
        sentence = super().__new__(cls, form % {name: _write(shown[name]) for name in shown})
        sentence.form = form
        sentence.values = shown
        return sentence

    @override
    def __reduce__(self) -> tuple[type[Self], tuple[object, ...]]:
        return type(self), (self.form, self.values)


def say(form: LiteralString, **values: object) -> Sentence:
    """A sentence: `say("There is no list %(key)s.", key=key)`.

    A number is written in groups of three digits, as the reader's language separates them; a value
    that is a sentence is translated too, and every other one stays as it is.
    """
    return Sentence(form, values)


def join(sentences: Iterable[str], between: LiteralString = " ") -> Sentence:
    """Sentences behind one another, each of which is translated; empty ones are left out."""
    values = {f"part_{number}": text for number, text in enumerate(filter(None, sentences))}
    return Sentence(between.join(f"%({name})s" for name in values), values)


def end(text: str) -> Sentence:
    """What somebody else said, with one full stop."""
    return say("%(text)s.", text=text if isinstance(text, Sentence) else text.removesuffix("."))


def write_document(text: str) -> object:
    """What is kept of a text as JSON; a sentence keeps its form."""
    if not isinstance(text, Sentence):
        return str(text)
    values = {name: _write_value(value) for name, value in text.values.items()}
    return {"form": text.form, "values": values}


def _write_value(value: object) -> object:
    if type(value) is int:
        return value
    return write_document(value) if isinstance(value, str) else f"{value}"


def read_document(document: object) -> str:
    """The text that was kept; what was kept before sentences were is no sentence."""
    if not isinstance(document, dict):
        return str(document)
    values = {name: _read_value(value) for name, value in document["values"].items()}
    return Sentence(document["form"], values)


def _read_value(value: object) -> object:
    return value if type(value) is int else read_document(value)


def _show(value: object) -> object:
    return value.translate(_ESCAPES) if type(value) is str else value


def _write(value: object) -> object:
    return f"{value:,}" if type(value) is int else value

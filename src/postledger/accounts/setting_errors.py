"""What is wrong with settings that a person gave, in words; no value is repeated. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import ValidationError

from postledger.lib import sentences
from postledger.lib.sentences import Sentence, say

# Pydantic's own errors, with the limits that they name.
_WORDS: Final[Mapping[str, Callable[[Mapping[str, Any]], Sentence]]] = {
    "missing": lambda _: say("this is required"),
    "extra_forbidden": lambda _: say("there is no such setting: leave it out"),
    "bool_parsing": lambda _: say("write true or false"),
    "bool_type": lambda _: say("write true or false"),
    "enum": lambda limits: say("write %(expected)s", expected=limits["expected"]),
    "float_parsing": lambda _: say("write a number"),
    "float_type": lambda _: say("write a number"),
    "int_from_float": lambda _: say("write a whole number"),
    "int_parsing": lambda _: say("write a whole number"),
    "int_type": lambda _: say("write a whole number"),
    "literal_error": lambda limits: say("write %(expected)s", expected=limits["expected"]),
    "greater_than": lambda limits: say("write a number above %(limit)s", limit=f"{limits['gt']:g}"),
    "greater_than_equal": lambda limits: say(
        "write a number of at least %(limit)s", limit=f"{limits['ge']:g}"
    ),
    "less_than_equal": lambda limits: say(
        "write a number of at most %(limit)s", limit=f"{limits['le']:g}"
    ),
    "string_too_short": lambda _: say("this must not be empty"),
    "string_type": lambda _: say("write a text"),
}


@dataclass(frozen=True, slots=True)
class SettingError:
    name: str  # of the setting, with dots; empty: of all together
    message: str  # repeats no value


def find_setting_errors(build: Callable[[], object]) -> list[SettingError]:
    try:
        build()
    except ValidationError as error:
        # Without inputs: a refusal repeats no value.
        errors = error.errors(include_url=False, include_input=False)
        return [SettingError(".".join(map(str, item["loc"])), _find_words(item)) for item in errors]
    return []


def list_errors(errors: Sequence[SettingError]) -> Sentence:
    """All errors as the middle of a sentence."""
    return sentences.join(
        (
            say("%(name)s: %(message)s", name=error.name, message=error.message)
            if error.name
            else error.message
            for error in errors
        ),
        between="; ",
    )


def _find_words(error: Mapping[str, Any]) -> str:
    """Ours are sentences already, if a validator said them."""
    context = error.get("ctx", {})
    cause = context.get("error")
    if isinstance(cause, ValueError) and cause.args and isinstance(cause.args[0], Sentence):
        return cause.args[0]
    words = _WORDS.get(error["type"])
    return words(context) if words else str(error["msg"]).removeprefix("Value error, ")

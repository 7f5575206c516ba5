"""Says what is wrong with a request that does not match its schema.

Pydantic's own messages speak of Python: none of them is shown.
"""

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from postledger.lib.errors import MOST_ISSUES

type Schema = type[BaseModel]
type Location = tuple[str | int, ...]

# Pydantic describes all errors or none, and each takes a kilobyte.
MOST_DESCRIBED: Final = 10_000
# The error of a text that has not the form that `fields.Matching` asks for.
WRONG_FORM: Final = "wrong_form"

_LONGEST_NAME = 100
_MOST_NAMES = 8  # of a place: a value may be nested hundreds deep
_KEY = "[key]"
# Names and choices, which Pydantic quotes as Python does.
_QUOTED = frozenset({"discriminator", "expected", "expected_tags"})

_INVALID = "Is not valid."
# By the type of the error. Most names in braces are Pydantic's; `{found}` is what the request has.
SENTENCES: Final[Mapping[str, str]] = {
    "bool_type": "Must be true or false, not {found}.",
    "dict_type": "Must be an object, not {found}.",
    "enum": "Must be {expected}.",
    "extra_forbidden": "Is not a field of this request. {remedy}",
    "finite_number": "Must be a finite number.",
    "float_parsing": "Must be a number.",
    "float_type": "Must be a number, not {found}.",
    "greater_than": "Must be more than {gt}.",
    "greater_than_equal": "Must be at least {ge}.",
    "int_from_float": "Must be a whole number.",
    "int_parsing": "Must be a whole number.",
    "int_parsing_size": "Has too many digits.",
    "int_type": "Must be a whole number, not {found}.",
    "json_invalid": "Is not JSON.",
    "json_type": "Must be a text of JSON, not {found}.",
    "less_than_equal": "Must be at most {le}.",
    "list_type": "Must be a list, not {found}.",
    "literal_error": "Must be {expected}.",
    "missing": "Is required.",
    "model_attributes_type": "Must be an object, not {found}.",
    "model_type": "Must be an object, not {found}.",
    "recursion_depth_exceeded": "Is nested too deeply.",
    "string_too_long": "Must have at most {max_length} characters.",
    "string_too_short": "Must not be empty.",
    "string_type": "Must be a text, not {found}.",
    "string_unicode": "Contains an unpaired surrogate; remove it.",
    "too_long": "Must have at most {max_length} {unit}, and has {actual_length}.",
    "too_short": "Must not be empty.",
    "union_tag_invalid": "Its {discriminator} must be {expected_tags}.",
    "union_tag_not_found": "Has no {discriminator}. Set it to {choices}.",
    "uuid_parsing": "Must be a UUID, such as 5b0f4d0e-0d8e-4d6e-9b1a-5a3c1f6f0c11.",
    "uuid_type": "Must be a UUID, not {found}.",
    "value_error": "{error}",
    WRONG_FORM: "{message}",
}


def describe_errors(
    error: ValidationError, schema: Schema, *, below: str | None = None
) -> list[tuple[str, str]]:
    """The places in the schema and what is wrong there; as many as an answer lists, or none.

    `below` is the name that the schema has in what was validated.
    """
    if error.error_count() > MOST_DESCRIBED:
        return []
    described = []
    for item in error.errors(include_url=False)[:MOST_ISSUES]:
        location = item["loc"][1:] if below and item["loc"][:1] == (below,) else item["loc"]
        sentence = _write_sentence(item, location, schema)
        described.append((_name_place(location, schema), sentence))
    return described


def describe_unknown(name: str, known: Sequence[str]) -> str:
    """What to do about a name that a request should not have."""
    similar = get_close_matches(name[:_LONGEST_NAME], known, n=1)
    return f"Use `{similar[0]}`." if similar else "Remove it, or correct its name."


def _name_place(location: Location, schema: Schema) -> str:
    names = [name for name in _without_tag(location, schema) if name != _KEY]
    place = ".".join(str(name)[:_LONGEST_NAME] for name in names[:_MOST_NAMES])
    return _encodable(place)


def _without_tag(location: Location, schema: Schema) -> Location:
    """Pydantic names the choice of a union, which the request does not have at this place."""
    match location:
        case (str(name), str(), *rest) if _discriminator(name, schema):
            return (name, *rest)
        case _:
            return location


def _write_sentence(error: ErrorDetails, location: Location, schema: Schema) -> str:
    words = {name: str(word) for name, word in error.get("ctx", {}).items()}
    words |= {name: words[name].replace("'", "`") for name in _QUOTED & words.keys()}
    words |= {"message": error["msg"], "found": _name_kind(error["input"])}
    words["unit"] = "characters" if isinstance(error["input"], str) else "items"
    match error["type"], location:
        case "extra_forbidden", (str(name),):
            words["remedy"] = _correct_name(name, schema)
        case "extra_forbidden", _:
            words["remedy"] = "Remove it, or correct its name."
        case "union_tag_not_found", (str(name), *_):
            words["choices"] = _join_choices(_find_tags(name, schema))
        case _:
            pass
    # A caller's mistake is no fault of ours, also if Pydantic gives it a new name.
    sentence = _INVALID if _speaks_python(error) else SENTENCES.get(error["type"], _INVALID)
    text = sentence.format_map(words).rstrip(".")
    subject = "Its name is wrong: " if location[-1:] == (_KEY,) else ""
    return _encodable(f"{subject}{text[:1].upper()}{text[1:]}.")


def _speaks_python(error: ErrorDetails) -> bool:
    """Whether a validator failed in a way that it did not foresee, such as a UnicodeEncodeError."""
    return error["type"] == "value_error" and type(error["ctx"]["error"]) is not ValueError


def _encodable(text: str) -> str:
    """With ? in place of unpaired surrogates, which no answer can have."""
    return text.encode(errors="replace").decode()


def _correct_name(name: str, schema: Schema) -> str:
    """Prefers what the schema itself says about the names of others."""
    remedies: Mapping[str, str] = getattr(schema, "names_of_others", {})
    return remedies.get(name) or describe_unknown(name, list(schema.model_fields))


def _find_tags(name: str, schema: Schema) -> Iterator[str]:
    for choice in get_args(schema.model_fields[name].annotation):
        yield from get_args(choice.model_fields[_discriminator(name, schema)].annotation)


def _discriminator(name: str, schema: Schema) -> str:
    field = schema.model_fields.get(name)
    return str(field.discriminator or "") if field else ""


def _join_choices(choices: Iterator[str]) -> str:
    *others, last = (f"`{choice}`" for choice in choices)
    return f"{', '.join(others)} or {last}"


def _name_kind(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case list():
            return "a list"
        case _:
            return "an object"

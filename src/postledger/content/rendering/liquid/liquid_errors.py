"""What the Liquid library says when a text fails, in words for people."""

from liquid.exceptions import LiquidError, LiquidSyntaxError, LiquidTypeError

from postledger.lib.sentences import Sentence, say

_LONGEST = 200  # characters of what the library says, and of a tag
_TWO_WORDS = "expected end of expression, found word"
_NUMBERS = {"int", "float", "Decimal"}


def describe_error(error: BaseException) -> str:
    message = getattr(error, "message", None)
    if isinstance(message, Sentence):
        return message
    if isinstance(error, LiquidTypeError) and _compares_text_with_number(str(message)):
        return say(
            "%(tag)s compares a number with a value that is a text for this reader. Make it a"
            " number first, like {%% assign total = total | plus: 0 %%}",
            tag=_quote_tag(error),
        )
    if isinstance(error, LiquidSyntaxError) and str(message) == _TWO_WORDS:
        return say(
            "%(tag)s has a blank within a name, or lacks a sign such as | between two words: names"
            " have letters, digits and _, as first_name has",
            tag=_quote_tag(error),
        )
    return str(message or type(error).__name__)[:_LONGEST]


def _compares_text_with_number(message: str) -> bool:
    """It says: '<' and '>' are not supported between 'int' and 'str'."""
    quoted = message.split("'")[1::2]
    kinds = set(quoted[2:])
    return quoted[:2] == ["<", ">"] and "str" in kinds and bool(kinds & _NUMBERS)


def _quote_tag(error: LiquidError) -> str:
    """The tag or the value in which it fails, as its author wrote it."""
    if error.token is None:
        return "{% if %}"
    source, at = error.token.source, error.token.start_index
    start = max(source.rfind("{%", 0, at), source.rfind("{{", 0, at), 0)
    end = source.find("}}" if source.startswith("{{", start) else "%}", at)
    return source[start : end + 2 if end >= 0 else None][:_LONGEST]

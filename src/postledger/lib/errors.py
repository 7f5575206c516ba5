"""Refusals: errors whose message is written for the person or program that asked.

Each package defines its own subclasses beside the function that raises them. The base says what
kind of refusal it is; the web layer maps the base, never a code, to an HTTP status.
"""

from typing import ClassVar, Final

MOST_ISSUES: Final = 100  # that one refusal lists


class RefusedError(Exception):
    """A request was understood and refused. The message says what is wrong and what to do.

    `code` is for programs and never changes its meaning.
    """

    code: ClassVar[str] = "refused"

    @property
    def sentence(self) -> str:
        """The message; a `Sentence` keeps its form, which `str` of the error loses."""
        message: str = self.args[0] if self.args else ""
        return message


class BadRequestError(RefusedError):
    """The request cannot be understood, whatever it asks for."""


class ForbiddenError(RefusedError):
    """The caller lacks a permission."""


class NotFoundError(RefusedError):
    """The addressed object does not exist, or belongs to another workspace.

    Commands print the message. The API answers with one text for all, so that nobody learns what
    another workspace has.
    """


class ConflictError(RefusedError):
    """The request contradicts the current state: a duplicate, or a step taken too late."""


class TooLargeError(RefusedError):
    """The request is larger than the server accepts."""


class TooManyRequestsError(RefusedError):
    """The request is fine, but there are too many at the moment. It can be repeated later."""


class UnavailableError(RefusedError):
    """The request is fine, but something that it needs is away. It can be repeated later."""

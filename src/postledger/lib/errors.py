"""The errors people meet; everything else that raises is a bug.

Exception
└── RefusedError        a request that was understood and refused: code, sentence, remedy
    └── (each package defines its own beside the verb that refuses)
"""

from typing import ClassVar


class RefusedError(Exception):
    """Says what happened, why, and what to do; `code` stays the same for programs."""

    code: ClassVar[str] = "refused"

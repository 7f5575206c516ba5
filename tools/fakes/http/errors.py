"""What the errors of all vendors have in common."""

from collections.abc import Mapping
from typing import ClassVar


class VendorError(Exception):
    """An error that a vendor answers with; a message of None is answered as null."""

    known: ClassVar[Mapping[str, tuple[int, str]]]  # names, with the usual status and message

    def __init__(self, name: str, message: str | None = "", status: int = 0) -> None:
        super().__init__(name, message)
        known_status, usual_message = self.known.get(name, (400, name))
        self.name = name
        self.message = usual_message if message == "" else message
        self.status = status or known_status

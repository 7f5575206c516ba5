"""One line of the preflight: what was checked, and what to do about it."""

from collections.abc import Sequence
from dataclasses import dataclass

from postledger.mailing.missing_values import LackingContact

OK, WARNING, PROBLEM = "", "warning", "problem"


@dataclass(frozen=True, slots=True)
class Check:
    level: str
    title: str
    text: str = ""
    url: str = ""  # of the step where it is mended
    people: Sequence[LackingContact] = ()
    remark: str = ""  # what it says of some of the recipients, to stand beside their number

    @property
    def icon(self) -> str:
        return "alert" if self.level else "check"

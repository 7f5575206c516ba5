"""The questions a search takes, read from the address."""

from collections.abc import Iterable
from typing import Annotated

from ninja.errors import ValidationError
from pydantic import AfterValidator, BaseModel, Field

from postledger.deliveries.search import Cursor, Filters
from postledger.deliveries.states import State
from postledger.providers import addresses
from postledger.transactional import validation
from postledger.web.api import cursors
from postledger.web.api.fields import Moment


def _address(value: str) -> str:
    try:
        return addresses.canonical(value)
    except addresses.InvalidAddressError as error:
        raise ValueError(str(error)) from None


AskedAddress = Annotated[
    str, AfterValidator(_address), Field(json_schema_extra={"format": "email", "maxLength": 254})
]


class Question(BaseModel):
    to: AskedAddress | None = Field(default=None, description="Only mails to this address.")
    state: State | None = Field(default=None, description="Only mails in this state.")
    tag: str | None = Field(
        default=None, pattern=f"^{validation.TAG}$", description="Only mails with this tag."
    )
    since: Moment | None = Field(default=None, description="Only mails taken at or after then.")
    until: Moment | None = Field(default=None, description="Only mails taken before then.")
    limit: int = Field(default=25, ge=1, le=100, description="The most mails of a page.")
    cursor: str | None = Field(
        default=None,
        pattern=f"^{cursors.PATTERN}$",
        description="`next` of the page before; the other questions stay the same.",
    )

    def filters(self) -> Filters:
        return Filters(self.to, self.tag, self.state, self.since, self.until)

    def after(self) -> Cursor | None:
        return cursors.read(self.cursor) if self.cursor else None


def refuse_unknown(names: Iterable[str], questions: type[BaseModel] = Question) -> None:
    """A misspelt question would find everything; ninja hands over only those it knows."""
    unknown = sorted(set(names) - set(questions.model_fields))
    if unknown:
        raise ValidationError(
            [{"loc": ("query", name), "msg": "No such question"} for name in unknown]
        )

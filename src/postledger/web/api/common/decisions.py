"""What doubts, dead letters and holds share: mails by id, decisions, and what is shown."""

from typing import Annotated
from uuid import UUID

from pydantic import AfterValidator, Field

from postledger.accounts.keys import Scope
from postledger.deliveries.attention.deciding import MOST, Decided
from postledger.deliveries.entries import StreamKind
from postledger.lib.errors import NotFoundError
from postledger.lib.ids import DeliveryId
from postledger.observability import masking
from postledger.web.api.common.pagination import NextCursor, encode_mail_key
from postledger.web.api.common.routing import Call
from postledger.web.api.common.schemas import ResponseSchema

LAST_STREAM = (1 << 48) - 1
A_MAIL = "01420000-0007-8000-8000-00000000002a"
TITLE = "Of the stream; null for a campaign without the scope `campaigns:read`."
TRY_ID = "The id with its last try: a decision by it counts only while that is the last one."


def _own_id(value: UUID) -> UUID:
    if DeliveryId.parse(value) is None:
        raise ValueError("write the id of a mail, as the list shows it")
    return value


MailIds = Annotated[
    list[Annotated[UUID, AfterValidator(_own_id), Field(strict=False)]],
    Field(min_length=1, max_length=MOST, examples=[[A_MAIL]]),
]
StreamNumber = Annotated[int, Field(ge=1, le=LAST_STREAM)]


def read_id(value: UUID) -> DeliveryId:
    """The mail that a path names, or one of its tries."""
    id_ = DeliveryId.parse(value)
    if id_ is None:
        raise NotFoundError
    return id_


def read_ids(values: list[UUID]) -> list[DeliveryId]:
    return [read_id(value) for value in values]


class UnchangedOut(ResponseSchema):
    """Mails that a decision left alone."""

    reason: str
    count: int


class DecidedOut(ResponseSchema):
    """What became of a decision about many mails."""

    decided: int = Field(description="How many mails it applied to.")
    unchanged: list[UnchangedOut] = Field(description="The mails that it left alone, by reason.")
    left: int = Field(description="How many mails of the selection were not looked at.")
    next: NextCursor


def decided_fields(decided: Decided) -> dict[str, object]:
    unchanged = [{"reason": reason, "count": n} for reason, n in decided.unchanged.items()]
    return {
        "decided": decided.count,
        "unchanged": unchanged,
        "left": decided.left,
        "next": None if decided.after is None else encode_mail_key(decided.after),
    }


def show_text(call: Call, text: str) -> str:
    """A text as this caller may see it: an address, or an answer that may quote one."""
    return text if call.may_read_contacts else masking.mask_text(text)


def show_title(call: Call, kind: StreamKind, title: str) -> str | None:
    """The title of a stream; that of a run is the campaign's."""
    is_hidden = kind is StreamKind.CAMPAIGN and Scope.CAMPAIGNS_READ not in call.scopes
    return None if is_hidden else title

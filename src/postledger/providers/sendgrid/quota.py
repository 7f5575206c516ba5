"""How many mails are left of the credits of an account's plan, where the key may ask.

Credits are the mails that a plan includes, and no limit. With most plans SendGrid goes on beyond
them and charges for each mail; it says nowhere whether it does, and its `overage` is 0 until then.
So a reading is shown, and holds no mail: a plan that ends refuses with "Maximum credits exceeded",
and that does.
"""

from pydantic import BaseModel, ConfigDict

from postledger.providers.base import QuotaHiddenError, QuotaReading, QuotaUnreadError
from postledger.providers.http import reading
from postledger.providers.http.reading import Obstacle, Service, Unread

CREDITS_PATH = "/v3/user/credits"
_MOST = 10**15  # more is no number of mails, and would not be stored
_HIDING = frozenset({Obstacle.CREDENTIALS, Obstacle.DENIED, Obstacle.ABSENT})


class CreditsState(BaseModel):
    """The credits of a plan; those of a subuser without a limit are null."""

    model_config = ConfigDict(frozen=True, strict=True)

    remain: int | None
    total: int | None


async def read_quota(service: Service) -> QuotaReading:
    """Asks for the credits; raises QuotaUnreadError."""
    state = await reading.read(service, CREDITS_PATH, CreditsState)
    if not isinstance(state, Unread):
        return judge(state)
    detail = state.detail.removesuffix(".")
    if state.obstacle in _HIDING:
        raise QuotaHiddenError(
            f"SendGrid does not show the credits to the API key ({detail}). To see how many are"
            " left, give the key the permission user.credits.read."
        )
    raise QuotaUnreadError(f"SendGrid did not say the credits: {detail}.")


def judge(credits_: CreditsState) -> QuotaReading:
    if credits_.remain is None:
        return QuotaReading(remaining=None)
    remaining = min(max(0, credits_.remain), _MOST)
    # Credits that were bought beside the plan are not part of its total.
    size = None if credits_.total is None else min(max(remaining, credits_.total), _MOST)
    return QuotaReading(remaining, size, is_limit=False)

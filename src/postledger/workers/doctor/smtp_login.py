"""Whether an SMTP server lets an account in: logs in, says goodbye and sends nothing."""

import asyncio

from postledger.providers.base import NotSent, SenderBlocked
from postledger.providers.smtp.pool import Pool
from postledger.providers.smtp.replies import Stage
from postledger.providers.smtp.session import NoSessionError
from postledger.providers.smtp.settings import Settings

LIMIT_SECONDS = 5.0


class NoLoginError(Exception):
    """What the server said instead of a welcome."""

    def __init__(self, said: str, *, is_about_login: bool) -> None:
        super().__init__(said)
        self.is_about_login = is_about_login


async def log_in(settings: Settings) -> None:
    pool = Pool(settings)
    until = asyncio.get_running_loop().time() + LIMIT_SECONDS
    try:
        session = await pool.session(until)
    except NoSessionError as error:
        outcome = error.outcome
        late = f"no answer within {LIMIT_SECONDS:.0f} s"
        said = late if isinstance(outcome, NotSent) else outcome.detail
        is_about_login = isinstance(outcome, SenderBlocked) and said.startswith(Stage.AUTH.name)
        raise NoLoginError(said, is_about_login=is_about_login) from None
    await session.quit()

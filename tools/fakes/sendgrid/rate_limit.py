"""How many requests may come in one period; every answer tells how many are left."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from tools.fakes.sendgrid.errors import SendGridError


@dataclass(slots=True)
class RateLimit:
    """A fixed window, as SendGrid has it."""

    limit: int = 600_000
    seconds: float = 60.0
    _count: int = 0
    _ends_at: float = 0.0  # in seconds since 1970

    def count(self, now: datetime) -> None:
        """Counts a request; one too many is a SendGridError."""
        if now.timestamp() >= self._ends_at:
            self._count, self._ends_at = 0, now.timestamp() + self.seconds
        self._count += 1
        if self._count > self.limit:
            raise SendGridError("too_many_requests")

    def write_headers(self) -> Mapping[str, str]:
        return {
            "X-RateLimit-Limit": str(self.limit),
            "X-RateLimit-Remaining": str(max(0, self.limit - self._count)),
            "X-RateLimit-Reset": str(math.ceil(self._ends_at)),
        }

"""The sending rate and the quota of 24 hours; both count recipients."""

from collections import deque
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from tools.fakes.ses.errors import SesError

UNLIMITED = -1.0
_DAY = timedelta(days=1)
_SLOT = timedelta(minutes=1)  # mails of one minute leave the window together


@dataclass(slots=True)
class _Slot:
    began_at: datetime
    recipient_count: int = 0


@dataclass(slots=True)
class Quota:
    """Up to one second's worth of mail may come at once, as a bucket of tokens has it."""

    max_24_hour_send: float
    max_send_rate: float
    sent_by_others: int = 0  # by other systems of the same account, in the last 24 hours
    report_lag: float = 0.0  # seconds until a mail is in the count that GetAccount shows
    _unreported: deque[_Slot] = field(default_factory=deque)  # one for each mail
    _slots: deque[_Slot] = field(default_factory=deque)
    _slots_sum: int = 0
    _tokens: float = 0.0
    _filled_at: datetime | None = None

    def count(self, recipient_count: int, now: datetime) -> None:
        """Counts a mail; one that exceeds a limit is a SesError, and is not counted."""
        limit = self.max_24_hour_send
        if limit != UNLIMITED and self.sent_last_24_hours(now) + recipient_count > limit:
            raise SesError("TooManyRequestsException", "Daily message quota exceeded.")
        if self.max_send_rate != UNLIMITED:
            self._take_tokens(recipient_count, now)
        if not self._slots or now - self._slots[-1].began_at >= _SLOT:
            self._slots.append(_Slot(now))
        self._slots[-1].recipient_count += recipient_count
        self._slots_sum += recipient_count
        if self.report_lag:
            self._unreported.append(_Slot(now, recipient_count))

    def report_sent(self, now: datetime) -> int:
        """What GetAccount shows: it may lag behind what is counted against the limit."""
        lag = timedelta(seconds=self.report_lag)
        while self._unreported and now - self._unreported[0].began_at >= lag:
            self._unreported.popleft()
        hidden = sum(mail.recipient_count for mail in self._unreported)
        return self.sent_last_24_hours(now) - hidden

    def sent_last_24_hours(self, now: datetime) -> int:
        while self._slots and now - self._slots[0].began_at >= _DAY:
            self._slots_sum -= self._slots.popleft().recipient_count
        return self._slots_sum + self.sent_by_others

    def _take_tokens(self, recipient_count: int, now: datetime) -> None:
        capacity = max(1.0, self.max_send_rate)
        if self._filled_at is None:
            self._tokens = capacity
        else:
            seconds = max(0.0, (now - self._filled_at).total_seconds())
            self._tokens = min(capacity, self._tokens + seconds * self.max_send_rate)
        self._filled_at = now
        # A mail to more recipients than the bucket holds goes when it is full.
        if self._tokens < min(recipient_count, capacity):
            raise SesError("TooManyRequestsException", "Maximum sending rate exceeded.")
        self._tokens -= recipient_count

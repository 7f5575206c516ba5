"""Where the figures of the overview lead."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.urls import reverse

from postledger.campaigns.runs import run_lookup
from postledger.deliveries.states import State
from postledger.web.dashboard import formats
from postledger.web.dashboard.components import balance

_MINUTE = timedelta(minutes=1)


class Links:
    def __init__(self, workspace_id: int, stream_ids: Sequence[int], *, may_run: bool) -> None:
        self.workspace_id = workspace_id
        self._may_run = may_run
        self.messages = reverse("messages", args=[workspace_id])
        self.attention = reverse("attention", args=[workspace_id])
        self._runs: Mapping[int, UUID] = run_lookup.find_run_ids(workspace_id, stream_ids)

    def to_stream(self, stream_id: int) -> str:
        """The page of its run, or the list of its emails."""
        run_id = self._runs.get(stream_id)
        if run_id is None:
            return self.to_mails(stream_id)
        return reverse("run", args=[self.workspace_id, run_id])

    def to_mails(self, stream_id: int) -> str:
        run_id = self._runs.get(stream_id)
        if run_id is None:
            return balance.add_query(self.messages, stream=str(stream_id))
        return balance.add_query(self.messages, run=str(run_id))

    def to_resuming(self, stream_id: int) -> str:
        """Empty where there is no run, or the reader may not resume it."""
        run_id = self._runs.get(stream_id) if self._may_run else None
        return "" if run_id is None else reverse("run_resume", args=[self.workspace_id, run_id])

    def to_minute(self, moment: datetime) -> str:
        return balance.add_query(
            self.messages,
            state=State.ACCEPTED.value,
            since=formats.input_moment(moment),
            until=formats.input_moment(moment + _MINUTE),
        )

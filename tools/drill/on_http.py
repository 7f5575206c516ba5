"""Mail by SES and SendGrid: workers die while service and network fail in all ways of the fakes."""

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from postledger.accounts import keys
from postledger.accounts.keys import Scope
from postledger.accounts.models import ProviderAccount
from postledger.deliveries import ledger, queries
from postledger.deliveries.reasons import Reason
from tools.drill import books, events, processes, tenants
from tools.drill.chaos import Cut
from tools.drill.drill import Drill
from tools.drill.http_fake import Fault, HttpFake
from tools.drill.saying import say
from tools.drill.services import is_open
from tools.drill.size import Amount, Size
from tools.drill.waiting import until

_SHARE = 0.006  # of the requests that meet each of the faults
_PATIENCE = 300.0

# Each leaves a doubt, except the last two, whose answer is complete.
_OF_THE_NETWORK: dict[str, Fault] = {
    "answer dropped": {"kind": "drop_answer", "end": "close"},
    "answer dropped by a reset": {"kind": "drop_answer", "end": "reset"},
    "half an answer, then silence": {"kind": "halve_answer"},
    "half an answer, then a reset": {"kind": "halve_answer", "end": "reset"},
    "answer later than the timeout": {"kind": "delay_answer", "seconds": 6.0},
    "garbage after an acceptance": {"kind": "garbage", "is_accepted": True},
    "garbage": {"kind": "garbage", "is_accepted": False},
    "502 of a gateway after an acceptance": {"kind": "gateway", "status": 502, "is_accepted": True},
    "504 of a gateway": {"kind": "gateway", "status": 504},
    "200 with half a document": {"kind": "bad_body", "body": "truncated"},
    "reset in the head": {"kind": "cut_request", "at": "head", "end": "reset"},
    "closed in the body": {"kind": "cut_request", "at": "body", "end": "close"},
    "reset after the request": {"kind": "cut_request", "at": "request", "end": "reset"},
    "answer byte by byte": {"kind": "trickle_answer", "seconds": 0.002},
    "closed after the answer": {"kind": "answer_last", "is_announced": False},
}
_BY_A_GATEWAY: Mapping[str, Fault] = {"503 of a gateway": {"kind": "gateway", "status": 503}}
# As the SMTP server of a drill: slow enough that a kill meets mails under way.
_USUAL: Fault = {"kind": "delay_answer", "seconds": 0.1}


def ses(drill: Drill, size: Size) -> None:
    _Scenario(drill, drill.ses, size.ses, Counter(drill.ses.proxy.counts)).run(size.pause)


def sendgrid(drill: Drill, size: Size) -> None:
    fake = drill.sendgrid
    if fake.popen is None:
        fake.start()
        until(lambda: is_open(fake.port), seconds=60)
        fake.shorten_rate_window()
    _Scenario(drill, fake, size.sendgrid, Counter(fake.proxy.counts)).run(size.pause)


@dataclass(frozen=True, slots=True)
class _Scenario:
    drill: Drill
    fake: HttpFake
    amount: Amount
    cuts_before: Counter[Cut]

    @property
    def service_faults(self) -> Mapping[str, Fault]:
        return {**_BY_A_GATEWAY, **self.fake.service_faults}

    def run(self, pause: float) -> None:
        drill, amount = self.drill, self.amount
        with self._load():
            self._script()
            for number in range(amount.kills):
                self._cut_some()
                drill.pass_time(random.uniform(1, pause))
                self._wait_for_mails(amount.mails // amount.kills)
                processes.kill_one(drill)
                if number % 10 == 0:
                    self._block_the_account()
            self._go_on_until(self._is_enough)
            self._release()
            for name, count in self._count_faults().items():
                drill.faults[f"{self.fake.label}: {name}"] += count
            self._end_doubts()

    def _end_doubts(self) -> None:
        """After the last fault every mail ends, and its events come."""
        drill = self.drill
        self.fake.proxy.cut = None
        self.fake.set_faults([])
        drill.customer.stop()
        drill.load.is_fed = False
        self._go_on_until(lambda: not drill.waiting())
        drill.load.is_fed = True
        events.wait_until_applied(drill, self.fake)
        events.judge(drill, self.fake, drill.load.workspace_id)

    @contextmanager
    def _load(self) -> Iterator[None]:
        """Campaign and single mails of a workspace on the vendor, instead of the usual one's."""
        load, customer = self.drill.load, self.drill.customer
        usual = (load.workspace_id, load.sender_id, load.stream_id, customer.token)
        customer.stop()
        workspace_id, sender_id = tenants.create_on(self.fake)
        events.listen(self.fake, workspace_id, sender_id)
        stream_id = books.open_campaign(workspace_id, sender_id)
        key = keys.create_key(workspace_id, name="shop", scopes=list(Scope), actor="drill")
        load.workspaces.append(workspace_id)
        load.workspace_id, load.sender_id, load.stream_id = workspace_id, sender_id, stream_id
        customer.token = key.token
        customer.start()
        try:
            yield
        finally:
            customer.stop()
            load.workspace_id, load.sender_id, load.stream_id, customer.token = usual
            self.fake.proxy.cut = None
            self.fake.set_faults([])

    def _script(self) -> None:
        faults = {**_OF_THE_NETWORK, **self.service_faults}.values()
        rules = [
            {"fault": fault, "probability": _SHARE, "seed": random.randrange(10**6)}
            for fault in faults
        ]
        self.fake.set_faults([*rules, {"fault": _USUAL}])

    def _wait_for_mails(self, count: int) -> None:
        """Nothing is proved by killing workers that are only coming up."""
        exchanges = self.fake.proxy.exchanges
        wanted = len(exchanges) + count
        self._go_on_until(lambda: len(exchanges) >= wanted)

    def _go_on_until(self, is_so: Callable[[], bool]) -> None:
        """With a person who looks: a block that a slow worker books late has no end of its own."""

        def look() -> bool:
            stream = books.persistently(lambda: queries.find_stream(self.drill.load.stream_id))
            if stream and any(hold.reason is Reason.SENDER_BLOCKED for hold in stream.holds):
                self._release()
            return is_so()

        try:
            self.drill.pass_time_until(look, seconds=_PATIENCE)
        except TimeoutError:
            self._say_why()
            raise

    def _say_why(self) -> None:
        stream = books.persistently(lambda: queries.find_stream(self.drill.load.stream_id))
        rates = ProviderAccount.objects.filter(kind=self.fake.kind).values_list("tuned_rate")
        say(f"{self.drill.waiting()} mails wait; tuned rates {list(rates)}; {stream}")

    def _cut_some(self) -> None:
        proxy = self.fake.proxy
        proxy.cut, proxy.share, proxy.limit = random.choice(list(Cut)), 0.1, 3

    def _block_the_account(self) -> None:
        """The vendor blocks it; a person mends that, and says so."""
        self.fake.set_sending(is_enabled=False)
        self.drill.faults[f"{self.fake.label}: account blocked"] += 1
        self.drill.pass_time(1)
        self.fake.set_sending(is_enabled=True)
        self.drill.pass_time(1)
        self._release()

    def _release(self) -> None:
        books.persistently(lambda: ledger.release_sender(self.drill.load.sender_id))

    def _is_enough(self) -> bool:
        faults = self._count_faults()
        of_the_network = faults.total() - sum(faults[name] for name in self.service_faults)
        mail_count = len(self.fake.proxy.exchanges)
        return of_the_network >= self.amount.faults and mail_count >= self.amount.mails

    def _count_faults(self) -> Counter[str]:
        """How often each fault has struck, of the script and of the proxy."""
        names = (*_OF_THE_NETWORK, *self.service_faults)
        struck = Counter(dict(zip(names, self.fake.strikes(), strict=False)))
        cuts = self.fake.proxy.counts - self.cuts_before
        return struck + Counter({cut.value: count for cut, count in cuts.items()})

"""Mail by SES: workers die while the service and the network fail in every way of the fake."""

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from postledger.accounts import keys
from postledger.accounts.keys import Scope
from postledger.deliveries import ledger, queries
from postledger.deliveries.reasons import Reason
from tools.drill import books, events, processes, ses, tenants
from tools.drill.chaos import Cut
from tools.drill.drill import Drill
from tools.drill.size import Size

_SHARE = 0.006  # of the requests that meet each of the faults
_PATIENCE = 300.0

type _Fault = Mapping[str, object]

# Each leaves a doubt, except the last two, whose answer is complete.
_OF_THE_NETWORK: dict[str, _Fault] = {
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
# Each is an answer: later, never, or too fast.
_OF_THE_SERVICE: dict[str, _Fault] = {
    "503 of a gateway": {"kind": "gateway", "status": 503},
    **{
        name: {"kind": "error", "name": name}
        for name in (
            *("ServiceUnavailable", "InternalServiceErrorException", "MessageRejected"),
            "TooManyRequestsException",
        )
    },
}
# As the SMTP server of a drill: slow enough that a kill meets mails under way.
_USUAL: _Fault = {"kind": "delay_answer", "seconds": 0.1}


def broken(drill: Drill, size: Size) -> None:
    cuts_before = Counter(drill.ses.proxy.counts)
    with _load_on_ses(drill):
        _script(drill)
        for number in range(size.ses_kills):
            _cut_some(drill)
            drill.pass_time(random.uniform(1, size.pause))
            _wait_for_mails(drill, size.ses_mails // size.ses_kills)
            processes.kill_one(drill)
            if number % 10 == 0:
                _pause_the_account(drill)
        _go_on_until(drill, lambda: _is_enough(drill, size, cuts_before))
        _release(drill)
        for name, count in _count_faults(drill, cuts_before).items():
            drill.faults[f"SES: {name}"] += count
        _end_doubts(drill)


def _end_doubts(drill: Drill) -> None:
    """After the last fault every mail ends, and its events come."""
    drill.ses.proxy.cut = None
    drill.ses.set_faults([])
    drill.customer.stop()
    drill.load.is_fed = False
    _go_on_until(drill, lambda: not drill.waiting())
    drill.load.is_fed = True
    events.wait_until_applied(drill)
    events.judge(drill, drill.load.workspace_id)


@contextmanager
def _load_on_ses(drill: Drill) -> Iterator[None]:
    """Campaign and single mails of a workspace that sends by SES, instead of the usual one's."""
    load, customer = drill.load, drill.customer
    usual = (load.workspace_id, load.sender_id, load.stream_id, customer.token)
    customer.stop()
    workspace_id, sender_id = tenants.create_on_ses(
        ses.NAME, drill.ses.proxy.port, sqs_endpoint=drill.sqs.endpoint if drill.sqs else ""
    )
    events.listen(drill, workspace_id, sender_id)
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
        drill.ses.proxy.cut = None
        drill.ses.set_faults([])


def _script(drill: Drill) -> None:
    faults = {**_OF_THE_NETWORK, **_OF_THE_SERVICE}.values()
    rules = [
        {"fault": fault, "probability": _SHARE, "seed": random.randrange(10**6)} for fault in faults
    ]
    drill.ses.set_faults([*rules, {"fault": _USUAL}])


def _wait_for_mails(drill: Drill, count: int) -> None:
    """Nothing is proved by killing workers that are only coming up."""
    exchanges = drill.ses.proxy.exchanges
    wanted = len(exchanges) + count
    _go_on_until(drill, lambda: len(exchanges) >= wanted)


def _go_on_until(drill: Drill, is_so: Callable[[], bool]) -> None:
    """With a person who looks: a block that a slow worker books late has no end of its own."""

    def look() -> bool:
        stream = books.persistently(lambda: queries.find_stream(drill.load.stream_id))
        if stream and any(hold.reason is Reason.SENDER_BLOCKED for hold in stream.holds):
            _release(drill)
        return is_so()

    drill.pass_time_until(look, seconds=_PATIENCE)


def _cut_some(drill: Drill) -> None:
    proxy = drill.ses.proxy
    proxy.cut, proxy.share, proxy.limit = random.choice(list(Cut)), 0.1, 3


def _pause_the_account(drill: Drill) -> None:
    """SES pauses it; a person mends that, and says so."""
    drill.ses.set_sending(is_enabled=False)
    drill.faults["SES: account paused"] += 1
    drill.pass_time(1)
    drill.ses.set_sending(is_enabled=True)
    drill.pass_time(1)
    _release(drill)


def _release(drill: Drill) -> None:
    books.persistently(lambda: ledger.release_sender(drill.load.sender_id))


def _is_enough(drill: Drill, size: Size, cuts_before: Counter[Cut]) -> bool:
    faults = _count_faults(drill, cuts_before)
    of_the_network = faults.total() - sum(faults[name] for name in _OF_THE_SERVICE)
    return of_the_network >= size.ses_faults and len(drill.ses.proxy.exchanges) >= size.ses_mails


def _count_faults(drill: Drill, cuts_before: Counter[Cut]) -> Counter[str]:
    """How often each fault has struck, of the script and of the proxy."""
    names = (*_OF_THE_NETWORK, *_OF_THE_SERVICE)
    struck = Counter(dict(zip(names, drill.ses.strikes(), strict=False)))
    cuts = drill.ses.proxy.counts - cuts_before
    return struck + Counter({cut.value: count for cut, count in cuts.items()})

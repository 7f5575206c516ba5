"""A provider that says later, says no, says too fast, and refuses the sender, while workers die."""

import random

from postledger.deliveries import ledger
from tools.drill import books, processes, stage
from tools.drill.drill import Drill
from tools.drill.size import Size

_ATTEMPTS = 4
# Most are taken, some at once and some after one or two refusals; some never are.
_WORDS = ("", "", "", "soon+1+", "soon+2+", "", "refuse+", "hide+", "soon+3+", "later+")
_MOODS = ("throttle", "busy", "block")


def scripted(drill: Drill, size: Size) -> None:
    """Answers by recipient and for everybody, under a retry policy that can be exhausted."""
    _give_up_early(drill)
    drill.load.words = drill.customer.words = _WORDS
    for _ in range(size.moods):
        for mood in _MOODS:
            drill.pass_time(random.uniform(0.5, 2))
            with drill.smtp.in_mood(mood):
                drill.faults[f"provider in mood: {mood}"] += 1
                drill.pass_time(random.uniform(0.5, size.pause))
            _release(drill)
            processes.kill_one(drill)
    drill.load.words = drill.customer.words = ("",)
    drill.pass_time(1)
    _release(drill)


def _release(drill: Drill) -> None:
    """A person mends the account, and says so: a block has no end of its own."""
    books.persistently(lambda: ledger.release_sender(drill.load.sender_id))


def _give_up_early(drill: Drill) -> None:
    """For the rest of the drill: people may requeue what is refused for ever."""
    drill.fleet.environment |= stage.policies(_ATTEMPTS)
    drill.known.attempts = dict.fromkeys(drill.known.attempts, _ATTEMPTS)
    drill.fleet.replace_all()

"""Asks the provider of a sender whether it would take its mail; sends nothing."""

import asyncio
from collections.abc import Sequence

from pydantic import ValidationError

from postledger.accounts import queries
from postledger.lib.check_results import Level
from postledger.lib.errors import RefusedError
from postledger.lib.sentences import say
from postledger.providers import registry
from postledger.providers.base import Finding

_LONGEST = 25.0  # seconds


def check_sender(workspace_id: int, sender_id: int) -> Sequence[Finding]:
    """What is found out about a sender's account; it works if no finding is a problem.

    Call it outside of a transaction: it asks over the network.
    """
    sender = queries.get_sender(workspace_id, sender_id)
    if sender.account is None:
        return [_problem(say("The sender has no account."), say("Attach it to an account."))]
    try:
        outgoing = queries.outgoing(sender.pk)
        settings = outgoing.settings if outgoing else {}
        module = registry.load_module(sender.account.kind)
        module.build(settings)
    except ValidationError:
        return [
            _problem(say("The settings of its account are invalid."), say("Correct the account."))
        ]
    except RefusedError as refused:
        return [_problem(refused.args[0], say("Enter the settings of its account again."))]
    try:
        return asyncio.run(asyncio.wait_for(module.check(settings, [sender.address]), _LONGEST))
    except TimeoutError:
        message = say(
            "The provider did not answer within %(seconds)s seconds.", seconds=f"{_LONGEST:.0f}"
        )
        return [_problem(message, say("Look whether its server can be reached, then try again."))]


def _problem(message: str, remedy: str) -> Finding:
    return Finding("account", Level.PROBLEM, message, remedy)

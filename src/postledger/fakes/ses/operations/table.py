"""All operations of SES v2 that the fake has."""

from collections.abc import Mapping

from postledger.fakes.ses.http import Request
from postledger.fakes.ses.operations import (
    account,
    configuration_sets,
    event_destinations,
    identities,
    suppressions,
)
from postledger.fakes.ses.routing import Route

SEND_EMAIL = Route("SendEmail", "POST", "outbound-emails")  # the service does it itself
ROUTES: tuple[Route, ...] = (
    SEND_EMAIL,
    *account.ROUTES,
    *configuration_sets.ROUTES,
    *event_destinations.ROUTES,
    *identities.ROUTES,
    *suppressions.ROUTES,
)
# Found without a search: SendEmail comes thousands of times in a second.
_BY_TARGET = {
    (route.method, f"/v2/email/{route.path}"): route for route in ROUTES if "{" not in route.path
}


def find(request: Request) -> tuple[Route, Mapping[str, str]] | None:
    """The operation of a request, with the parameters in its path."""
    exact = _BY_TARGET.get((request.method, request.target))
    if exact is not None:
        return exact, {}
    for route in ROUTES:
        parameters = route.match(request)
        if parameters is not None:
            return route, parameters
    return None

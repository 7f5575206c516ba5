"""All operations of SES v2 that the fake has."""

from tools.fakes.http.routing import Route, RouteTable
from tools.fakes.ses.account import Account
from tools.fakes.ses.operations import (
    account,
    configuration_sets,
    event_destinations,
    identities,
    suppressions,
)

TABLE: RouteTable[Account, object] = RouteTable(
    "/v2/email/",
    (
        Route("SendEmail", "POST", "outbound-emails"),
        *account.ROUTES,
        *configuration_sets.ROUTES,
        *event_destinations.ROUTES,
        *identities.ROUTES,
        *suppressions.ROUTES,
    ),
)

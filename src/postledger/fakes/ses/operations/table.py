"""All operations of SES v2 that the fake has."""

from postledger.fakes.http.routing import Route, RouteTable
from postledger.fakes.ses.account import Account
from postledger.fakes.ses.operations import (
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

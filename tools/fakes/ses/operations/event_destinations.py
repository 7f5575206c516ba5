"""The event destinations of configuration sets; events are published to those of SNS."""

from typing import Any

from tools.fakes.http.routing import Call, Document, Route
from tools.fakes.ses.account import Account, ConfigurationSet
from tools.fakes.ses.documents import required_text, structure, text, texts
from tools.fakes.ses.errors import SesError, bad_request
from tools.fakes.ses.operations.configuration_sets import find_set

MAX_DESTINATIONS = 10
EVENT_TYPES = frozenset(
    (
        "SEND",
        "REJECT",
        "BOUNCE",
        "COMPLAINT",
        "DELIVERY",
        "OPEN",
        "CLICK",
        "RENDERING_FAILURE",
        "DELIVERY_DELAY",
        "SUBSCRIPTION",
    )
)
_SERVICES = (
    "KinesisFirehoseDestination",
    "CloudWatchDestination",
    "SnsDestination",
    "EventBridgeDestination",
    "PinpointDestination",
)


def _create(account: Account, call: Call) -> object:
    configuration_set = find_set(account, call)
    name = required_text(call.document, "EventDestinationName")
    if name in configuration_set.event_destinations:
        raise SesError("AlreadyExistsException", f"Event destination <{name}> already exists.")
    if len(configuration_set.event_destinations) >= MAX_DESTINATIONS:
        raise SesError(
            "LimitExceededException", f"There can be {MAX_DESTINATIONS} event destinations."
        )
    configuration_set.event_destinations[name] = _read_definition(account, call)
    return {}


def _list(account: Account, call: Call) -> object:
    destinations = find_set(account, call).event_destinations
    return {
        "EventDestinations": [
            {"Name": name, **definition} for name, definition in destinations.items()
        ]
    }


def _update(account: Account, call: Call) -> object:
    configuration_set, name = _find(account, call)
    configuration_set.event_destinations[name] = _read_definition(account, call)
    return {}


def _delete(account: Account, call: Call) -> object:
    configuration_set, name = _find(account, call)
    del configuration_set.event_destinations[name]
    return {}


def _find(account: Account, call: Call) -> tuple[ConfigurationSet, str]:
    configuration_set, name = find_set(account, call), call.parameters["EventDestinationName"]
    if name not in configuration_set.event_destinations:
        raise SesError("NotFoundException", f"Event destination <{name}> does not exist.")
    return configuration_set, name


def _read_definition(account: Account, call: Call) -> dict[str, Any]:
    given: Document = structure(call.document, "EventDestination")
    types = texts(given, "MatchingEventTypes")
    if not types or not EVENT_TYPES.issuperset(types):
        raise bad_request(f"MatchingEventTypes must be some of {', '.join(sorted(EVENT_TYPES))}.")
    services = {name: structure(given, name) for name in _SERVICES if name in given}
    if len(services) != 1:
        raise bad_request("An event destination must have exactly one service.")
    sns = services.get("SnsDestination")
    if sns is not None and text(sns, "TopicArn") not in account.topics.by_arn:
        raise bad_request(f"SNS topic <{text(sns, 'TopicArn')}> not found.")
    return {"Enabled": given.get("Enabled") is True, "MatchingEventTypes": types, **services}


_SET = "configuration-sets/{ConfigurationSetName}/event-destinations"
_ONE = f"{_SET}/{{EventDestinationName}}"
ROUTES = (
    Route("CreateConfigurationSetEventDestination", "POST", _SET, _create),
    Route("GetConfigurationSetEventDestinations", "GET", _SET, _list),
    Route("UpdateConfigurationSetEventDestination", "PUT", _ONE, _update),
    Route("DeleteConfigurationSetEventDestination", "DELETE", _ONE, _delete),
)

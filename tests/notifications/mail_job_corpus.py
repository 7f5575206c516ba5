"""Mail jobs, each named by what it shows: those that are accepted, and those that are refused.

Each is a sound job with some fields changed: a path with dots names a field, and `ABSENT` takes it
away.
"""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any, Final

ABSENT: Final = object()

# Only what the schema requires.
LEAST: Mapping[str, Any] = {
    "version": "1.0",
    "notificationId": 1,
    "openEventId": 1,
    "subscriptionId": 1,
    "dedupeKey": "open:92026:NB:10001",
    "locale": "en",
    "recipient": {"email": "alice@example.com"},
    "template": {
        "id": "open-seat",
        "variables": {
            "courseTitle": "Data Structures",
            "courseString": "01:198:112",
            "sectionIndex": "10001",
            "sectionNumber": "01",
            "meetingSummary": "Mon 10:20",
            "manageUrl": "https://example.com/manage",
        },
    },
    "event": {
        "termId": "92026",
        "campusCode": "NB",
        "indexNumber": "10001",
        "statusAfter": "Open",
        "eventAt": "2026-11-18T10:00:00Z",
    },
    "links": {},
}
SUBSCRIPTION: Mapping[str, Any] = {"status": "active", "contactType": "email"}

ACCEPTED: Mapping[str, Mapping[str, Any]] = {
    "only the required fields": {},
    "a trace id": {"traceId": "4bf92f3577b34da6a3ce929d0e0e4736"},
    "an empty trace id": {"traceId": ""},
    "an empty dedupe key": {"dedupeKey": ""},
    "a name of the recipient": {"recipient.name": "Alice"},
    "an empty name": {"recipient.name": ""},
    "a locale with a region": {"locale": "pt-BR"},
    "a locale nobody speaks": {"locale": "x-klingon"},
    "an integer written with a fraction of zero": {"notificationId": 1.0},
    "an id of 64 bits": {"openEventId": 9_223_372_036_854_775_807},
    "a template version": {"template.version": "v1"},
    "another template version": {"template.version": "v12"},
    "a variable that the schema does not list": {"template.variables.greeting": "Hello"},
    "a nested variable": {"template.variables.room": {"building": "Hill", "number": 114}},
    "all listed variables": {
        "template.variables.campus": "New Brunswick",
        "template.variables.eventDetectedAt": "2026-11-18T10:00:00.123+01:00",
        "template.variables.unsubscribeUrl": "https://example.com/leave?token=a%20b",
        "template.variables.notes": "",
    },
    "a manage link in the variables that is no web address": {
        "template.variables.manageUrl": "mailto:manage@example.com"
    },
    "all listed fields of the event": {
        "event.sectionId": 7,
        "event.sectionNumber": "01",
        "event.subjectCode": "198",
        "event.courseTitle": "Data Structures",
        "event.statusBefore": "Closed",
        "event.detectedBy": "open_sections_poller",
        "event.snapshotHash": "sha256:0a1b",
    },
    "a field of the event that the schema does not list": {"event.instructor": "Dr. Knuth"},
    "a status that is not Open": {"event.statusAfter": "Wait"},
    "a time in lowercase": {"event.eventAt": "2026-11-18t10:00:00z"},
    "a leap second": {"event.eventAt": "2016-12-31T23:59:60Z"},
    "both links": {
        "links.manageUrl": "https://example.com/manage",
        "links.unsubscribeUrl": "https://example.com/leave",
    },
    "a subscription": {"subscription": {**SUBSCRIPTION}},
    "a subscription that ended": {"subscription": {**SUBSCRIPTION, "status": "unsubscribed"}},
    "a subscription with all preferences": {
        "subscription": {
            **SUBSCRIPTION,
            "contactValue": "alice@example.com",
            "contactHash": "ab12",
            "lastKnownSectionStatus": "Closed",
            "preferences": {
                "notifyOn": ["Open", "Wait"],
                "maxNotifications": 5,
                "deliveryWindow": {"startMinutes": 1320, "endMinutes": 480},
                "snoozeUntil": "2026-11-19T00:00:00Z",
            },
        }
    },
    "a preference that the schema does not list": {
        "subscription": {**SUBSCRIPTION, "preferences": {"digest": True}}
    },
    "an empty delivery policy": {"deliveryPolicy": {}},
    "a delivery policy with the smallest values": {
        "deliveryPolicy": {"maxAttempts": 1, "lockTtlSeconds": 30, "retryScheduleMs": []}
    },
    "a later minor version with fields of its own": {
        "version": "1.4",
        "priority": "high",
        "recipient.pronouns": "she",
        "template.engine": "liquid",
        "links.calendarUrl": "https://example.com/calendar",
        "deliveryPolicy": {"maxAttempts": 3, "jitter": True},
    },
    "a later minor version with nothing new": {"version": "1.10"},
}

REFUSED: Mapping[str, Mapping[str, Any]] = {
    "no version": {"version": ABSENT},
    "a version that is a number": {"version": 1.0},
    "a version in words": {"version": "latest"},
    "a later minor version without a required field": {"version": "1.1", "dedupeKey": ABSENT},
    "no notification id": {"notificationId": ABSENT},
    "a notification id of zero": {"notificationId": 0},
    "a notification id in a text": {"notificationId": "1"},
    "an event id with a fraction": {"openEventId": 1.5},
    "a subscription id that is true": {"subscriptionId": True},
    "a dedupe key of null": {"dedupeKey": None},
    "no locale": {"locale": ABSENT},
    "no recipient's address": {"recipient.email": ABSENT},
    "an address without a domain": {"recipient.email": "alice"},
    "an unknown field of the recipient": {"recipient.phone": "+1 555 0100"},
    "another template": {"template.id": "welcome"},
    "a required variable that is missing": {"template.variables.courseTitle": ABSENT},
    "a manage link that is relative": {"template.variables.manageUrl": "/manage"},
    "a variable of the wrong type": {"template.variables.sectionIndex": 10001},
    "an unknown field of the template": {"template.engine": "liquid"},
    "an event without its time": {"event.eventAt": ABSENT},
    "an event time without a zone": {"event.eventAt": "2026-11-18T10:00:00"},
    "a section id in a text": {"event.sectionId": "7"},
    "a subscription of another channel": {"subscription": {**SUBSCRIPTION, "contactType": "sms"}},
    "a subscription status that is unknown": {"subscription": {**SUBSCRIPTION, "status": "gone"}},
    "an unknown link": {"links.calendarUrl": "https://example.com/calendar"},
    "a lock of less than thirty seconds": {"deliveryPolicy": {"lockTtlSeconds": 29}},
    "an unknown field of the job": {"priority": "high"},
}


def make_job(changes: Mapping[str, Any]) -> dict[str, Any]:
    """The least job with some fields changed."""
    job = deepcopy(dict(LEAST))
    for path, value in changes.items():
        *parents, name = path.split(".")
        place = job
        for parent in parents:
            place = place[parent]
        if value is ABSENT:
            del place[name]
        else:
            place[name] = deepcopy(value)
    return job

"""Sets up alerts about open seats by the API: a topic, a source, and people who want to know.

Everything that a poller of open sections would be programmed for is in TOPIC and SOURCE. Run it as
often as you like: what exists already stays as it is.
"""

import argparse
import json
import os
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

LOCALES = ("en", "pt", "ru")  # in which the built-in template open-seat is written
TOPIC: dict[str, Any] = {
    "key": "open-sections",
    "name": "Open sections",
    "template": "open-seat",
    "fallback_locale": "en",
    "match_fields": ["termId", "campusCode", "indexNumber"],
    "event_schema": {
        "type": "object",
        "required": [
            *("termId", "campusCode", "indexNumber", "statusAfter"),
            *("courseTitle", "courseString", "sectionIndex", "sectionNumber", "meetingSummary"),
        ],
    },
}
SOURCE: dict[str, Any] = {
    "key": "registrar",
    "topic": "open-sections",
    "items_path": "sections",
    "id_fields": ["term", "campus", "index"],
    "watched_field": "status",
    "fields": {
        "termId": "term",
        "campusCode": "campus",
        "campus": "campus",
        "indexNumber": "index",
        "sectionIndex": "index",
        "sectionNumber": "section",
        "courseString": "course",
        "courseTitle": "title",
        "meetingSummary": "meets",
    },
}


class Api:
    def __init__(self, url: str, key: str) -> None:
        self.url = url
        self.key = key

    def ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """The answer; None for what exists already. Waits where the server asks for it."""
        while True:
            request = urllib.request.Request(  # noqa: S310  the URL is the operator's own
                f"{self.url}{path}",
                method=method,
                data=None if body is None else json.dumps(body).encode(),
                headers={
                    "Authorization": f"Bearer {self.key}",
                    "Content-Type": "application/json",
                },
            )
            try:
                with urllib.request.urlopen(request, timeout=60) as response:  # noqa: S310  see above
                    return json.load(response)
            except urllib.error.HTTPError as error:
                if error.code == HTTPStatus.TOO_MANY_REQUESTS:
                    time.sleep(float(error.headers.get("Retry-After", "1")))
                elif error.code == HTTPStatus.CONFLICT:
                    return None
                else:
                    raise SystemExit(f"{method} {path}: {error.read().decode()}") from None


def add_topic(api: Api) -> None:
    api.ask("POST", "/v1/topics", TOPIC)


def add_source(api: Api, url: str, *, interval_seconds: int = 5) -> None:
    wanted = {**SOURCE, "url": url, "interval_seconds": interval_seconds}
    api.ask("POST", "/v1/sources", wanted)


def add_subscriber(api: Api, number: int, index: str) -> None:
    """A contact that is told when one section opens, in one of the languages."""
    address = f"student{number}@example.com"
    locale = LOCALES[number % len(LOCALES)]
    contact = {"address": address, "name": f"Student {number}", "locale": locale}
    created = api.ask("POST", "/v1/contacts", contact)
    if created is None:
        [created] = api.ask("GET", f"/v1/contacts?address={address}")["contacts"]
    wanted = {"termId": "92026", "campusCode": "NB", "indexNumber": index}
    subscription = {
        "contact_id": created["id"],
        "match": wanted,
        "preferences": {"locale": locale},
        "is_confirmed": True,
    }
    api.ask("POST", "/v1/topics/open-sections/subscriptions", subscription)


def main() -> None:
    parser = argparse.ArgumentParser(description="Sets up alerts about open seats.")
    parser.add_argument("--url", default="http://127.0.0.1:8000", help="of Postledger")
    parser.add_argument("--registrar", default="http://127.0.0.1:8700/sections")
    parser.add_argument("--subscribers", type=int, default=30)
    parser.add_argument("--sections", type=int, default=50)
    given = parser.parse_args()
    if not os.environ.get("KEY"):
        raise SystemExit("Put an API key into the variable KEY: postledger key create.")
    api = Api(given.url, os.environ["KEY"])
    add_topic(api)
    add_source(api, given.registrar)
    for number in range(given.subscribers):
        add_subscriber(api, number, str(10_001 + number % given.sections))
    sys.stderr.write(f"{given.subscribers} people are told when their section opens.\n")


if __name__ == "__main__":
    main()

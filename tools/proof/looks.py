"""`python -m tools.proof.looks FOLDER --axe axe.min.js`: pictures of every public page, and axe.

Each page in each language, on a phone and on a desk, by day and by night; axe-core, which is
brought along from its package, looks at each of them.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from tools.bench import cluster, work
from tools.drill.saying import say
from tools.proof import chromium, scanners

if TYPE_CHECKING:
    from tools.proof.chromium import Chromium

LANGUAGES = ("en", "pt", "ru")
WIDTHS = {"phone": 375, "desk": 1280}
NIGHT = ("light", "dark")
_AXE = "axe.run().then(found => found.violations.map(one => one.id + ' ' + one.nodes[0].html))"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--axe", type=Path, required=True)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    with cluster.running() as database, tempfile.TemporaryDirectory() as folder:
        work.connect(database)
        from django.core.management import call_command

        from tests.journeys import rig

        call_command("migrate", verbosity=0)
        public = {"PUBLIC_URL": "https://mail.acme.example", **scanners.settings()}
        with (
            rig.installation(Path(folder), database, **public) as installed,
            chromium.running() as browser,
        ):
            pages = _pages(scanners.serving(installed))
            looks = list(_look_at_pages(browser, pages, options.folder, options.axe.read_text()))
    say(f"{len(looks)} looks, {sum(map(bool, looks))} with something for axe to say")
    return 1 if any(looks) else 0


def _pages(server: str) -> Mapping[str, str]:
    """One page of every kind that can be opened, in the middle of what it is for."""
    from postledger.contacts.actions import subscriptions
    from postledger.contacts.models import Contact
    from postledger.web.public import links
    from postledger.web.public.links import Confirmation
    from tests import cast
    from tests.contacts import people
    from tests.web.public import visiting

    acme = cast.sender().workspace_id
    for key, name in (("news", "News"), ("offers", "Offers of the week")):
        visiting.public_list(acme, key, name)
    people.member(acme)
    people.leave(acme, "left@example.com")
    contact_id = Contact.objects.get().pk
    subscriptions.subscribe(
        acme, contact_id=contact_id, list_key="offers", origin=people.FORM, now=people.NOW
    )
    asked = Confirmation(
        acme, people.R1, "offers", "Rosa", "en", "subscribe-form 1 en", None, datetime.now(UTC)
    )
    confirm = links.seal_confirmation(asked)

    def link(address: str = people.R1, key: str = "general", page: str = "/unsubscribe") -> str:
        return server + visiting.link(
            address, key, workspace_id=acme, secret=scanners.SECRET, page=page
        )

    return {
        "unsubscribe": link(),
        "unsubscribe-list": link(key="news"),
        "unsubscribed": link("left@example.com"),
        "preferences": link(page="/preferences"),
        "preferences-left": link("left@example.com", page="/preferences"),
        "subscribe": f"{server}/subscribe/acme/news?",
        "confirm": f"{server}/confirm?token={confirm}",
        "never-again": f"{server}/never-again?token={confirm}",
        "bad-link": f"{server}/unsubscribe?token=bad",
        "not-found": f"{server}/subscribe/acme/none?",
    }


def _look_at_pages(
    browser: "Chromium", pages: Mapping[str, str], folder: Path, axe: str
) -> Iterator[list[str]]:
    for name, url in pages.items():
        for language in LANGUAGES:
            [tab] = browser.open([f"{url}&lang={language}"], is_loaded=bool)
            session = browser.attach(tab)
            # The pages allow no scripts but a debugger's.
            browser.evaluate(session, axe + ";0")
            for light in NIGHT:
                for size, width in WIDTHS.items():
                    _set(browser, session, width, light)
                    picture = folder / f"{name}-{language}-{size}-{light}.png"
                    picture.write_bytes(browser.picture(session))
                    findings = list(browser.evaluate(session, _AXE))
                    for finding in findings:
                        say(f"{picture.stem}: {finding}")
                    yield findings
            browser.close([tab])


def _set(browser: "Chromium", session: str, width: int, light: str) -> None:
    browser.ask(
        "Emulation.setDeviceMetricsOverride",
        session,
        width=width,
        height=800,
        deviceScaleFactor=1,
        mobile=False,
    )
    feature = {"name": "prefers-color-scheme", "value": light}
    browser.ask("Emulation.setEmulatedMedia", session, features=[feature])


if __name__ == "__main__":
    sys.exit(main())

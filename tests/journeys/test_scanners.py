"""Programs that look at links: a real server, every behaviour, some links."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.journeys import rig, stage
from tools.proof import behaviours, chromium, scanners

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

LINKS = 5


@pytest.fixture
def installed(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[rig.Installation]:
    extra = {"UNSUBSCRIBE_GET": getattr(request, "param", "page"), **scanners.settings()}
    with rig.installation(tmp_path, stage.database(), **extra) as made:
        yield made


def test_programs_that_only_look_at_links_change_no_consent(installed: rig.Installation) -> None:
    words = list(behaviours.PLAIN)

    findings = list(scanners.prove(scanners.serving(installed), LINKS, words=words))

    assert len(findings) == len(words) >= 20
    assert all(finding.answers.total() >= LINKS for finding in findings)
    assert {finding.name: finding.changes for finding in findings if finding.changes} == {}


@pytest.mark.parametrize("installed", ["apply"], indirect=True)
def test_the_proof_sees_a_page_that_acts_when_it_is_opened(installed: rig.Installation) -> None:
    [curl] = scanners.prove(scanners.serving(installed), LINKS, words=["curl"])

    # Each but the one that had left before has a new state, and an event that says so.
    assert curl.changes >= (LINKS - 1) * 2


@pytest.mark.skipif(not chromium.is_there(), reason="there is no Chromium")
def test_a_page_that_is_open_in_a_browser_changes_no_consent(installed: rig.Installation) -> None:
    [seen] = scanners.prove(scanners.serving(installed), LINKS, words=["Chromium"])

    assert (seen.answers[200], seen.changes) == (LINKS, 0)

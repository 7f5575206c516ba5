"""Visitors are counted by the address they come from, behind the proxies that are trusted."""

from ipaddress import IPv4Address
from uuid import uuid4

import pytest
from django.conf import LazySettings
from django.test import Client, RequestFactory

from postledger.config import env
from postledger.contacts.states import ContactState
from postledger.web.shared import throttle
from tests.contacts import people
from tests.web.public import visiting
from tests.web.public.visiting import ONE_CLICK, link

pytestmark = pytest.mark.usefixtures("patient_throttle")


def somebody() -> Client:
    """Whom no earlier run has counted: Redis remembers for an hour."""
    return Client(REMOTE_ADDR=str(IPv4Address(uuid4().int >> 96)))


@pytest.fixture
def visitor() -> Client:
    return somebody()


# A process by itself counts from full hour to full hour: the test must not stand between two.
@pytest.mark.parametrize(
    ("redis", "rate", "window"), [("up", "3/hour", 3600), ("down", "3/year", 31_104_000)]
)
def test_who_tries_many_links_is_slowed_down(
    redis: str, rate: str, window: int, acme: int, visitor: Client, settings: LazySettings
) -> None:
    settings.PUBLIC_RATE = rate
    if redis == "down":
        settings.REDIS_URL = "redis://127.0.0.1:1/0"

    answers = [visitor.get("/unsubscribe?token=guess") for _ in range(5)]

    assert [answer.status_code for answer in answers] == [400, 400, 400, 429, 429]
    assert "Please wait a moment" in visiting.text(answers[-1])
    assert 1 <= int(answers[-1]["Retry-After"]) <= window
    assert somebody().get("/unsubscribe?token=guess").status_code == 400


def test_forms_are_limited_and_a_signed_link_that_is_opened_is_not(
    acme: int, visitor: Client, settings: LazySettings
) -> None:
    settings.PUBLIC_RATE = "2/hour"
    visiting.sender()
    visiting.public_list(acme)

    forms = [visitor.get("/subscribe/acme/news").status_code for _ in range(3)]
    opened = [visitor.get(link(page=page)) for page in ("/unsubscribe", "/preferences")]
    saved = visitor.post(link(page="/preferences"), {"do": "leave"})

    assert forms == [200, 200, 429]
    assert [answer.status_code for answer in opened] == [200, 200]
    assert saved.status_code == 429


def test_one_click_has_a_rate_of_its_own(
    acme: int, visitor: Client, settings: LazySettings
) -> None:
    settings.PUBLIC_RATE = "1/hour"
    settings.ONE_CLICK_RATE = "10/hour"
    ids = [people.contact(acme, f"r{number}@example.com") for number in range(12)]

    answers = [visitor.post(link(f"r{number}@example.com"), ONE_CLICK) for number in range(12)]

    assert [answer.status_code for answer in answers] == [200] * 10 + [429] * 2
    assert people.state(ids[9]) is ContactState.UNSUBSCRIBED
    assert people.state(ids[10]) is ContactState.ACTIVE


def test_a_visitor_is_who_spoke_to_the_first_trusted_proxy(settings: LazySettings) -> None:
    for proxies, forwarded, peer, expected in (
        (0, "192.0.2.1", "198.51.100.1", "198.51.100.1"),
        (1, "203.0.113.66, 192.0.2.1", "10.0.0.1", "192.0.2.1"),
        (2, "203.0.113.66, 192.0.2.1, 10.0.0.2", "10.0.0.1", "192.0.2.1"),
        (2, "192.0.2.1", "10.0.0.1", "10.0.0.1"),
        (1, "<script>", "10.0.0.1", "10.0.0.1"),
        (1, "", "10.0.0.1", "10.0.0.1"),
        (0, "", "::ffff:192.0.2.1", "192.0.2.1"),
        (0, "", "fe80::1%eth0", "fe80::1"),
        (0, "", "", None),
    ):
        settings.PROXY_COUNT = proxies
        headers = {"X-Forwarded-For": forwarded} if forwarded else {}
        request = RequestFactory(REMOTE_ADDR=peer).get("/", headers=headers)

        assert throttle.client_ip(request.META) == expected, (proxies, forwarded, peer)


def test_a_network_of_ipv6_is_one_visitor() -> None:
    assert throttle.network_of("2001:db8::1") == throttle.network_of("2001:db8::ffff:1")
    assert throttle.network_of("2001:db8::1") != throttle.network_of("2001:db8:0:1::1")
    assert throttle.network_of("192.0.2.1") != throttle.network_of("192.0.2.2")


def test_a_setting_that_cannot_work_stops_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (
        ("PUBLIC_RATE", "fast"),
        ("API_RATE", "5/fortnight"),
        ("ONE_CLICK_RATE", "50"),
        ("UNSUBSCRIBE_GET", "ask"),
        ("PUBLIC_URL", "mail.acme.example"),
        ("PUBLIC_URL", "https://mail.acme.example/?a=b"),
        ("PROXY_COUNT", "-1"),
    ):
        with monkeypatch.context() as changed:
            changed.setenv(name, value)
            with pytest.raises(env.BadEnvironmentError, match=f"  {name}: "):
                env.load()

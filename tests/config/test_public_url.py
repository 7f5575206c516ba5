"""`postledger up` knows an address for links, where only its own machine can reach it."""

import pytest

from postledger.config.env import Env
from postledger.config.management.commands.up import find_public_url


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:8000"),
        ("::1", "http://[::1]:8000"),
        ("0.0.0.0", ""),  # noqa: S104  not bound here
        ("192.0.2.1", ""),
    ],
)
def test_links_lead_to_this_machine_only_if_no_other_reaches_it(host: str, url: str) -> None:
    assert find_public_url(Env(), host=host, port=8000) == url


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ({"public_url": "https://mail.acme.example"}, "https://mail.acme.example"),
        # A proxy serves it to others under this name.
        ({"allowed_hosts": ("mail.acme.example",)}, ""),
    ],
)
def test_an_installation_with_a_name_is_not_given_another(
    given: dict[str, object], url: str
) -> None:
    assert find_public_url(Env().model_copy(update=given), host="127.0.0.1", port=8000) == url

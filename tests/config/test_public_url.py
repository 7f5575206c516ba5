"""`postledger up` knows an address for links, where only its own machine can reach it."""

from postledger.config.env import Env
from postledger.config.management.commands.up import find_public_url


def test_links_lead_to_this_machine_only_if_no_other_reaches_it_and_it_has_no_name() -> None:
    for host, url in (
        ("127.0.0.1", "http://127.0.0.1:8000"),
        ("::1", "http://[::1]:8000"),
        ("0.0.0.0", ""),  # noqa: S104  not bound here
        ("192.0.2.1", ""),
    ):
        assert find_public_url(Env(), host=host, port=8000) == url, host
    named = {"public_url": "https://mail.acme.example"}
    proxied = {"allowed_hosts": ("mail.acme.example",)}  # a proxy serves it under this name
    for given, url in ((named, "https://mail.acme.example"), (proxied, "")):
        env = Env().model_copy(update=given)
        assert find_public_url(env, host="127.0.0.1", port=8000) == url, given

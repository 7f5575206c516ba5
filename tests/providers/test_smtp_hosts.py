"""A server that may be public only is connected to at the addresses that were looked at."""

import asyncio
import socket
from collections.abc import Sequence
from typing import Any, override

from postledger.providers.base import Finding
from postledger.providers.smtp import provider

SETTINGS = {"host": "mail.stranger.example", "port": 2525, "public_only": True}
PUBLIC = "93.184.215.14"


class Network(asyncio.SelectorEventLoop):
    """An event loop whose resolver says what the test says; nobody can be reached."""

    def __init__(self, *answers: Sequence[str]) -> None:
        super().__init__()
        self.answers = list(answers)
        self.asked: list[str] = []
        self.connected: list[str] = []

    @override
    async def getaddrinfo(self, host: Any, port: Any, **_options: Any) -> Any:
        self.asked.append(str(host))
        if not self.answers:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        addresses = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return [
            (
                socket.AF_INET6 if ":" in address else socket.AF_INET,
                socket.SOCK_STREAM,
                6,
                "",
                (address, port),
            )
            for address in addresses
        ]

    @override
    async def sock_connect(self, sock: socket.socket, address: Any) -> None:
        self.connected.append(str(address[0]))
        raise ConnectionRefusedError


def check(network: Network) -> Sequence[Finding]:
    with asyncio.Runner(loop_factory=lambda: network) as runner:
        return runner.run(provider.check(SETTINGS, ()))


def test_a_name_that_leads_inside_is_not_connected_to() -> None:
    for addresses in [
        ["127.0.0.1"],
        ["::1"],
        ["10.0.0.7"],
        ["172.16.0.1"],
        ["192.168.1.1"],
        ["169.254.169.254"],
        ["fd00::1"],
        ["::ffff:127.0.0.1"],
        [PUBLIC, "127.0.0.1"],
    ]:
        network = Network(addresses)

        [finding] = check(network)

        assert "inside a network or on this machine" in finding.message, addresses
        assert network.connected == [], addresses


def test_a_name_that_leads_elsewhere_a_moment_later_is_asked_once() -> None:
    network = Network([PUBLIC], ["127.0.0.1"])

    check(network)

    assert network.asked == ["mail.stranger.example"]
    assert network.connected == [PUBLIC]

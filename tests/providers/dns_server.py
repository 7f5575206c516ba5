"""An authoritative server of DNS on this machine, over UDP and TCP, for zones of the tests."""

import asyncio
import struct
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import override

import dns.exception
import dns.flags
import dns.message
import dns.name
import dns.rcode
import dns.rdatatype
import dns.rrset

type Records = Mapping[str, Sequence[str]]  # by name: "TXT value", "CNAME name", "MX 10 name"

SERVFAIL = "SERVFAIL"  # in place of records: the server fails at this name
SILENCE = "SILENCE"  # it never answers
_TTL = 60


@dataclass(slots=True)
class DnsServer:
    port: int = 0
    zones: dict[str, tuple[str, ...]] = field(default_factory=dict)
    asked: list[tuple[str, str]] = field(default_factory=list)  # names and types

    def serve(self, records: Records) -> None:
        self.zones.update({name.lower(): tuple(values) for name, values in records.items()})

    def answer(self, wire: bytes, *, is_udp: bool) -> bytes | None:
        query = dns.message.from_wire(wire)
        [question] = query.question
        name = question.name.to_text(omit_final_dot=True).lower()
        self.asked.append((name, dns.rdatatype.to_text(question.rdtype)))
        records = self.zones.get(name)
        response = dns.message.make_response(query)
        response.flags |= dns.flags.AA | dns.flags.RA
        if records is None:
            response.set_rcode(dns.rcode.NXDOMAIN)
        elif SILENCE in records:
            return None
        elif SERVFAIL in records:
            response.set_rcode(dns.rcode.SERVFAIL)
        else:
            self._fill(response, name, question.rdtype)
        return _write(response, query.payload or 512 if is_udp else 65535)

    def _fill(
        self, response: dns.message.Message, name: str, rdtype: dns.rdatatype.RdataType
    ) -> None:
        """The records of the name; of an alias, those behind it too."""
        wanted = {dns.rdatatype.to_text(rdtype), "CNAME"}
        for record in self.zones.get(name, ()):
            kind, _, value = record.partition(" ")
            if kind not in wanted:
                continue
            owner = dns.name.from_text(name)
            text = value if kind == "MX" else f"{value}." if kind == "CNAME" else _quote(value)
            text = f"{text}." if kind == "MX" else text
            found = response.find_rrset(
                response.answer,
                owner,
                dns.rdataclass.IN,
                dns.rdatatype.from_text(kind),
                create=True,
            )
            [rdata] = dns.rrset.from_text(owner, _TTL, "IN", kind, text)
            found.add(rdata, _TTL)
            if kind == "CNAME" and rdtype != dns.rdatatype.CNAME:
                self._fill(response, value.lower(), rdtype)


def _quote(text: str) -> str:
    """In strings of at most 255 bytes, as the wire has them."""
    strings = [text[at : at + 255] for at in range(0, len(text), 255)] or [""]
    escaped = (part.replace("\\", "\\\\").replace('"', '\\"') for part in strings)
    return " ".join(f'"{part}"' for part in escaped)


def _write(response: dns.message.Message, most_bytes: int) -> bytes:
    try:
        return response.to_wire(max_size=most_bytes)
    except dns.exception.TooBig:
        response.answer.clear()
        response.flags |= dns.flags.TC
        return response.to_wire()


class _Udp(asyncio.DatagramProtocol):
    def __init__(self, server: DnsServer) -> None:
        self._server = server
        self._transport: asyncio.DatagramTransport | None = None

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.DatagramTransport)
        self._transport = transport

    @override
    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        answer = self._server.answer(data, is_udp=True)
        if answer is not None and self._transport is not None:
            self._transport.sendto(answer, addr)


@contextmanager
def serving() -> Iterator[DnsServer]:
    server, started = DnsServer(), threading.Event()
    stops: list[Callable[[], object]] = []

    async def run() -> None:
        loop, stopped = asyncio.get_running_loop(), asyncio.Event()
        stops.append(lambda: loop.call_soon_threadsafe(stopped.set))
        tcp = await asyncio.start_server(partial(_answer_tcp, server), "127.0.0.1", 0)
        server.port = tcp.sockets[0].getsockname()[1]
        address = ("127.0.0.1", server.port)
        udp, _ = await loop.create_datagram_endpoint(lambda: _Udp(server), local_addr=address)
        started.set()
        await stopped.wait()
        udp.close()
        tcp.close()

    thread = threading.Thread(target=lambda: asyncio.run(run()))
    thread.start()
    assert started.wait(30)
    try:
        yield server
    finally:
        stops[0]()
        thread.join(30)


async def _answer_tcp(
    server: DnsServer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    with suppress(asyncio.IncompleteReadError):
        while True:
            [size] = struct.unpack("!H", await reader.readexactly(2))
            answer = server.answer(await reader.readexactly(size), is_udp=False)
            if answer is not None:
                writer.write(struct.pack("!H", len(answer)) + answer)
    writer.close()

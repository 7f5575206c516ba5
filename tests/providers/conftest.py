"""A certificate authority of our own, and the server side of its TLS."""

import ssl
from dataclasses import dataclass
from pathlib import Path

import pytest
import trustme


@dataclass(frozen=True, slots=True)
class Authority:
    ca_file: Path
    context: ssl.SSLContext  # of a server at 127.0.0.1
    other_context: ssl.SSLContext  # of a server somewhere else


def server_context(authority: trustme.CA, name: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name).configure_cert(context)
    return context


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    made = trustme.CA()
    path = tmp_path_factory.mktemp("tls") / "ca.pem"
    made.cert_pem.write_to_path(str(path))
    return Authority(
        path, server_context(made, "127.0.0.1"), server_context(made, "elsewhere.example")
    )

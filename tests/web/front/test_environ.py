"""Django sees each header under the name that the client or the proxy sent it by."""

from io import BytesIO

from postledger.web.front.environ import read_head
from tests.web.front import asgi


def environ(*headers: tuple[str, str]) -> dict[str, object]:
    return read_head(asgi.scope("POST", "/v1/é", *headers)).with_body(BytesIO(b"abc"), 3)


def test_no_alias_passes_for_the_header_of_a_proxy() -> None:
    for alias in ("x_forwarded_for", "x-forwarded_for", "x_forwarded-for"):
        pair = [("x-forwarded-for", "192.0.2.1"), (alias, "203.0.113.7")]
        for sent in (pair, [*reversed(pair)]):
            built = environ(*sent, ("x-other", "x"))
            assert built["HTTP_X_FORWARDED_FOR"] == "192.0.2.1", sent


def test_no_header_sets_a_variable_of_the_server() -> None:
    for name in ("content_length", "content_type", "remote_addr", "path_info"):
        built = environ((name, "7"), (name.replace("_", "-"), "7"), ("content-length", "3"))

        assert built["REMOTE_ADDR"] == "192.0.2.1", name
        assert built["PATH_INFO"] == "/v1/é".encode().decode("latin-1"), name
        assert built["CONTENT_LENGTH"] == "3", name


def test_a_header_that_comes_several_times_is_joined_in_order() -> None:
    built = environ(("x-forwarded-for", "192.0.2.1"), ("x-forwarded-for", "192.0.2.2"))

    assert built["HTTP_X_FORWARDED_FOR"] == "192.0.2.1,192.0.2.2"


def test_the_announced_size_is_that_of_the_framing() -> None:
    for headers, size in (
        ([], 0),
        ([("content-length", "7")], 7),
        ([("transfer-encoding", "chunked")], None),
        ([("content-length", "7"), ("transfer-encoding", "chunked")], None),
    ):
        assert read_head(asgi.scope("POST", "/", *headers)).announced == size

"""Log lines as they leave the process."""

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
import structlog
from django.http import HttpResponse
from django.test import RequestFactory
from django.utils.log import log_response

from postledger.observability import context
from postledger.observability.logging import make_formatter


class Lines(io.StringIO):
    def only(self) -> dict[str, Any]:
        (line,) = self.getvalue().splitlines()
        return dict(json.loads(line))


@pytest.fixture
def lines() -> Iterator[Lines]:
    written = Lines()
    handler = logging.StreamHandler(written)
    handler.setFormatter(make_formatter(is_terminal=False))
    logger = logging.getLogger("postledger.example")
    logger.addHandler(handler)
    context.clear()
    yield written
    context.clear()
    logger.removeHandler(handler)


ours = structlog.stdlib.get_logger("postledger.example")
foreign = logging.getLogger("postledger.example")


def test_a_line_is_one_json_object_with_time_level_and_logger(lines: Lines) -> None:
    ours.info("mail.accepted", attempt=2)

    line = lines.only()
    assert line["event"] == "mail.accepted"
    assert line["attempt"] == 2
    assert line["level"] == "info"
    assert line["logger"] == "postledger.example"
    assert line["timestamp"].endswith("Z")


def test_lines_of_the_standard_library_look_the_same(lines: Lines) -> None:
    foreign.warning("slow query: %s ms", 12, extra={"state": "waiting"})

    line = lines.only()
    assert line["event"] == "slow query: 12 ms"
    assert line["state"] == "waiting"
    assert line["level"] == "warning"
    assert line["timestamp"].endswith("Z")


@pytest.mark.parametrize("logger", [ours, foreign])
def test_correlation_is_on_every_line(logger: Any, lines: Lines) -> None:
    fields: context.Correlation = {
        "request_id": "r-1",
        "outbox_id": "o-1",
        "workspace_id": 7,
    }

    context.bind(**fields)
    logger.info("mail.settled")

    assert lines.only().items() >= fields.items()


def test_bound_fields_stay_until_cleared(lines: Lines) -> None:
    context.bind(request_id="r-1")
    ours.info("during")
    assert lines.only()["request_id"] == "r-1"

    context.clear()
    lines.truncate(0)
    lines.seek(0)
    ours.info("after")
    assert "request_id" not in lines.only()


@pytest.mark.parametrize("logger", [ours, foreign])
def test_no_address_reaches_a_line_by_message_argument_or_exception(
    logger: Any, lines: Lines
) -> None:
    try:
        raise ValueError("no such mailbox: alice@example.com")  # noqa: TRY301 - the point here
    except ValueError:
        logger.exception("refused %s", "bob@example.com", stack_info=True)

    line = lines.only()
    assert "Traceback" in line["exception"]
    assert "a***@example.com" in line["exception"]
    assert line["event"] == "refused b***@example.com"
    # The stack shows this test's source, where the addresses are written out.
    assert "alice@" not in lines.getvalue()
    assert "bob@" not in lines.getvalue()


def test_no_secret_reaches_a_line(lines: Lines) -> None:
    ours.info("connecting to amqp://guest:hunter2@broker", api_key="hunter2", to="password=hunter2")

    assert "hunter2" not in lines.getvalue()


@pytest.mark.parametrize("status", [400, 403, 404, 405, 500])
def test_a_refused_request_leaves_no_link_in_its_line(status: int, lines: Lines) -> None:
    request = RequestFactory().post("/join/hunter2?token=hunter2")

    log_response(
        "%s (%s): %s",
        "Refused",
        "a reason",
        request.path,
        response=HttpResponse(status=status),
        request=request,
        logger=foreign,
    )

    assert "hunter2" not in lines.getvalue()
    assert (lines.only()["event"], lines.only()["status_code"]) == ("Refused (a reason)", status)


def test_django_writes_through_the_same_formatter() -> None:
    assert not logging.getLogger("django").handlers
    assert not logging.getLogger("django.server").handlers
    formatters = [type(handler.formatter) for handler in logging.getLogger().handlers]
    assert structlog.stdlib.ProcessorFormatter in formatters


def test_a_refused_request_has_one_line_and_a_failed_one_its_traceback() -> None:
    logger = logging.getLogger("django.request")

    assert not logger.isEnabledFor(logging.WARNING)
    assert logger.isEnabledFor(logging.ERROR)


@pytest.fixture
def screen() -> Iterator[io.StringIO]:
    """What a person sees at a terminal."""
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    handler.setFormatter(make_formatter(is_terminal=True))
    logger = logging.getLogger("postledger.example")
    logger.addHandler(handler)
    yield written
    logger.removeHandler(handler)


@pytest.mark.parametrize("logger", [ours, foreign])
def test_a_terminal_gets_text_that_is_masked_too(logger: Any, screen: io.StringIO) -> None:
    try:
        raise ValueError("no such mailbox: alice@example.com")  # noqa: TRY301 - the point here
    except ValueError:
        logger.exception("refused %s", "bob@example.com")

    text = screen.getvalue()
    assert "refused b***@example.com" in text
    assert "a***@example.com" in text
    assert not text.startswith("{")
    assert "bob@" not in text
    assert "mailbox: alice@" not in text


def test_no_text_can_change_what_a_terminal_shows(screen: io.StringIO) -> None:
    ours.info("opened \x1b[2J", path="/\x1b]0;title\x07", length="5\x9b1A")

    text = screen.getvalue()
    assert r"opened \x1b[2J" in text
    assert "\x1b[2J" not in text
    assert "\x1b]0" not in text
    assert "\x07" not in text
    assert "\x9b" not in text

"""Logs one JSON object per line, from our own code and from all libraries.

A person at a terminal gets the same lines in a readable form.
"""

import logging.config
import re
import sys
from typing import Any, TextIO, override

import structlog
from structlog.types import EventDict, Processor, WrappedLogger

from postledger.observability import masking

# Those of C0 and C1, without tabs and line breaks, of which a traceback is full.
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class StderrHandler(logging.StreamHandler[TextIO]):
    """Writes to the current standard error: a replaced one may be closed."""

    @override
    def emit(self, record: logging.LogRecord) -> None:
        self.stream = sys.stderr
        super().emit(record)


def configure(config: dict[str, Any]) -> None:
    """Configures logging and structlog; Django calls it at its start."""
    logging.config.dictConfig(config)
    logging.captureWarnings(capture=True)
    # None of this is written, and it costs a tenth of the time of a line.
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    logging.logAsyncioTasks = False  # type: ignore[attr-defined]  # since Python 3.12
    # Loggers keep the list that they were first used with: a second call changes this list.
    processors = structlog.get_config()["processors"] if structlog.is_configured() else []
    processors[:] = [
        structlog.stdlib.filter_by_level,
        *_shared_processors(),
        structlog.stdlib.PositionalArgumentsFormatter(),
        structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
    ]
    structlog.configure(
        processors=processors,
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )


def dict_config(*, level: str) -> dict[str, Any]:
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": {"()": formatter}},
        "handlers": {"stderr": {"()": StderrHandler, "formatter": "line"}},
        "root": {"level": level, "handlers": ["stderr"]},
        "loggers": {
            # Django's own handlers would mail errors.
            **{name: {"handlers": [], "propagate": True} for name in ("django", "django.server")},
            # Our own line tells of every request, with its route, its status and its id.
            "django.request": {"level": "ERROR"},
            # Celery would write three lines for every tick of a second, and botocore one among
            # the lines of a command that looks for keys.
            **{name: {"level": _at_least_warning(level)} for name in _CHATTY},
        },
    }


_CHATTY = ("botocore", "celery.app.trace", "celery.beat", "celery.worker.strategy", "httpx")


def _at_least_warning(level: str) -> str:
    return level if level in {"DEBUG", "ERROR"} else "WARNING"


def formatter() -> logging.Formatter:
    return make_formatter(is_terminal=sys.stderr.isatty())


def make_formatter(*, is_terminal: bool) -> logging.Formatter:
    renderers: list[Processor] = (
        [_escape, structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)]
        if is_terminal
        else [structlog.processors.JSONRenderer()]
    )
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[*_shared_processors(), structlog.stdlib.ExtraAdder(), _hide_path],
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.StackInfoRenderer(),
            structlog.processors.format_exc_info,
            _mask,
            *renderers,
        ],
    )


def _shared_processors() -> list[Processor]:
    return [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]


def _hide_path(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Django's lines of refused requests end with the path, and a path or a query may hold the
    secret of a link; our own line of the request tells the route.
    """
    if event.pop("request", None) is not None:
        text = str(event["event"])
        event["event"] = text.rpartition(": /")[0] or text
    return event


def _mask(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Nothing that adds a field may follow it: the field could contain an address."""
    return masking.mask_mapping(event)


def _escape(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Shows control characters, with which a text could change what a terminal shows."""
    return {
        name: _CONTROLS.sub(_show_control, value) if isinstance(value, str) else value
        for name, value in event.items()
    }


def _show_control(match: re.Match[str]) -> str:
    return ascii(match[0])[1:-1]

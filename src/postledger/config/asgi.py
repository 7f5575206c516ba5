"""A web process, as the server starts it."""

import ctypes
import os

import django
from django.conf import settings

from postledger.content import isolation
from postledger.observability import metrics_store
from postledger.web.front.front import EVENT_THREADS, Front

_M_MMAP_THRESHOLD = -3  # of mallopt
_LARGE_BLOCK = 256 * 1024  # bytes


def load(thread_count: int) -> Front:
    """Sets a new process up; its threads start here."""
    _return_large_blocks()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "postledger.config.settings")
    django.setup(set_prefix=False)
    # Django is set up from here on. The Celery application installs the sender of wake-ups.
    import postledger.config.celery  # noqa: F401
    from postledger.feedback import certificates
    from postledger.feedback.certificates import Certificates
    from postledger.web.shared import request_log
    from postledger.web.shared.request_log import LogWriter

    metrics_store.flush_in_background()
    renderers = isolation.make_pool(thread_count)
    renderers.start()
    isolation.install(renderers)
    request_log.install(LogWriter(settings.REDIS_URL).note)
    # One thread goes on: most events have a certificate that was fetched before.
    certificates.install(Certificates(most_waiting=EVENT_THREADS - 1))
    return Front(thread_count=thread_count)


def _return_large_blocks() -> None:
    """Blocks for large bodies go back to the system as soon as they are freed.

    By default the C library keeps them, and a process stays as large as it was at its worst.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # other C libraries have none
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, _LARGE_BLOCK)

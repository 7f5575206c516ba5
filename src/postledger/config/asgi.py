"""A web process, as the server starts it."""

import os

import django

from postledger.content import isolation
from postledger.observability import metrics_store
from postledger.web.front.front import Front


def load(thread_count: int) -> Front:
    """Sets a new process up; its threads start here."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "postledger.config.settings")
    django.setup(set_prefix=False)
    # Django is set up from here on. The Celery application installs the sender of wake-ups.
    import postledger.config.celery  # noqa: F401

    metrics_store.flush_in_background()
    renderers = isolation.make_pool()
    renderers.start()
    isolation.install(renderers)
    return Front(thread_count=thread_count)

"""The web process, as a WSGI server starts it."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "postledger.config.settings")
application = get_wsgi_application()

# Django is set up from here on. The Celery application installs the sender of wake-ups.
import postledger.config.celery  # noqa: E402, F401
from postledger.content import isolation  # noqa: E402
from postledger.observability import metrics_store  # noqa: E402

metrics_store.flush_in_background()
_renderers = isolation.make_pool()
_renderers.start()
isolation.install(_renderers)

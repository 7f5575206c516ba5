"""Where content of authors is rendered: in this process, or in limited child processes.

All rendering is bounded by counts, wherever it happens. A web process also has other requests to
answer meanwhile, and what it renders was never tried before; so it installs a pool of children.
"""

from collections.abc import Callable

from postledger.lib.child_pool import AllBusyError, ChildPool, NoAnswerError
from postledger.lib.errors import RefusedError, TooManyRequestsError
from postledger.lib.sentences import say

_MODULES = ("postledger.content.rendering.mail_preview",)


class ContentTooCostlyError(RefusedError):
    code = "content_too_costly"


class RenderersBusyError(TooManyRequestsError):
    code = "renderers_busy"


_pool: ChildPool | None = None


def make_pool(thread_count: int) -> ChildPool:
    """For a web process of so many threads: two children, and a few seconds for a call.

    One workspace has one of the children, and leaves one of the threads to the others.
    """
    return ChildPool(
        size=2,
        modules=_MODULES,
        cpu_seconds=5,
        memory=1 << 30,
        patience=30.0,
        wait=2.0,
        most_waiting=max(0, thread_count - 2),
    )


def install(pool: ChildPool | None) -> None:
    """From now on content is rendered in the pool; without one, in this process."""
    global _pool  # noqa: PLW0603  installed once for each process, at its start
    _pool = pool


def render[**P, T](
    workspace_id: int | None, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
) -> T:
    """Calls a pure function of `rendering`; it takes and returns plain values.

    Costly content of one workspace leaves the others a child. None: content of our own.
    """
    if _pool is None:
        return function(*args, **kwargs)
    try:
        with _pool.share(workspace_id):
            return _pool.call(function, *args, **kwargs)
    except NoAnswerError:
        raise ContentTooCostlyError(
            say(
                "The content took too long to render, or needed too much memory. Use fewer"
                " elements, tables, style rules, loops and filters."
            )
        ) from None
    except AllBusyError:
        raise RenderersBusyError(
            say(
                "Too much other content is being rendered. Send the request again in a few seconds."
            )
        ) from None

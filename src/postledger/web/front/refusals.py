"""What the front refuses by itself: it cannot be read, or there is no room for it."""


class RequestRefusedError(Exception):
    """A request that is answered at once, without Django, and whose connection then ends."""

    cause: str  # for the log, with nothing of the request in it

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.text = text


class UnreadableError(RequestRefusedError):
    """The request breaks the rules of HTTP, or names an encoding that nobody has."""

    def __init__(self, cause: str) -> None:
        self.cause = cause
        super().__init__(400, "The request cannot be read. Check its headers and its framing.")


class TooManyError(RequestRefusedError):
    """One caller asks for more at once than it may have."""

    cause = "too_many"

    def __init__(self) -> None:
        super().__init__(429, "Too many requests of yours are being served. Try again in a second.")


class OverloadedError(RequestRefusedError):
    """All callers together ask for more at once than this process serves."""

    cause = "overloaded"

    def __init__(self) -> None:
        super().__init__(503, "Too many requests are waiting. Try again in a second.")


class HeadTooLargeError(RequestRefusedError):
    cause = "head_too_large"

    def __init__(self, what: str, size: str) -> None:
        super().__init__(431, f"{what} may have {size} at most.")

"""Short digests, which tell what a page has shown from what is stored by now."""

import json
from hashlib import sha256
from typing import Any

_DIGITS = 16


def digest_json(value: Any) -> str:
    """The same for values that JSON cannot tell apart, whatever the order of their names."""
    return sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:_DIGITS]

"""Signs requests with botocore's Signature Version 4.

`SigV4Auth.add_auth` builds four header objects for each request, which takes longer than the
signature. Of our requests only the time and the body change. So botocore writes the canonical
request once, we fill in both, and botocore signs the result.
"""

from collections.abc import Sequence
from datetime import datetime
from hashlib import sha256

from botocore.auth import EMPTY_SHA256_HASH, SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import ReadOnlyCredentials

_SERVICE = "ses"
_TIME_MARK = "00000000T000000Z"
_JSON = "application/json"


class Signer:
    """Signs requests of one operation with one set of credentials."""

    def __init__(
        self, credentials: ReadOnlyCredentials, *, region: str, method: str, url: str, host: str
    ) -> None:
        self._auth = SigV4Auth(credentials, _SERVICE, region)
        fixed = {"Content-Type": _JSON, "Host": host}
        if credentials.token:
            fixed["X-Amz-Security-Token"] = credentials.token
        self._fixed = tuple(fixed.items())
        self._request = AWSRequest(method, url, headers={**fixed, "X-Amz-Date": _TIME_MARK})
        canonical = self._auth.canonical_request(self._request)
        self._before, _, rest = canonical.partition(_TIME_MARK)
        self._between = rest.removesuffix(EMPTY_SHA256_HASH)
        self._signed = self._auth.signed_headers(self._auth.headers_to_sign(self._request))

    def sign(self, body: bytes, now: datetime) -> Sequence[tuple[str, str]]:
        """The headers of a request with this body."""
        auth, request = self._auth, self._request
        # SIGV4_TIMESTAMP of botocore; strftime takes longer than the signature's hashes.
        timestamp = (
            f"{now.year:04}{now.month:02}{now.day:02}T{now.hour:02}{now.minute:02}{now.second:02}Z"
        )
        request.context["timestamp"] = timestamp
        canonical = f"{self._before}{timestamp}{self._between}{sha256(body).hexdigest()}"
        signature = auth.signature(auth.string_to_sign(request, canonical), request)
        authorization = (
            f"AWS4-HMAC-SHA256 Credential={auth.scope(request)},"
            f" SignedHeaders={self._signed}, Signature={signature}"
        )
        return *self._fixed, ("X-Amz-Date", timestamp), ("Authorization", authorization)

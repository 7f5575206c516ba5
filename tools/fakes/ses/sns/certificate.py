"""The key that signs messages, and the certificate that the fake serves for it."""

from datetime import UTC, datetime, timedelta
from functools import cache
from threading import Lock

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.hashes import SHA1, SHA256, HashAlgorithm
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

COMMON_NAME = "sns.amazonaws.com"
_KEY_SIZE = 1024  # of SNS: 2048; that would be most of the cost of an event here
_LIFETIME = timedelta(days=365)
_HASHES: dict[str, HashAlgorithm] = {
    "1": SHA1(),  # noqa: S303  what SNS signs with until a topic asks for version 2
    "2": SHA256(),
}
VERSIONS = frozenset(_HASHES)


class Signer:
    """Signs as SNS does, with a key and a self-signed certificate of its own."""

    def __init__(self) -> None:
        self._key = rsa.generate_private_key(public_exponent=65537, key_size=_KEY_SIZE)
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, COMMON_NAME)])
        now = datetime.now(UTC)
        certificate = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(self._key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + _LIFETIME)
            .sign(self._key, SHA256())
        )
        self.pem = certificate.public_bytes(Encoding.PEM)
        # Another key has another path, so that nobody takes a remembered certificate for it.
        fingerprint = certificate.fingerprint(SHA256()).hex()[:32]
        self.path = f"/SimpleNotificationService-{fingerprint}.pem"

    def sign(self, text: bytes, version: str) -> bytes:
        return self._key.sign(text, padding.PKCS1v15(), _HASHES[version])


_making = Lock()


def process_signer() -> Signer:
    """One for all fakes of this process, made when the first needs it: it takes a while."""
    with _making:  # otherwise two threads that need it at once would make two
        return _make_signer()


@cache
def _make_signer() -> Signer:
    return Signer()

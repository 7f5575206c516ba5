"""Addresses as SES accepts them: in ASCII, with or without a name."""

from email.utils import getaddresses

from tools.fakes.ses.errors import bad_request

SIMULATOR = "simulator.amazonses.com"  # the domain of addresses that try the events of SES


def read_address(text: str) -> str:
    """The address alone of `a@example.com` or `Ann <a@example.com>`; any other is a SesError."""
    address = text.strip()
    if address.endswith(">"):
        address = address.rpartition("<")[2][:-1]
    local, at, domain = address.rpartition("@")
    if not at:
        raise bad_request("Missing final '@domain'")
    if not local:
        raise bad_request("Missing local part")
    if not domain:
        raise bad_request("Missing domain")
    _check_characters(local, "Local address")
    _check_characters(domain, "Domain")
    return address


def read_header(value: str) -> tuple[str, ...]:
    """The addresses of a header; one with a comma may have several."""
    if "," not in value:
        return (read_address(value),)
    return tuple(read_address(address) for _, address in getaddresses([value]))


def _check_characters(part: str, what: str) -> None:
    if not part.isascii():
        raise bad_request(f"{what} contains illegal character")
    if " " in part or not part.isprintable():
        raise bad_request(f"{what} contains control or whitespace")

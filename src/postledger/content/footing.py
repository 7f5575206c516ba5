"""The footer of a workspace's mail, put together from its row and from the environment."""

from django.conf import settings

from postledger.accounts.queries import Organisation
from postledger.content import footer
from postledger.content.footer import Footer


def of(organisation: Organisation) -> Footer:
    """Raises FooterEnvMissingError where a part of it is missing: then no such mail goes."""
    return footer.required(
        org_name=organisation.name,
        org_address=organisation.address,
        unsubscribe_base_url=organisation.unsubscribe_base_url,
        has_secret=bool(settings.UNSUBSCRIBE_SECRET),
    )

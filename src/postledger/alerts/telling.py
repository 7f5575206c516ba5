"""Tells members of new alerts by mail, through a sender that is not held."""

from datetime import datetime
from uuid import uuid4

import structlog
from django.conf import settings
from django.db import transaction

from postledger.accounts import queries as accounts
from postledger.accounts.models import Member, Sender, Workspace
from postledger.accounts.people.roles import Permission, roles_with
from postledger.alerts import alert_mail, sentences
from postledger.alerts.alert_mail import AlertMail, ToldAlert
from postledger.alerts.detection import Cause
from postledger.alerts.models import Alert
from postledger.transactional import actions, free_senders
from postledger.transactional.requests import MailRequest

_log = structlog.get_logger(__name__)

_TAG = "alert"


def tell(workspace_id: int, *, now: datetime) -> bool:
    """Sends one mail about all open alerts that were not told, to each member who may decide.

    The alerts are told in the transaction that writes the mail: both happen, or neither. Without a
    sender that is free, or without a member, they stay untold and are tried again.
    """
    with transaction.atomic():
        untold = Alert.objects.filter(workspace_id=workspace_id, closed_at=None, told_at=None)
        alerts = list(untold.select_for_update(skip_locked=True).order_by("pk"))
        members = list_told_members(workspace_id) if alerts else []
        sender = free_senders.find_free_sender(workspace_id) if members else None
        if sender is None:
            return False
        mail = _compose(workspace_id, alerts)
        actions.accept(
            workspace_id,
            mails=[_address(mail, member, sender) for member in members],
            request_id=str(uuid4()),
            now=now,
        )
        Alert.objects.filter(pk__in=[alert.pk for alert in alerts]).update(told_at=now)
    _log.info("alerts told", workspace=workspace_id, alerts=len(alerts), members=len(members))
    return True


def list_told_members(workspace_id: int) -> list[Member]:
    """Those who may decide about what the alerts are about; who has not accepted their invitation
    yet is told nothing.
    """
    roles = [role.value for role in roles_with(Permission.DECIDE)]
    return [
        member
        for member in accounts.members(workspace_id)
        if member.role in roles and (member.user_id is not None or not member.invitation_hash)
    ]


def _compose(workspace_id: int, alerts: list[Alert]) -> AlertMail:
    workspace = Workspace.objects.get(pk=workspace_id)
    told = [
        ToldAlert(
            sentences.describe(
                Cause(alert.cause), subject=alert.subject, count=alert.count, data=alert.data
            ),
            alert.first_at,
        )
        for alert in alerts
    ]
    base_url = settings.PUBLIC_URL.rstrip("/")
    return alert_mail.render(
        told,
        workspace=workspace.name,
        time_zone=workspace.time_zone,
        url=f"{base_url}/w/{workspace_id}/attention/" if base_url else "",
    )


def _address(mail: AlertMail, member: Member, sender: Sender) -> MailRequest:
    return MailRequest(
        to=member.email,
        to_name=member.name,
        subject=mail.subject,
        html=mail.html,
        text=mail.text,
        sender=sender.address,
        tags=(_TAG,),
    )

"""Texts that strangers write, as an attacker would write them, in every place that pages show."""

from collections.abc import Mapping

from django.db import connection

# Each would call `__hit` if a page took it for markup, a link or a script.
TEXT = (
    "\"><svg onload=__hit()><img src=x onerror=__hit()>'-__hit()-'</script><script>__hit()</script>"
    "{{7*7}}<a href=javascript:__hit()>"
)
_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "accounts_workspace": ("name", "org_name"),
    "accounts_user": ("name",),
    "accounts_member": ("name",),
    "accounts_sender": ("name",),
    "accounts_provideraccount": ("name",),
    "accounts_apikey": ("name",),
    "accounts_auditentry": ("actor", "action", "subject"),
    "alerts_alert": ("subject",),
    "campaigns_campaign": ("name",),
    "campaigns_run": ("actor",),
    "contacts_consentevent": ("source", "actor", "text_version", "detail"),
    "contacts_contact": ("name", "external_id"),
    "contacts_list": ("name",),
    "content_branding": ("logo_url",),
    "content_article": ("title",),
    "content_slice": ("section", "title", "dek", "body_md"),
    "content_template": ("name",),
    "content_templatetext": ("subject", "body", "text"),
    "contacts_segment": ("name", "actor"),
    "imports_import": ("file_name", "actor"),
    "deliveries_attempt": ("code", "detail", "original_code"),
    "deliveries_body": ("subject", "text", "to_name"),
    "deliveries_delivery": ("code", "message_id"),
    "deliveries_deliveryevent": ("actor",),
    "deliveries_feedback": ("detail", "name"),
    "deliveries_senderhold": ("actor", "detail"),
    "deliveries_stream": ("title",),
    "deliveries_streamhold": ("actor", "detail"),
    "notifications_event": ("actor", "trace_id", "dedupe_key", "trouble"),
    "notifications_notification": ("code",),
    "notifications_topic": ("template",),
}
# Names that people write, which no line has room for.
_NAMED = {"campaigns_campaign", "contacts_contact", "contacts_list", "contacts_segment"}
_LONG = 100 * "w"
_JSON_COLUMNS: Mapping[str, str] = {"campaigns_run": "trouble", "imports_import": "trouble"}


def poison() -> None:
    """Puts the texts into every row that is there."""
    with connection.cursor() as cursor:
        # Without the triggers that keep some rows as they were written.
        cursor.execute("SET session_replication_role = replica")
        for table, columns in _COLUMNS.items():
            # No two workspaces have one name.
            texts = ", ".join(f"{name} = %(text)s || ctid::text" for name in columns)
            text = TEXT + _LONG * (table in _NAMED)
            cursor.execute(f"UPDATE {table} SET {texts}", {"text": text})
        for table, name in _JSON_COLUMNS.items():
            cursor.execute(f"UPDATE {table} SET {name} = to_jsonb(%(text)s::text)", {"text": TEXT})
        cursor.execute("SET session_replication_role = origin")


def write_letter(url: str) -> str:
    """HTML that tries everything to reach a URL of the attacker."""
    return (
        f"<p>Hello</p>{TEXT}<style>@import '{url}a.css';</style><img src='{url}pixel.png'>"
        f"<link rel=stylesheet href='{url}b.css'><script src='{url}c.js'></script>"
        f"<iframe src='{url}frame'></iframe><video src='{url}d.mp4' autoplay></video>"
        f"<form action='{url}' method=post><button autofocus>Go</button></form>"
        f"<meta http-equiv=refresh content='0;url={url}gone'><base href='{url}'>"
    )

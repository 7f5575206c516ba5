"""A workspace of many contacts as a real one has them: skewed, with gaps, aged, on lists.

Some attributes have the names and some of the values of `tests/contacts/test_filter_agreement.py`,
so that the filters which are made up there mean few, many or nobody here too.
"""

from datetime import datetime
from typing import Any, LiteralString

from django.db import connection

# A number from 0 to 1 of a contact and a purpose: the same crowd in each run.
_CHANCE: LiteralString = """
CREATE FUNCTION chance(n bigint, purpose int) RETURNS float8 IMMUTABLE LANGUAGE sql AS
$$ SELECT (hashint8extended(n, purpose) & 2147483647) / 2147483648.0 $$
"""

_CONTACTS: LiteralString = """
INSERT INTO contacts_contact (
    workspace_id, address, external_id, name, locale, time_zone, attributes, ocd_ids, state,
    state_changed_at, created_at, updated_at
)
SELECT
    %(workspace)s, left(md5(n::text), 12) || '@example' || n %% 97 || '.com', 'crm-' || n,
    'Person ' || n,
    CASE WHEN c1 < .05 THEN NULL WHEN c1 < .60 THEN 'en' WHEN c1 < .75 THEN 'pt'
         WHEN c1 < .80 THEN 'pt-BR' WHEN c1 < .90 THEN 'de' WHEN c1 < .97 THEN 'fr' ELSE 'ru' END,
    CASE WHEN c1 < .3 THEN 'Europe/Lisbon' END,
    jsonb_strip_nulls(jsonb_build_object(
        'plan', CASE WHEN c2 < .80 THEN 'free' WHEN c2 < .95 THEN 'pro' WHEN c2 < .999
                THEN 'team' ELSE 'PRO' END,
        'age', CASE WHEN c3 < .6 THEN (18 + 71 * chance(n, 13))::int WHEN c3 < .6001 THEN 5 END,
        'tags', CASE WHEN c4 < .02 THEN '["pro", "beta"]' WHEN c4 < .10 THEN '["beta"]'
                WHEN c4 < .30 THEN '["trial", 5]' END::jsonb,
        'city', 'City ' || floor(500 * c5 * c5),
        'state', (ARRAY['OH', 'CA', 'NY', 'TX', 'WA', 'FL', 'PA', 'IL'])[1 + floor(8 * c6)::int],
        'company', CASE WHEN c7 < .4 THEN initcap(left(md5((n %% 50000)::text), 7)) || ' GmbH' END,
        'orders', floor(40 * c8 ^ 6),
        'spent', round((5000 * c8 ^ 8)::numeric, 2),
        'vip', CASE WHEN c7 < .005 THEN true END,
        'nick', CASE WHEN c4 > .999 THEN left(md5('nick' || n), 6) END
    )),
    CASE WHEN c6 < .5 THEN ARRAY['ocd-division/country:us', 'ocd-division/country:us/state:'
              || (ARRAY['oh', 'ca', 'ny', 'tx'])[1 + floor(8 * c6)::int],
              'ocd-division/country:us/place:' || floor(3000 * c5 * c5)]
         WHEN c6 < .7 THEN ARRAY['ocd-division/country:pt'] ELSE '{}' END,
    CASE WHEN c9 < .92 THEN 'active' WHEN c9 < .97 THEN 'unsubscribed' ELSE 'bounced' END,
    CASE WHEN c9 >= .92 THEN %(now)s - 700 * chance(n, 14) * interval '1 day' END,
    %(now)s - (1 - n / %(size)s::float8) * interval '2000 days',
    %(now)s - (1 - n / %(size)s::float8) * chance(n, 15) * interval '2000 days'
FROM (
    SELECT n, chance(n, 1) AS c1, chance(n, 2) AS c2, chance(n, 3) AS c3, chance(n, 4) AS c4,
           chance(n, 5) AS c5, chance(n, 6) AS c6, chance(n, 7) AS c7, chance(n, 8) AS c8,
           chance(n, 9) AS c9
    FROM generate_series(1, %(size)s) AS n
) AS drawn
"""

_SUBSCRIPTIONS: LiteralString = """
INSERT INTO contacts_subscription (contact_id, list_id, state)
SELECT contact.id, %(list)s,
       CASE WHEN chance(contact.id, 20) < .9 THEN 'active' WHEN chance(contact.id, 20) < .96
            THEN 'unsubscribed' WHEN chance(contact.id, 20) < .99 THEN 'pending' ELSE 'paused' END
FROM contacts_contact AS contact
WHERE contact.workspace_id = %(workspace)s AND chance(contact.id, %(list)s::int + 100) < %(share)s
"""

_UNCONFIRMED: LiteralString = """
UPDATE contacts_contact AS contact SET is_unconfirmed = true
WHERE contact.workspace_id = %(workspace)s AND EXISTS (
    SELECT FROM contacts_subscription AS s WHERE s.contact_id = contact.id AND s.state = 'pending'
) AND NOT EXISTS (
    SELECT FROM contacts_subscription AS s
    WHERE s.contact_id = contact.id AND s.state IN ('active', 'paused')
)
"""

# The lists, and which share of the contacts each has.
LISTS = {"news": 0.7, "offers": 0.2, "beta": 0.005}


def gather(name: str, *, size: int, now: datetime) -> int:
    """Makes a workspace with its lists and so many contacts."""
    from postledger.accounts import workspaces
    from postledger.contacts import lists

    workspace_id = workspaces.create_workspace(name, actor="bench")
    with connection.cursor() as cursor:
        cursor.execute(_CHANCE)
        named: dict[str, Any] = {"workspace": workspace_id, "size": size, "now": now}
        cursor.execute(_CONTACTS, named)
        for key, share in LISTS.items():
            lists.create_list(workspace_id, key=key, name=key, actor="bench")
            list_id = lists.get_active_id(workspace_id, key)
            cursor.execute(_SUBSCRIPTIONS, named | {"list": list_id, "share": share})
        cursor.execute(_UNCONFIRMED, named)
        cursor.execute("DROP FUNCTION chance")
        cursor.execute("VACUUM ANALYZE")
    return workspace_id

-- Events, topic subscriptions and notifications in the words of the queue they replace. Like the
-- views of the ledger they store nothing; security_invoker, for the same reason as there.
--
-- A notification's mail is the delivery of its event's stream whose dedupe key is its id. All views
-- answer by the ids that they begin with through indexes.

-- Why a notification was not sent, where the ledger has no words of the provider's. Pages say it in
-- the same words, and in other languages: fan_out/skip_texts.py.
CREATE FUNCTION notification_message(code text)
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE code
        WHEN 'contact_type' THEN 'The subscription is not by email.'
        WHEN 'contact_gone' THEN 'The contact was deleted.'
        WHEN 'subscription_pending' THEN 'The subscription was not confirmed yet.'
        WHEN 'subscription_paused' THEN 'The subscription is paused.'
        WHEN 'subscription_unsubscribed' THEN 'The person unsubscribed.'
        WHEN 'subscription_suppressed' THEN 'The address must not be mailed.'
        WHEN 'notify_on' THEN 'The person does not want to hear of this status.'
        WHEN 'max_notifications' THEN 'The person got as many notifications as they wanted.'
        WHEN 'duplicate' THEN 'The person was told the same a moment ago, or is about to be told.'
        WHEN 'expired' THEN 'It would have come too late: its time to live ends before.'
        WHEN 'in_doubt' THEN 'It is not known whether the provider took it; a person decides.'
        WHEN 'cancelled' THEN 'It, or all mail of its stream, was cancelled.'
        ELSE code
    END
$$;

CREATE FUNCTION notification_status(state text)
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE state
        WHEN 'waiting' THEN 'pending'
        WHEN 'accepted' THEN 'sent'
        WHEN 'in_doubt' THEN 'failed'
        WHEN 'suppressed' THEN 'skipped'
        WHEN 'cancelled' THEN 'skipped'
        ELSE state  -- failed, skipped, expired
    END
$$;

CREATE VIEW open_events WITH (security_invoker = true) AS
SELECT e.id AS open_event_id,
       e.data -> 'sectionId' AS section_id,
       e.data ->> 'termId' AS term_id,
       e.data ->> 'campusCode' AS campus_code,
       e.data ->> 'indexNumber' AS index_number,
       e.data ->> 'statusBefore' AS status_before,
       e.data ->> t.status_field AS status_after,
       e.occurred_at AS event_at,
       coalesce(e.data ->> 'detectedBy', e.actor) AS detected_by,
       e.data ->> 'snapshotHash' AS snapshot_hash,
       e.dedupe_key,
       NULLIF(e.trace_id, '') AS trace_id,
       e.data AS payload,
       e.topic_id,
       t.workspace_id
FROM notifications_event e
JOIN notifications_topic t ON t.id = e.topic_id;

-- What counts is the contact, then its consent to the topic's list, then the subscription itself,
-- as in subscriptions/standing.py. A suppression by hand is found by its address: the key of
-- its hash is not in the database.
CREATE VIEW subscriptions WITH (security_invoker = true) AS
SELECT s.id AS subscription_id,
       CASE
           WHEN c.id IS NULL OR c.deleted_at IS NOT NULL THEN 'unsubscribed'
           WHEN c.state = 'bounced' OR EXISTS (
               SELECT FROM contacts_suppression b
               WHERE b.workspace_id = t.workspace_id AND b.reason = 'by_hand'
                 AND lower(b.address) = lower(c.address)
                 AND (b.list_id IS NULL OR b.list_id = t.list_id)
           ) THEN 'suppressed'
           WHEN c.state <> 'active' OR s.state = 'unsubscribed' THEN 'unsubscribed'
           WHEN consent.state IS NULL THEN 'pending'
           WHEN consent.state <> 'active' THEN consent.state
           ELSE s.state
       END AS status,
       s.contact_type,
       c.address AS contact_value,
       encode(sha256(convert_to(lower(c.address), 'UTF8')), 'hex') AS contact_hash,
       NULLIF(s.locale, '') AS locale,
       last.status AS last_known_section_status,
       jsonb_strip_nulls(jsonb_build_object(
           'notifyOn', coalesce(s.notify_on, consent.notify_on, t.notify_on),
           'maxNotifications', coalesce(s.max_notifications, consent.max_notifications),
           'deliveryWindow', CASE WHEN coalesce(s.window_from, consent.window_from) IS NOT NULL
               THEN jsonb_build_object(
                   'startMinutes', coalesce(s.window_from, consent.window_from),
                   'endMinutes', CASE WHEN s.window_from IS NULL THEN consent.window_until
                                      ELSE s.window_until END
               ) END,
           'snoozeUntil', greatest(s.snooze_until, consent.snooze_until)
       )) AS preferences,
       s.match,
       s.created_at,
       s.changed_at AS updated_at,
       s.topic_id,
       s.contact_id,
       t.workspace_id
FROM notifications_topicsubscription s
JOIN notifications_topic t ON t.id = s.topic_id
LEFT JOIN contacts_contact c ON c.id = s.contact_id
LEFT JOIN contacts_subscription consent ON consent.contact_id = c.id AND consent.list_id = t.list_id
LEFT JOIN LATERAL (
    SELECT e.data ->> t.status_field AS status
    FROM notifications_notification n JOIN notifications_event e ON e.id = n.event_id
    WHERE n.subscription_id = s.id
    ORDER BY n.created_at DESC, n.id DESC
    LIMIT 1
) AS last ON true;

-- The error of a mail that went is its provider's receipt. While a mail waits it is the last attempt,
-- until a requeue takes it away, and so the last note is looked for among attempts and events.
--
-- A notification without a delivery that is not planned waits for its job. One whose month was
-- dropped has no state any more, and is left out.
CREATE VIEW open_event_notifications WITH (security_invoker = true) AS
SELECT n.id AS notification_id,
       n.event_id AS open_event_id,
       n.subscription_id,
       n.dedupe_key,
       coalesce(n."end", notification_status(d.state), 'pending') AS fanout_status,
       CASE WHEN n."end" IS NOT NULL THEN 1 ELSE coalesce(d.attempts, 0) END AS fanout_attempts,
       CASE WHEN n."end" IS NOT NULL THEN n.created_at
            WHEN d.state = 'accepted' THEN d.settled_at
            ELSE note.tried_at END AS last_attempt_at,
       -- A name for the worker that tells nothing of the machine it runs on.
       'worker-' || left(encode(sha256(convert_to(work.holder, 'UTF8')), 'hex'), 12) AS locked_by,
       work.taken_at AS locked_at,
       CASE
           WHEN n."end" IS NOT NULL
           THEN jsonb_build_object('code', n.code, 'message', notification_message(n.code))
           WHEN d.state = 'accepted'
           THEN jsonb_build_object(
               'provider', coalesce(account.kind, 'sandbox'),
               'providerMessageId', d.message_id,
               'status', 'sent'
           )
           WHEN d.state = 'waiting' AND note.outcome IS NOT NULL
           THEN jsonb_strip_nulls(jsonb_build_object(
               'provider', coalesce(account.kind, 'sandbox'),
               'status', 'retryable',
               'code', coalesce(note.code, upper(note.outcome)),
               'message', NULLIF(note.detail, ''),
               'retryAfterSeconds', ceil(note.delay_ms / 1000.0)
           ))
           WHEN d.state IN ('in_doubt', 'cancelled')
           THEN jsonb_build_object('code', d.state, 'message', notification_message(d.state))
           WHEN d.state <> 'waiting'
           THEN jsonb_build_object(
               'code', coalesce(d.code, note.code, upper(note.outcome)),
               'message', coalesce(
                   NULLIF(note.detail, ''),
                   notification_message(coalesce(d.code, note.code, upper(note.outcome)))
               )
           )
       END AS error,
       t.id AS topic_id,
       t.workspace_id,
       d.stream_id,
       d."position"
FROM notifications_notification n
JOIN notifications_event e ON e.id = n.event_id
JOIN notifications_topic t ON t.id = e.topic_id
LEFT JOIN LATERAL (
    SELECT * FROM deliveries_delivery
    WHERE stream_id = e.stream_id AND dedupe_key = n.id::text OFFSET 0
) AS d ON n.is_planned
LEFT JOIN deliveries_stream s ON s.id = d.stream_id
LEFT JOIN accounts_sender sender ON sender.id = s.sender_id
LEFT JOIN accounts_provideraccount account ON account.id = sender.account_id
LEFT JOIN LATERAL (
    SELECT l.holder, l.taken_at
    FROM (
        SELECT b.lease, b.hi FROM deliveries_batch b
        WHERE b.stream_id = d.stream_id AND b.lo <= d."position"
        ORDER BY b.lo DESC LIMIT 1
    ) AS b
    JOIN deliveries_lease l ON l.token = b.lease
    WHERE b.hi > d."position"
) AS work ON d.state = 'waiting'
LEFT JOIN LATERAL (
    SELECT o.outcome, o.code, o.detail, o.delay_ms, max(o.tried_at) OVER () AS tried_at
    FROM (
        SELECT a.id, a.outcome, a.code, a.detail, a.delay_ms, a.at AS tried_at
        FROM deliveries_attempt a
        WHERE a.stream_id = d.stream_id AND a."position" = d."position"
        UNION ALL
        SELECT v.id, CASE v.kind WHEN 'requeued' THEN NULL ELSE v.data ->> 'outcome' END,
               v.data ->> 'code', v.data ->> 'detail', NULL, NULL
        FROM deliveries_deliveryevent v
        WHERE v.stream_id = d.stream_id AND v."position" = d."position"
          AND v.kind IN ('requeued', 'proved_not_accepted')
    ) AS o
    ORDER BY o.id DESC
    LIMIT 1
) AS note ON d.state <> 'accepted'
WHERE d.stream_id IS NOT NULL OR NOT n.is_planned;

-- What a subscription was told, and the status of the section then.
CREATE VIEW subscription_events WITH (security_invoker = true) AS
SELECT n.subscription_id,
       n.open_event_id,
       n.notification_id,
       'notify_sent' AS event_type,
       e.data ->> t.status_field AS section_status,
       e.data ->> 'snapshotHash' AS snapshot_hash,
       n.last_attempt_at AS created_at,
       n.topic_id,
       n.workspace_id,
       n.stream_id,
       n."position"
FROM open_event_notifications n
JOIN notifications_event e ON e.id = n.open_event_id
JOIN notifications_topic t ON t.id = n.topic_id
WHERE n.fanout_status = 'sent';

SELECT close_tables('notifications');

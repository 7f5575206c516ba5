-- The ledger in the words of the systems it replaces: one line of the books read as their outbox,
-- log, events and dead letters. Nothing is stored twice; the views only translate.
--
-- Ids are made of (stream_id, position), and no index knows them: a search for an id alone reads
-- every line. Every view therefore ends with its key, and the way from an id to one row is
--     WHERE stream_id = delivery_stream(id) AND "position" = delivery_position(id)
-- which touches one partition and its primary key.
--
-- security_invoker: who reads a view needs the right to read the tables, whose policy lets nobody
-- but the owner see a row.

-- The way back from delivery_uuid.
CREATE FUNCTION delivery_stream(id uuid)
RETURNS bigint LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT ('x' || left(replace(id::text, '-', ''), 12))::bit(48)::bigint
$$;

CREATE FUNCTION delivery_position(id uuid)
RETURNS bigint LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT ('x' || right(replace(id::text, '-', ''), 16))::bit(64)::bigint & 1125899906842623
$$;

CREATE FUNCTION delivery_status(state text, last_try integer)
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE
        WHEN state = 'waiting' AND last_try = 0 THEN 'RECEIVED'
        WHEN state = 'waiting' THEN 'RETRY_SCHEDULED'
        WHEN state = 'accepted' THEN 'SENT'
        ELSE upper(state)
    END
$$;

-- The error is the last thing that went wrong and still stands: an acceptance ends it, and so does
-- a requeue, which is why the last note is looked for among attempts and events together.
--
-- Mail to many says what its letter says. The body that the lines of one letter share lies before all
-- mails, at -1 for the first letter (ledger/bodies.py); a line has either such a body or its own.
-- Found by one look-up for each line, however many bodies there are.
CREATE VIEW email_logs WITH (security_invoker = true) AS
SELECT delivery_uuid(d.stream_id, d."position", 0) AS "outboxId",
       s.workspace_id AS "companyId",
       d.contact_id AS "recipientId",
       d.address AS "to",
       coalesce(b.subject, s.title) AS subject,
       delivery_status(d.state, d.last_try) AS status,
       d.message_id AS "sesMessageId",
       coalesce(d.code, note.code, upper(note.outcome)) AS "errorCode",
       NULLIF(note.detail, '') AS "errorReason",
       d.attempts,
       d.duration_ms AS "durationMs",
       b.request_id AS "requestId",
       d.planned_at AS "createdAt",
       CASE d.state WHEN 'accepted' THEN d.settled_at END AS "sentAt",
       CASE d.state WHEN 'failed' THEN d.settled_at END AS "failedAt",
       d.stream_id,
       d."position"
FROM deliveries_delivery d
JOIN deliveries_stream s ON s.id = d.stream_id
LEFT JOIN LATERAL (
    SELECT subject, request_id FROM deliveries_body
    WHERE stream_id = d.stream_id AND "position" IN (d."position", -1 - d.letter)
    ORDER BY "position" LIMIT 1
) AS b ON true
LEFT JOIN LATERAL (
    SELECT a.id, a.outcome, a.code, a.detail FROM deliveries_attempt a
    WHERE a.stream_id = d.stream_id AND a."position" = d."position"
    UNION ALL
    SELECT e.id, NULL, e.data ->> 'code', e.data ->> 'detail' FROM deliveries_deliveryevent e
    WHERE e.stream_id = d.stream_id AND e."position" = d."position"
      AND e.kind IN ('requeued', 'proved_not_accepted')
    ORDER BY id DESC
    LIMIT 1
) AS note ON d.state NOT IN ('accepted', 'cancelled');

CREATE VIEW send_logs WITH (security_invoker = true) AS
SELECT * FROM email_logs;

-- What is in doubt is not processed yet, although it is settled: somebody has to look at it. The HTML
-- of a letter lies with the letter, and is told with its holes: no view fills a letter in.
CREATE VIEW email_outbox WITH (security_invoker = true) AS
SELECT l."outboxId" AS id,
       l."companyId",
       l."recipientId",
       l."to",
       l.subject,
       CASE WHEN b.letter <> '' THEN (
           SELECT source ->> 'html' FROM content_letter
           WHERE workspace_id = l."companyId" AND digest = decode(b.letter, 'hex')
       ) WHEN b.secret_until IS NULL THEN b.html ELSE '' END AS html,
       l.status,
       l.attempts,
       NULLIF(concat_ws(': ', l."errorCode", l."errorReason"), '') AS "lastError",
       l."requestId",
       l."createdAt",
       CASE WHEN d.state <> 'in_doubt' THEN d.settled_at END AS "processedAt",
       l.stream_id,
       l."position"
FROM email_logs l
JOIN deliveries_delivery d ON d.stream_id = l.stream_id AND d."position" = l."position"
LEFT JOIN LATERAL (
    SELECT html, letter, secret_until FROM deliveries_body
    WHERE stream_id = d.stream_id AND "position" IN (d."position", -1 - d.letter)
    ORDER BY "position" LIMIT 1
) AS b ON true;

-- The validation that a code belongs to.
CREATE FUNCTION delivery_validation(code text)
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE
        WHEN code = 'INVALID_PAYLOAD' THEN 'INTEGRITY'
        WHEN code = 'OUTBOX_NOT_FOUND' THEN 'OUTBOX'
        WHEN code IN ('RECIPIENT_NOT_FOUND', 'INVALID_EMAIL') THEN 'RECIPIENT'
        ELSE 'TEMPLATE'
    END
$$;

-- Each result is stored as one row and told here as the steps that led to it. The steps before it
-- are dated by its duration, each a microsecond after the one before: in the order of time they
-- are in the order of the pipeline. A mail that is with a worker has no result yet, and no step.
CREATE VIEW email_events WITH (security_invoker = true) AS
WITH result AS NOT MATERIALIZED (
    SELECT a.stream_id, a."position", a.try_number, a.at, a.outcome, a.state, a.code, a.detail,
           a.category, a.original_code, a.message_id, a.duration_ms, a.delay_ms
    FROM deliveries_attempt a
    UNION ALL
    -- A try that was accepted and has no row of its own lives on the delivery. What was poison or
    -- was given up is no try: nothing was handed over, and the number is used again.
    SELECT d.stream_id, d."position", d.last_try, d.settled_at, 'accepted', 'accepted', NULL, NULL,
           NULL, NULL, d.message_id, d.duration_ms, NULL
    FROM deliveries_delivery d
    WHERE d.state = 'accepted' AND NOT EXISTS (
        SELECT FROM deliveries_attempt a
        WHERE a.stream_id = d.stream_id AND a."position" = d."position"
          AND a.try_number = d.last_try AND a.outcome NOT IN ('poison', 'given_up')
    )
)
SELECT delivery_uuid(r.stream_id, r."position", 0) AS "emailLogId",
       step.type,
       jsonb_strip_nulls(jsonb_build_object('attempt', r.try_number) || step.metadata) AS metadata,
       CASE step.n
           WHEN 4 THEN r.at
           ELSE r.at - coalesce(r.duration_ms, 0) * interval '1 millisecond'
                - (4 - step.n) * interval '1 microsecond'
       END AS "createdAt",
       r.stream_id,
       r."position"
FROM result r
CROSS JOIN LATERAL (
    VALUES
        (1, 'RECEIVED', true, jsonb '{}'),
        (2, CASE r.outcome WHEN 'invalid' THEN 'VALIDATION_FAILED' ELSE 'VALIDATED' END,
         r.outcome NOT IN ('skipped', 'suppressed', 'expired', 'poison', 'given_up'),
         CASE r.outcome
             WHEN 'invalid'
             THEN jsonb_build_object(
                'validation', delivery_validation(r.code),
                'errorCode', r.code,
                'errorCategory', r.category,
                'errorMessage', NULLIF(r.detail, ''),
                'willRetry', false
             )
             ELSE jsonb '{"validations": ["INTEGRITY", "OUTBOX", "RECIPIENT", "TEMPLATE"]}'
         END),
        (3, 'SENT_ATTEMPT', r.outcome IN (
            'accepted', 'refused', 'try_later', 'throttled', 'sender_blocked', 'in_doubt',
            'lease_lost'
         ), jsonb '{}'),
        (4, CASE r.state WHEN 'waiting' THEN 'RETRY_SCHEDULED'
                         ELSE delivery_status(r.state, r.try_number) END, true,
         jsonb_build_object(
            'outcome', r.outcome,
            'errorCode', CASE WHEN r.outcome <> 'accepted' THEN coalesce(r.code, upper(r.outcome)) END,
            'errorCategory', r.category,
            'errorMessage', NULLIF(r.detail, ''),
            'originalCode', r.original_code,
            'sesMessageId', r.message_id,
            'durationMs', r.duration_ms,
            'willRetry', CASE WHEN r.state <> 'accepted' THEN r.state = 'waiting' END,
            'nextAttemptNumber', CASE r.state WHEN 'waiting' THEN r.try_number + 1 END,
            'backoffDelay', r.delay_ms
         ))
) AS step (n, type, happened, metadata)
WHERE step.happened
UNION ALL
SELECT delivery_uuid(d.stream_id, d."position", 0), 'CANCELLED', jsonb '{}', d.settled_at,
       d.stream_id, d."position"
FROM deliveries_delivery d
WHERE d.state = 'cancelled' AND NOT EXISTS (  -- one that was cancelled by itself has its event
    SELECT FROM deliveries_deliveryevent e
    WHERE e.stream_id = d.stream_id AND e."position" = d."position" AND e.kind = 'cancelled'
)
UNION ALL
-- What people and evidence decided; what providers report of mail on its way is delivery_events.
SELECT delivery_uuid(e.stream_id, e."position", 0), upper(e.kind),
       jsonb_strip_nulls(jsonb_build_object(
           'attempt', e.data -> 'try',
           'actor', e.actor,
           'before', e.data -> 'before',
           'after', e.data -> 'after',
           'errorCode', e.data -> 'code',
           'errorCategory', e.data -> 'category',
           'errorMessage', e.data -> 'detail',
           'originalCode', e.data -> 'original_code'
       )),
       e.at, e.stream_id, e."position"
FROM deliveries_deliveryevent e;

-- What a provider reported of a mail, in one word: a bounce may be that of the account's own list,
-- and a complaint may say that a mail was no spam.
CREATE FUNCTION delivery_report(kind text, counts_as text)
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT coalesce(counts_as, CASE kind WHEN 'complained' THEN 'not_spam' ELSE kind END)
$$;

-- One message has many events, so their ids are hashes, of the version that says so: such an id is
-- never taken for a delivery's. A recipient who says that a mail was no spam reports none, and
-- neither does a provider that chose not to send a mail.
CREATE VIEW delivery_events WITH (security_invoker = true) AS
SELECT overlay(overlay(
           md5(f.stream_id || '/' || f."position" || '/' || f.key) PLACING '3' FROM 13
       ) PLACING '8' FROM 17)::uuid AS id,
       d.address AS email,
       CASE f.kind
           WHEN 'delivered' THEN 'delivered'
           WHEN 'opened' THEN 'open'
           WHEN 'clicked' THEN 'click'
           WHEN 'complained' THEN 'spamreport'
           WHEN 'unsubscribed' THEN 'unsubscribe'
           ELSE 'bounce'
       END AS event_type,
       coalesce(f.message_id, d.message_id) AS provider_message_id,
       f.happened_at AS event_at,
       f.stream_id,
       f."position"
FROM deliveries_feedback f
JOIN deliveries_delivery d ON d.stream_id = f.stream_id AND d."position" = f."position"
WHERE f.kind <> 'dropped' AND f.counts_as IN (
    'delivered', 'opened', 'clicked', 'bounced', 'soft_bounced', 'on_suppression_list', 'complained'
) OR f.kind = 'unsubscribed';

-- Given up and still failed, until a person discards it. A failure that was requeued and failed
-- again is one letter, the last. A transactional mail that was refused is in the log, where its
-- caller looks; only where the system gave up, out of attempts, because workers died of it or because
-- its sender stayed blocked, is there a letter too.
CREATE VIEW deliveries_deadletter WITH (security_invoker = true) AS
SELECT note.stream_id, note."position", s.kind, s.title, s.sender_id,
       s.cancelled_at IS NOT NULL AS is_stream_cancelled,
       d.address, d.last_try, d.attempts, d.variables, note.outcome,
       coalesce(d.code, note.code, upper(note.outcome)) AS code,
       coalesce(note.detail, '') AS detail, note.at, d.code AS delivery_code, note.code AS note_code
FROM (
    SELECT a.stream_id, a."position", a.id, a.at, a.outcome, a.code, a.detail
    FROM deliveries_attempt a WHERE a.state = 'failed'
    UNION ALL
    -- An answer that came too late for its lease.
    SELECT e.stream_id, e."position", e.id, e.at, coalesce(e.data ->> 'outcome', 'refused'),
           e.data ->> 'code', e.data ->> 'detail'
    FROM deliveries_deliveryevent e
    WHERE e.kind = 'proved_not_accepted' AND e.data ->> 'after' = 'failed'
) AS note
-- One look-up for each failure: a plan that joins them in another way reads every line of the ledger.
CROSS JOIN LATERAL (
    SELECT * FROM deliveries_delivery
    WHERE stream_id = note.stream_id AND "position" = note."position" OFFSET 0
) AS d
JOIN deliveries_stream s ON s.id = note.stream_id
WHERE d.state = 'failed'
  AND (s.kind <> 'transactional' OR note.outcome IN ('try_later', 'poison', 'given_up'))
  AND NOT EXISTS (
    SELECT FROM deliveries_attempt later
    WHERE later.stream_id = note.stream_id AND later."position" = note."position"
      AND later.id > note.id
  )
  AND NOT EXISTS (
    SELECT FROM deliveries_deliveryevent discarded
    WHERE discarded.stream_id = note.stream_id AND discarded."position" = note."position"
      AND discarded.id > note.id AND discarded.kind = 'discarded'
  );

CREATE VIEW dead_letters WITH (security_invoker = true) AS
SELECT delivery_uuid(stream_id, "position", 0) AS id,
       kind AS topic,
       jsonb_build_object(
           'deliveryId', delivery_uuid(stream_id, "position", 0),
           'streamId', stream_id,
           'stream', title,
           'to', address,
           'code', delivery_code,
           'attempts', attempts,
           'variables', variables
       ) AS payload,
       concat_ws(': ', coalesce(note_code, outcome), NULLIF(detail, '')) AS error,
       at AS created_at,
       stream_id,
       "position"
FROM deliveries_deadletter;

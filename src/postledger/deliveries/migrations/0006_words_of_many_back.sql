CREATE OR REPLACE VIEW email_logs WITH (security_invoker = true) AS
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
LEFT JOIN deliveries_body b ON b.stream_id = d.stream_id AND b."position" = d."position"
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

CREATE OR REPLACE VIEW email_outbox WITH (security_invoker = true) AS
SELECT l."outboxId" AS id,
       l."companyId",
       l."recipientId",
       l."to",
       l.subject,
       b.html,
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
LEFT JOIN deliveries_body b ON b.stream_id = l.stream_id AND b."position" = l."position";

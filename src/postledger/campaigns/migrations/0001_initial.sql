-- Campaigns in the words of the system they replace: whom a run's mail was accepted for, who
-- launched which, and what waits for what. Like the views of the ledger they store nothing, and end
-- with the ledger's key where a row is one line of it; security_invoker, for the same reason as
-- there.
--
-- Tests are left out of the history: nobody of an audience got them.

CREATE VIEW delivery_history WITH (security_invoker = true) AS
SELECT delivery_uuid(d.stream_id, d."position", 0) AS id,
       d.address AS email,
       c.tag AS campaign_tag,
       r.launch_id::text AS send_batch_id,
       d.message_id AS provider_message_id,
       d.settled_at AS sent_at,
       d.stream_id,
       d."position"
FROM campaigns_run r
JOIN campaigns_campaign c ON c.id = r.campaign_id
JOIN deliveries_delivery d ON d.stream_id = r.stream_id
WHERE d.state = 'accepted' AND NOT r.is_test;

CREATE VIEW campaign_runs WITH (security_invoker = true) AS
SELECT r.id,
       c.tag AS campaign_tag,
       r.article_key,
       r.actor,
       r.launch_id::text AS send_batch_id,
       r.launched_at AS started_at
FROM campaigns_run r
JOIN campaigns_campaign c ON c.id = r.campaign_id;

-- The queue of runs. A run is PENDING before its first mail is due, and while a cause keeps all its
-- mail back: then it has the cause's reason, and its end where that is known. Of several causes that
-- is the one that ends last (deliveries/causes.py has the same order). It is COMPLETED when none of
-- its mails waits, also with failures; it has no end before a person has dealt with them. A retry of
-- single mails defers nothing.
--
-- Read from live work and causes alone, whatever the ledger holds. Tests are left out.
CREATE VIEW campaign_queue WITH (security_invoker = true) AS
SELECT r.stream_id AS id,
       r.campaign_id,
       r.id AS run_id,
       CASE WHEN run.is_done THEN 'COMPLETED'
            WHEN cause.reason IS NOT NULL OR work.due_at IS NULL THEN 'PENDING'
            ELSE 'PROCESSING' END AS status,
       CASE WHEN NOT run.is_done THEN cause.reason END AS defer_reason,
       CASE WHEN NOT run.is_done THEN cause.until END AS deferred_until,
       r.launched_at AS created_at,
       CASE WHEN r.first_mail_at IS NOT NULL OR cause.reason IS NOT NULL THEN r.first_mail_at
            ELSE greatest(r.launched_at, work.due_at) END AS started_at,
       CASE WHEN run.is_done THEN coalesce(r.ended_at, s.cancelled_at) END AS completed_at
FROM campaigns_run r
JOIN deliveries_stream s ON s.id = r.stream_id
LEFT JOIN deliveries_epoch e ON e.number = (SELECT max(number) FROM deliveries_epoch)
LEFT JOIN LATERAL (
    SELECT b.due_at, b.reason FROM deliveries_batch b
    WHERE b.stream_id = r.stream_id ORDER BY b.due_at LIMIT 1
) AS work ON true
CROSS JOIN LATERAL (
    SELECT s.cancelled_at IS NOT NULL OR (r.planned_at IS NOT NULL AND work.due_at IS NULL)
           AS is_done
) AS run
LEFT JOIN LATERAL (
    SELECT c.reason, c.until
    FROM (
        SELECT h.reason, h.until FROM deliveries_streamhold h WHERE h.stream_id = s.id
        UNION ALL
        SELECT h.reason, h.until FROM deliveries_senderhold h WHERE h.sender_id = s.sender_id
        UNION ALL
        SELECT work.reason, work.due_at WHERE work.reason = ANY(ARRAY[
            'scheduled', 'daily_limit', 'quota_exhausted', 'outside_hours', 'rate_per_hour'
        ])
        UNION ALL
        SELECT 'fenced', NULL
        WHERE s.lifted_epoch IS DISTINCT FROM e.number AND e.campaigns_lifted_at IS NULL
        UNION ALL
        SELECT 'audience_syncing', NULL WHERE r.awaited_pass IS NOT NULL AND r.planned_at IS NULL
    ) AS c
    WHERE c.until IS NULL OR c.until > statement_timestamp()
    ORDER BY c.until DESC NULLS FIRST, array_position(
        ARRAY['daily_limit', 'quota_exhausted', 'outside_hours', 'rate_per_hour'], c.reason
    ) NULLS LAST, c.reason
    LIMIT 1
) AS cause ON true
WHERE NOT r.is_test;

SELECT close_tables('campaigns');

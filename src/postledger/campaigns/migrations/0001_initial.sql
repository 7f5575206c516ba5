-- Campaigns in the words of the system they replace: whom a run's mail was accepted for, and who
-- launched which. Like the views of the ledger they store nothing, and end with the ledger's key
-- where a row is one line of it; security_invoker, for the same reason as there.
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

SELECT close_tables('campaigns');

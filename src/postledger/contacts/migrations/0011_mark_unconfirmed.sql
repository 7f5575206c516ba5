-- Whom a public form made is known by the trail: it alone acts as "recipient". A program makes such
-- a contact together with the list that it asks for. Of all others, the workspace made the contact
-- itself, and somebody asked for a list later. Whoever agreed to a list once, as the history of
-- consents tells, was confirmed by that.
UPDATE contacts_contact AS c SET is_unconfirmed = true
FROM accounts_auditentry AS entry
WHERE entry.action = 'contact.created'
  AND entry.workspace_id = c.workspace_id AND entry.subject = 'contact ' || c.id
  AND (entry.actor = 'recipient' OR EXISTS (
      SELECT FROM contacts_consentevent AS event
      WHERE event.contact_id = c.id AND event.list_id IS NOT NULL AND event.actor = entry.actor
        AND event.before IS NULL AND event.after = 'pending'
        AND abs(extract(epoch FROM event.at - entry.at)) < 60
  ))
  AND NOT EXISTS (
      SELECT FROM contacts_subscription AS s
      WHERE s.contact_id = c.id AND s.state IN ('active', 'paused')
  )
  AND NOT EXISTS (
      SELECT FROM contacts_consentevent AS event
      WHERE event.contact_id = c.id AND event.list_id IS NOT NULL AND event.after = 'active'
  );

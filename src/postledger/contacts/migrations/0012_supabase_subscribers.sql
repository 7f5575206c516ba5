-- Who came from Supabase is known by the first line of their history. Whoever was given another
-- address since is no longer that row's, as the trail tells. No pass has seen anybody yet: the
-- first one to begin finds out who is missing.
INSERT INTO contacts_supabasesubscriber (contact_id, workspace_id, row_hash)
SELECT DISTINCT c.id, c.workspace_id,
       contacts_fingerprint((SELECT salt FROM contacts_salt), c.address)
FROM contacts_consentevent AS event JOIN contacts_contact AS c ON c.id = event.contact_id
WHERE event.workspace_id IN (SELECT workspace_id FROM contacts_supabasesync)
  AND event.source = 'supabase' AND event.actor = 'supabase sync' AND event.action = 'imported'
  AND event.before IS NULL AND event.list_id IS NULL AND c.deleted_at IS NULL
  AND NOT EXISTS (
      SELECT FROM accounts_auditentry AS entry
      WHERE entry.workspace_id = c.workspace_id AND entry.action = 'contact.changed'
        AND entry.subject = 'contact ' || c.id AND entry.data -> 'fields' ? 'address'
  );

-- What happened to an address while it had no contact is known by the hash of the address, and goes
-- with its owner as well.
CREATE OR REPLACE FUNCTION contacts_consent_is_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND (
        current_setting('postledger.erasing_contact', true) = OLD.contact_id::text
        OR OLD.contact_id IS NULL
           AND current_setting('postledger.erasing_address', true)
               = OLD.workspace_id || ' ' || encode(OLD.address_hash, 'hex')
    ) THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION 'rows of % are only added', TG_TABLE_NAME
        USING ERRCODE = 'restrict_violation',
              HINT = 'To forget a person, use contacts_erase_consent(workspace, contact)'
                     ' and contacts_erase_address(workspace, address).';
END $$;

-- Forgets the history of an address that has no contact; returns how many rows that was.
CREATE FUNCTION contacts_erase_address(workspace bigint, address text) RETURNS bigint
    LANGUAGE plpgsql AS $$
DECLARE
    hash bytea := contacts_fingerprint((SELECT salt FROM contacts_salt), address);
    erased bigint;
BEGIN
    PERFORM set_config(
        'postledger.erasing_address', workspace || ' ' || encode(hash, 'hex'), true
    );
    DELETE FROM contacts_consentevent AS event
    WHERE event.workspace_id = workspace AND event.address_hash = hash
      AND event.contact_id IS NULL;
    GET DIAGNOSTICS erased = ROW_COUNT;
    PERFORM set_config('postledger.erasing_address', '', true);
    RETURN erased;
END $$;

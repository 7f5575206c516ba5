-- The hash by which an address is known. The key is accounts/hash_key.py's: every statement brings
-- it along, and the database holds it only sealed. 16 bytes: enough that no two of ten million
-- addresses meet, and half the index. Written so that PostgreSQL can inline it.
CREATE FUNCTION contacts_fingerprint(key bytea, address text) RETURNS bytea
    LANGUAGE sql STABLE PARALLEL SAFE
    AS $$ SELECT substr(sha256(key || convert_to(lower(address), 'UTF8')), 1, 16) $$;

-- Proofs of consent are worth what it costs to change them. What happened to an address while it
-- had no contact is known by the hash of the address, and goes with its owner as well.
CREATE FUNCTION contacts_consent_is_kept() RETURNS trigger LANGUAGE plpgsql AS $$
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
              HINT = 'To erase a person, use contacts_erase_consent(workspace, contact)'
                     ' and contacts_erase_address(workspace, hash).';
END $$;

CREATE TRIGGER contacts_consent_kept BEFORE UPDATE OR DELETE ON contacts_consentevent
    FOR EACH ROW EXECUTE FUNCTION contacts_consent_is_kept();

-- Erases one contact's history; returns how many rows that was.
CREATE FUNCTION contacts_erase_consent(workspace bigint, contact bigint) RETURNS bigint
    LANGUAGE plpgsql AS $$
DECLARE
    erased bigint;
BEGIN
    PERFORM set_config('postledger.erasing_contact', contact::text, true);
    DELETE FROM contacts_consentevent AS event
    WHERE event.contact_id = contact AND event.workspace_id = workspace;
    GET DIAGNOSTICS erased = ROW_COUNT;
    PERFORM set_config('postledger.erasing_contact', '', true);
    RETURN erased;
END $$;

-- Erases the history of an address that has no contact, by its hash; returns how many rows that was.
CREATE FUNCTION contacts_erase_address(workspace bigint, hash bytea) RETURNS bigint
    LANGUAGE plpgsql AS $$
DECLARE
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

-- A contact keeps the last hundred addresses it had, as lines of the ledger are keyed by them: a run
-- that mailed it under one of them does not mail it again. Who is erased keeps none.
CREATE FUNCTION contacts_keep_former_address() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    kept text[] := array_remove(
        array_append(array_remove(OLD.former_addresses, lower(OLD.address)), lower(OLD.address)),
        lower(NEW.address)
    );
BEGIN
    NEW.former_addresses := nullif(kept[greatest(1, cardinality(kept) - 99):], '{}');
    RETURN NEW;
END $$;

CREATE TRIGGER contacts_contact_moves BEFORE UPDATE OF address ON contacts_contact
    FOR EACH ROW WHEN (lower(OLD.address) <> lower(NEW.address) AND NEW.deleted_at IS NULL)
    EXECUTE FUNCTION contacts_keep_former_address();

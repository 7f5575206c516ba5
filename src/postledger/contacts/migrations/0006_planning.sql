-- A contact keeps the addresses it had, as lines of the ledger are keyed by them: a run that mailed
-- it under one of them does not mail it again. Who is erased keeps none.
CREATE FUNCTION contacts_keep_former_address() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.former_addresses := nullif(
        array_remove(
            array_append(
                array_remove(OLD.former_addresses, lower(OLD.address)), lower(OLD.address)
            ),
            lower(NEW.address)
        ),
        '{}'
    );
    RETURN NEW;
END $$;

CREATE TRIGGER contacts_contact_moves BEFORE UPDATE OF address ON contacts_contact
    FOR EACH ROW WHEN (lower(OLD.address) <> lower(NEW.address) AND NEW.deleted_at IS NULL)
    EXECUTE FUNCTION contacts_keep_former_address();

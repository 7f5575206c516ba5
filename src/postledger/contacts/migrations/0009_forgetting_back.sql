DROP FUNCTION contacts_erase_address(bigint, text);

CREATE OR REPLACE FUNCTION contacts_consent_is_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE'
       AND current_setting('postledger.erasing_contact', true) = OLD.contact_id::text THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION 'rows of % are only added', TG_TABLE_NAME
        USING ERRCODE = 'restrict_violation',
              HINT = 'To forget a person, use contacts_erase_consent(workspace, contact).';
END $$;

-- What a foreign key asks for each row, asked once for each statement. An import writes three rows
-- for each of millions of people: their six foreign keys took as long as all the rest, and four of
-- them asked for the same workspace or list again and again.
--
-- A reference holds as it does by a foreign key: whoever adds rows locks what they refer to against
-- deletion, whoever deletes that looks for such rows when the lock is gone, and neither changes.

CREATE FUNCTION contacts_refuse_reference(problem text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '%', problem USING ERRCODE = 'foreign_key_violation';
END $$;

CREATE FUNCTION contacts_contact_refers() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (
        SELECT FROM (SELECT DISTINCT workspace_id FROM added) AS one
        WHERE NOT EXISTS (
            SELECT FROM accounts_workspace WHERE id = one.workspace_id FOR KEY SHARE
        )
    ) THEN
        PERFORM contacts_refuse_reference('a contact must be of a workspace that exists');
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION contacts_subscription_refers() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (
        SELECT FROM (SELECT DISTINCT list_id FROM added) AS one
        WHERE NOT EXISTS (SELECT FROM contacts_list WHERE id = one.list_id FOR KEY SHARE)
    ) THEN
        PERFORM contacts_refuse_reference('a subscription must be to a list that exists');
    END IF;
    IF EXISTS (
        SELECT FROM added
        WHERE NOT EXISTS (SELECT FROM contacts_contact WHERE id = added.contact_id FOR KEY SHARE)
    ) THEN
        PERFORM contacts_refuse_reference('a subscription must be of a contact that exists');
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION contacts_consent_refers() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (
        SELECT FROM (SELECT DISTINCT workspace_id FROM added) AS one
        WHERE NOT EXISTS (
            SELECT FROM accounts_workspace WHERE id = one.workspace_id FOR KEY SHARE
        )
    ) THEN
        PERFORM contacts_refuse_reference('a consent must be of a workspace that exists');
    END IF;
    IF EXISTS (
        SELECT FROM (SELECT DISTINCT list_id FROM added WHERE list_id IS NOT NULL) AS one
        WHERE NOT EXISTS (SELECT FROM contacts_list WHERE id = one.list_id FOR KEY SHARE)
    ) THEN
        PERFORM contacts_refuse_reference('a consent must be to a list that exists');
    END IF;
    IF EXISTS (
        SELECT FROM added
        WHERE contact_id IS NOT NULL AND NOT EXISTS (
            SELECT FROM contacts_contact WHERE id = added.contact_id FOR KEY SHARE
        )
    ) THEN
        PERFORM contacts_refuse_reference('a consent must be of a contact that exists');
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER contacts_contact_refers AFTER INSERT ON contacts_contact
    REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION contacts_contact_refers();
CREATE TRIGGER contacts_subscription_refers AFTER INSERT ON contacts_subscription
    REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION contacts_subscription_refers();
CREATE TRIGGER contacts_consent_refers AFTER INSERT ON contacts_consentevent
    REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION contacts_consent_refers();

-- Of consents nothing changes at all, by a trigger of their own.
CREATE FUNCTION contacts_reference_is_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM contacts_refuse_reference(
        format('a row of %s keeps its id and what it refers to', TG_TABLE_NAME)
    );
    RETURN NULL;
END $$;

CREATE TRIGGER contacts_contact_keeps BEFORE UPDATE OF id, workspace_id ON contacts_contact
    FOR EACH ROW WHEN ((OLD.id, OLD.workspace_id) IS DISTINCT FROM (NEW.id, NEW.workspace_id))
    EXECUTE FUNCTION contacts_reference_is_kept();
CREATE TRIGGER contacts_subscription_keeps BEFORE UPDATE OF contact_id, list_id
    ON contacts_subscription
    FOR EACH ROW WHEN ((OLD.contact_id, OLD.list_id) IS DISTINCT FROM (NEW.contact_id, NEW.list_id))
    EXECUTE FUNCTION contacts_reference_is_kept();
CREATE TRIGGER contacts_list_keeps BEFORE UPDATE OF id ON contacts_list
    FOR EACH ROW WHEN (OLD.id <> NEW.id) EXECUTE FUNCTION contacts_reference_is_kept();
CREATE TRIGGER contacts_workspace_keeps BEFORE UPDATE OF id ON accounts_workspace
    FOR EACH ROW WHEN (OLD.id <> NEW.id) EXECUTE FUNCTION contacts_reference_is_kept();

CREATE FUNCTION contacts_is_referred_to() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    is_needed boolean;
BEGIN
    CASE TG_TABLE_NAME
        WHEN 'contacts_contact' THEN
            is_needed := EXISTS (SELECT FROM contacts_subscription WHERE contact_id = OLD.id)
                OR EXISTS (SELECT FROM contacts_consentevent WHERE contact_id = OLD.id);
        WHEN 'contacts_list' THEN
            is_needed := EXISTS (SELECT FROM contacts_subscription WHERE list_id = OLD.id)
                OR EXISTS (SELECT FROM contacts_consentevent WHERE list_id = OLD.id);
        ELSE
            is_needed := EXISTS (SELECT FROM contacts_contact WHERE workspace_id = OLD.id)
                OR EXISTS (SELECT FROM contacts_consentevent WHERE workspace_id = OLD.id);
    END CASE;
    IF is_needed THEN
        PERFORM contacts_refuse_reference(
            format('this row of %s is still referred to', TG_TABLE_NAME)
        );
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER contacts_contact_referred AFTER DELETE ON contacts_contact
    FOR EACH ROW EXECUTE FUNCTION contacts_is_referred_to();
CREATE TRIGGER contacts_list_referred AFTER DELETE ON contacts_list
    FOR EACH ROW EXECUTE FUNCTION contacts_is_referred_to();
CREATE TRIGGER contacts_workspace_referred AFTER DELETE ON accounts_workspace
    FOR EACH ROW EXECUTE FUNCTION contacts_is_referred_to();

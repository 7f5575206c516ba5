-- What was sent can be told for ever only if nobody rewrites it, by whatever way.
CREATE FUNCTION content_never_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'rows of % are never changed', TG_TABLE_NAME
        USING ERRCODE = 'restrict_violation';
END $$;

CREATE TRIGGER content_version_fixed BEFORE UPDATE ON content_templateversion
    FOR EACH STATEMENT EXECUTE FUNCTION content_never_changed();
CREATE TRIGGER content_text_fixed BEFORE UPDATE ON content_templatetext
    FOR EACH STATEMENT EXECUTE FUNCTION content_never_changed();
CREATE TRIGGER content_letter_fixed BEFORE UPDATE ON content_letter
    FOR EACH STATEMENT EXECUTE FUNCTION content_never_changed();

SELECT close_tables('content');

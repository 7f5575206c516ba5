-- A foreign key of two columns, which the ORM cannot say: a sender's account is of its workspace.
ALTER TABLE accounts_sender ADD CONSTRAINT accounts_sender_own_account
    FOREIGN KEY (workspace_id, account_id) REFERENCES accounts_provideraccount (workspace_id, id);

-- The same for the member whose runs a key launches.
ALTER TABLE accounts_apikey ADD CONSTRAINT accounts_apikey_own_member
    FOREIGN KEY (workspace_id, member_id) REFERENCES accounts_member (workspace_id, id);

-- See accounts/hash_key.py. It lies beside the hashes that it keys, so that it is kept, copied and
-- restored together with them: under another key nobody who was erased would still be suppressed.
-- Django does not know the table, so nothing that empties Django's tables takes it.
CREATE TABLE accounts_hashkey (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    sealed bytea NOT NULL
);

SELECT close_tables('accounts');

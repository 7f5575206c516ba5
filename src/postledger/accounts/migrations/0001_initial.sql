-- A foreign key of two columns, which the ORM cannot say: a sender's account is of its workspace.
ALTER TABLE accounts_sender ADD CONSTRAINT accounts_sender_own_account
    FOREIGN KEY (workspace_id, account_id) REFERENCES accounts_provideraccount (workspace_id, id);

SELECT close_tables('accounts');

-- Runs with code of 1 and newer.
-- What lies in files of DATA_DIR with SQLite: made secrets, what setup has registered, how far it has come. A dump holds it;
-- `pg_dump --exclude-table-data=kept_records` leaves it out.
CREATE TABLE kept_records (
  -- As the file is called there: secrets/webhook-secret, registration.json.
  name text PRIMARY KEY,
  content text NOT NULL
);

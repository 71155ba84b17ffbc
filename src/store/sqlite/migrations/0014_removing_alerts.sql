-- Removing a request would read all alerts for one that refers to it: there is no index for that, since accepting an alert would
-- pay for it. Requests are removed behind the last of their alerts (`transactions/removing.ts`), so nothing is left to enforce.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, 'request_seq   INTEGER REFERENCES requests (seq)', 'request_seq   INTEGER')
  WHERE type = 'table' AND name = 'alerts';
PRAGMA writable_schema = RESET;

-- How many of those that were ever accepted are no longer kept.
CREATE TABLE removed_alerts (only INTEGER PRIMARY KEY CHECK (only = 1), count INTEGER NOT NULL) STRICT;
INSERT INTO removed_alerts VALUES (1, 0);

CREATE TRIGGER deliveries_counted_out AFTER DELETE ON deliveries WHEN OLD.resent_by IS NULL BEGIN
  UPDATE delivery_counts SET count = count - 1 WHERE destination = OLD.destination AND state = OLD.state;
END;

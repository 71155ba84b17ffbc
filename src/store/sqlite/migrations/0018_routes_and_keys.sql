-- The log is filtered by route.
CREATE INDEX deliveries_by_route ON deliveries (route, alert_seq);
-- A row of the log stands for all alerts of its key: with what it says of them in the index, they need not be read.
DROP INDEX alerts_by_key;
CREATE INDEX alerts_by_key ON alerts (alert_key, seq, received_at, repeat_of, facts ->> '$.status') WHERE alert_key IS NOT NULL;

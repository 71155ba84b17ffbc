-- Whatever fires after it was over rings as new, also while its resolution waits for the end of quiet hours.
ALTER TABLE threads ADD COLUMN over_at INTEGER;
-- A resolution that is older than what was sent since must not say there that it is over.
ALTER TABLE threads ADD COLUMN last_alert_seq INTEGER NOT NULL DEFAULT 0;

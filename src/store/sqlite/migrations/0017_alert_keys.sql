-- The page of an alert shows what came before and after it with the same key.
CREATE INDEX IF NOT EXISTS alerts_by_key ON alerts (alert_key, seq) WHERE alert_key IS NOT NULL;

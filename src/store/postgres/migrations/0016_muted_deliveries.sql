-- Runs with code of 2 and newer.
-- Which mute holds a delivery back, for the receipt at the end of the mute and for its release. Those of older code have none.
ALTER TABLE deliveries ADD COLUMN mute_id text;
CREATE INDEX deliveries_muted ON deliveries (mute_id, alert_seq, seq) WHERE mute_id IS NOT NULL AND resent_by IS NULL;

-- The alert key whose end is the end of the mute; `ends_at` is the latest.
ALTER TABLE mutes ADD COLUMN until_over TEXT;
CREATE INDEX mutes_until_over ON mutes (until_over) WHERE until_over IS NOT NULL;

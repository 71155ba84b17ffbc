-- Runs with code of 2 and newer.
-- The alert key whose end is the end of the mute; `ends_at` is the latest. Ends that older code routes do not end it.
ALTER TABLE mutes ADD COLUMN until_over text;
CREATE INDEX mutes_until_over ON mutes (until_over) WHERE until_over IS NOT NULL;

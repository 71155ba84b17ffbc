-- Runs with code of 2 and newer.
-- Locks first: relays, configurations.
-- Which place runs it, as `lanes.relay`: who starts there is the next process of the same relay.
ALTER TABLE relays ADD COLUMN place text COLLATE "C";
-- When a relay ran with it last, to the minute.
ALTER TABLE configurations ADD COLUMN seen_at timestamptz NOT NULL DEFAULT '-infinity';

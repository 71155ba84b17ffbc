-- Runs with code of 2 and newer.
-- What is known of the groups of alerts, and of the causes that hold others back, at each destination. Older code knows nothing of it:
-- what that routes waits for nothing.
CREATE TABLE group_memories (…);

-- Deliveries of one name go out as one message.
ALTER TABLE deliveries ADD COLUMN group_name text COLLATE "C";

-- What is known of the groups of alerts, and of the causes that hold others back, at each destination.
CREATE TABLE group_memories (…) STRICT, WITHOUT ROWID;

-- Deliveries of one name go out as one message.
ALTER TABLE deliveries ADD COLUMN group_name TEXT;

-- What is known of the groups of alerts, and of the causes that hold others back, at each destination.
CREATE TABLE group_memories (
  destination TEXT    NOT NULL,
  name        TEXT    NOT NULL,
  memory      TEXT    NOT NULL,
  updated_at  INTEGER NOT NULL,
  PRIMARY KEY (destination, name)
) STRICT, WITHOUT ROWID;

-- Deliveries of one name go out as one message.
ALTER TABLE deliveries ADD COLUMN group_name TEXT;

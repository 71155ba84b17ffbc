-- Runs with code of 2 and newer.
-- What is known of the groups of alerts, and of the causes that hold others back, at each destination. Older code knows nothing of it:
-- what that routes waits for nothing.
CREATE TABLE group_memories (
  destination text COLLATE "C" NOT NULL,
  name        text COLLATE "C" NOT NULL,
  memory      text NOT NULL,
  updated_at  bigint NOT NULL,
  PRIMARY KEY (destination, name)
);

-- Deliveries of one name go out as one message.
ALTER TABLE deliveries ADD COLUMN group_name text COLLATE "C";

-- An alert that a route dropped on purpose is not one that no route wanted.
ALTER TABLE alerts ADD COLUMN dropped INTEGER NOT NULL DEFAULT 0;
CREATE INDEX alerts_dropped ON alerts (seq) WHERE dropped = 1;
CREATE INDEX alerts_dropped_by_severity ON alerts (severity, seq) WHERE dropped = 1;

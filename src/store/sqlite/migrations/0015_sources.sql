-- By which named hook an alert came; NULL is the account's. Few have one, so accepting the others pays nothing for the index.
ALTER TABLE alerts ADD COLUMN source TEXT;
CREATE INDEX alerts_by_source ON alerts (source, seq) WHERE source IS NOT NULL;

-- Requests with a source's secret whose sender did not pass that source's check. They are no alerts until a person releases one.
CREATE TABLE refused_requests (
  seq          INTEGER PRIMARY KEY,
  id           TEXT    NOT NULL UNIQUE,
  source       TEXT    NOT NULL,
  received_at  INTEGER NOT NULL,
  reason       TEXT    NOT NULL,
  detail       TEXT    NOT NULL,
  address      TEXT    NOT NULL,
  content_type TEXT,
  headers      TEXT    NOT NULL,
  body         BLOB    NOT NULL,
  items        INTEGER NOT NULL,
  -- How many were refused since the one before it and not kept: of a flood only some are.
  unkept       INTEGER NOT NULL,
  released_at  INTEGER,
  alert_ids    TEXT
) STRICT;
CREATE INDEX refused_requests_by_source ON refused_requests (source, seq);

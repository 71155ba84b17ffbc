-- One request may carry several alerts; the body is kept once, byte for byte.
CREATE TABLE requests (
  seq          INTEGER PRIMARY KEY,
  received_at  INTEGER NOT NULL,
  content_type TEXT,
  headers      TEXT    NOT NULL,
  body         BLOB    NOT NULL,
  fingerprint  INTEGER NOT NULL,
  items        INTEGER NOT NULL,
  dedupe_key   TEXT,
  conflict     INTEGER NOT NULL DEFAULT 0,
  duplicates   INTEGER NOT NULL DEFAULT 0
) STRICT;
-- A repeat is looked for among the bodies that may be it, however many others came under the same key.
CREATE INDEX requests_by_body ON requests (fingerprint, received_at) WHERE dedupe_key IS NULL;
CREATE INDEX requests_by_key_and_body ON requests (dedupe_key, fingerprint, received_at) WHERE dedupe_key IS NOT NULL;
CREATE INDEX requests_by_key ON requests (dedupe_key, received_at) WHERE dedupe_key IS NOT NULL;
CREATE INDEX requests_repeated ON requests (duplicates) WHERE duplicates > 0;

-- A row with routed_at IS NULL is the outbox entry of an accepted alert.
CREATE TABLE alerts (
  seq           INTEGER PRIMARY KEY,
  id            TEXT    NOT NULL UNIQUE,
  request_seq   INTEGER REFERENCES requests (seq),
  item          INTEGER NOT NULL,
  origin        TEXT    NOT NULL,
  received_at   INTEGER NOT NULL,
  version       INTEGER,
  routed_at     INTEGER,
  route_after   INTEGER NOT NULL DEFAULT 0,
  route_failures INTEGER NOT NULL DEFAULT 0,
  routing_error TEXT,
  severity      TEXT,
  alert_key     TEXT,
  unmatched     INTEGER NOT NULL DEFAULT 0,
  facts         TEXT,
  decisions     TEXT
) STRICT;
CREATE INDEX alerts_unrouted ON alerts (seq) WHERE routed_at IS NULL;
CREATE INDEX alerts_by_version ON alerts (version) WHERE version IS NOT NULL;
CREATE INDEX alerts_by_received_at ON alerts (received_at, seq);
CREATE INDEX alerts_by_severity ON alerts (severity, seq) WHERE severity IS NOT NULL;
CREATE INDEX alerts_unmatched ON alerts (seq) WHERE unmatched = 1;
CREATE INDEX alerts_unmatched_by_severity ON alerts (severity, seq) WHERE unmatched = 1;
CREATE INDEX alerts_by_request ON alerts (request_seq, item);

CREATE TABLE deliveries (
  seq         INTEGER PRIMARY KEY,
  id          TEXT    NOT NULL UNIQUE,
  alert_seq   INTEGER NOT NULL REFERENCES alerts (seq),
  destination TEXT    NOT NULL,
  channel     TEXT    NOT NULL,
  recipient   TEXT    NOT NULL,
  route       TEXT    NOT NULL,
  purpose     TEXT    NOT NULL,
  instead_of  TEXT,
  state       TEXT    NOT NULL,
  reason      TEXT    NOT NULL,
  created_at  INTEGER NOT NULL,
  due_at      INTEGER,
  finished_at INTEGER,
  attempts    INTEGER NOT NULL DEFAULT 0,
  ambiguous   INTEGER NOT NULL DEFAULT 0,
  last_detail TEXT,
  form        TEXT    NOT NULL DEFAULT 'rich',
  progress    TEXT    NOT NULL DEFAULT '{"refs":[]}',
  digest_id   TEXT,
  updates     TEXT    NOT NULL,
  freshness_ms INTEGER,
  fallback_to TEXT,
  fallback_at INTEGER,
  claim_token TEXT,
  lease_until INTEGER
) STRICT;
CREATE INDEX deliveries_by_alert ON deliveries (alert_seq);
CREATE INDEX deliveries_by_state ON deliveries (state, alert_seq);
CREATE INDEX deliveries_by_destination ON deliveries (destination, alert_seq);
CREATE INDEX deliveries_by_destination_state ON deliveries (destination, state, alert_seq);
CREATE INDEX deliveries_due ON deliveries (destination, due_at, seq) WHERE due_at IS NOT NULL;
-- What a person asked for is found at once behind any backlog.
CREATE INDEX deliveries_urgent ON deliveries (destination, due_at, seq)
  WHERE due_at IS NOT NULL AND purpose IN ('resend', 'test', 'notice');
CREATE INDEX deliveries_claimed ON deliveries (lease_until) WHERE claim_token IS NOT NULL;
CREATE INDEX deliveries_fallback ON deliveries (fallback_at) WHERE fallback_at IS NOT NULL;

-- Counting millions of deliveries anew for every look at the destinations would take seconds.
CREATE TABLE delivery_counts (
  destination TEXT    NOT NULL,
  state       TEXT    NOT NULL,
  count       INTEGER NOT NULL,
  PRIMARY KEY (destination, state)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER deliveries_counted_in AFTER INSERT ON deliveries BEGIN
  INSERT INTO delivery_counts VALUES (NEW.destination, NEW.state, 1)
    ON CONFLICT DO UPDATE SET count = count + 1;
END;
CREATE TRIGGER deliveries_recounted AFTER UPDATE OF state ON deliveries WHEN NEW.state <> OLD.state BEGIN
  UPDATE delivery_counts SET count = count - 1 WHERE destination = OLD.destination AND state = OLD.state;
  INSERT INTO delivery_counts VALUES (NEW.destination, NEW.state, 1)
    ON CONFLICT DO UPDATE SET count = count + 1;
END;

CREATE TABLE attempts (
  seq          INTEGER PRIMARY KEY,
  delivery_seq INTEGER NOT NULL REFERENCES deliveries (seq),
  at           INTEGER NOT NULL,
  duration_ms  INTEGER NOT NULL,
  action       TEXT    NOT NULL,
  part         INTEGER NOT NULL,
  parts        INTEGER NOT NULL,
  outcome      TEXT    NOT NULL,
  reason       TEXT,
  detail       TEXT
) STRICT;
CREATE INDEX attempts_by_delivery ON attempts (delivery_seq, seq);

-- The messages of one alert key in one chat, so that updates find the message to edit or answer.
CREATE TABLE threads (
  destination    TEXT    NOT NULL,
  recipient      TEXT    NOT NULL,
  alert_key      TEXT    NOT NULL,
  root_ref       TEXT    NOT NULL,
  root_alert_seq INTEGER NOT NULL,
  last_ref       TEXT    NOT NULL,
  first_at       INTEGER NOT NULL,
  last_new_at    INTEGER NOT NULL,
  last_at        INTEGER NOT NULL,
  count          INTEGER NOT NULL,
  severity       TEXT    NOT NULL,
  status         TEXT    NOT NULL,
  PRIMARY KEY (destination, recipient, alert_key)
) STRICT, WITHOUT ROWID;

CREATE TABLE paces (
  key          TEXT    PRIMARY KEY,
  sent_at      TEXT    NOT NULL,
  parked_until INTEGER NOT NULL,
  parked_why   TEXT
) STRICT, WITHOUT ROWID;

CREATE TABLE destination_statuses (
  name   TEXT PRIMARY KEY,
  status TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE mutes (
  id         TEXT    PRIMARY KEY,
  matchers   TEXT    NOT NULL,
  reason     TEXT    NOT NULL,
  starts_at  INTEGER NOT NULL,
  ends_at    INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  created_by TEXT    NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX mutes_by_end ON mutes (ends_at);

-- Filled from a cursor after the commit that accepted the alert; never part of it.
CREATE VIRTUAL TABLE alerts_search USING fts5 (words, content = '', tokenize = 'unicode61');
CREATE TABLE search_cursor (only INTEGER PRIMARY KEY CHECK (only = 1), alert_seq INTEGER NOT NULL) STRICT;
INSERT INTO search_cursor VALUES (1, 0);

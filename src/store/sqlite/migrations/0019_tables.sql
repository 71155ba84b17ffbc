-- All that versions up to 19 have made. `(…)`: the columns stand in `store/tables.ts`.

-- One request may carry several alerts; the body is kept once, byte for byte.
CREATE TABLE requests (…) STRICT;
CREATE INDEX requests_by_key_and_body ON requests (dedupe_key, fingerprint, received_at) WHERE dedupe_key IS NOT NULL;
CREATE INDEX requests_by_key ON requests (dedupe_key, received_at) WHERE dedupe_key IS NOT NULL;

-- A row with routed_at IS NULL is the outbox entry of an accepted alert. Its id begins with the time at which it was made (UUIDv7), so
-- no index
-- has the time.
CREATE TABLE alerts (…) STRICT;
CREATE INDEX alerts_unrouted ON alerts (seq) WHERE routed_at IS NULL;
CREATE INDEX alerts_by_version ON alerts (version) WHERE version IS NOT NULL;
CREATE INDEX alerts_by_severity ON alerts (severity, seq) WHERE severity IS NOT NULL;
CREATE INDEX alerts_unmatched ON alerts (seq) WHERE unmatched = 1;
CREATE INDEX alerts_unmatched_by_severity ON alerts (severity, seq) WHERE unmatched = 1;
CREATE INDEX alerts_dropped ON alerts (seq) WHERE dropped = 1;
CREATE INDEX alerts_dropped_by_severity ON alerts (severity, seq) WHERE dropped = 1;
-- They are tried again behind all others.
CREATE INDEX alerts_routing_failed ON alerts (route_after, seq) WHERE routed_at IS NULL AND route_failures > 0;
CREATE INDEX alerts_by_fingerprint ON alerts (fingerprint, item) WHERE fingerprint IS NOT NULL;
CREATE INDEX alerts_repeats ON alerts (seq) WHERE repeat_of IS NOT NULL;
CREATE INDEX alerts_repeats_by_severity ON alerts (severity, seq) WHERE repeat_of IS NOT NULL;
CREATE INDEX alerts_repeats_by_first ON alerts (repeat_of) WHERE repeat_of IS NOT NULL;
-- Few have one, so accepting the others pays nothing for the index.
CREATE INDEX alerts_by_source ON alerts (source, seq) WHERE source IS NOT NULL;
-- A row of the log stands for all alerts of its key: with what it says of them in the index, they need not be read.
CREATE INDEX alerts_by_key ON alerts (alert_key, seq, received_at, repeat_of, facts ->> '$.status') WHERE alert_key IS NOT NULL;

CREATE TABLE deliveries (…) STRICT;
CREATE INDEX deliveries_by_alert ON deliveries (alert_seq);
CREATE INDEX deliveries_by_state ON deliveries (state, alert_seq);
CREATE INDEX deliveries_by_destination ON deliveries (destination, alert_seq);
CREATE INDEX deliveries_by_destination_state ON deliveries (destination, state, alert_seq);
-- What a person asked for is found at once behind any backlog.
CREATE INDEX deliveries_urgent ON deliveries (destination, due_at, seq)
  WHERE due_at IS NOT NULL AND purpose IN ('resend', 'test', 'notice');
CREATE INDEX deliveries_claimed ON deliveries (lease_until) WHERE claim_token IS NOT NULL;
CREATE INDEX deliveries_fallback ON deliveries (fallback_at) WHERE fallback_at IS NOT NULL;
CREATE INDEX deliveries_held ON deliveries (destination, due_at) WHERE state = 'held' AND due_at IS NOT NULL;
-- What did not get through and was not resent: few, and found without walking over what was.
CREATE INDEX deliveries_unsent ON deliveries (state, alert_seq)
  WHERE resent_by IS NULL AND state IN ('failed', 'expired', 'held');
CREATE INDEX deliveries_unsent_by_destination ON deliveries (destination, state, alert_seq)
  WHERE resent_by IS NULL AND state IN ('failed', 'expired', 'held');
-- All that failed may be resent at once, 100,000 perhaps: what else is due is found before it.
CREATE INDEX deliveries_due ON deliveries (destination, (purpose = 'bulk_resend'), due_at, seq) WHERE due_at IS NOT NULL;
CREATE INDEX deliveries_by_route ON deliveries (route, alert_seq);

-- Counting millions of deliveries anew for every look at the destinations would take seconds.
CREATE TABLE delivery_counts (
  destination TEXT    NOT NULL,
  state       TEXT    NOT NULL,
  count       INTEGER NOT NULL,
  PRIMARY KEY (destination, state)
) STRICT, WITHOUT ROWID;

CREATE TABLE attempts (…) STRICT;
CREATE INDEX attempts_by_delivery ON attempts (delivery_seq, seq);

-- What became of deliveries, and which routes took alerts, hour by hour: to count a week of them anew for each look reads all of them.
-- Hours are of UTC, counted from 1970; those older than eight days are removed.
CREATE TABLE outcome_hours (…) STRICT, WITHOUT ROWID;
-- How long alerts took from being accepted to being sent: eight steps to each doubling of the milliseconds.
CREATE TABLE wait_hours (…) STRICT, WITHOUT ROWID;
CREATE TABLE route_hours (…) STRICT, WITHOUT ROWID;

-- Since when routes are counted: of one that has no hours nothing can be said of before.
CREATE TABLE statistics_start (only INTEGER PRIMARY KEY CHECK (only = 1), route_hour INTEGER) STRICT;
INSERT INTO statistics_start VALUES (1, NULL);

-- Counting them anew for every page reads one entry for each alert that was ever repeated.
CREATE TABLE duplicate_count (only INTEGER PRIMARY KEY CHECK (only = 1), count INTEGER NOT NULL) STRICT;
INSERT INTO duplicate_count VALUES (1, 0);

-- How many of those that were ever accepted are no longer kept.
CREATE TABLE removed_alerts (only INTEGER PRIMARY KEY CHECK (only = 1), count INTEGER NOT NULL) STRICT;
INSERT INTO removed_alerts VALUES (1, 0);

-- The messages of one alert key in one chat, so that updates find the message to edit or answer.
CREATE TABLE threads (…) STRICT, WITHOUT ROWID;

CREATE TABLE paces (…) STRICT, WITHOUT ROWID;

-- Who runs the deliveries of a lane group. The fence grows at every acquisition, over all groups, and rows are never removed.
CREATE TABLE lanes (…) STRICT, WITHOUT ROWID;

-- `kind`: a destination may have the name of an account.
CREATE TABLE destination_statuses (…) STRICT, WITHOUT ROWID;

CREATE TABLE mutes (…) STRICT, WITHOUT ROWID;
CREATE INDEX mutes_by_end ON mutes (ends_at);

-- Requests with a source's secret whose sender did not pass that source's check. They are no alerts until a person releases one.
CREATE TABLE refused_requests (…) STRICT;
CREATE INDEX refused_requests_by_source ON refused_requests (source, seq);

-- Small facts that end by themselves: login codes that were used, sessions that were ended. Keys are hashes, never the texts.
CREATE TABLE expiring_keys (…) STRICT, WITHOUT ROWID;
CREATE INDEX expiring_keys_by_end ON expiring_keys (expires_at);

-- What each watch of the relay over its surroundings knew last and has told of it, as JSON of its own.
CREATE TABLE watch_states (…) STRICT, WITHOUT ROWID;

-- Filled from a cursor after the commit that accepted the alert; never part of it. It grows part by part: a search goes back part by part
-- and may stop between them.
CREATE VIRTUAL TABLE alerts_search USING fts5 (words, content = '', tokenize = 'unicode61');
CREATE TABLE search_cursor (only INTEGER PRIMARY KEY CHECK (only = 1), alert_seq INTEGER NOT NULL) STRICT;
INSERT INTO search_cursor VALUES (1, 0);
CREATE TABLE search_parts (first_seq INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT;
INSERT INTO search_parts VALUES (1, 'alerts_search');

CREATE TRIGGER deliveries_counted_in AFTER INSERT ON deliveries BEGIN
  INSERT INTO delivery_counts VALUES (NEW.destination, NEW.state, 1)
    ON CONFLICT DO UPDATE SET count = count + 1;
END;
CREATE TRIGGER deliveries_recounted AFTER UPDATE OF state ON deliveries
WHEN NEW.state <> OLD.state AND NEW.resent_by IS NULL BEGIN
  UPDATE delivery_counts SET count = count - 1 WHERE destination = OLD.destination AND state = OLD.state;
  INSERT INTO delivery_counts VALUES (NEW.destination, NEW.state, 1)
    ON CONFLICT DO UPDATE SET count = count + 1;
END;
CREATE TRIGGER deliveries_resent AFTER UPDATE OF resent_by ON deliveries
WHEN OLD.resent_by IS NULL AND NEW.resent_by IS NOT NULL BEGIN
  UPDATE delivery_counts SET count = count - 1 WHERE destination = NEW.destination AND state = NEW.state;
END;
CREATE TRIGGER deliveries_counted_out AFTER DELETE ON deliveries WHEN OLD.resent_by IS NULL BEGIN
  UPDATE delivery_counts SET count = count - 1 WHERE destination = OLD.destination AND state = OLD.state;
END;
CREATE TRIGGER deliveries_ended AFTER UPDATE OF state ON deliveries
WHEN NEW.state <> OLD.state AND NEW.finished_at IS NOT NULL AND NEW.state IN ('sent', 'digested', 'failed', 'expired') BEGIN
  INSERT INTO outcome_hours VALUES (NEW.destination, NEW.finished_at / 3600000, NEW.state, 1)
    ON CONFLICT DO UPDATE SET count = count + 1;
END;
CREATE TRIGGER deliveries_timed AFTER UPDATE OF state ON deliveries
WHEN NEW.state = 'sent' AND OLD.state <> 'sent' AND NEW.purpose = 'alert' AND NEW.finished_at IS NOT NULL BEGIN
  INSERT INTO wait_hours
    SELECT NEW.destination, NEW.finished_at / 3600000,
      CAST(8 * log2(max(1, NEW.finished_at - received_at)) AS INTEGER), 1
    FROM alerts WHERE seq = NEW.alert_seq
    ON CONFLICT DO UPDATE SET count = count + 1;
END;

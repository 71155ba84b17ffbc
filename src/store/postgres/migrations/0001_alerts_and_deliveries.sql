-- `(…)`: the columns of a table stand in `store/tables.ts`.
-- Texts are compared byte by byte: no order of a language, no version of a locale library decides what an index holds.
-- Times are epoch milliseconds by the clock of their writer, but for leases, which are the database's own clock.

-- Facts as JSON that can be looked into: \u0000 and halves of surrogate pairs, which no text of PostgreSQL can be made of, become U+FFFD.
CREATE FUNCTION readable_json(facts text) RETURNS json LANGUAGE sql IMMUTABLE STRICT
  RETURN (CASE WHEN strpos(facts, '\u') = 0 THEN facts
    ELSE regexp_replace(facts, '\\u(0000|[dD][89abAB][0-9a-fA-F]{2}|[dD][c-fC-F][0-9a-fA-F]{2})', '\ufffd', 'g') END)::json;

-- One request may carry several alerts; the body is kept once, byte for byte.
CREATE TABLE requests (…);
-- Where a text stands in a body, at any place and without regard to the case of ASCII letters; 0: nowhere. Bytes are compared as Latin-1,
-- which has a character for each but 0: that is read as a space.
CREATE FUNCTION find_in_body(body bytea, wanted text) RETURNS integer LANGUAGE sql IMMUTABLE STRICT COST 10000
  RETURN strpos(
    lower(convert_from(CASE WHEN position('\x00'::bytea IN body) = 0 THEN body
      ELSE decode(replace(replace(replace(encode(body, 'escape'), '\\', chr(1)), '\000', ' '), chr(1), '\\'), 'escape') END, 'LATIN1')
      COLLATE "C"),
    lower(convert_from(convert_to(wanted, 'UTF8'), 'LATIN1') COLLATE "C"));
CREATE INDEX requests_by_key ON requests (dedupe_key, received_at) WHERE dedupe_key IS NOT NULL;

-- The transaction that changes an alert, as a number that grows from one to the next. A database that was put back from a dump begins to
-- count transactions anew: the first relay that opens it then replaces this base by what its changes had come to.
CREATE FUNCTION change_base() RETURNS bigint LANGUAGE sql IMMUTABLE RETURN 0::bigint;
CREATE FUNCTION change_number() RETURNS xid8 LANGUAGE sql VOLATILE
  RETURN (pg_current_xact_id()::text::bigint + change_base())::text::xid8;

-- A row with routed_at IS NULL is the outbox entry of an accepted alert.
CREATE TABLE alerts (…);
CREATE INDEX alerts_unrouted ON alerts (routed_by, seq) WHERE routed_at IS NULL;
CREATE INDEX alerts_routing_over ON alerts (routing_until, seq) WHERE routed_at IS NULL;
CREATE INDEX alerts_routing_failed ON alerts (route_after, seq) WHERE routed_at IS NULL AND route_failures > 0;
CREATE INDEX alerts_by_change ON alerts (changed_by, seq) WHERE changed_by IS NOT NULL;
CREATE INDEX alerts_by_request ON alerts (request_seq, item) WHERE request_seq IS NOT NULL;
CREATE INDEX alerts_by_severity ON alerts (severity, seq) INCLUDE (received_at) WHERE severity IS NOT NULL;
CREATE INDEX alerts_unmatched ON alerts (seq) INCLUDE (received_at) WHERE unmatched;
CREATE INDEX alerts_dropped ON alerts (seq) WHERE dropped;
CREATE INDEX alerts_by_source ON alerts (source, seq) WHERE source IS NOT NULL;
CREATE INDEX alerts_by_key ON alerts (alert_key, seq) INCLUDE (received_at, origin, repeat_of, status, value, facts_bytes)
  WHERE alert_key IS NOT NULL;
CREATE INDEX alerts_by_fingerprint ON alerts (fingerprint, item, seq) WHERE fingerprint IS NOT NULL;
CREATE INDEX alerts_repeats ON alerts (seq) WHERE repeat_of IS NOT NULL;
CREATE INDEX alerts_repeats_by_first ON alerts (repeat_of) WHERE repeat_of IS NOT NULL;

CREATE TABLE deliveries (…);
CREATE INDEX deliveries_by_alert ON deliveries (alert_seq, seq);
CREATE INDEX deliveries_by_state ON deliveries (state, alert_seq);
CREATE INDEX deliveries_by_destination_state ON deliveries (destination, state, alert_seq);
CREATE INDEX deliveries_by_destination ON deliveries (destination, alert_seq);
CREATE INDEX deliveries_by_route ON deliveries (route, alert_seq);
CREATE INDEX deliveries_due ON deliveries (destination, due_at, seq)
  WHERE due_at IS NOT NULL AND purpose <> 'bulk_resend';
CREATE INDEX deliveries_bulk_due ON deliveries (destination, due_at, seq)
  WHERE due_at IS NOT NULL AND purpose = 'bulk_resend';
-- What a person asked for is found at once behind any backlog.
CREATE INDEX deliveries_urgent ON deliveries (destination, due_at, seq)
  WHERE due_at IS NOT NULL AND purpose IN ('resend', 'test', 'notice');
CREATE INDEX deliveries_held ON deliveries (destination, due_at, seq) WHERE state = 'held' AND due_at IS NOT NULL;
CREATE INDEX deliveries_claimed ON deliveries (lease_until) WHERE claim_token IS NOT NULL;
CREATE INDEX deliveries_by_claim ON deliveries (claim_token) WHERE claim_token IS NOT NULL;
CREATE INDEX deliveries_fallback ON deliveries (fallback_at) WHERE fallback_at IS NOT NULL;
CREATE INDEX deliveries_unsent_by_destination ON deliveries (destination, state, alert_seq, seq)
  WHERE resent_by IS NULL AND state IN ('failed', 'expired', 'held');
CREATE INDEX deliveries_unsent ON deliveries (state, alert_seq, seq)
  WHERE resent_by IS NULL AND state IN ('failed', 'expired', 'held');

CREATE TABLE attempts (…);
CREATE INDEX attempts_by_delivery ON attempts (delivery_seq, seq);

-- The words of each alert in their order, folded, one space before and behind each. The index holds each word with the number of
-- its 4,096 alerts in front: so a word that all alerts have is found a few thousand at a time, newest first, and what is
-- written lies together.
CREATE TABLE alert_words (seq bigint PRIMARY KEY, words text COLLATE "C" NOT NULL);
CREATE FUNCTION search_terms(seq bigint, words text) RETURNS tsvector LANGUAGE sql IMMUTABLE STRICT COST 1000
  RETURN (SELECT array_to_tsvector(array_agg((seq >> 12) || '.' || word)) FROM unnest(string_to_array(btrim(words), ' ')) AS word);
-- Without a list of what is to be put into its place later, which every search would read and some commit have to work off.
CREATE INDEX alert_words_by_term ON alert_words USING gin (search_terms(seq, words)) WITH (fastupdate = off);

-- Alerts whose words are not written yet: that is done behind the commit that has routed them.
CREATE TABLE search_queue (seq bigint PRIMARY KEY);
CREATE FUNCTION await_search() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO search_queue VALUES (NEW.seq) ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
CREATE TRIGGER alerts_routed AFTER UPDATE OF routed_at ON alerts FOR EACH ROW
  WHEN (OLD.routed_at IS NULL AND NEW.routed_at IS NOT NULL) EXECUTE FUNCTION await_search();
CREATE TRIGGER alerts_added_routed AFTER INSERT ON alerts FOR EACH ROW
  WHEN (NEW.routed_at IS NOT NULL) EXECUTE FUNCTION await_search();
CREATE FUNCTION forget_words() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- First: it waits for a session that writes their words just then.
  DELETE FROM search_queue q USING removed WHERE q.seq = removed.seq;
  DELETE FROM alert_words w USING removed WHERE w.seq = removed.seq;
  RETURN NULL;
END $$;
CREATE TRIGGER alerts_removed AFTER DELETE ON alerts REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION forget_words();

-- Counts are the sum of rows that are only ever added, so that no two relays wait for one row; housekeeping adds them up
-- by and by. `kind` is what is counted: `delivery` (name: destination, part: state), `outcome` (name: destination, part:
-- outcome, hour), `wait` (name: destination, part: step, hour), `duplicate`, `removed`, `accepted` (hour),
-- `bytes` (of bodies).
CREATE TABLE tallies (
  kind  text COLLATE "C" NOT NULL,
  name  text COLLATE "C" NOT NULL DEFAULT '',
  part  text COLLATE "C" NOT NULL DEFAULT '',
  hour  bigint NOT NULL DEFAULT 0,
  count bigint NOT NULL
);
CREATE INDEX tallies_by_kind ON tallies (kind, name, part, hour) INCLUDE (count);
-- Deliveries by destination and state; one that was resent counts as its resend does.
CREATE FUNCTION tally_made_deliveries() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO tallies (kind, name, part, count)
  SELECT 'delivery', destination, state, count(*) FROM made GROUP BY destination, state;
  RETURN NULL;
END $$;
CREATE FUNCTION tally_removed_deliveries() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO tallies (kind, name, part, count)
  SELECT 'delivery', destination, state, -count(*) FROM removed WHERE resent_by IS NULL GROUP BY destination, state;
  RETURN NULL;
END $$;
-- What has ended by the hour of UTC from 1970, and how long alerts took to be sent: eight steps to each doubling of the
-- milliseconds. Digests and resends say nothing of that.
CREATE FUNCTION tally_changed_deliveries() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO tallies (kind, name, part, count)
  SELECT 'delivery', destination, state, sum(one) FROM (
    SELECT destination, state, -1 AS one FROM before WHERE resent_by IS NULL
    UNION ALL
    SELECT destination, state, 1 FROM after WHERE resent_by IS NULL
  ) AS moved GROUP BY destination, state HAVING sum(one) <> 0;
  IF EXISTS (SELECT FROM after WHERE finished_at IS NOT NULL) THEN
    WITH ended AS MATERIALIZED (
      SELECT after.destination, after.state, after.purpose, after.alert_seq, after.finished_at
      FROM after JOIN before USING (seq)
      WHERE after.state <> before.state AND after.finished_at IS NOT NULL
        AND after.state IN ('sent', 'digested', 'failed', 'expired')
    )
    INSERT INTO tallies (kind, name, part, hour, count)
    SELECT 'outcome', destination, state, finished_at / 3600000, count(*) FROM ended GROUP BY 2, 3, 4
    UNION ALL
    SELECT 'wait', ended.destination,
      floor(8 * ln(greatest(1, ended.finished_at - alerts.received_at)) / ln(2))::integer::text,
      ended.finished_at / 3600000, count(*)
    FROM ended JOIN alerts ON alerts.seq = ended.alert_seq
    WHERE ended.state = 'sent' AND ended.purpose = 'alert' GROUP BY 2, 3, 4;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER deliveries_made AFTER INSERT ON deliveries
  REFERENCING NEW TABLE AS made FOR EACH STATEMENT EXECUTE FUNCTION tally_made_deliveries();
CREATE TRIGGER deliveries_changed AFTER UPDATE ON deliveries
  REFERENCING OLD TABLE AS before NEW TABLE AS after FOR EACH STATEMENT EXECUTE FUNCTION tally_changed_deliveries();
CREATE TRIGGER deliveries_removed AFTER DELETE ON deliveries
  REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION tally_removed_deliveries();
-- How many bytes requests came with, for the rules of retention: what a table takes on the disk includes room that is free.
CREATE FUNCTION tally_requests() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO tallies (kind, count)
  SELECT 'bytes', CASE TG_OP WHEN 'INSERT' THEN sum(octet_length(body)) ELSE -sum(octet_length(body)) END
  FROM moved HAVING count(*) > 0;
  RETURN NULL;
END $$;
CREATE TRIGGER requests_made AFTER INSERT ON requests
  REFERENCING NEW TABLE AS moved FOR EACH STATEMENT EXECUTE FUNCTION tally_requests();
CREATE TRIGGER requests_removed AFTER DELETE ON requests
  REFERENCING OLD TABLE AS moved FOR EACH STATEMENT EXECUTE FUNCTION tally_requests();
-- Alerts that were ever stored, by the hour of UTC from 1970 in which they came.
CREATE FUNCTION count_accepted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO tallies (kind, hour, count) SELECT 'accepted', received_at / 3600000, count(*) FROM added GROUP BY 2;
  RETURN NULL;
END $$;
CREATE TRIGGER alerts_added AFTER INSERT ON alerts REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION count_accepted();

-- Which routes took alerts, hour by hour of UTC from 1970; a row a commit, added up by housekeeping.
CREATE TABLE route_hours (
  route   text COLLATE "C" NOT NULL,
  hour    bigint NOT NULL,
  alerts  bigint NOT NULL,
  last_at bigint NOT NULL,
  last_id text COLLATE "C" NOT NULL
);
CREATE INDEX route_hours_by_route ON route_hours (route, hour);
-- Since when routes are counted.
CREATE TABLE statistics_start (only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row), route_hour bigint NOT NULL);

-- The messages of one alert key in one chat, so that updates find the message to edit or answer.
CREATE TABLE threads (…);

-- When each relay last looked whether the database can be written: by writing this.
CREATE TABLE write_checks (relay text COLLATE "C" PRIMARY KEY, at timestamptz NOT NULL);

-- Who runs the deliveries of a lane group. Fences come from one sequence, over all groups, and rows are never removed.
CREATE SEQUENCE lane_fences;
CREATE TABLE lanes (…) WITH (fillfactor = 50);
CREATE TABLE paces (…) WITH (fillfactor = 50);
CREATE TABLE destination_statuses (…);

CREATE TABLE mutes (…);
CREATE INDEX mutes_by_end ON mutes (ends_at);
-- Small facts that end by themselves: login codes that were used, sessions that were ended. Keys are hashes, never the texts.
CREATE TABLE expiring_keys (…);
CREATE INDEX expiring_keys_by_end ON expiring_keys (expires_at);
-- What each watch of the relay over its surroundings knew last and has told of it, as JSON of its own.
CREATE TABLE watch_states (…);

-- Requests with a source's secret whose sender did not pass that source's check. They are no alerts until a person releases one.
CREATE TABLE refused_requests (…);
CREATE INDEX refused_requests_by_source ON refused_requests (source, seq);

-- The relays that run: each says so again and again, and counts as gone when it has not for its time.
CREATE TABLE relays (
  id            text COLLATE "C" PRIMARY KEY,
  name          text   NOT NULL,
  version       text   NOT NULL,
  configuration text COLLATE "C" NOT NULL,
  started_at    bigint NOT NULL,
  seen_at       timestamptz NOT NULL,
  gone_at       timestamptz NOT NULL
);
-- In the order in which they were first seen: of those that run, the newest routes.
CREATE TABLE configurations (
  version bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  hash    text COLLATE "C" NOT NULL UNIQUE,
  at      timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Of 50 million alerts the default has a fifth removed or changed before their room is used again, and a planner looks again.
ALTER TABLE requests SET (autovacuum_vacuum_scale_factor = 0.01, autovacuum_analyze_scale_factor = 0.01);
ALTER TABLE alerts SET (autovacuum_vacuum_scale_factor = 0.01, autovacuum_analyze_scale_factor = 0.01);
ALTER TABLE deliveries SET (autovacuum_vacuum_scale_factor = 0.01, autovacuum_analyze_scale_factor = 0.01);
ALTER TABLE attempts SET (autovacuum_vacuum_scale_factor = 0.01, autovacuum_analyze_scale_factor = 0.01);
-- Its rows come and go all the time, and the sums are read by every page.
ALTER TABLE tallies SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

-- Runs with code of 2 and newer.
-- Which alerts have changed, apart from the alerts: their rows are wide, and all their indexes would be written with each attempt.
-- An alert's version is the sum of both; its last change is the later of both. Who runs the version before writes them to `alerts`.
CREATE TABLE alert_changes (
  seq        bigint PRIMARY KEY,
  version    bigint NOT NULL DEFAULT 1,
  -- By `change_number`, as in `alerts`.
  changed_by xid8   NOT NULL
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01, autovacuum_analyze_scale_factor = 0.01);
CREATE INDEX alert_changes_by_change ON alert_changes (changed_by, seq);

CREATE OR REPLACE FUNCTION forget_words() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- First: it waits for a session that writes their words just then.
  DELETE FROM search_queue q USING removed WHERE q.seq = removed.seq;
  DELETE FROM alert_words w USING removed WHERE w.seq = removed.seq;
  DELETE FROM alert_changes c USING removed WHERE c.seq = removed.seq;
  RETURN NULL;
END $$;

-- A relay of the version before looks for changes in `alerts` alone. While one was seen within the last hour, each change is
-- written there as well, under the same number: so its event streams show all, and a reader who goes from it to a newer relay
-- has passed nothing that he was not told.
ALTER TABLE relays ADD COLUMN reads_alert_changes boolean NOT NULL DEFAULT false;
CREATE FUNCTION mirror_changes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM relays WHERE NOT reads_alert_changes AND gone_at > clock_timestamp() - interval '1 hour') THEN
    PERFORM FROM alerts WHERE seq = ANY (ARRAY(SELECT seq FROM changed)) ORDER BY seq FOR NO KEY UPDATE;
    UPDATE alerts SET version = version + 1, changed_by = change_number() WHERE seq = ANY (ARRAY(SELECT seq FROM changed));
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER alert_changes_added AFTER INSERT ON alert_changes
  REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION mirror_changes();
CREATE TRIGGER alert_changes_changed AFTER UPDATE ON alert_changes
  REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION mirror_changes();

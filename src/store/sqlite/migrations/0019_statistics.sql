-- What became of deliveries, and which routes took alerts, hour by hour: to count a week of them anew for each look reads all of them.
-- Hours are of UTC, counted from 1970; those older than eight days are removed.
CREATE TABLE outcome_hours (
  destination TEXT    NOT NULL,
  hour        INTEGER NOT NULL,
  outcome     TEXT    NOT NULL,
  count       INTEGER NOT NULL,
  PRIMARY KEY (destination, hour, outcome)
) STRICT, WITHOUT ROWID;
-- How long alerts took from being accepted to being sent: eight steps to each doubling of the milliseconds.
CREATE TABLE wait_hours (
  destination TEXT    NOT NULL,
  hour        INTEGER NOT NULL,
  step        INTEGER NOT NULL,
  count       INTEGER NOT NULL,
  PRIMARY KEY (destination, hour, step)
) STRICT, WITHOUT ROWID;
CREATE TABLE route_hours (
  route   TEXT    NOT NULL,
  hour    INTEGER NOT NULL,
  alerts  INTEGER NOT NULL,
  last_at INTEGER NOT NULL,
  last_id TEXT    NOT NULL,
  PRIMARY KEY (route, hour)
) STRICT, WITHOUT ROWID;
-- Since when routes are counted: of one that has no hours nothing can be said of before.
CREATE TABLE statistics_start (only INTEGER PRIMARY KEY CHECK (only = 1), route_hour INTEGER) STRICT;

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

-- What the last week of the log still says. An alert's id begins with the time at which it came, in milliseconds.
CREATE TEMP TABLE last_week (seq INTEGER NOT NULL);
INSERT INTO last_week SELECT coalesce(min(seq), 9000000000000000) FROM (
  SELECT seq FROM alerts WHERE id >= (
    SELECT printf('%s-%s', substr(since, 1, 8), substr(since, 9, 4))
    FROM (SELECT printf('%012x', max(0, received_at - 604800000)) AS since FROM alerts ORDER BY seq DESC LIMIT 1)
  ) ORDER BY id LIMIT 1
);
INSERT INTO outcome_hours
  SELECT destination, finished_at / 3600000, state, count(*) FROM deliveries
  WHERE alert_seq >= (SELECT seq FROM last_week) AND finished_at IS NOT NULL
    AND state IN ('sent', 'digested', 'failed', 'expired')
  GROUP BY destination, finished_at / 3600000, state;
INSERT INTO wait_hours
  SELECT d.destination, d.finished_at / 3600000, CAST(8 * log2(max(1, d.finished_at - a.received_at)) AS INTEGER) AS step, count(*)
  FROM deliveries d JOIN alerts a ON a.seq = d.alert_seq
  WHERE d.alert_seq >= (SELECT seq FROM last_week) AND d.finished_at IS NOT NULL AND d.state = 'sent' AND d.purpose = 'alert'
  GROUP BY d.destination, d.finished_at / 3600000, step;
INSERT INTO route_hours
  SELECT route, routed_at / 3600000, count(*), max(routed_at), max(id) FROM (
    SELECT DISTINCT d.route, a.routed_at, a.id FROM deliveries d JOIN alerts a ON a.seq = d.alert_seq
    WHERE d.alert_seq >= (SELECT seq FROM last_week) AND d.purpose = 'alert' AND a.routed_at IS NOT NULL
    UNION
    SELECT j.value ->> 'route', a.routed_at, a.id FROM alerts a, json_each(a.decisions) j
    WHERE a.dropped = 1 AND a.seq >= (SELECT seq FROM last_week) AND j.value ->> 'result' = 'dropped'
  ) GROUP BY route, routed_at / 3600000;
INSERT INTO statistics_start SELECT 1, (SELECT received_at / 3600000 FROM alerts WHERE seq >= (SELECT seq FROM last_week) ORDER BY seq LIMIT 1);
DROP TABLE last_week;

-- Whether the body of an alert was seen before is decided when it is routed: the alert is kept, names the first, and is not sent.
DROP TABLE request_bodies;
DROP TABLE request_bodies_cursor;
ALTER TABLE alerts ADD COLUMN fingerprint INTEGER;
ALTER TABLE alerts ADD COLUMN repeat_of TEXT;
CREATE INDEX alerts_by_fingerprint ON alerts (fingerprint, item) WHERE fingerprint IS NOT NULL;
CREATE INDEX alerts_repeats ON alerts (seq) WHERE repeat_of IS NOT NULL;
CREATE INDEX alerts_repeats_by_severity ON alerts (severity, seq) WHERE repeat_of IS NOT NULL;
CREATE INDEX alerts_repeats_by_first ON alerts (repeat_of) WHERE repeat_of IS NOT NULL;

-- Repeats are looked for over 24 hours: two days of what was routed without a fault are found by what comes next. An alert's id
-- begins with the time at which it came, in milliseconds.
UPDATE alerts SET fingerprint = (
  SELECT fingerprint FROM requests WHERE requests.seq = alerts.request_seq AND dedupe_key IS NULL
)
WHERE routed_at IS NOT NULL AND route_failures = 0 AND seq >= (
  SELECT seq FROM alerts WHERE id >= (
    SELECT printf('%s-%s', substr(since, 1, 8), substr(since, 9, 4))
    FROM (SELECT printf('%012x', max(0, received_at - 172800000)) AS since FROM alerts ORDER BY seq DESC LIMIT 1)
  )
  ORDER BY id LIMIT 1
);

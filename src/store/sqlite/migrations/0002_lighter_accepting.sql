-- Fingerprints fall anywhere in an index, so each accepted alert rewrote a page of its own. Here they are laid down many at a
-- time, in order, and in parts of 65,536 requests, so that what is written stays small however long the log is.
CREATE TABLE request_bodies (
  part        INTEGER NOT NULL,
  fingerprint INTEGER NOT NULL,
  request_seq INTEGER NOT NULL,
  PRIMARY KEY (part, fingerprint, request_seq)
) STRICT, WITHOUT ROWID;
-- Resends are looked for over 24 hours. Two days back is enough, and a long log is not read from end to end.
INSERT INTO request_bodies
  SELECT seq >> 16, fingerprint, seq FROM requests
  WHERE dedupe_key IS NULL AND seq >= (
    SELECT request_seq FROM alerts
    WHERE received_at > (SELECT max(received_at) FROM alerts) - 172800000 AND request_seq IS NOT NULL
    ORDER BY received_at, seq LIMIT 1
  );
-- Up to this request they are laid down; the writer keeps those after it in memory.
CREATE TABLE request_bodies_cursor (only INTEGER PRIMARY KEY CHECK (only = 1), request_seq INTEGER NOT NULL) STRICT;
INSERT INTO request_bodies_cursor SELECT 1, coalesce(max(seq), 0) FROM requests;
DROP INDEX requests_by_body;

-- An alert's id begins with the time at which it came (UUIDv7), and the index of ids is there anyway: it answers what these
-- two did, and accepting an alert writes two pages less.
DROP INDEX alerts_by_received_at;
DROP INDEX alerts_by_request;

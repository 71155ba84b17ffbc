-- Small facts that end by themselves: login codes that were used, sessions that were ended. Keys are hashes, never the texts.
CREATE TABLE expiring_keys (
  kind       TEXT    NOT NULL,
  key        TEXT    NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (kind, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX expiring_keys_by_end ON expiring_keys (expires_at);

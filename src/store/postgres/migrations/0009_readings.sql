-- Runs with code of 2 and newer.
-- Which process was given an alert to read last, of those that were listed: when it is gone and the alert is not routed, reading it
-- may have been
-- the end of it. A server that has crashed forgets them, so that nobody waits for its disk.
CREATE UNLOGGED TABLE readings (
  alert_seq bigint PRIMARY KEY,
  reader    text COLLATE "C" NOT NULL
);

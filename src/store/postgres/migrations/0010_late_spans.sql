-- Runs with code of 2 and newer.
-- Stretches of time in which alerts came that were stored much later, as from a relay's spool: their positions lie behind those of
-- alerts that
-- came after them. As ids of such times, both a little wider.
CREATE TABLE late_spans (
  from_id text COLLATE "C" NOT NULL,
  to_id   text COLLATE "C" NOT NULL
);

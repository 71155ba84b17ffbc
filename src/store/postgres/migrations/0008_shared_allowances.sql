-- Runs with code of 2 and newer.
-- What all relays together allow, as of wrong tokens: a row each, with when all that was used is paid off. A server that has crashed
-- forgets
-- them, so that nobody waits for its disk.
CREATE UNLOGGED TABLE allowances (
  name        text COLLATE "C" PRIMARY KEY,
  paid_off_at timestamptz NOT NULL
);
-- Uses one of each, or none while one of them is used up. For how long each is used up, milliseconds; not above 0: it is not.
CREATE FUNCTION use_allowances(names text[], bursts integer[], intervals_ms bigint[]) RETURNS float8[] LANGUAGE plpgsql AS $$
DECLARE
  waits float8[];
BEGIN
  INSERT INTO allowances (name, paid_off_at) SELECT one, 'epoch' FROM unnest(names) AS one ORDER BY one ON CONFLICT (name) DO NOTHING;
  PERFORM FROM allowances WHERE name = ANY (names) ORDER BY name FOR UPDATE;
  SELECT array_agg(coalesce(extract(epoch FROM known.paid_off_at - clock_timestamp()) * 1000 - (burst - 1) * interval_ms, 0) ORDER BY place)
  INTO waits
  FROM unnest(names, bursts, intervals_ms) WITH ORDINALITY AS asked (name, burst, interval_ms, place)
  LEFT JOIN allowances known USING (name);
  IF 0 >= ALL (waits) THEN
    UPDATE allowances known SET paid_off_at = greatest(known.paid_off_at, clock_timestamp()) + interval_ms * interval '1 millisecond'
    FROM unnest(names, intervals_ms) AS asked (name, interval_ms) WHERE known.name = asked.name;
  END IF;
  RETURN waits;
END $$;

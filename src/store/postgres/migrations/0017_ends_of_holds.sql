-- Runs with code of 2 and newer.
-- When what held a delivery was over: the time to give it up counts from then. What older code sends has none.
ALTER TABLE deliveries ADD COLUMN held_until bigint;

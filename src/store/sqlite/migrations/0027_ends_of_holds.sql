-- When what held a delivery was over: the time to give it up counts from then. Older rows have none.
ALTER TABLE deliveries ADD COLUMN held_until INTEGER;

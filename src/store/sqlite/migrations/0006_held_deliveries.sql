-- What quiet hours hold is counted for each look at the destinations, and moved when the hours are changed.
CREATE INDEX deliveries_held ON deliveries (destination, due_at) WHERE state = 'held' AND due_at IS NOT NULL;

-- Runs with code of 2 and newer.
-- What a destination was told of each key, by which it is decided whether the next alert of the key rings there. Older code knows nothing
-- of it: what that routes rings.
CREATE TABLE rings (…);

-- What a message says of the alerts of its key that did not ring.
ALTER TABLE deliveries ADD COLUMN damped text;

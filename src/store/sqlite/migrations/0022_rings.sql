-- What a destination was told of each key, by which it is decided whether the next alert of the key rings there.
CREATE TABLE rings (…) STRICT, WITHOUT ROWID;

-- What a message says of the alerts of its key that did not ring.
ALTER TABLE deliveries ADD COLUMN damped TEXT;

-- Runs with code of 2 and newer.
-- What the route wants of the message besides the alert, as JSON.
ALTER TABLE deliveries ADD COLUMN extras text;

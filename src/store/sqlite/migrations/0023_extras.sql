-- What the route wants of the message besides the alert, as JSON.
ALTER TABLE deliveries ADD COLUMN extras TEXT;

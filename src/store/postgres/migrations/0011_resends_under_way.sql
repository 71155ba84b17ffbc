-- Runs with code of 2 and newer.
-- How many of what is resent together have arrived, while some wait.
CREATE INDEX deliveries_resends ON deliveries (destination, state, created_at)
  WHERE purpose = 'bulk_resend' AND resent_by IS NULL;

-- A delivery that failed and was resent counts as its resend does, wherever deliveries are counted or filtered by state.
ALTER TABLE deliveries ADD COLUMN resent_by INTEGER;
DROP TRIGGER deliveries_recounted;
CREATE TRIGGER deliveries_recounted AFTER UPDATE OF state ON deliveries
WHEN NEW.state <> OLD.state AND NEW.resent_by IS NULL BEGIN
  UPDATE delivery_counts SET count = count - 1 WHERE destination = OLD.destination AND state = OLD.state;
  INSERT INTO delivery_counts VALUES (NEW.destination, NEW.state, 1)
    ON CONFLICT DO UPDATE SET count = count + 1;
END;
CREATE TRIGGER deliveries_resent AFTER UPDATE OF resent_by ON deliveries
WHEN OLD.resent_by IS NULL AND NEW.resent_by IS NOT NULL BEGIN
  UPDATE delivery_counts SET count = count - 1 WHERE destination = NEW.destination AND state = NEW.state;
END;

-- Past resends, found through the few deliveries that did not get through.
UPDATE deliveries SET resent_by = (
  SELECT min(r.seq) FROM deliveries r
  WHERE r.alert_seq = deliveries.alert_seq AND r.seq > deliveries.seq AND r.destination = deliveries.destination
    AND r.purpose = 'resend' AND (r.recipient = deliveries.recipient OR deliveries.channel <> 'email')
)
WHERE state IN ('failed', 'expired', 'held') AND due_at IS NULL AND EXISTS (
  SELECT 1 FROM deliveries r
  WHERE r.alert_seq = deliveries.alert_seq AND r.seq > deliveries.seq AND r.destination = deliveries.destination
    AND r.purpose = 'resend' AND (r.recipient = deliveries.recipient OR deliveries.channel <> 'email')
);

-- What did not get through and was not resent: few, and found without walking over what was.
CREATE INDEX deliveries_unsent ON deliveries (state, alert_seq)
  WHERE resent_by IS NULL AND state IN ('failed', 'expired', 'held');
CREATE INDEX deliveries_unsent_by_destination ON deliveries (destination, state, alert_seq)
  WHERE resent_by IS NULL AND state IN ('failed', 'expired', 'held');

-- All that failed may be resent at once, 100,000 perhaps: whatever else is due is found before it.
DROP INDEX deliveries_due;
CREATE INDEX deliveries_due ON deliveries (destination, (purpose = 'bulk_resend'), due_at, seq) WHERE due_at IS NOT NULL;

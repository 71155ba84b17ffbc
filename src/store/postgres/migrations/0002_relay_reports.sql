-- Runs with code of 1 and newer.
-- How a relay is, as it says itself, JSON; null of one whose version says nothing.
ALTER TABLE relays ADD COLUMN report text;

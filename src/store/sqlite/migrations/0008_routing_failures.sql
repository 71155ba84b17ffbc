-- Alerts that could not be read or routed are tried again behind all others, so they are looked for by themselves.
CREATE INDEX alerts_routing_failed ON alerts (route_after, seq) WHERE routed_at IS NULL AND route_failures > 0;

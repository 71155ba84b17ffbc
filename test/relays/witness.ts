import type { Fleet } from "./fleet.ts";

/**
 * Notes in the database itself who has held which lane until when, which relay made which call, and who settled what was
 * claimed, each under the name by which the server knows the connection. So a relay that goes on without its lane is found
 * even where nobody was sent anything twice.
 */
export async function installWitness({ ask }: Pick<Fleet, "ask">): Promise<void> {
  await ask(`
    CREATE SCHEMA witness;
    CREATE TABLE witness.terms (seq bigint GENERATED ALWAYS AS IDENTITY, at timestamptz, lane_group text, fence bigint, relay text,
      granted_at timestamptz, lease_until timestamptz, destinations text[]);
    CREATE TABLE witness.calls (relay text, destination text, at bigint, outcome text);
    CREATE TABLE witness.writes (at timestamptz, relay text, what text, holder text);
    CREATE FUNCTION witness.relay() RETURNS text LANGUAGE sql
      RETURN substr(current_setting('application_name'), length('tocsin ') + 1);

    CREATE FUNCTION witness.note_term() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO witness.terms (at, lane_group, fence, relay, granted_at, lease_until, destinations)
      VALUES (clock_timestamp(), NEW.lane_group, NEW.fence, NEW.relay, NEW.granted_at, NEW.lease_until, NEW.destinations);
      RETURN NULL;
    END $$;
    INSERT INTO witness.terms (at, lane_group, fence, relay, granted_at, lease_until, destinations)
      SELECT clock_timestamp(), lane_group, fence, relay, granted_at, lease_until, destinations FROM lanes;
    CREATE TRIGGER witness_terms AFTER INSERT OR UPDATE ON lanes FOR EACH ROW EXECUTE FUNCTION witness.note_term();

    CREATE FUNCTION witness.note_calls() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO witness.calls SELECT witness.relay(), d.destination, a.at, a.outcome
      FROM added a JOIN deliveries d ON d.seq = a.delivery_seq;
      RETURN NULL;
    END $$;
    CREATE TRIGGER witness_calls AFTER INSERT ON attempts REFERENCING NEW TABLE AS added
      FOR EACH STATEMENT EXECUTE FUNCTION witness.note_calls();

    -- What is written under a lane holds its row, so that nobody has taken it until this is committed.
    CREATE FUNCTION witness.note_writes() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO witness.writes SELECT clock_timestamp(), witness.relay(), 'a claim for ' || n.destination, l.relay
      FROM after n JOIN before o USING (seq) JOIN lanes l ON n.destination = ANY (l.destinations)
      WHERE n.claim_token IS DISTINCT FROM o.claim_token AND left(l.relay, 56) <> witness.relay();
      RETURN NULL;
    END $$;
    CREATE TRIGGER witness_writes AFTER UPDATE ON deliveries REFERENCING OLD TABLE AS before NEW TABLE AS after
      FOR EACH STATEMENT EXECUTE FUNCTION witness.note_writes();
    CREATE FUNCTION witness.note_status() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO witness.writes SELECT clock_timestamp(), witness.relay(), 'the health of ' || NEW.name, relay FROM lanes
      WHERE NEW.kind = 'destination' AND NEW.name = ANY (destinations) AND left(relay, 56) <> witness.relay();
      RETURN NULL;
    END $$;
    CREATE TRIGGER witness_status AFTER INSERT OR UPDATE ON destination_statuses
      FOR EACH ROW EXECUTE FUNCTION witness.note_status();`);
}

/** A relay's clock and the database's differ by less. */
const slackMs = 900;

/** Calls that were made, and writes, by a relay that did not hold the lane. */
export async function findTrespasses({ ask, members }: Pick<Fleet, "ask" | "members">) {
  const said = (relay: string) => members.find(({ id }) => relay.endsWith(id()))?.name ?? relay;
  const terms = `term AS (
    SELECT lane_group, fence, min(relay) AS relay, min(granted_at) AS granted_at, max(lease_until) AS lease_until, min(destinations) AS destinations
    FROM witness.terms WHERE relay IS NOT NULL GROUP BY lane_group, fence)`;
  // A relay that is started in the place of another has at once what that one had.
  const overlaps = await ask<{ lane_group: string; first: string; second: string; ms: number }>(
    `WITH ${terms}, freed AS (SELECT lane_group, at FROM witness.terms WHERE relay IS NULL)
     SELECT a.lane_group, a.relay AS first, b.relay AS second, extract(epoch FROM a.lease_until - b.granted_at)::float8 * 1000 AS ms
     FROM term a JOIN term b ON b.lane_group = a.lane_group AND b.fence > a.fence AND b.relay <> a.relay
     WHERE b.granted_at < a.lease_until AND NOT EXISTS (
       SELECT FROM freed WHERE freed.lane_group = a.lane_group AND freed.at BETWEEN a.granted_at AND b.granted_at)`,
  );
  const calls = await ask<{ relay: string; destination: string; count: number; at: number; ms: number | null }>(
    `WITH ${terms},
     late AS (
       SELECT c.*, (SELECT max(lease_until) FROM term WHERE left(relay, 56) = c.relay AND c.destination = ANY (destinations)
           AND granted_at < to_timestamp(c.at / 1000.0)) AS lease_until
       FROM witness.calls c WHERE NOT EXISTS (
         SELECT FROM term WHERE left(relay, 56) = c.relay AND c.destination = ANY (destinations)
           AND to_timestamp((c.at + $1) / 1000.0) >= granted_at AND to_timestamp((c.at - $1) / 1000.0) <= lease_until))
     SELECT relay, destination, count(*)::int AS count, min(at)::float8 AS at,
       min(at - extract(epoch FROM lease_until) * 1000)::float8 AS ms FROM late GROUP BY relay, destination`,
    [slackMs],
  );
  const writes = await ask<{ relay: string; what: string; holder: string; count: number; at: string }>(
    "SELECT relay, what, holder, count(*)::int AS count, min(at)::text AS at FROM witness.writes GROUP BY relay, what, holder",
  );
  return [
    ...overlaps.map(({ lane_group, first, second, ms }) => ({
      what: `${said(second)} was granted ${lane_group} ${Math.round(ms)} ms before the lease of ${said(first)} was over`,
    })),
    ...calls.map(({ relay, destination, count, at, ms }) => ({
      what: `${said(relay)} called ${destination} ${count} times without holding it, first at ${at}${ms === null ? "" : `, ${Math.round(ms)} ms behind its lease`}`,
    })),
    ...writes.map(({ relay, what, holder, count, at }) => ({
      what: `${said(relay)} wrote ${what} ${count} times from ${at} while ${said(holder)} held the lane`,
    })),
  ];
}

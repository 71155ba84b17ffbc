import { judgeDance } from "./dance.ts";
import type { Fleet } from "./fleet.ts";
import type { Arrival, Receivers } from "./receivers.ts";
import type { Sent } from "./sender.ts";
import { findTrespasses } from "./witness.ts";

/** What a run has to answer for. */
export interface Evidence {
  fleet: Fleet;
  receivers: Receivers;
  sent: readonly Sent[];
  /** When which relay stood still, epoch milliseconds: a call that it had begun by then ends when it goes on. */
  stops: readonly { from: number; to: number }[];
  /** Notices that have to be there, once; no other may be there twice. */
  notices: readonly RegExp[];
}

/** What is wrong, in a line, and the alert that it is about. */
export type Finding = { what: string; name?: string };

/** Nothing that is stored waits for anything. */
export async function isSettled({ ask }: Fleet): Promise<boolean> {
  const [row] = await ask<{ open: number }>(
    `SELECT (SELECT count(*) FROM alerts WHERE routed_at IS NULL)::int
       + (SELECT count(*) FROM deliveries WHERE (state IN ('queued', 'waiting', 'sending') OR state = 'held' AND updates <> 'summary')
           AND destination <> 'fragile')::int AS open`,
  );
  return row?.open === 0;
}

export async function judge(evidence: Evidence): Promise<Finding[]> {
  const { receivers, sent } = evidence;
  return [
    ...sent.flatMap((alert) => judgeKey(alert)),
    ...(await judgeStored(evidence)),
    ...judgeArrived(evidence),
    ...(await judgeRepeats(evidence)),
    ...receivers.breaches.map((what) => ({ what })),
    ...(await findTrespasses(evidence.fleet)),
    ...(await judgeNotices(evidence)),
    ...(await judgeDance(evidence)),
  ];
}

function judgeKey({ name, tries }: Sent): Finding[] {
  const ids = new Set(tries.flatMap(({ id }) => id ?? []));
  return ids.size > 1 ? [{ name, what: `${name} was given ${ids.size} ids for one key` }] : [];
}

async function judgeStored({ fleet, sent }: Evidence): Promise<Finding[]> {
  const stored = await fleet.ask<{ name: string; count: number }>(
    `SELECT substring(facts FROM 'A\\d{6}Z') AS name, count(*)::int AS count FROM alerts WHERE origin <> 'notice' GROUP BY 1`,
  );
  const counts = new Map(stored.map(({ name, count }) => [name, count]));
  const ended = await fleet.ask<{ name: string; destination: string; state: string }>(
    `SELECT substring(a.facts FROM 'A\\d{6}Z') AS name, d.destination, d.state
     FROM deliveries d JOIN alerts a ON a.seq = d.alert_seq
     WHERE d.state NOT IN ('sent', 'digested') AND NOT (d.state = 'held' AND d.updates = 'summary') AND d.destination <> 'fragile'`,
  );
  return [
    ...sent.flatMap(({ name, isAccepted }): Finding[] => {
      const count = counts.get(name) ?? 0;
      if (isAccepted && count === 0) return [{ name, what: `${name} was answered 202 and is not stored` }];
      return count > 1 ? [{ name, what: `${name} is stored ${count} times` }] : [];
    }),
    ...ended.map(({ name, destination, state }) => ({ name, what: `${name} for ${destination} ended as ${state}` })),
  ];
}

const placeOf = ({ name, destination }: Pick<Arrival, "name" | "destination">) => `${name} ${destination}`;

function judgeArrived({ receivers, sent }: Evidence): Finding[] {
  const arrived = new Set(receivers.arrivals.map(placeOf));
  const places = sent.flatMap(({ name, to, isAccepted }) =>
    isAccepted ? to.map((destination) => ({ name, destination })) : [],
  );
  return places
    .filter((place) => !["fragile", "dance"].includes(place.destination) && !arrived.has(placeOf(place)))
    .map(({ name, destination }) => ({ name, what: `${name} was answered 202 and has not reached ${destination}` }));
}

async function judgeRepeats({ fleet, receivers, stops }: Evidence): Promise<Finding[]> {
  const findings: Finding[] = [];
  const arrived = new Set<string>();
  for (const arrival of receivers.arrivals) {
    const { name, destination, isMarkedRepeat } = arrival;
    const isRepeat = arrived.has(placeOf(arrival));
    arrived.add(placeOf(arrival));
    if (!isRepeat || isMarkedRepeat) continue;
    const calls = await fleet.ask<{ at: number; ended_at: number }>(
      `SELECT t.at::float8 AS at, (t.at + t.duration_ms)::float8 AS ended_at FROM alerts a
       JOIN deliveries d ON d.alert_seq = a.seq AND d.destination = $2 JOIN attempts t ON t.delivery_seq = d.seq
       WHERE a.facts LIKE $1`,
      [`%${name}%`, destination],
    );
    // No fence holds back a call that had begun before its relay stood still.
    const hadBegun = stops.some(({ from, to }) => calls.some((call) => call.at <= from + 20 && call.ended_at >= to));
    if (!hadBegun) findings.push({ name, what: `${name} reached ${destination} again, and is not marked as a repeat` });
  }
  return findings;
}

async function judgeNotices({ fleet, notices }: Evidence): Promise<Finding[]> {
  const rows = await fleet.ask<{ title: string; alert_key: string; count: number }>(
    `SELECT facts::json ->> 'title' AS title, alert_key, count(*)::int AS count FROM alerts WHERE origin = 'notice'
     GROUP BY 1, 2`,
  );
  return [
    ...rows
      .filter(({ count }) => count > 1)
      .map(({ title, count }) => ({ what: `the notice "${title}" was sent ${count} times` })),
    ...notices
      .filter((wanted) => rows.filter(({ title }) => wanted.test(title)).length !== 1)
      .map((wanted) => ({
        what: `a notice like ${wanted} should be there once, and the notices are: ${JSON.stringify(rows.map(({ title }) => title))}`,
      })),
  ];
}

/** What is wrong, with the stories of the first three alerts that it is about. */
export async function tellAll(evidence: Evidence, found: readonly Finding[]): Promise<string[]> {
  const lines = found.map(({ what }) => what);
  for (const name of [...new Set(found.flatMap((one) => one.name ?? []))].slice(0, 3))
    lines.push(`what became of ${name}:`, ...(await tellStory(evidence, name)).map((line) => `  ${line}`));
  return lines;
}

/** All that is known of an alert: who sent it when, what is stored of it, and where it has arrived. */
async function tellStory({ fleet, receivers, sent }: Evidence, name: string): Promise<string[]> {
  const deliveries = await fleet.ask<{ line: string }>(
    `SELECT concat_ws(' ', a.id, a.origin, 'received', a.received_at, 'routed by', a.routed_by, 'at', a.routed_at, '|', d.destination,
       d.state, d.reason, 'fence', d.claim_fence) AS line
     FROM alerts a LEFT JOIN deliveries d ON d.alert_seq = a.seq WHERE a.facts LIKE $1 ORDER BY d.seq`,
    [`%${name}%`],
  );
  const attempts = await fleet.ask<{ line: string }>(
    `SELECT concat_ws(' ', d.destination, 'attempt at', t.at, 'took', t.duration_ms, t.outcome, t.reason, t.detail) AS line
     FROM alerts a JOIN deliveries d ON d.alert_seq = a.seq JOIN attempts t ON t.delivery_seq = d.seq
     WHERE a.facts LIKE $1 ORDER BY t.at`,
    [`%${name}%`],
  );
  return [
    ...sent
      .filter((alert) => alert.name === name)
      .flatMap(({ tries }) => tries.map(({ at, outcome, id }) => `sent at ${at}: ${outcome} ${id ?? ""}`)),
    ...deliveries.map(({ line }) => line),
    ...attempts.map(({ line }) => line),
    ...receivers.arrivals.flatMap(({ name: its, at, destination, isMarkedRepeat }) =>
      its === name ? `arrived at ${destination} at ${at}${isMarkedRepeat ? ", marked as a repeat" : ""}` : [],
    ),
  ];
}

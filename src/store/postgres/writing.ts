import { routesThatTook } from "../../core/rules.ts";
import type { Notes } from "../signals.ts";
import { insertedColumns, markedColumns, type Row, tables } from "../tables.ts";
import { isUnrouted } from "../transactions/repeats.ts";
import {
  type AskedBy,
  type NewRequest,
  newColumns,
  type RoutedAlert,
  toRoutedColumns,
  toRoutedRow,
  type Written,
} from "../transactions/writing.ts";
import { notedChanges } from "./alert-changes.ts";
import type { Sql } from "./database.ts";
import { toArrays, typeNames } from "./parameters.ts";

type Typed = readonly [name: string, type: string];

/** How long only the relay that accepted an alert routes it, by the database's clock. */
const routingMs = 10_000;
const hourMs = 3_600_000;
/** Normally routing has the relay's time. A statement that arrives this late, as over a hung connection, has the server's. */
const hungMs = 500;

const requestColumns = insertedColumns("requests").map(([name, kind]): Typed => [name, typeNames[kind]]);
const givenRequest: Typed[] = [
  ...requestColumns.filter(([name]) => name !== "body"),
  ["body_start", "integer"],
  ["body_length", "integer"],
];
const alertColumns = (names: readonly (keyof Row<"alerts"> & string)[]) =>
  names.map((name): Typed => [name, typeNames[tables.alerts.columns[name].kind]]);
const storedColumns = alertColumns(markedColumns("isStored", "postgres"));
const routedColumns = alertColumns(markedColumns("isRouted", "postgres"));
const givenDelivery: Typed[] = [
  ["alert_id", "text"],
  ...newColumns.flatMap(([name, kind]): Typed[] => (name === "alert_seq" ? [] : [[name, typeNames[kind]]])),
  ["lease_ms", "bigint"],
];

const namesOf = (columns: readonly Typed[]) => columns.map(([name]) => name);

/** The given rows, one array for each column, in the parameters from `$first` on. */
const unnest = (first: number, columns: readonly Typed[]) =>
  `unnest(${columns.map(([, type], index) => `$${first + index}::${type}[]`).join(", ")}) WITH ORDINALITY`;

const deliveryNames = namesOf(newColumns.map(([name, kind]): Typed => [name, typeNames[kind]]));
const leased = "clock_timestamp() + d.lease_ms * interval '1 millisecond'";

/** How long the statement has hung on its way to the server, in milliseconds. */
const hung = "(SELECT ms FROM hung)";

/** The changes that follow from the alerts in the statement's part `routed`, in the parameters of `toFollowing`. */
const following = (first: number, created = "d.created_at") => `
  repeated AS (
    INSERT INTO tallies (kind, count) SELECT 'duplicate', count(*) FROM routed WHERE repeat_of IS NOT NULL
    HAVING count(*) > 0),
  counted AS (
    INSERT INTO route_hours (route, hour, alerts, last_at, last_id)
    SELECT t.route, $${first}::bigint / ${hourMs}, count(*), $${first}, (array_agg(t.id ORDER BY t.place DESC))[1]
    FROM unnest($${first + 1}::text[], $${first + 2}::text[]) WITH ORDINALITY AS t (route, id, place)
    JOIN routed ON routed.id = t.id GROUP BY t.route),
  started AS (
    INSERT INTO statistics_start (route_hour) SELECT $${first}::bigint / ${hourMs}
    WHERE cardinality($${first + 1}::text[]) > 0 AND NOT EXISTS (SELECT FROM statistics_start) ON CONFLICT DO NOTHING),
  made AS (
    INSERT INTO deliveries (${deliveryNames.join(", ")}, lease_until)
    SELECT ${deliveryNames.map((name) => ({ alert_seq: "routed.seq", created_at: created })[name] ?? `d.${name}`).join(", ")}, ${leased}
    FROM ${unnest(first + 3, givenDelivery)} AS d (${namesOf(givenDelivery).join(", ")}, place)
    JOIN routed ON routed.id = d.alert_id ORDER BY d.place RETURNING id, seq)`;

function toFollowing(alerts: readonly RoutedAlert[]): unknown[] {
  const routes = alerts.flatMap(({ alert, decisions }) => routesThatTook(decisions).map((route) => [route, alert.id]));
  const deliveries = alerts.flatMap(({ alert, deliveries }) =>
    deliveries.map((delivery) => ({ ...toRoutedRow(delivery), alert_id: alert.id })),
  );
  return [
    alerts[0]?.record.routedAt ?? 0,
    routes.map(([route]) => route),
    routes.map(([, id]) => id),
    ...toArrays(namesOf(givenDelivery), deliveries),
  ];
}

interface WrittenRow {
  id: string;
  seq: number;
}

const toWritten = (rows: readonly WrittenRow[]): Written => new Map(rows.map(({ id, seq }) => [id, seq]));

/** All bodies go as one block of bytes, which the server cuts. In an array they would go as hexadecimal text. */
function storing(columns: readonly Typed[]): string {
  const requestNames = namesOf(requestColumns).join(", ");
  const names = namesOf(columns);
  return `
    given AS MATERIALIZED (
      SELECT nextval('requests_seq_seq') AS seq, g.*
      FROM ${unnest(3, givenRequest)} AS g (${namesOf(givenRequest).join(", ")}, place) ORDER BY g.place),
    stored AS (
      INSERT INTO requests (seq, ${requestNames}) OVERRIDING SYSTEM VALUE
      SELECT seq, ${requestNames.replace("body", "substring($1::bytea FROM body_start FOR body_length)")} FROM given),
    arrived AS (
      INSERT INTO alerts (${names.join(", ")}, request_seq, routed_by, routing_until)
      SELECT ${names.map((name) => (name === "routed_at" ? `a.${name} + ${hung}` : `a.${name}`)).join(", ")}, given.seq, $2,
        CASE WHEN $2::text IS NULL THEN '-infinity' ELSE clock_timestamp() + ${routingMs} * interval '1 millisecond' END
      FROM ${unnest(3 + givenRequest.length, [["place", "integer"], ...columns])} AS a (place, ${names.join(", ")}, position)
      JOIN given USING (place) ORDER BY a.position RETURNING id, seq, routed_at, repeat_of)`;
}

const unrouted = Object.fromEntries(routedColumns.flatMap(([name, type]) => (type === "boolean" ? [[name, 0]] : [])));
const waitingColumns = [...storedColumns, ...alertColumns(["severity"])];
const storeText = `WITH ${storing(waitingColumns)} SELECT id, seq FROM arrived`;
const arrivingColumns = [...storedColumns, ...routedColumns];
const firstFollowing = 4 + givenRequest.length + arrivingColumns.length;
const askedAt = `$${firstFollowing + 3 + givenDelivery.length}::bigint`;
const storeRoutedText = `
  WITH hung AS MATERIALIZED (
    SELECT CASE WHEN ms >= ${hungMs} THEN ms ELSE 0 END AS ms
    FROM (SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint - ${askedAt} AS ms) AS since),
  ${storing(arrivingColumns)},
  routed AS (SELECT * FROM arrived WHERE routed_at IS NOT NULL),
  ${notedChanges("SELECT seq FROM routed")},
  ${following(firstFollowing, `d.created_at + ${hung}`)}
  SELECT id, seq FROM arrived UNION ALL SELECT id, seq FROM made`;

/** See `Tx.storeRequests`. One statement, since each statement costs more than its content. */
export async function storeRequests(
  sql: Sql,
  requests: readonly NewRequest[],
  from: Partial<AskedBy> | undefined,
  notes: Notes,
): Promise<Written> {
  if (requests.length === 0) return new Map();
  let end = 1;
  const given = requests.map(({ row }) => {
    const start = end;
    end += row.body.length;
    return { ...row, body_start: start, body_length: row.body.length };
  });
  const alerts = requests.flatMap(({ alerts }, place) => alerts.map((alert) => ({ ...alert, place: place + 1 })));
  const routed = alerts.flatMap(({ routed }) => routed ?? []);
  const columns = routed.length > 0 ? arrivingColumns : waitingColumns;
  const { rows } = await sql.query<WrittenRow>(routed.length > 0 ? storeRoutedText : storeText, [
    Buffer.concat(requests.map(({ row }) => row.body)),
    from?.router ?? null,
    ...toArrays(namesOf(givenRequest), given),
    ...toArrays(
      ["place", ...namesOf(columns)],
      alerts.map(({ row, place, routed }) => ({ ...row, place, ...(routed ? toRoutedColumns(routed) : unrouted) })),
    ),
    ...(routed.length > 0 ? [...toFollowing(routed), from?.askedAt ?? null] : []),
  ]);
  if (routed.length > 0) notes.changed = true;
  return toWritten(rows);
}

/** The value for the alert `a`, by binary search of its place in the ascending `$1`. A join would compare all with all. */
const givenFor = (type: string, index: number) => `($${index + 2}::${type}[])[width_bucket(a.seq, $1::bigint[])]`;
const routeText = `
  WITH routed AS (
    UPDATE alerts a SET ${routedColumns.map(([name, type], index) => `${name} = ${givenFor(type, index)}`).join(", ")}, routing_error = NULL
    WHERE a.seq = ANY($1::bigint[]) AND ${isUnrouted("a")}
    RETURNING a.id, a.seq, a.repeat_of),
  ${notedChanges("SELECT seq FROM routed")},
  ${following(2 + routedColumns.length)}
  SELECT id, seq FROM routed UNION ALL SELECT id, seq FROM made`;

/** See `Tx.routeAlerts`. */
export async function routeAlerts(sql: Sql, alerts: readonly RoutedAlert[], notes: Notes): Promise<Written> {
  const inOrder = alerts.toSorted((one, other) => one.record.alertSeq - other.record.alertSeq);
  const { rows } = await sql.query<WrittenRow>(routeText, [
    inOrder.map(({ record }) => record.alertSeq),
    ...toArrays(namesOf(routedColumns), inOrder.map(toRoutedColumns)),
    ...toFollowing(alerts),
  ]);
  if (rows.length > 0) notes.changed = true;
  return toWritten(rows);
}

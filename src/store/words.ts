import { lastChanged, versionNoted } from "./postgres/alert-changes.ts";
import { toText } from "./postgres/parameters.ts";
import { firstSince as firstSinceThere, sinceId as sinceIdThere } from "./postgres/times.ts";
import { firstSince, sinceId } from "./sqlite/times.ts";
import type { DriverName } from "./tables.ts";
import type { Add } from "./tx.ts";

export type Words = ReturnType<typeof wordsOf>;

/** The beginnings of a text that is a number. A sign or a point without a digit is no number, but a cast would turn it into 0. */
const numbers = ["[0-9]*", "[-+][0-9]*", ".[0-9]*", "[-+].[0-9]*"];
const startsAsNumber = (text: string) => numbers.map((like) => `${text} GLOB '${like}'`).join(" OR ");

const pairsOf = (values: Record<string, string>): string =>
  Object.entries(values)
    .flatMap(([name, value]) => [`'${name}'`, value])
    .join(", ");
/** A filter after an aggregate, for only some of the rows. */
const filterOf = (only: string | undefined): string => (only === undefined ? "" : ` FILTER (WHERE ${only})`);

type Say = <T>(sqlite: T, postgres: T) => T;

/** The words that the two databases say differently, next to each other: SQLite first. */
export function wordsOf(driver: DriverName) {
  const say: Say = (sqlite, postgres) => (driver === "sqlite" ? sqlite : postgres);
  return {
    ...wordsOfAlerts(say),
    /** Whether several relays use the database. */
    isShared: say(false, true),
    /** Follows a SELECT of a row that the transaction relies on: until it ends, nobody deletes the row or changes its key. */
    forKeyShare: say("", "FOR KEY SHARE"),
    /** Ends a SELECT of rows to change. They are locked in one order, so that no two relays wait for each other. */
    forUpdate: (order: string) => say("", `ORDER BY ${order} FOR NO KEY UPDATE`),
    /** Ends a SELECT of rows to remove. Rows that another transaction has locked are left out. */
    forRemoval: (order: string) => say("", `ORDER BY ${order} FOR UPDATE SKIP LOCKED`),
    /** A query of the `seq` of the alerts that changed last. A reader that follows the log continues after them. */
    lastChanged: say(
      // The index has only alerts with a version. Without the condition SQLite reads the whole table.
      "SELECT seq FROM alerts WHERE version IS NOT NULL ORDER BY version DESC LIMIT 1",
      lastChanged,
    ),
    /** The clock that decides when a lease ends. */
    now: say("now_ms()", "clock_timestamp()"),
    /** Epoch milliseconds. */
    nowMs: say("now_ms()", "extract(epoch FROM clock_timestamp()) * 1000"),
    /** This many milliseconds ahead, by the same clock. */
    inMs: (ms: string) => say(`now_ms() + ${ms}`, `clock_timestamp() + ${ms} * interval '1 millisecond'`),
    /** Names the index for SQLite, which has no statistics here and might take an index that holds finished deliveries too. */
    indexedBy: (index: string) => say(`INDEXED BY ${index}`, ""),
    jsonOf: (values: Record<string, string>) =>
      say(`json_object(${pairsOf(values)})`, `json_build_object(${pairsOf(values)})::text`),
    /** The rows of a query as one JSON array, as text. `only`: the condition of the rows that count. */
    jsonRowsOf: (values: Record<string, string>, only?: string) =>
      say(
        `json_group_array(json_object(${pairsOf(values)}))${filterOf(only)}`,
        `coalesce(json_agg(json_build_object(${pairsOf(values)}))${filterOf(only)}, '[]')::text`,
      ),
    larger: (one: string, other: string) => say(`max(${one}, ${other})`, `greatest(${one}, ${other})`),
    /** Ends a subquery that must run for each row by itself, and not be merged into the outer query. */
    asItStands: say("", "OFFSET 0"),
    /** The condition that a flag is set, in exactly the words of the small indexes. */
    isSet: (flag: string) => say(`${flag} = 1`, flag),
    /** A text with small letters for the capital ones of ASCII. */
    folded: (text: string) => say(`lower(${text})`, `lower((${text})::text COLLATE "C")`),
    /** The place of a part in a text, from 1 on. 0: the text does not have it. */
    placeIn: (text: string, part: string) => say(`instr(${text}, ${part})`, `strpos(${text}, ${part})`),
    /** The number at the beginning of a text, or null. */
    numberOf: (text: string) =>
      say(
        `CASE WHEN ${startsAsNumber(text)} THEN CAST(${text} AS REAL) END`,
        `substring(left(${text}, 100) FROM '^[-+]?(?:[0-9]+\\.?[0-9]*|\\.[0-9]+)(?:[eE][-+]?[0-9]{1,3}(?![0-9]))?')::numeric`,
      ),
    /** The place of a text in a body, in bytes from 1 on, without case (ASCII). 0: the body does not have it. */
    placeInBody: say(
      // In bytes: SQLite counts the characters of a text only up to its first NUL.
      (body: string, wanted: string, add: Add) =>
        `instr(CAST(lower(CAST(${body} AS TEXT)) AS BLOB), CAST(lower(${add(wanted)}) AS BLOB))`,
      // The function reads the byte 0 as a space.
      (body, wanted, add) => `find_in_body(${body}, ${add(wanted.replaceAll("\0", " "))})`,
    ),
    /** The last characters of a text. */
    endOf: (text: string, length: string) => say(`substr(${text}, -${length})`, `right(${text}, ${length}::integer)`),
    /** A digest of a column's bytes, as text: equal only for equal bytes. */
    digestOf: (column: string) => say(`digest(${column})`, `encode(sha256(${column}), 'hex')`),
    /** Given lists, by the names of their columns, as rows with their `place` from 1 on. */
    rowsOf: (lists: Record<string, string>) => {
      const [names, values] = [Object.keys(lists), Object.values(lists)];
      const columns = names.map((name, index) => `g${index}.value AS ${name}`);
      const joined = values.map(
        (list, index) => `json_each(:${list}) g${index}${index > 0 ? ` ON g${index}.key = g0.key` : ""}`,
      );
      return say(
        `(SELECT ${columns.join(", ")}, g0.key + 1 AS place FROM ${joined.join(" JOIN ")})`,
        `(SELECT * FROM unnest(${values.map((list) => `:${list}`)}) WITH ORDINALITY AS given (${names}, place))`,
      );
    },
    /** The hourly counts of each destination (`name`), as rows: `part` is the outcome, or the step of the wait. */
    hoursOf: (kind: "outcome" | "wait") =>
      say(
        `(SELECT destination AS name, ${kind === "outcome" ? "outcome" : "step"} AS part, hour, count FROM ${kind}_hours)`,
        // Each change of a count is a row of its own, so that no two relays wait for one row.
        `(SELECT name, part, hour, count FROM tallies WHERE kind = '${kind}')`,
      ),
    /** A text in the form in which the database keeps it. */
    kept: say((text: string) => text, toText),
    /** The mark for a value in a statement that is made for one call: the first, the second … */
    place: (number: number) => say(`?${number}`, `$${number}`),
    /** The condition that a delivery is a bulk resend, or is none, in the words of the indexes of due deliveries. */
    isBulk: (isBulk: boolean) =>
      say(`(purpose = 'bulk_resend') = ${isBulk ? 1 : 0}`, `purpose ${isBulk ? "=" : "<>"} 'bulk_resend'`),
    /** `LIMIT` with the name of a given value. SQLite plans a statement with a bare `LIMIT ?` again whenever it is bound. */
    limit: (name: string) => say(`LIMIT ${name} + 0`, `LIMIT ${name}`),
    /** The condition that a column has one of a list of given values. */
    isOneOf: (list: string) => say(`IN (SELECT value FROM json_each(${list}))`, `= ANY(${list})`),
    /** The condition that a column has a value of a query. The query runs once. */
    isIn: (query: string) => say(`IN (${query})`, `= ANY(ARRAY(${query}))`),
  };
}

function wordsOfAlerts(say: Say) {
  return {
    /** The ids of all alerts of the request `r`, as a JSON array. */
    idsOfRequest: say(
      // The alerts of a request are in adjacent rows, found by id: ids sort by time, and none is older than its request.
      `(WITH first AS MATERIALIZED (
          SELECT seq FROM alerts WHERE id >= first_id_at(r.received_at) AND request_seq = r.seq ORDER BY id LIMIT 1)
        SELECT json_group_array(id) FROM alerts
        WHERE seq >= (SELECT seq FROM first) AND seq < (SELECT seq FROM first) + r.items AND request_seq = r.seq)`,
      "(SELECT coalesce(json_agg(a.id ORDER BY a.item), '[]')::text FROM alerts a WHERE a.request_seq = r.seq)",
    ),
    /** How often an alert has changed, or 0. */
    versionOf: (alert: string) =>
      say(`coalesce(${alert}.version, 0)`, `coalesce(${alert}.version, 0) + coalesce(${versionNoted(alert)}, 0)`),
    /** The alert's status. It is a column in PostgreSQL. */
    statusOf: (alert: string) => say(`${alert}.facts ->> 'status'`, `${alert}.status`),
    factOf: (alert: string, name: string) =>
      say(`${alert}.facts ->> '$.${name}'`, `readable_json(${alert}.facts) ->> '${name}'`),
    /** The alert's value as it was sent, cut at 100 characters. */
    valueOf: (alert: string) => say(`substr(${alert}.facts ->> '$.value', 1, 100)`, `${alert}.value`),
    factsBytesOf: (alert: string) => say(`octet_length(${alert}.facts)`, `${alert}.facts_bytes`),
    /** The condition that an alert has this key and a position after one and up to another. The index of keys answers it. */
    isOfKey: (alert: string, key: string, after: string, to: string) =>
      say(
        `${alert}.alert_key = ${key} AND ${alert}.seq > ${after} AND ${alert}.seq <= ${to}`,
        // Compared as one value: otherwise a plan may walk the whole log backwards.
        `${alert}.alert_key IS NOT NULL AND (${alert}.alert_key, ${alert}.seq) > (${key}, ${after})
         AND (${alert}.alert_key, ${alert}.seq) <= (${key}, ${to})`,
      ),
    /** The position from which on all alerts since a time lie, by the id that `sinceId` gives for that time. */
    firstSince: (id: string) => say(`(${firstSince(id)})`, firstSinceThere(id)),
    sinceId: say(sinceId, sinceIdThere),
  };
}

import type { AlertFacts, AlertStatus } from "../core/alert.ts";
import type { AlertQuery, AlertRun, AlertSummary, FailedDelivery } from "../core/ports/alert-log.ts";
import type { Decision } from "../core/rules.ts";
import { toPosition } from "./positions.ts";
import { type DeliverySummaryRow, fromRow, summaryColumns, toDeliverySummary } from "./rows.ts";
import { type MarkedColumn, markedColumns, type Row } from "./tables.ts";
import type { Dialect } from "./tx.ts";

const shownColumns = markedColumns("isShown");
type SummaryRow = Pick<Row<"alerts">, MarkedColumn<"isShown"> | "seq" | "version" | "facts">;

/** An alert in a list: its shown columns, and its deliveries as JSON. */
export type ListedRow = SummaryRow & { deliveries: string };

/** Columns of `ListedRow` of the alert `a`. */
export const listedColumns = (sql: Dialect) => `a.seq, ${shownColumns.map((name) => `a.${name}`).join(", ")},
  ${sql.versionOf("a")} AS version, a.facts, ${deliveriesOfAlert(sql)}`;

export const inOrder = (sql: Dialect, names: readonly string[], rows: string) =>
  `(SELECT ${sql.jsonRowsOf(Object.fromEntries(names.map((name) => [name, `x.${name}`])))} FROM (${rows}) AS x)`;

const deliveriesOfAlert = (sql: Dialect) =>
  `${inOrder(
    sql,
    [...summaryColumns, "resent_by_id"],
    `SELECT ${summaryColumns.map((name) => `d.${name}`).join(", ")}, r.id AS resent_by_id
   FROM deliveries d LEFT JOIN deliveries r ON r.seq = d.resent_by WHERE d.alert_seq = a.seq ORDER BY d.seq`,
  )} AS deliveries`;

export function toSummary(row: ListedRow): AlertSummary {
  return {
    ...fromRow(row, shownColumns),
    position: toPosition(row.seq),
    version: row.version ?? 0,
    facts: row.facts === null ? undefined : (JSON.parse(row.facts) as AlertFacts),
    deliveries: (JSON.parse(row.deliveries) as DeliverySummaryRow[]).map(toDeliverySummary),
  };
}

interface RunRow {
  at: number;
  status: AlertStatus;
}

/** Alerts of one key that are counted: a page of the log asks for fifty keys. */
const mostCounted = 20;
/** Alerts that must be looked at to count `mostCounted`. */
export const mostOfRun = mostCounted + 2;

/** @param rows alerts of a key without repeats, newest first, `mostOfRun` at most */
function toRun(rows: RunRow[]): AlertRun {
  const [newest] = rows;
  const isOver = newest?.status === "resolved";
  const before = isOver ? rows.slice(1) : rows;
  const end = before.findIndex(({ status }) => status === "resolved");
  const run = (end === -1 ? before : before.slice(0, end)).slice(0, mostCounted);
  const isMore = end === -1 ? before.length > mostCounted : end > mostCounted;
  return { isOver, count: run.length, isMore, sinceAt: (run.at(-1) ?? newest)?.at ?? 0 };
}

/** With the parts that only some lists ask for: the last alerts of the key as JSON, and a part of the body. */
export type ShownRow = ListedRow & { run?: string; around?: Uint8Array | null };

export function toShown({ newestOfKey, raw }: AlertQuery): (row: ShownRow) => AlertSummary {
  return (row) => {
    const summary = toSummary(row);
    if (newestOfKey && summary.facts?.alertKey !== undefined)
      summary.run = toRun(JSON.parse(row.run ?? "[]") as RunRow[]);
    if (raw?.[0] !== undefined) summary.aroundRaw = toReadable(row.around ?? new Uint8Array());
    return summary;
  };
}

/** A part of a body as text, without letters that are cut at its ends. */
const toReadable = (bytes: Uint8Array): string =>
  Buffer.from(bytes)
    .toString("utf8")
    .replace(/^\ufffd{1,3}/, "")
    .replace(/\ufffd{1,3}$/, "");

export interface FailedRow {
  seq: number;
  alertSeq: number;
  destination: string;
  recipient: string;
  /** Only for a mute. */
  id?: string;
  receivedAt?: number;
  facts?: string;
}

export function toFailedDelivery({ seq, alertSeq, id, receivedAt, facts, ...row }: FailedRow): FailedDelivery {
  const failed = { position: toPosition(alertSeq, seq), deliverySeq: seq, ...row };
  if (id === undefined || receivedAt === undefined || facts === undefined) return failed;
  return { ...failed, alert: { id, receivedAt, facts: JSON.parse(facts) as AlertFacts } };
}

export const toDecisions = (decisions: string | null): Decision[] =>
  decisions === null ? [] : (JSON.parse(decisions) as Decision[]);

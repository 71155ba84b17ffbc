import type { ClaimedDelivery } from "../../core/delivery-job.ts";
import type { NewId } from "../../core/id.ts";
import type { Dispatch } from "../../core/ports/dispatch.ts";
import type { LaneFence } from "../../core/ports/lanes.ts";
import type { MadeDelivery, RecordedAlert, RoutingDesk, RoutingRecord } from "../../core/ports/routing-desk.ts";
import type { WatchStore } from "../../core/ports/watch.ts";
import type { Decision } from "../../core/rules.ts";
import { toClaimedDelivery } from "../rows.ts";
import type { Awaitable, Dialect, InTx, Tx } from "../tx.ts";
import { findThreadIn } from "./due.ts";
import { createEnds } from "./ends.ts";
import { type Grouping, type Groups, ungrouped } from "./grouping.ts";
import { type Fences, underFence } from "./lanes.ts";
import { createOverMutes, type OverMutes } from "./mutes.ts";
import { type Arriving, createRepeats, type Unrouted } from "./repeats.ts";
import { type Judged, type Ringing, type Rings, unjudged } from "./ringing.ts";
import {
  createMaking,
  type NewDelivery,
  type RoutedAlert,
  type RoutedDelivery,
  toRoutedRow,
  type Written,
} from "./writing.ts";

/** The routing of an alert, with the place of each planned delivery. Undefined: the end was sent before. */
interface Entry {
  routed: RoutedAlert;
  places: (RoutedDelivery | undefined)[];
}

/** The rows to write for routed alerts. */
interface Planned {
  entries: Entry[];
  rings: Rings;
  groups: Groups;
  mutes?: OverMutes;
}

/** The longest wait for a lock that only routing needs. */
const longestLockMs = 50;

const nothingToSend: Judged = { decisions: [], deliveries: [] };
const nameOf = ({ group, fence }: LaneFence) => `${fence} ${group}`;

export type Routing = ReturnType<typeof createRouting>;

type RoutingDeps = { newId: NewId } & Ringing &
  Grouping &
  Fences &
  InTx<Dispatch, "saveStatus"> &
  InTx<WatchStore, "saveWatchState">;

/** T2: the decisions about an alert, and its deliveries. */
export function createRouting(
  sql: Dialect,
  { newId, listHeldLanes, saveStatus, saveWatchState, lookUpRings, lookUpGroups }: RoutingDeps,
) {
  const repeats = createRepeats(sql);
  const lookUpEnds = createEnds(sql);
  const lookUpMutes = createOverMutes(sql);
  const make = createMaking(sql);
  const findThread = findThreadIn(sql);
  const boundWaiting = sql.isShared ? sql.statement({}, `SET LOCAL lock_timeout = ${longestLockMs}`) : undefined;
  // A younger alert of the key may have been routed before the end, and be what its message shows.
  const markOver = sql.statement(
    {
      ...({ destinations: "text[]", recipients: "text[]", keys: "text[]" } as const),
      ...({ seqs: "int8[]", received_ats: "int8[]", at: "int8" } as const),
    },
    `WITH asked AS MATERIALIZED (
       SELECT * FROM ${sql.rowsOf({
         ...{ destination: "destinations", recipient: "recipients", alert_key: "keys" },
         ...{ seq: "seqs", received_at: "received_ats" },
       })} AS given),
     over AS MATERIALIZED (
       SELECT t.destination, t.recipient, t.alert_key FROM threads t
       WHERE (destination, recipient, alert_key) IN (SELECT destination, recipient, alert_key FROM asked)
         AND over_at IS NULL AND status <> 'resolved' AND EXISTS (
           SELECT 1 FROM asked WHERE asked.destination = t.destination AND asked.recipient = t.recipient
             AND asked.alert_key = t.alert_key AND (t.last_alert_seq < asked.seq OR coalesce(
               (SELECT last.received_at < asked.received_at FROM alerts last WHERE last.seq = t.last_alert_seq), true)))
       ${sql.forUpdate("destination, recipient, alert_key")})
     UPDATE threads SET over_at = :at
     WHERE (destination, recipient, alert_key) IN (SELECT destination, recipient, alert_key FROM over)`,
  );
  const fail = sql.statement(
    { seqs: "int8[]", error: "text", retry_at: "int8" },
    `WITH failed AS MATERIALIZED (
       SELECT seq FROM alerts WHERE seq ${sql.isOneOf(":seqs")} AND routed_at IS NULL ${sql.forUpdate("seq")})
     UPDATE alerts SET route_failures = route_failures + 1, routing_error = :error, route_after = :retry_at
     WHERE seq ${sql.isIn("SELECT seq FROM failed")} RETURNING seq`,
    ({ seq }: { seq: number }) => seq,
  );
  const fence = underFence(sql);
  // SQLite reads the status in the facts.
  const [statusColumn, status] = sql.isShared ? [", status", ", :status"] : ["", ""];
  const insertNotice = sql.statement(
    {
      ...({ id: "text", origin: "text", at: "int8", severity: "text", status: "text", key: "text" } as const),
      ...({ unmatched: "int8", facts: "text", decisions: "text", ...fence.given } as const),
    },
    `INSERT INTO alerts (id, item, origin, received_at, routed_at, severity, alert_key, unmatched, facts, decisions${statusColumn})
     SELECT :id, 0, :origin, :at, :at, :severity, :key, :unmatched = 1, :facts, :decisions${status}
     WHERE :group IS NULL OR ${fence.text} RETURNING seq`,
    ({ seq }: { seq: number }) => seq,
  );

  /** The lanes of the claims that are still held. */
  async function holdLanes(tx: Tx, records: readonly RoutingRecord[]): Promise<Set<string>> {
    const claims = records.flatMap((one) => (one.claims ?? []).flatMap((claim) => claim ?? []));
    const lanes = [...new Map(claims.map(({ lane }) => [nameOf(lane), lane])).values()]
      // All relays use the same order, so that no two wait for each other.
      .sort((one, other) => (one.group < other.group ? -1 : 1));
    return new Set((await listHeldLanes(tx, lanes)).map(nameOf));
  }

  function toRouted(
    { alertSeq, claims, purpose, routedAt: at }: RoutingRecord,
    deliveries: Judged["deliveries"],
    held: ReadonlySet<string>,
  ): (RoutedDelivery | undefined)[] {
    return deliveries.map((planned, index) => {
      if (planned === undefined) return undefined;
      const claim = claims?.[index];
      const isClaimed = claim && planned.state === "queued" && held.has(nameOf(claim.lane));
      const delivery: RoutedDelivery = { id: newId(), alertSeq, planned, purpose, at };
      if (isClaimed) delivery.claim = claim;
      return delivery;
    });
  }

  /**
   * @param find looks the alerts up, after the locks of rings and before those of ends
   * @returns the result of `find`, and `plan`, which gives the rows to write for records whose alerts are unrouted
   */
  async function lookUp<Found>(tx: Tx, records: readonly RoutingRecord[], find: () => Promise<Found>) {
    const judged = records.flatMap(withIfOver);
    const [held, rings, groups, found, leftToSend, mutes] = await Promise.all([
      holdLanes(tx, records),
      // Locked before the unrouted alerts are looked up: of two relays that route one alert, the later one waits here and finds
      // it routed.
      lookUpRings(tx, judged),
      lookUpGroups(tx, judged),
      find(),
      lookUpEnds(tx, records),
      // Read once the locks of ends are taken: making a mute "until it is over" takes them too.
      lookUpMutes(tx, records),
    ]);
    const plan = (records: readonly RoutingRecord[], unrouted: Map<number, Unrouted>): Planned => {
      const entries = records.flatMap((given) => {
        const alert = unrouted.get(given.alertSeq);
        if (alert === undefined) return [];
        unrouted.delete(given.alertSeq);
        const record = alert.repeatOf === undefined ? mutes.settle(given) : given;
        const left =
          alert.repeatOf === undefined
            ? groups.gather(record, alert, rings.judge(record, alert, leftToSend(record, alert.id)))
            : nothingToSend;
        const places = toRouted(record, [...left.deliveries, ...(left.counts ?? [])], held);
        return toEntry(record, alert, left.decisions, places);
      });
      return { entries, rings, groups, mutes };
    };
    return { found, plan };
  }

  async function writeEntries(
    tx: Tx,
    { entries, rings, groups, mutes }: Planned,
    write: (alerts: readonly RoutedAlert[]) => Awaitable<Written>,
  ): Promise<{ written: Written; recorded: RecordedAlert[] }> {
    const over = entries.flatMap(overWith);
    const claimed = entries.flatMap(({ routed: { record, deliveries } }) =>
      deliveries.flatMap(({ id, claim, planned: { destination, recipient } }) =>
        claim === undefined ? [] : { id, destination, recipient, key: record.facts.alertKey },
      ),
    );
    const [written, , threads] = await Promise.all([
      write(entries.map(({ routed }) => routed)),
      over.length === 0
        ? undefined
        : tx.run(markOver, {
            destinations: over.map(({ destination }) => destination),
            recipients: over.map(({ recipient }) => recipient),
            keys: over.map(({ alertKey }) => alertKey),
            seqs: over.map(({ alertSeq }) => alertSeq),
            received_ats: over.map(({ receivedAt }) => receivedAt),
            at: entries[0]?.routed.record.routedAt ?? 0,
          }),
      tx.look(findThread, claimed),
      rings.save?.(tx),
      mutes?.save(tx),
    ]);
    // The changes also concern the rows that were just written.
    await groups.save?.(tx);
    const threadOf = new Map(claimed.map(({ id }, index) => [id, threads[index]?.[0]]));
    const recorded = entries.flatMap(({ routed, places }): RecordedAlert[] => {
      const alertSeq = written.get(routed.alert.id);
      if (alertSeq === undefined) return [];
      for (const { planned, claim } of routed.deliveries) {
        // A claimed delivery is not due. The relay that asked for the claim looks whether it was made.
        if (claim === undefined) tx.notes.due.add(planned.destination);
      }
      const deliveries = places.slice(0, routed.record.deliveries.length).map((delivery): MadeDelivery | null => {
        if (delivery === undefined) return null;
        const { id, claim } = delivery;
        const seq = written.get(id) as number;
        if (claim === undefined) return { seq, id };
        const claimedOne = toClaimed(alertSeq, seq, delivery, routed, sql.kept);
        return { seq, id, claimed: { token: claim.token, deliveries: [claimedOne], thread: threadOf.get(id) } };
      });
      const { repeatOf } = routed.alert;
      return [repeatOf === undefined ? { alertSeq, deliveries } : { alertSeq, repeatOf, deliveries }];
    });
    return { written, recorded };
  }

  return {
    /**
     * What routing needs for alerts that are about to be stored: a function that gives the rows to write. A wait for another
     * transaction fails soon, since all requests that are accepted later wait for this one.
     */
    async lookUpArriving(tx: Tx, arriving: readonly Arriving[]) {
      if (arriving.length === 0) return (): Planned => ({ entries: [], rings: unjudged, groups: ungrouped });
      const records = arriving.map(({ record }) => record);
      const [, { found: unroutedOf, plan }] = await Promise.all([
        boundWaiting && tx.run(boundWaiting, {}),
        lookUp(tx, records, () => repeats.findArriving(tx, arriving)),
      ]);
      return (stored: readonly RoutingRecord[]) => plan(stored, unroutedOf(stored));
    },

    writeEntries,

    desk: {
      async recordRouting(tx, records) {
        const { found, plan } = await lookUp(tx, records, () => repeats.findUnrouted(tx, records));
        const planned = plan(records, found);
        if (planned.entries.length === 0) return [];
        return (await writeEntries(tx, planned, (alerts) => tx.routeAlerts(alerts))).recorded;
      },

      async recordRoutingFailure(tx, alertSeqs, error, retryAt) {
        await tx.changed(await tx.run(fail, { seqs: alertSeqs, error, retry_at: retryAt }));
      },

      async recordNotice(tx, notice) {
        const { lane, facts, at, watch, about, origin = "notice" } = notice;
        const [alertSeq] = await tx.run(insertNotice, {
          id: notice.id,
          origin,
          at,
          severity: facts.severity,
          status: facts.status,
          key: facts.alertKey,
          unmatched: notice.deliveries.length === 0 ? 1 : 0,
          facts: JSON.stringify(facts),
          decisions: JSON.stringify(notice.decisions),
          group: lane?.group ?? null,
          fence: lane?.fence ?? null,
        });
        if (alertSeq === undefined) return "lost";
        const deliveries = notice.deliveries.map(
          (planned): NewDelivery => ({ id: newId(), alertSeq, planned, purpose: origin, at }),
        );
        await Promise.all([
          deliveries.length === 0 ? tx.changed([alertSeq]) : make(tx, deliveries),
          watch && saveWatchState(tx, watch),
          about && lane && saveStatus(tx, lane, about),
        ]);
        return "done";
      },
    } satisfies InTx<RoutingDesk, "recordRouting" | "recordRoutingFailure" | "recordNotice">,
  };
}

const withIfOver = (record: RoutingRecord): RoutingRecord[] =>
  record.ifOver === undefined ? [record] : [record, { ...record, ...record.ifOver }];

function toEntry(
  record: RoutingRecord,
  alert: Unrouted,
  decisions: Decision[],
  places: (RoutedDelivery | undefined)[],
): Entry {
  const deliveries = places.filter((delivery) => delivery !== undefined);
  const isNowhere = deliveries.length === 0 && alert.repeatOf === undefined;
  const dropped = isNowhere && decisions.some(({ result }) => result === "dropped");
  const isContained = decisions.some(({ result }) => result === "contained");
  const unmatched = isNowhere && !dropped && !isContained;
  return { routed: { record, alert, decisions, unmatched, dropped, deliveries }, places };
}

/** The deliveries whose messages end with this alert. */
function overWith({ routed: { record, alert, deliveries } }: Entry) {
  const { alertSeq, facts, purpose } = record;
  const { receivedAt } = alert;
  if (facts.status !== "resolved" || purpose !== "alert") return [];
  return deliveries.map(({ planned: { destination, recipient } }) => ({
    destination,
    recipient,
    ...{ alertSeq, receivedAt, alertKey: facts.alertKey },
  }));
}

/** The claimed delivery as a read would give it. */
function toClaimed(
  alertSeq: number,
  seq: number,
  delivery: RoutedDelivery,
  { record: { facts }, alert }: RoutedAlert,
  kept: Dialect["kept"],
): ClaimedDelivery {
  const row = {
    ...toRoutedRow(delivery),
    seq,
    last_detail: null,
    last_reason: null,
    held_until: null,
    reason: kept(delivery.planned.reason),
  };
  const { severity } = facts;
  const ofAlert = { alert_seq: alertSeq, alert_id: alert.id, alert_key: kept(facts.alertKey), severity };
  return toClaimedDelivery({ ...row, ...ofAlert, origin: alert.origin, received_at: alert.receivedAt }, facts);
}

import type { AlertFacts } from "../../../src/core/alert.ts";
import type { NextStep, ThreadUpdate } from "../../../src/core/delivery-job.ts";
import { createIdSource, type NewId } from "../../../src/core/id.ts";
import type { AttemptRecord } from "../../../src/core/ports/dispatch.ts";
import type { IncomingRequest } from "../../../src/core/ports/inbox.ts";
import type {
  RoutingDesk,
  RoutingDraft,
  RoutingRecord,
  UnroutedRequest,
} from "../../../src/core/ports/routing-desk.ts";
import type { PlannedDelivery } from "../../../src/core/rules.ts";

/** Noon on some day: instants of the suite count from here. */
export const noon = Date.UTC(2026, 10, 21, 12);
export const hour = 3_600_000;

const sources = new Map<number, NewId>();

/** A new id of an alert that came at this instant. */
export function newIdAt(ms: number): string {
  const source = sources.get(ms) ?? createIdSource(() => ms);
  sources.set(ms, source);
  return source();
}

export const newId = () => newIdAt(noon);

export function factsOf(changes: Partial<AlertFacts> = {}): AlertFacts {
  const given = { title: "TVL of USDC fell by 12 %", severity: "warning", status: "firing", format: "json" } as const;
  return { ...given, alertKey: "tvl:usdc", fields: [], notes: [], ...changes };
}

export function planned(destination: string, changes: Partial<PlannedDelivery> = {}): PlannedDelivery {
  const given = { route: "everything", state: "queued", reason: "", dueAt: noon, updates: "auto" } as const;
  return { destination, channel: "telegram", recipient: `-100${destination.length}`, ...given, ...changes };
}

export function request(changes: Partial<IncomingRequest> = {}): IncomingRequest {
  return {
    receivedAt: noon,
    contentType: "application/json",
    headers: '[["content-type","application/json"]]',
    body: Buffer.from('{"title":"TVL of USDC fell by 12 %"}'),
    ids: [newIdAt(changes.receivedAt ?? noon)],
    origin: "hook",
    dedupeWindowMs: 24 * hour,
    ...changes,
  };
}

/** What routing has made of an alert. Default: no route wanted it. */
export function routed(alertSeq: number, changes: Partial<RoutingRecord> = {}): RoutingRecord {
  const given = { alertSeq, facts: factsOf(), purpose: "alert", routedAt: noon } as const;
  return { ...given, decisions: [], deliveries: [], ...changes };
}

/** What routing has made of an alert that it delivers to each of these. */
export function deciding(deliveries: PlannedDelivery[], changes: Partial<RoutingDraft> = {}): RoutingDraft {
  const given = { route: "all", result: "deliver" as const, reason: "it takes every alert" };
  const decisions = deliveries.map(({ destination }) => ({ ...given, destination }));
  const { alertSeq: _unknown, ...draft } = routed(0, { deliveries, decisions, countsIn: ["chat"], ...changes });
  return draft;
}

/** A notice of the relay itself, which goes to nobody. */
export function noticeOf<Changes extends object>(changes: Changes) {
  return { id: newId(), at: noon, facts: factsOf(), decisions: [], deliveries: [], ...changes };
}

export const claimOf = (token: string, ...deliverySeqs: number[]) => ({ token, deliverySeqs, leaseMs: 60_000 });

const sent: NextStep = { state: "sent", reason: "" };

/** A call of 50 ms that has sent what was claimed under this token. */
export function attemptOf(token: string, deliverySeqs: number[], changes: Partial<AttemptRecord> = {}): AttemptRecord {
  return {
    ...{ token, deliverySeqs, at: noon + 100, durationMs: 50, action: "send", part: 1, parts: 1 },
    ...{ outcome: "sent", countsAsAttempt: true, progress: { refs: ["4711"] }, next: sent, ...changes },
  };
}

/** What an attempt comes to where the chat has thrown the bot out. */
export const kicked = {
  outcome: "rejected",
  reason: "kicked",
  next: { state: "failed", reason: "kicked" },
} as const satisfies Partial<AttemptRecord>;

/** An accepted alert as routing is given it. */
export async function findUnrouted(
  store: Pick<RoutingDesk, "listUnrouted">,
  id: string | undefined,
): Promise<UnroutedRequest["alerts"][number]> {
  const unrouted = await store.listUnrouted(1000, Number.MAX_SAFE_INTEGER);
  const alert = unrouted.flatMap(({ alerts }) => alerts).find((candidate) => candidate.id === id);
  if (alert === undefined) throw new Error("the accepted alert does not wait for routing");
  return alert;
}

export const thread: ThreadUpdate = {
  ...{ rootRef: "11", rootAlertSeq: 1, lastRef: "12", lastAlertSeq: 1, severity: "critical", status: "firing" },
  ...{ firstAt: noon, lastNewAt: noon + 1, lastAt: noon + 2, count: 2 },
};

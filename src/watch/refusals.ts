import { z } from "zod";
import { countRefused, type SourceView, type WatchView } from "../contract/operations.ts";
import type { AlertFacts } from "../core/alert.ts";
import type { Clock } from "../core/clock.ts";
import type { Log } from "../core/log.ts";
import { createPoll } from "../core/poll.ts";
import type { HookReport, RelayReport, RelayView } from "../core/ports/relays.ts";
import type { WatchState, WatchStore } from "../core/ports/watch.ts";
import { createTimeFormat } from "../ground/time/time-format.ts";
import type { Watch } from "./watch.ts";

/** What has come to the hook of one source since the start. */
export type HookSight = Pick<SourceView, "lastAcceptedAt" | "refused" | "lastRefusedAt">;

/**
 * What has come to the hooks of all relays together, also of those that run no more but did at an earlier call.
 * @param own of this relay
 * @param others as they run now
 */
export function addUpHooks(
  own: () => ReadonlyMap<string, HookReport>,
  others: () => readonly Pick<RelayView, "id" | "report">[],
): () => ReadonlyMap<string, HookReport> {
  const theirs = new Map<string, RelayReport["hooks"]>();
  return () => {
    for (const { id, report } of others()) if (report !== undefined) theirs.set(id, report.hooks);
    if (theirs.size === 0) return own();
    const sum = new Map<string, HookReport>();
    for (const [source, hook] of [...own(), ...[...theirs.values()].flatMap((hooks) => Object.entries(hooks))]) {
      const known = sum.get(source);
      sum.set(source, known === undefined ? hook : addHook(known, hook));
    }
    return sum;
  };
}

function addHook(one: HookReport, other: HookReport): HookReport {
  const refused = { ...one.refused };
  for (const [why, count] of Object.entries(other.refused) as [keyof typeof refused, number][])
    refused[why] = (refused[why] ?? 0) + count;
  const later = (a?: number, b?: number) => (a === undefined || b === undefined ? (a ?? b) : Math.max(a, b));
  return {
    accepted: one.accepted + other.accepted,
    refused,
    lastAcceptedAt: later(one.lastAcceptedAt, other.lastAcceptedAt),
    lastRefusedAt: later(one.lastRefusedAt, other.lastRefusedAt),
  };
}

export interface RefusalWatchDeps {
  /** Of the sources that check their sender, by name. */
  hooks(): ReadonlyMap<string, HookSight>;
  store: WatchStore;
  /** Saves the state in the same step. Rejects as the store does. */
  notify(facts: AlertFacts, watch: WatchState): Promise<void>;
  /** How people reach the page. */
  publicUrl: string;
  clock: Clock;
  log: Log;
}

const stateName = "refusals";
const lookEveryMs = 15_000;
/** A sender that is let in meanwhile is not locked out: somebody else has the address, and the page says so. */
const tellAfterMs = 60_000;
/** Of one source, whatever a stranger sends to it; what goes on for longer than the second is told in any case. */
const tellEveryMs = 24 * 3_600_000;
const lastsMs = 10 * 60_000;

const { full } = createTimeFormat("UTC");

/** By source. */
const stateSchema = z.record(
  z.string(),
  z.object({
    /** When people were told that it is locked out. */
    toldAt: z.number(),
    /** A request has passed since, and that was told, too. */
    isOver: z.boolean(),
  }),
);
type Told = z.infer<typeof stateSchema>;

/** Since when nothing but refusals comes to a source, and how many had come by then. */
interface LockOut {
  since: number;
  before: number;
}

/**
 * Tells people once when a source lets nobody in any more: most often its secret was changed at one end, and every alert of
 * it is refused. Told again when one passes.
 */
export async function openRefusalWatch(deps: RefusalWatchDeps): Promise<Watch> {
  const { hooks, store, clock, log, publicUrl } = deps;
  let told: Told = stateSchema.safeParse(await store.loadWatchState(stateName)).data ?? {};
  const lockedOut = new Map<string, LockOut>();
  let lookedAt: number | undefined;

  async function tell(source: string, facts: AlertFacts, next: Told[string]): Promise<void> {
    const state = { ...told, [source]: next };
    await deps.notify(facts, { name: stateName, state });
    told = state;
    log.warn("source.noticed", { source, status: facts.status });
  }

  async function look(): Promise<void> {
    const now = clock.now();
    lookedAt = now;
    for (const [source, sight] of hooks()) {
      const known = told[source];
      if (!isLockedOut(sight)) {
        lockedOut.delete(source);
        const isWell = sight.lastAcceptedAt !== undefined && known?.isOver === false;
        if (isWell) await tell(source, writeBetter(source, pageOf(source)), { ...known, isOver: true });
        continue;
      }
      const found = lockedOut.get(source) ?? { since: sight.lastRefusedAt ?? now, before: countRefused(sight) - 1 };
      lockedOut.set(source, found);
      const lasts = (sight.lastRefusedAt ?? now) - found.since >= lastsMs;
      const isNews = known === undefined || (known.isOver && (lasts || Math.abs(now - known.toldAt) >= tellEveryMs));
      if (!isNews || now - found.since < tellAfterMs) continue;
      await tell(source, writeWorse(source, sight, found, pageOf(source)), { toldAt: now, isOver: false });
    }
  }

  function view(): WatchView {
    const troubles = [...hooks()].flatMap(([source, sight]) => {
      const found = lockedOut.get(source);
      return found === undefined ? [] : [`${titleOf(source)}. ${describe(source, sight, found)}`];
    });
    const seen = { name: "sources", troubles, lookedAt };
    const [first] = lockedOut.keys();
    if (first === undefined) return { ...seen, verdict: "well", summary: "no source locks its sender out" };
    const more = lockedOut.size - 1;
    return { ...seen, verdict: "trouble", summary: `${titleOf(first)}${more === 0 ? "" : `, and ${more} more`}` };
  }

  const pageOf = (source: string) => `${publicUrl}/refused?source=${source}`;
  const poll = createPoll({
    look,
    everyMs: lookEveryMs,
    clock,
    onFailed: (error) => log.error("source.look_failed", { error: String(error).slice(0, 300) }),
  });
  return { view, run: poll.run };
}

function isLockedOut({ lastRefusedAt, lastAcceptedAt = 0 }: HookSight): boolean {
  return lastRefusedAt !== undefined && lastRefusedAt > lastAcceptedAt;
}

function titleOf(source: string): string {
  return `Requests to the source ${source} are refused`;
}

function describe(source: string, sight: HookSight, { since, before }: LockOut): string {
  const count = countRefused(sight) - before;
  const reasons = Object.keys(sight.refused).join(", ");
  return `Since ${full(since)} ${count === 1 ? "one request" : `${count} requests`} did not pass its check (${reasons}), and none has passed. When its secret was changed at one end, list both below sources.${source}.check until the other end has it, and restart Tocsin. When a stranger has the address, change its secret.`;
}

function writeWorse(source: string, sight: HookSight, found: LockOut, link: string): AlertFacts {
  const text = `${describe(source, sight, found)} What was refused is kept: look at Refused on the page, and press Relay there for what should go out.`;
  return { ...noticeOf(source, link), title: titleOf(source), text, severity: "critical", status: "firing" };
}

function writeBetter(source: string, link: string): AlertFacts {
  const title = `The source ${source} lets its sender in again`;
  const text = "What was refused meanwhile is kept: press Relay at Refused on the page for what should go out.";
  return { ...noticeOf(source, link), title, text, severity: "info", status: "resolved" };
}

function noticeOf(source: string, link: string): Omit<AlertFacts, "title" | "severity" | "status"> {
  return { format: "empty", alertKey: `tocsin:source:${source}`, source: "Tocsin", link, fields: [], notes: [] };
}

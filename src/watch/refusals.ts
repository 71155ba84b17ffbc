import { z } from "zod";
import { countRefused, type SourceView, type WatchView } from "../contract/operations.ts";
import type { HookReport, RelayReport, RelayView } from "../core/ports/relays.ts";
import { countOf } from "../ground/text/count-of.ts";
import { createTimeFormat } from "../ground/time/time-format.ts";
import { type Finding, Findings, type Told, toldSchema } from "./findings.ts";
import { Watch, type WatchDeps } from "./watch.ts";

export type HookSight = Pick<SourceView, "lastAcceptedAt" | "refused" | "lastRefusedAt">;

/** Adds the reports of all relays, also of those that have ended. @param others as they run now */
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

export interface RefusalWatchDeps extends WatchDeps {
  /** The sources that check their sender, by name. */
  hooks(): ReadonlyMap<string, HookSight>;
}

/** A sender that is accepted within this time is not locked out: somebody else was refused, which the page shows. */
const tellAfterMs = 60_000;
const { full } = createTimeFormat("UTC");

/** Saved by versions before 0.2: when people had a notice, and whether they know of the end. */
const formerSchema = z
  .record(z.string(), z.object({ toldAt: z.number(), isOver: z.boolean() }))
  .transform((sources): Told => {
    const all = Object.entries(sources);
    return {
      told: Object.fromEntries(all.flatMap(([source, { isOver }]) => (isOver ? [] : [[source, "refused"]]))),
      toldAt: Object.fromEntries(all.map(([source, { toldAt }]) => [source, [toldAt]])),
    };
  });

/** A single stranger, or a single late repeat, locks nobody out. */
const leastRefused = 3;

interface LockOut {
  since: number;
  lastAcceptedAt?: number;
  before: HookSight["refused"];
}

/** Sends a notice when a source accepts nobody any more: mostly its secret was changed at one end. */
export class RefusalWatch extends Watch<Told> {
  readonly name = "refusals";
  readonly schema = z.union([toldSchema, formerSchema]);
  memory: Told = { told: {}, toldAt: {} };
  readonly everyMs = () => 15_000;
  readonly #lockedOut = new Map<string, LockOut>();
  readonly #refused = new Map<string, HookSight["refused"]>();
  /** A stranger can cause refusals and stop. One notice a day is the limit, and one more for lasting refusals. */
  readonly #findings: Findings<Finding, Told>;
  #lookedAt?: number;

  constructor(private readonly deps: RefusalWatchDeps) {
    super(deps);
    this.#findings = new Findings({
      confirmations: 1,
      mostADay: 1,
      write: ({ finding: { matter } }) => ({
        key: `source:${matter}`,
        link: `${deps.publicUrl}/refused?source=${matter}`,
      }),
      onTold: ({ finding, isWorse }) => deps.log.warn("source.noticed", { source: finding.matter, isWorse }),
    });
  }

  async look(): Promise<void> {
    const now = this.deps.clock.now();
    this.#lookedAt = now;
    const found = [...this.deps.hooks()].map(([source, sight]) => this.#judge(source, sight, now));
    await this.#findings.tell(found, this, now);
  }

  #judge(source: string, sight: HookSight, now: number): Finding {
    const { lastRefusedAt, lastAcceptedAt } = sight;
    // Refusals before the first look may be from days in which the sender was accepted too.
    const before = this.#refused.get(source) ?? sight.refused;
    this.#refused.set(source, { ...sight.refused });
    if (lastRefusedAt === undefined || lastRefusedAt <= (lastAcceptedAt ?? 0)) {
      this.#lockedOut.delete(source);
      const verdict = lastAcceptedAt === undefined ? "unknown" : "well";
      const title = `The source ${source} lets its sender in again`;
      const text = "What was refused meanwhile is kept: press Relay at Refused on the page for what should go out.";
      return { matter: source, verdict, mark: "", title, text, severity: "info" };
    }
    const known = this.#lockedOut.get(source);
    const isSame = known !== undefined && known.lastAcceptedAt === lastAcceptedAt;
    const lockOut = isSame ? known : { since: lastRefusedAt, lastAcceptedAt, before };
    this.#lockedOut.set(source, lockOut);
    const { since } = lockOut;
    return {
      matter: source,
      verdict: now - since < tellAfterMs || countSince(sight, lockOut) < leastRefused ? "unknown" : "bad",
      mark: "refused",
      title: titleOf(source),
      text:
        `${describe(source, sight, lockOut)} What was refused is kept: look ` +
        "at Refused on the page, and press Relay there for what should go out.",
      severity: "critical",
      lastsMs: lastRefusedAt - since,
    };
  }

  view(): WatchView {
    const refusing = [...this.deps.hooks()].flatMap(([source, sight]) => {
      const found = this.#lockedOut.get(source);
      const count = found === undefined ? 0 : countSince(sight, found);
      const isOver = found?.lastAcceptedAt !== sight.lastAcceptedAt;
      return found === undefined || isOver || count === 0 ? [] : [{ source, sight, found, count }];
    });
    const lockedOut = refusing.filter(({ count }) => count >= leastRefused);
    const troubles = lockedOut.map(
      ({ source, sight, found }) => `${titleOf(source)}. ${describe(source, sight, found)}`,
    );
    const seen = { name: "sources", troubles, lookedAt: this.#lookedAt };
    const [first, ...more] = lockedOut;
    if (first === undefined) {
      const some = refusing.map(
        ({ source, count }) => `; ${source} has refused ${countOf(count, "request")}, and none has passed since`,
      );
      return { ...seen, verdict: "well", summary: `no source locks its sender out${some.join("")}` };
    }
    const others = more.length === 0 ? "" : `, and ${more.length} more`;
    return { ...seen, verdict: "trouble", summary: `${titleOf(first.source)}${others}` };
  }
}

function titleOf(source: string): string {
  return `Requests to the source ${source} are refused`;
}

function refusedSince({ refused }: HookSight, { before }: LockOut): HookSight["refused"] {
  const all = Object.entries(refused) as [keyof typeof before, number][];
  const since = all.map(([reason, count]) => [reason, count - (before[reason] ?? 0)] as const);
  return Object.fromEntries(since.filter(([, count]) => count > 0));
}

const countSince = (sight: HookSight, lockOut: LockOut) => countRefused({ refused: refusedSince(sight, lockOut) });

function describe(source: string, sight: HookSight, lockOut: LockOut): string {
  const { since } = lockOut;
  const refused = refusedSince(sight, lockOut);
  const count = countRefused({ refused });
  const reasons = Object.keys(refused).join(", ");
  return (
    `Since ${full(since)} ${count === 1 ? "one request" : `${count} requests`} ` +
    `did not pass its check (${reasons}), and none has passed. When its secret was ` +
    `changed at one end, list both below sources.${source}.check until the other end ` +
    "has it, and restart Tocsin. When a stranger has the address, change its secret."
  );
}

import { z } from "zod";
import type { GapReport, WatchView } from "../../contract/operations.ts";
import type { Random } from "../../core/clock.ts";
import { AppError } from "../../core/errors.ts";
import { type Downtime, describeCrossings, type GapWindow, gapHistoryMs, isUndecided } from "../../core/gaps.ts";
import type { WatchStore } from "../../core/ports/watch.ts";
import { formatDuration } from "../../ground/time/time-format.ts";
import { Watch, type WatchDeps } from "../watch.ts";
import type { ToldEnd } from "./follow-rules.ts";
import { GapCheck, type GapCheckDeps, type KnownRules } from "./gap-check.ts";
import { writeGapNotice } from "./gap-notice.ts";
import { endsOf, gapMemorySchema, planGapNews, troubleForMs } from "./plan-gap-notices.ts";

export interface GapWatchDeps extends WatchDeps, Omit<GapCheckDeps, "memory" | "store" | "clock"> {
  store: WatchStore & GapCheckDeps["store"];
  downtimes(): readonly Downtime[];
  /** Whether setup has turned the account's webhook off, and since when. No alert is expected then. */
  readOff(): Promise<{ isOff: boolean; at: number }>;
  random: Random;
}

/** A sender that repeats failed alerts does so within minutes of a start. */
const firstAfterMs = 5 * 60_000;
const mostOffs = 100;

/** Names on page, API and metrics, and of the memory. A source may have any name, even `rules`. */
function gapNames(source?: string): { watch: string; state: string; rules: string } {
  if (source === undefined) return { watch: "gaps", state: "gaps", rules: "gaps:rules" };
  return { watch: `gaps:${source}`, state: `source-gaps:${source}`, rules: `source-gap-rules:${source}` };
}

const stateSchema = gapMemorySchema.extend({
  /** Since when the account sends nothing, and the earlier times of this. */
  offAt: z.number().optional(),
  offs: z.array(z.object({ fromAt: z.number(), toAt: z.number() })).default([]),
});
type GapState = z.infer<typeof stateSchema>;
const rulesSchema = z.record(z.string(), z.number().nullable());

const empty: GapState = { told: [], open: [], closed: [], offs: [] };

/** What the relay has remembered, for a single check by a command. */
export async function loadGapMemory(
  store: Pick<WatchStore, "loadWatchState">,
  now: number,
  source?: string,
): Promise<{ known: KnownRules | undefined; offs: Downtime[]; ends: ToldEnd[] }> {
  const names = gapNames(source);
  const state = stateSchema.safeParse(await store.loadWatchState(names.state)).data ?? empty;
  return { known: await loadKnownRules(store, names.rules), offs: offsOf(state, now), ends: endsOf(state) };
}

const loadKnownRules = async (store: Pick<WatchStore, "loadWatchState">, name: string) =>
  rulesSchema.safeParse(await store.loadWatchState(name)).data;

function offsOf({ offs, offAt }: GapState, now: number): Downtime[] {
  return offAt === undefined ? offs : [...offs, { fromAt: offAt, toAt: now }];
}

export async function openGapWatch(deps: GapWatchDeps, { everyMs }: { everyMs: number }) {
  const { store, source } = deps;
  const name = gapNames(source).rules;
  const checking = new GapCheck({
    ...deps,
    memory: { known: await loadKnownRules(store, name), save: (known) => store.saveWatchState({ name, state: known }) },
  });
  return new GapWatch(deps, checking, everyMs).open();
}

export class GapWatch extends Watch<GapState> {
  readonly name: string;
  readonly schema = stateSchema;
  memory = empty;
  override readonly firstAfterMs: number;
  /** Relays that start together should not ask together. */
  readonly everyMs: () => number;
  #last?: GapReport;
  #lookedAt?: number;
  #failure?: string;
  #stop?: AbortSignal;

  constructor(
    private readonly deps: GapWatchDeps,
    private readonly checking: GapCheck,
    everyMs: number,
  ) {
    super(deps);
    this.name = gapNames(deps.source).state;
    this.firstAfterMs = Math.min(firstAfterMs, everyMs);
    this.everyMs = () => Math.round(everyMs * (0.8 + 0.2 * deps.random()));
  }

  /** The last look at all seven days. Absent: none was made since the start. */
  report(): GapReport | undefined {
    return this.#last;
  }

  async look(stop: AbortSignal): Promise<void> {
    this.#stop = stop;
    const report = await this.check({}).catch((error: unknown) => {
      this.#lookedAt = this.deps.clock.now();
      this.#failure = error instanceof AppError ? error.message : "the log could not be read";
      throw error;
    });
    await this.#tell(report);
  }

  /** Looks now, at the given time or at all records of the service. Sends no notice. */
  async check(window: GapWindow): Promise<GapReport> {
    await this.#noteOff();
    const offs = offsOf(this.memory, this.deps.clock.now());
    const asked = { ...window, downtimes: this.deps.downtimes(), offs, ends: endsOf(this.memory) };
    const report = await this.checking.check(asked, this.#stop);
    if (window.since === undefined && window.until === undefined) this.#keepReport(report);
    return report;
  }

  /** Takes over a newer report of another relay. */
  adopt(report: GapReport): void {
    if (report.checkedAt > (this.#last?.checkedAt ?? 0)) this.#keepReport(report);
  }

  #keepReport(report: GapReport): void {
    this.#last = report;
    this.#lookedAt = report.checkedAt;
    this.#failure = undefined;
  }

  async #noteOff(): Promise<void> {
    const { memory } = this;
    const { isOff, at } = await this.deps.readOff();
    if (isOff === (memory.offAt !== undefined)) return;
    const fromAt = memory.offAt;
    const offs = fromAt === undefined || at <= fromAt ? memory.offs : [...memory.offs, { fromAt, toAt: at }];
    const recent = offs.filter(({ toAt }) => toAt >= this.deps.clock.now() - gapHistoryMs).slice(-mostOffs);
    await this.keep({ ...memory, offAt: isOff ? at : undefined, offs: recent });
  }

  async #tell(report: GapReport): Promise<void> {
    const { source, publicUrl, log } = this.deps;
    const query = source === undefined ? "" : `?source=${encodeURIComponent(source)}`;
    const { news, memory } = planGapNews(report, this.memory);
    for (const one of news) {
      const facts = writeGapNotice(one, report, { link: `${publicUrl}/gaps${query}`, source });
      const told = { ...this.memory, ...one.memory };
      await this.tell(facts, told, { ...told, toldAt: this.memory.toldAt });
      log.warn(one.says === "lost" ? "gaps.found" : `gaps.${one.says}`, { source, lost: one.missing.length });
    }
    const rest = { ...this.memory, ...memory, toldAt: this.memory.toldAt };
    if (JSON.stringify(rest) !== JSON.stringify(this.memory)) await this.keep(rest);
  }

  view(): WatchView {
    const { source, clock } = this.deps;
    const { toldAt, open, offAt } = this.memory;
    const report = this.#last;
    const seen = (verdict: WatchView["verdict"], summary: string, troubles: string[] = []): WatchView => ({
      name: gapNames(source).watch,
      verdict,
      summary,
      troubles,
      lookedAt: this.#lookedAt,
    });
    const unknown = (why: string) => seen("unknown", `cannot tell whether alerts are missing: ${why}`);
    if (offAt !== undefined) return seen("idle", "setup has turned the account's webhook off: no alert is expected");
    if (this.#failure !== undefined) return unknown(this.#failure);
    if (report === undefined) return seen("unknown", "the first look for missing alerts is still to come");
    const { missing, rules, recordEveryMs } = report;
    const [first] = report.unknown;
    if (isUndecided(report) && first !== undefined) {
      const of = report.crossings === 0 ? "" : ` (${describeCrossings(report)})`;
      return unknown(`${first.what}: ${first.why}${of}`);
    }
    if (rules === 0) return seen("idle", "the account has no subscription, so no alert is expected");
    const blind = recordEveryMs === undefined ? "" : `, with a record each ${formatDuration(recordEveryMs)}`;
    const whole = `${describeCrossings(report)}, in seven days${blind}`;
    const sure = missing.filter(({ verdict }) => verdict === "sure").length;
    const counted = `${sure} sure, ${missing.length - sure} likely`;
    const isFresh = toldAt !== undefined && clock.now() - toldAt < troubleForMs;
    if (open.length > 0 || (isFresh && missing.some(({ outage }) => outage !== undefined))) {
      return seen("trouble", `alerts are missing: ${counted}`, [
        `Alerts should have arrived and did not: ${counted}. See Gaps on the page, ` +
          `or run: tocsin gaps${source === undefined ? "" : ` --source ${source}`}.`,
      ]);
    }
    return seen("well", missing.length === 0 ? `no alert is missing: ${whole}` : `missing: ${counted}; ${whole}`);
  }
}

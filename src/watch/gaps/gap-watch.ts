import { z } from "zod";
import type { GapReport, WatchView } from "../../contract/operations.ts";
import type { Random } from "../../core/clock.ts";
import { AppError } from "../../core/errors.ts";
import { type Downtime, describeCrossings, type GapWindow, gapHistoryMs, isUndecided } from "../../core/gaps.ts";
import type { WatchStore } from "../../core/ports/watch.ts";
import { formatDuration } from "../../ground/time/time-format.ts";
import { Watch } from "../runner.ts";
import type { WatchDeps, WatchRules } from "../watch.ts";
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

export type GapWatch = Awaited<ReturnType<typeof openGapWatch>>;

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
  const rules = new GapRules(deps, checking, everyMs);
  const watch = await Watch.open(rules, deps);
  return {
    /** The last look at all seven days. Absent: none was made since the start. */
    report: () => rules.last,
    /** Looks now, at the given time or at all records of the service. Sends no notice. */
    check: (window: GapWindow) => rules.check(watch, window),
    adopt(report: GapReport): void {
      if (report.checkedAt > (rules.last?.checkedAt ?? 0)) rules.adopt(report);
    },
    view: () => watch.view(),
    run: watch.run,
  };
}

class GapRules implements WatchRules<GapState> {
  readonly name: string;
  readonly memory = stateSchema;
  readonly empty = empty;
  readonly firstAfterMs: number;
  /** Relays that start together should not ask together. */
  readonly everyMs: () => number;
  last?: GapReport;
  readonly #deps: GapWatchDeps;
  readonly #checking: GapCheck;
  #lookedAt?: number;
  #failure?: string;
  #stop?: AbortSignal;

  constructor(deps: GapWatchDeps, checking: GapCheck, everyMs: number) {
    this.#deps = deps;
    this.#checking = checking;
    this.name = gapNames(deps.source).state;
    this.firstAfterMs = Math.min(firstAfterMs, everyMs);
    this.everyMs = () => Math.round(everyMs * (0.8 + 0.2 * deps.random()));
  }

  async look(watch: Watch<GapState>, stop: AbortSignal): Promise<void> {
    this.#stop = stop;
    const report = await this.check(watch, {}).catch((error: unknown) => {
      this.#lookedAt = this.#deps.clock.now();
      this.#failure = error instanceof AppError ? error.message : "the log could not be read";
      throw error;
    });
    await this.#tell(watch, report);
  }

  async check(watch: Watch<GapState>, window: GapWindow): Promise<GapReport> {
    await this.#noteOff(watch);
    const offs = offsOf(watch.memory, this.#deps.clock.now());
    const asked = { ...window, downtimes: this.#deps.downtimes(), offs, ends: endsOf(watch.memory) };
    const report = await this.#checking.check(asked, this.#stop);
    if (window.since === undefined && window.until === undefined) this.adopt(report);
    return report;
  }

  adopt(report: GapReport): void {
    this.last = report;
    this.#lookedAt = report.checkedAt;
    this.#failure = undefined;
  }

  async #noteOff(watch: Watch<GapState>): Promise<void> {
    const { memory } = watch;
    const { isOff, at } = await this.#deps.readOff();
    if (isOff === (memory.offAt !== undefined)) return;
    const fromAt = memory.offAt;
    const offs = fromAt === undefined || at <= fromAt ? memory.offs : [...memory.offs, { fromAt, toAt: at }];
    const recent = offs.filter(({ toAt }) => toAt >= this.#deps.clock.now() - gapHistoryMs).slice(-mostOffs);
    await watch.keep({ ...memory, offAt: isOff ? at : undefined, offs: recent });
  }

  async #tell(watch: Watch<GapState>, report: GapReport): Promise<void> {
    const { source, publicUrl, log } = this.#deps;
    const query = source === undefined ? "" : `?source=${encodeURIComponent(source)}`;
    const { news, memory } = planGapNews(report, watch.memory);
    for (const one of news) {
      const facts = writeGapNotice(one, report, { link: `${publicUrl}/gaps${query}`, source });
      const told = { ...watch.memory, ...one.memory };
      await watch.tell(facts, told, { ...told, toldAt: watch.memory.toldAt });
      log.warn(one.says === "lost" ? "gaps.found" : `gaps.${one.says}`, { source, lost: one.missing.length });
    }
    const rest = { ...watch.memory, ...memory, toldAt: watch.memory.toldAt };
    if (JSON.stringify(rest) !== JSON.stringify(watch.memory)) await watch.keep(rest);
  }

  view({ toldAt, open, offAt }: GapState): WatchView {
    const { source, clock } = this.#deps;
    const report = this.last;
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

import { z } from "zod";
import type { GapReport, WatchView } from "../../contract/operations.ts";
import type { AlertFacts } from "../../core/alert.ts";
import type { Clock, Random } from "../../core/clock.ts";
import { AppError } from "../../core/errors.ts";
import { type Downtime, describeCrossings, gapHistoryMs, isUndecided } from "../../core/gaps.ts";
import type { Log } from "../../core/log.ts";
import type { Administration } from "../../core/ports/administration.ts";
import type { AlertLog } from "../../core/ports/alert-log.ts";
import type { MetricHistoryService } from "../../core/ports/metric-history.ts";
import type { WatchState, WatchStore } from "../../core/ports/watch.ts";
import type { Mute } from "../../core/rules.ts";
import { formatDuration } from "../../ground/time/time-format.ts";
import { findMuteOf } from "../find-mute.ts";
import type { ShownDuty } from "../watch.ts";
import type { ToldEnd } from "./follow-rules.ts";
import { createGapCheck, type KnownRules } from "./gap-check.ts";
import { writeGapNotice } from "./gap-notice.ts";
import { endsOf, gapMemorySchema, planGapNews, troubleForMs } from "./plan-gap-notices.ts";

export interface GapWatchDeps {
  /** Of the account whose alerts this store has. */
  service: MetricHistoryService;
  store: WatchStore & Pick<AlertLog, "listFacts"> & Pick<Administration, "health">;
  /** When no relay ran, the oldest first. */
  downtimes(): readonly Downtime[];
  /** Whether setup has turned the account's webhook off, so that none is expected, and since when it is as it is. */
  readOff(): Promise<OffState>;
  /** Sends a notice of the relay itself, and saves the state in the same step. Rejects as the store does. */
  notify(facts: AlertFacts, watch: WatchState): Promise<void>;
  /** See `GapCheckDeps`. */
  keptForMs?: number;
  /** The source whose account it is. Default: that of the environment. */
  source?: string;
  /** Those that hold now. */
  activeMutes(): Mute[];
  /** How people reach the page. */
  publicUrl: string;
  clock: Pick<Clock, "now" | "sleep">;
  random: Random;
  log: Log;
}

export interface GapWatch extends ShownDuty {
  /** What the last look at all seven days found; absent: none was made since the start. */
  report(): GapReport | undefined;
  /** Looks now, at the time that is named or at all that the service has records of. Tells nobody. */
  check(window: { since?: number; until?: number }): Promise<GapReport>;
}

export interface OffState {
  isOff: boolean;
  at: number;
}

/** A sender that repeats what failed does so within minutes of a start. */
const firstAfterMs = 5 * 60_000;
const mostOffs = 100;

/** What a watch is called on page, API and metrics, and what it remembers. A source may have any name, `rules` too. */
function gapNames(source?: string): { watch: string; state: string; rules: string } {
  if (source === undefined) return { watch: "gaps", state: "gaps", rules: "gaps:rules" };
  return { watch: `gaps:${source}`, state: `source-gaps:${source}`, rules: `source-gap-rules:${source}` };
}

const stateSchema = gapMemorySchema.extend({
  /** Since when the account sends nothing, and when it was so before. */
  offAt: z.number().optional(),
  offs: z.array(z.object({ fromAt: z.number(), toAt: z.number() })).default([]),
});
type GapState = z.infer<typeof stateSchema>;
const rulesSchema = z.record(z.string(), z.number().nullable());

/** What an earlier run knew; what cannot be read counts as nothing. */
async function loadGapState(store: Pick<WatchStore, "loadWatchState">, name: string): Promise<GapState> {
  return stateSchema.safeParse(await store.loadWatchState(name)).data ?? { told: [], open: [], closed: [], offs: [] };
}

/** What a check by itself takes of what the relay knows. */
export async function loadGapMemory(
  store: Pick<WatchStore, "loadWatchState">,
  now: number,
  source?: string,
): Promise<{ known: KnownRules | undefined; offs: Downtime[]; ends: ToldEnd[] }> {
  const names = gapNames(source);
  const state = await loadGapState(store, names.state);
  return { known: await loadKnownRules(store, names.rules), offs: offsOf(state, now), ends: endsOf(state) };
}

async function loadKnownRules(
  store: Pick<WatchStore, "loadWatchState">,
  name: string,
): Promise<KnownRules | undefined> {
  return rulesSchema.safeParse(await store.loadWatchState(name)).data;
}

function offsOf({ offs, offAt }: GapState, now: number): Downtime[] {
  return offAt === undefined ? offs : [...offs, { fromAt: offAt, toAt: now }];
}

/**
 * Looks again and again for alerts that should have arrived and did not, soon after a start and then on a timer, and tells
 * people of each once. How it is decided: `judge-gaps.ts`.
 */
export async function openGapWatch(deps: GapWatchDeps, { everyMs }: { everyMs: number }): Promise<GapWatch> {
  const { store, clock, random, log, source } = deps;
  const names = gapNames(source);
  const checking = createGapCheck({
    ...deps,
    memory: {
      known: await loadKnownRules(store, names.rules),
      save: (known) => store.saveWatchState({ name: names.rules, state: known }),
    },
  });
  let state = await loadGapState(store, names.state);
  let last: GapReport | undefined;
  let lookedAt: number | undefined;
  let failure: string | undefined;
  let stopping: AbortSignal | undefined;

  async function check(window: { since?: number; until?: number }): Promise<GapReport> {
    await noteOff();
    const offs = offsOf(state, clock.now());
    const asked = { ...window, downtimes: deps.downtimes(), offs, ends: endsOf(state) };
    const report = await checking.check(asked, stopping);
    if (window.since === undefined && window.until === undefined) {
      [last, lookedAt, failure] = [report, report.checkedAt, undefined];
    }
    return report;
  }

  async function noteOff(): Promise<void> {
    const { isOff, at } = await deps.readOff();
    if (isOff === (state.offAt !== undefined)) return;
    const fromAt = state.offAt;
    const offs = fromAt === undefined || at <= fromAt ? state.offs : [...state.offs, { fromAt, toAt: at }];
    const recent = offs.filter(({ toAt }) => toAt >= clock.now() - gapHistoryMs).slice(-mostOffs);
    await keep({ ...state, offAt: isOff ? at : undefined, offs: recent });
  }

  async function keep(next: GapState, facts?: AlertFacts): Promise<void> {
    const watch = { name: names.state, state: next };
    await (facts === undefined ? store.saveWatchState(watch) : deps.notify(facts, watch));
    state = next;
  }

  async function look(): Promise<void> {
    let report: GapReport;
    try {
      report = await check({});
    } catch (error) {
      lookedAt = clock.now();
      failure = error instanceof AppError ? error.message : "the log could not be read";
      throw error;
    }
    await tell(report);
  }

  async function tell(report: GapReport): Promise<void> {
    const { news, memory } = planGapNews(report, state);
    for (const one of news) {
      const query = source === undefined ? "" : `?source=${encodeURIComponent(source)}`;
      const facts = writeGapNotice(one, report, { link: `${deps.publicUrl}/gaps${query}`, source });
      const isMuted = findMuteOf(facts, deps.activeMutes()) !== undefined;
      const toldAt = isMuted ? state.toldAt : one.memory.toldAt;
      await keep({ ...state, ...one.memory, toldAt }, isMuted ? undefined : facts);
      log.warn(one.says === "lost" ? "gaps.found" : `gaps.${one.says}`, {
        source,
        lost: one.missing.length,
        muted: isMuted,
      });
    }
    const rest = { ...state, ...memory, toldAt: state.toldAt };
    if (JSON.stringify(rest) !== JSON.stringify(state)) await keep(rest);
  }

  return {
    report: () => last,
    check,
    view: () => viewGaps(last, { source, lookedAt, failure, state, now: clock.now() }),
    async run(stop) {
      stopping = stop;
      let waitMs = Math.min(firstAfterMs, everyMs);
      for (;;) {
        await clock.sleep(waitMs, stop);
        if (stop.aborted) return;
        // Many relays that start together do not ask together.
        waitMs = Math.round(everyMs * (0.8 + 0.2 * random()));
        try {
          await look();
        } catch (error) {
          if (stop.aborted) return;
          log.error("gaps.not_looked", { source, error: String(error).slice(0, 300) });
        }
      }
    },
  };
}

function viewGaps(
  report: GapReport | undefined,
  {
    source,
    lookedAt,
    failure,
    state: { toldAt, open, offAt },
    now,
  }: { source?: string; lookedAt?: number; failure?: string; state: GapState; now: number },
): WatchView {
  const seen = (verdict: WatchView["verdict"], summary: string, troubles: string[] = []): WatchView => ({
    name: gapNames(source).watch,
    verdict,
    summary,
    troubles,
    lookedAt,
  });
  if (offAt !== undefined) return seen("idle", "setup has turned the account's webhook off: no alert is expected");
  if (failure !== undefined) return seen("unknown", `cannot tell whether alerts are missing: ${failure}`);
  if (report === undefined) return seen("unknown", "it has not been looked yet whether alerts are missing");
  const { missing, unknown, rules, recordEveryMs } = report;
  const [first] = unknown;
  if (isUndecided(report) && first !== undefined) {
    const of = report.crossings === 0 ? "" : ` (${describeCrossings(report)})`;
    return seen("unknown", `cannot tell whether alerts are missing: ${first.what}: ${first.why}${of}`);
  }
  if (rules === 0) return seen("idle", "the account has no subscription, so no alert is expected");
  const blind = recordEveryMs === undefined ? "" : `, with a record each ${formatDuration(recordEveryMs)}`;
  const whole = `${describeCrossings(report)}, in seven days${blind}`;
  const sure = missing.filter(({ verdict }) => verdict === "sure").length;
  const counted = `${sure} sure, ${missing.length - sure} likely`;
  const isFresh = toldAt !== undefined && now - toldAt < troubleForMs;
  if (open.length > 0 || (isFresh && missing.some(({ outage }) => outage !== undefined))) {
    return seen("trouble", `alerts are missing: ${counted}`, [
      `Alerts should have arrived and did not: ${counted}. See Gaps on the page, or run: tocsin gaps${source === undefined ? "" : ` --source ${source}`}.`,
    ]);
  }
  return seen("well", missing.length === 0 ? `no alert is missing: ${whole}` : `missing: ${counted}; ${whole}`);
}

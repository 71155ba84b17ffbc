import { z } from "zod";
import type { AlertFacts } from "../../core/alert.ts";
import type { Clock, Random } from "../../core/clock.ts";
import { AppError } from "../../core/errors.ts";
import type { Downtime, GapReport, MissingAlert } from "../../core/gaps.ts";
import type { Log } from "../../core/log.ts";
import type { AlertLog } from "../../core/ports/alert-log.ts";
import type { MetricHistoryService } from "../../core/ports/metric-history.ts";
import type { Watch, WatchState, WatchStore, WatchView } from "../../core/ports/watch.ts";
import type { Mute } from "../../core/rules.ts";
import { formatDuration } from "../../ground/time/time-format.ts";
import { findMuteOf } from "../find-mute.ts";
import { createGapCheck, historyMs } from "./gap-check.ts";
import { writeGapNotice } from "./gap-notice.ts";

export interface GapWatchDeps {
  /** Of the account whose alerts this store has. */
  service: MetricHistoryService;
  store: WatchStore & Pick<AlertLog, "listFacts">;
  /** Sends a notice of the relay itself, and saves the state in the same step. Rejects as the store does. */
  notify(facts: AlertFacts, watch: WatchState): Promise<void>;
  /** Those that hold now. */
  activeMutes(): Mute[];
  /** How people reach the page. */
  publicUrl: string;
  clock: Clock;
  random: Random;
  log: Log;
}

export interface GapWatch extends Watch {
  /** What the last look found; absent: none was made since the start. */
  report(): GapReport | undefined;
  /** Looks now, at the time that is named or at all that the service has records of. Tells nobody. */
  check(window: { since?: number; until?: number }): Promise<GapReport>;
}

/** What is saved now and then, so that the next start knows how long the relay was down. */
const aliveEveryMs = 60_000;
/** A sender that repeats what failed does so within minutes of a start. */
const firstAfterMs = 5 * 60_000;
/** That long after it was told, it is no trouble any more. */
const troubleForMs = 24 * 3_600_000;
/** Shorter than this a restart takes anyhow. */
const leastDowntimeMs = 1_000;
const mostDowntimes = 200;
const mostTold = 2_000;
const gapStateName = "gaps";

const span = { fromAt: z.number(), toAt: z.number() };
const stateSchema = z.object({
  aliveAt: z.number().optional(),
  downtimes: z.array(z.object(span)),
  told: z.array(z.object({ rule: z.string(), status: z.enum(["firing", "resolved"]), ...span })),
  toldAt: z.number().optional(),
});
type GapState = z.infer<typeof stateSchema>;

/** What an earlier run knew; what cannot be read counts as nothing. */
export async function loadGapState(store: Pick<WatchStore, "loadWatchState">): Promise<GapState> {
  return stateSchema.safeParse(await store.loadWatchState(gapStateName)).data ?? { downtimes: [], told: [] };
}

/** The times in which no relay ran on this store, the present one among them where none does. */
export function downtimesOf({ aliveAt, downtimes }: GapState, now: number): Downtime[] {
  const isNow = aliveAt !== undefined && now - aliveAt >= leastDowntimeMs;
  return isNow ? [...downtimes, { fromAt: aliveAt, toAt: now }] : downtimes;
}

/**
 * Looks again and again for alerts that should have come and did not, soon after a start and then on a timer, and tells
 * people of each once. How it is decided: `judge-gaps.ts`.
 */
export async function openGapWatch(deps: GapWatchDeps, { everyMs }: { everyMs: number }): Promise<GapWatch> {
  const { store, clock, random, log } = deps;
  const checking = createGapCheck(deps);
  const loaded = await loadGapState(store);
  const startedAt = clock.now();
  const oldestAt = startedAt - historyMs;
  let state: GapState = {
    ...loaded,
    downtimes: downtimesOf(loaded, startedAt)
      .filter(({ toAt }) => toAt >= oldestAt)
      .slice(-mostDowntimes),
    aliveAt: startedAt,
  };
  let last: GapReport | undefined;
  let lookedAt: number | undefined;
  let failure: string | undefined;
  let running = Promise.resolve<unknown>(undefined);
  let stopping: AbortSignal | undefined;

  /** One at a time: they share what was read. */
  function check(window: { since?: number; until?: number }): Promise<GapReport> {
    const next = running.then(() => checking.check({ ...window, downtimes: state.downtimes }, stopping));
    running = next.catch(() => {});
    return next;
  }

  async function keep(next: GapState, facts?: AlertFacts): Promise<void> {
    const watch = { name: gapStateName, state: next };
    await (facts === undefined ? store.saveWatchState(watch) : deps.notify(facts, watch));
    state = next;
  }

  async function look(): Promise<void> {
    lookedAt = clock.now();
    try {
      last = await check({});
      failure = undefined;
    } catch (error) {
      failure = error instanceof AppError ? error.message : "the log could not be read";
      throw error;
    }
    await tell(last);
  }

  /** Only what is sure, or was lost while the relay was known to be down, is worth a message. */
  async function tell(report: GapReport): Promise<void> {
    const isNews = (missing: MissingAlert) => !state.told.some((known) => isSame(known, missing));
    const news = report.missing.filter(
      (missing) => isNews(missing) && (missing.verdict === "sure" || missing.whileDown),
    );
    if (news.length === 0) return;
    const facts = writeGapNotice(news, report, `${deps.publicUrl}/gaps`);
    const isMuted = findMuteOf(facts, deps.activeMutes()) !== undefined;
    const told = [...state.told, ...news.map(({ rule, status, fromAt, toAt }) => ({ rule, status, fromAt, toAt }))];
    const recent = told.filter(({ toAt }) => toAt >= report.checkedAt - historyMs - troubleForMs).slice(-mostTold);
    await keep(
      { ...state, told: recent, toldAt: isMuted ? state.toldAt : report.checkedAt },
      isMuted ? undefined : facts,
    );
    const sure = news.filter(({ verdict }) => verdict === "sure").length;
    log.warn("gaps.found", { sure, likely: news.length - sure, muted: isMuted });
  }

  async function stayAlive(): Promise<void> {
    await keep({ ...state, aliveAt: clock.now() });
  }

  return {
    report: () => last,
    check,
    view: () => viewGaps(last, { lookedAt, failure, toldAt: state.toldAt, now: clock.now() }),
    async run(stop) {
      stopping = stop;
      let nextAt = clock.now() + Math.min(firstAfterMs, everyMs);
      while (!stop.aborted) {
        try {
          await stayAlive();
          if (clock.now() >= nextAt) {
            // Many relays that start together do not ask together.
            nextAt = clock.now() + Math.round(everyMs * (0.8 + 0.2 * random()));
            await look();
          }
        } catch (error) {
          if (stop.aborted) break;
          log.error("gaps.not_looked", { error: String(error).slice(0, 300) });
        }
        await clock.sleep(Math.max(1_000, Math.min(aliveEveryMs, nextAt - clock.now())), stop);
      }
      await stayAlive().catch(() => {});
    },
  };
}

/** The same crossing: later records may show it a little narrower. */
function isSame(known: GapState["told"][number], { rule, status, fromAt, toAt }: MissingAlert): boolean {
  return known.rule === rule && known.status === status && known.fromAt < toAt && known.toAt > fromAt;
}

function viewGaps(
  report: GapReport | undefined,
  { lookedAt, failure, toldAt, now }: { lookedAt?: number; failure?: string; toldAt?: number; now: number },
): WatchView {
  const seen = (verdict: WatchView["verdict"], summary: string, troubles: string[] = []): WatchView => ({
    name: "gaps",
    verdict,
    summary,
    troubles,
    lookedAt,
  });
  if (failure !== undefined) return seen("unknown", `cannot tell whether alerts are missing: ${failure}`);
  if (report === undefined) return seen("unknown", "it has not been looked yet whether alerts are missing");
  const { missing, unknown, rules, crossings, recordEveryMs } = report;
  const sure = missing.filter(({ verdict }) => verdict === "sure").length;
  if (rules === 0 || crossings === 0) {
    const [first] = unknown;
    if (first === undefined && rules > 0) return seen("well", `no crossing of ${rules} rules in seven days`);
    return first === undefined
      ? seen("idle", "the account has no subscription, so no alert is expected")
      : seen("unknown", `cannot tell whether alerts are missing: ${first.what}: ${first.why}`);
  }
  const counted = `${sure} sure, ${missing.length - sure} likely`;
  const isFresh = toldAt !== undefined && now - toldAt < troubleForMs;
  if (sure > 0 && isFresh) {
    return seen("trouble", `alerts are missing: ${counted}`, [
      `Alerts should have come and did not: ${counted}. See Gaps on the page, or run: tocsin gaps.`,
    ]);
  }
  const blind = recordEveryMs === undefined ? "" : `, with a record each ${formatDuration(recordEveryMs)}`;
  const whole = `${crossings} crossings of ${rules} rules in seven days${blind}`;
  return seen("well", missing.length === 0 ? `no alert is missing of ${whole}` : `missing: ${counted}, of ${whole}`);
}

import { z } from "zod";
import type { Clock } from "../core/clock.ts";
import type { Downtime } from "../core/gaps.ts";
import type { Log } from "../core/log.ts";
import { createPoll } from "../core/poll.ts";
import { restoresStateName, type WatchStore } from "../core/ports/watch.ts";
import { errorText } from "../ground/text/error-text.ts";

const everyMs = 60_000;
/** A relay that did not wake for this long was asleep with its machine, or its clock was set. */
const awayMs = 3 * 60_000;
/** A shorter downtime is not noted: every restart takes this long. */
const leastDowntimeMs = 1_000;
const keptMs = 8 * 24 * 3_600_000;
const mostDowntimes = 200;
const stateName = "running";
const restoresSchema = z.object({ times: z.array(z.object({ fromAt: z.number(), toAt: z.number() })) });

const stateSchema = z.object({
  aliveAt: z.number(),
  downtimes: z.array(z.object({ fromAt: z.number(), toAt: z.number(), asleep: z.boolean().optional() })),
});

export type RunningTimes = Awaited<ReturnType<typeof openRunningTimes>>;

/** The times in which no relay ran, the oldest first. `isRunning` false: also the time since the last one ran. */
export async function readDowntimes(
  store: Pick<WatchStore, "loadWatchState">,
  now: number,
  isRunning = false,
): Promise<Downtime[]> {
  const until = isRunning ? Number.NEGATIVE_INFINITY : now;
  const [downtimes, restores] = await Promise.all([readStops(store, now, until), readRestores(store, now)]);
  return [...downtimes, ...restores].sort((a, b) => a.fromAt - b.fromAt);
}

/** @param until when a relay ran again. Default: none runs yet */
async function readStops(store: Pick<WatchStore, "loadWatchState">, now: number, until = now): Promise<Downtime[]> {
  const known = stateSchema.safeParse(await store.loadWatchState(stateName)).data;
  if (known === undefined) return [];
  const downtimes = known.downtimes.filter(({ toAt }) => toAt >= now - keptMs).slice(-mostDowntimes);
  return until - known.aliveAt < leastDowntimeMs ? downtimes : [...downtimes, { fromAt: known.aliveAt, toAt: until }];
}

/** The times that `tocsin restore` has noted in the restored backup. */
async function readRestores(store: Pick<WatchStore, "loadWatchState">, now: number): Promise<Downtime[]> {
  const known = restoresSchema.safeParse(await store.loadWatchState(restoresStateName)).data;
  return (known?.times ?? []).filter(({ toAt }) => toAt >= now - keptMs).map((time) => ({ ...time, restored: true }));
}

/** Saves each minute that the relay runs. A process that did nothing counts as asleep, like a clock that was set. */
export async function openRunningTimes(deps: {
  store: WatchStore;
  /** Since when some relay has run on this store, epoch milliseconds. Absent: only this one runs. */
  ranSince?(): number;
  clock: Clock;
  log: Log;
}) {
  const { store, ranSince, clock, log } = deps;
  let aliveAt = clock.now();
  let downtimes = await readStops(store, aliveAt, ranSince?.());
  const restores = await readRestores(store, aliveAt);

  async function save(): Promise<void> {
    const now = clock.now();
    if (Math.abs(now - aliveAt) > awayMs) {
      const [fromAt, toAt] = now > aliveAt ? [aliveAt, now] : [now, aliveAt];
      downtimes = [...downtimes, { fromAt, toAt, asleep: true }];
    }
    downtimes = downtimes.filter(({ toAt }) => toAt >= now - keptMs).slice(-mostDowntimes);
    aliveAt = now;
    await store.saveWatchState({ name: stateName, state: { aliveAt, downtimes } });
  }

  return {
    /** The oldest first, with a precision of a minute. */
    downtimes: () => [...downtimes, ...restores].sort((a, b) => a.fromAt - b.fromAt),
    async run(stop: AbortSignal): Promise<void> {
      const onFailed = (error: unknown) => {
        if (!stop.aborted) log.error("running.unsaved", { error: errorText(error) });
      };
      await createPoll({ look: save, everyMs, clock, onFailed }).run(stop);
      await save().catch(onFailed);
    },
  };
}

import { onTestFinished } from "vitest";
import type { AlertFacts } from "../../src/core/alert.ts";
import { type Log, silentLog } from "../../src/core/log.ts";
import type { Matcher, Mute } from "../../src/core/rules.ts";
import { openLocalStore } from "../../src/store/sqlite/local-store.ts";
import type { SqliteStore } from "../../src/store/sqlite/store.ts";
import type { Duty, WatchDeps } from "../../src/watch/watch.ts";
import { mute } from "../conformance/store/common/mutes.ts";
import { newIdAt, openScene } from "../conformance/store/scene.ts";
import { createTestClock, type TestClock } from "../support/test-clock.ts";

export { day, hour, minute, second } from "../support/test-clock.ts";

export type WorldDeps = WatchDeps & { clock: TestClock; store: SqliteStore; activeMutes(): Mute[] };

export type WatchWorld<W extends Duty> = Awaited<ReturnType<typeof createWatchWorld<W>>>;

/** A watch over a real store, with a clock that a test moves. It runs from `start` to the end of the test at the latest. */
export async function createWatchWorld<W extends Duty>(
  open: (deps: WorldDeps) => W | Promise<W | undefined>,
  { startsAt, log = silentLog }: { startsAt?: number; log?: Log } = {},
) {
  const clock = createTestClock(startsAt);
  const scene = await openScene(async (dataDir) =>
    openLocalStore({ path: `${dataDir}/tocsin.db`, ballastBytes: 0, now: clock.now }),
  );
  let ending = new AbortController();
  let running: Promise<void> | undefined;
  const world = {
    ...{ clock, scene },
    /** Of the present run. */
    watch: undefined as unknown as W,
    mutes: [] as Mute[],
    /** The notices so far, the oldest first. */
    told: [] as AlertFacts[],
    /** When each was. */
    toldAt: [] as number[],
    /** Why no notice can be stored now. */
    refusal: undefined as Error | undefined,
    /** The notices: `critical firing: title`. It runs from `start` on. */
    lines: (): string[] => world.told.map(({ severity, status, title }) => `${severity} ${status}: ${title}`),
    async start(): Promise<void> {
      ending = new AbortController();
      const watch = await open({
        store: scene.store,
        async notify(facts, watch) {
          if (world.refusal !== undefined) throw world.refusal;
          const id = newIdAt(clock.now());
          await scene.store.recordNotice({ id, at: clock.now(), facts, decisions: [], deliveries: [], watch });
          world.told.push(facts);
          world.toldAt.push(clock.now());
        },
        activeMutes: () => world.mutes,
        publicUrl: "https://tocsin.example.com",
        clock,
        log,
      });
      world.watch = watch as W;
      running = world.watch.run(ending.signal);
      await clock.settle();
    },
    /** Killed: what it saves at an end in order is not saved. */
    async stop(how: "stopped" | "killed" = "stopped"): Promise<void> {
      const { saveWatchState } = scene.store;
      if (how === "killed") scene.store.saveWatchState = () => Promise.reject(new Error("killed"));
      ending.abort();
      await running;
      scene.store.saveWatchState = saveWatchState;
    },
    /** Stops it, and starts another on what was stored, after so long. */
    async restart(afterMs = 0, how: "stopped" | "killed" = "stopped"): Promise<void> {
      await world.stop(how);
      await clock.jump(afterMs);
      await world.start();
    },
  };
  onTestFinished(() => world.stop());
  return world;
}

export async function startWatchWorld<W extends Duty>(...given: Parameters<typeof createWatchWorld<W>>) {
  const world = await createWatchWorld(...given);
  await world.start();
  return world;
}

/** A step of a scene: notices with this alert key, or of which this holds, are muted from now on. Absent: none any more. */
export const muting =
  (of?: string | Matcher) =>
  ({ mutes }: { mutes: Mute[] }): void => {
    const matcher = typeof of === "string" ? { field: "alertKey", condition: { equals: [of] } } : of;
    mutes.splice(0, mutes.length, ...(matcher ? [mute("m", { matchers: [matcher] })] : []));
  };

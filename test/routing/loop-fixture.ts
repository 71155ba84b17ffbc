import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { AlertFacts } from "../../src/core/alert.ts";
import { createIdSource } from "../../src/core/id.ts";
import { silentLog } from "../../src/core/log.ts";
import type { BodyReader, ReadingJournal } from "../../src/core/ports/body-reader.ts";
import type { RoutingRecord } from "../../src/core/ports/routing-desk.ts";
import type { Store } from "../../src/core/ports/store.ts";
import type { SeenShape } from "../../src/core/shape.ts";
import { Judging } from "../../src/routing/judging.ts";
import { createRouter, type Router } from "../../src/routing/router.ts";
import { RoutingLoop } from "../../src/routing/routing-loop.ts";
import { openLocalStore } from "../../src/store/sqlite/local-store.ts";
import { anAlert } from "../support/facts.ts";
import { createLocalReader, createMemoryJournal } from "../support/reader.ts";
import { makeTempFolder } from "../support/temp-folder.ts";
import { createTestClock } from "../support/test-clock.ts";

export const factsOf = (title: string): AlertFacts =>
  anAlert({ title, severity: "info", format: "text", alertKey: title });

/** How long a body that names its own event is remembered. */
export const hourMs = 3_600_000;

export interface LoopOptions {
  /** Default: the body is the title. */
  reader?: BodyReader;
  journal?: ReadingJournal;
  router?: Router;
  flooded?: () => boolean;
  noteShapes?: (alerts: readonly SeenShape[]) => void;
  /** What there is when the loop starts. */
  before?(store: Store, accept: (body: string) => Promise<string[]>): Promise<unknown>;
  /** Stands between the loop and the store. */
  wrap?(store: Store): Store;
  /** Is asked in place of the store to record how alerts are routed; `record` is the store. */
  recording?(records: RoutingRecord[], record: Store["recordRouting"]): ReturnType<Store["recordRouting"]>;
}

/** A routing loop over a real database, with a clock that a test moves. */
export async function startLoop(options: LoopOptions = {}) {
  const steady = createTestClock();
  let shiftMs = 0;
  const clock = { ...steady, now: () => steady.now() + shiftMs };
  const store = openLocalStore({ path: join(makeTempFolder(), "tocsin.db"), ballastBytes: 0, now: clock.now });
  const { recording } = options;
  const seen = recording
    ? { ...store, recordRouting: (all: RoutingRecord[]) => recording(all, store.recordRouting) }
    : store;
  const newId = createIdSource(clock.now);
  const stop = new AbortController();
  const judging = new Judging({
    router: options.router ?? createRouter({ destinations: [], routes: [], mutes: [] }),
    repeatWindowMs: hourMs,
    hasUnsignedKeys: () => false,
    noteShapes: options.noteShapes,
    activeMutes: () => [],
    clock,
    log: silentLog,
  });
  const loop = new RoutingLoop({
    store: options.wrap?.(store) ?? seen,
    reader: options.reader ?? createLocalReader((body) => [{ facts: factsOf(Buffer.from(body).toString()) }]),
    journal: options.journal ?? createMemoryJournal(),
    judging,
    mayRoute: () => fixture.mayRoute,
    isFlooded: options.flooded ?? (() => false),
    clock,
    log: silentLog,
  });
  async function accept(body: string, count = 1) {
    const ids = Array.from({ length: count }, newId);
    const request = { receivedAt: clock.now(), headers: "[]", body: Buffer.from(body), ids };
    await store.acceptRequest({ ...request, origin: "hook", dedupeWindowMs: 1 });
    return ids;
  }
  await options.before?.(store, accept);
  let running = Promise.resolve();
  const fixture = {
    clock,
    /** Sets the clock, as a person or NTP does; who sleeps does not notice. */
    shift(ms: number) {
      shiftMs += ms;
    },
    store,
    loop,
    judging,
    counters: judging.counters,
    accept,
    isRouted: async (id = "") => (await store.getAlert(id))?.routedAt !== undefined,
    /** Accepts it and lets so long pass, default a moment. Its ids. */
    async send(body: string, passMs = 0, count = 1) {
      const ids = await accept(body, count);
      await clock.advance(passMs);
      return ids;
    },
    /** Ends the loop, as the end of the test does. */
    async stop() {
      stop.abort();
      await running;
    },
    /** Whether it is this relay that routes. */
    mayRoute: true,
    /** Whether the loop hears of what its store commits. */
    hears: true,
  };
  store.subscribe("accepted", () => {
    // In a later turn, as of a store in threads: what a test accepts at once is there by then.
    if (fixture.hears) setImmediate(() => loop.wake());
  });
  running = loop.run(stop.signal);
  onTestFinished(async () => {
    stop.abort();
    await running;
    await store.close();
  });
  return fixture;
}

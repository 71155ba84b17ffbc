import type { AlertFacts } from "../../src/core/alert.ts";
import { writeJson } from "../../src/core/json.ts";
import { silentLog } from "../../src/core/log.ts";
import type { FactMapping } from "../../src/core/mapping.ts";
import type { WatchState } from "../../src/core/ports/watch.ts";
import type { SeenShape } from "../../src/core/shape.ts";
import { compileMapping } from "../../src/intake/find/mapped-facts.ts";
import { createShapeReader, type ShapeReader } from "../../src/intake/find/shape.ts";
import { translateRequest } from "../../src/intake/translate.ts";
import { ShapeWatch } from "../../src/watch/shapes.ts";
import { route } from "../routing/sample.ts";
import { runDuty } from "../support/run-duty.ts";
import { createTestClock } from "../support/test-clock.ts";

export interface ShapeWorldOptions {
  /** Matchers of one route each, by its name. */
  routes?: Record<string, string[]>;
  saved?: unknown;
  mapping?: FactMapping;
}

/** What a relay does with each request's body, up to the notices, with a store in memory. */
export async function createShapeWorld({ routes = {}, saved: given, mapping: ofStart }: ShapeWorldOptions = {}) {
  const clock = createTestClock();
  const shapes = createShapeReader();
  let saved = structuredClone(given);
  let mapping = ofStart;
  let end: (() => Promise<void>) | undefined;
  const save = ({ state }: WatchState) => {
    saved = JSON.parse(JSON.stringify(state));
  };
  const open = () =>
    new ShapeWatch({
      store: { loadWatchState: async () => structuredClone(saved), saveWatchState: async (state) => save(state) },
      async notify(facts, state) {
        if (world.refusal !== undefined) throw world.refusal;
        world.told.push(facts);
        world.toldAt.push(clock.now());
        save(state);
      },
      routes: Object.entries(routes).map(([name, fields]) =>
        route(name, ["desk"], { matchers: fields.map((field) => ({ field, condition: { exists: true } })) }),
      ),
      askForShape: (id) => shapes.forget([id]),
      readBy: JSON.stringify(mapping ?? {}),
      publicUrl: "https://tocsin.example",
      clock,
      log: silentLog,
    }).open();
  const world = {
    clock,
    /** Of the present run. */
    watch: undefined as unknown as ShapeWatch,
    told: [] as AlertFacts[],
    toldAt: [] as number[],
    /** Why no notice can be stored now. */
    refusal: undefined as Error | undefined,
    /** What a restart finds. */
    saved: () => saved,
    /** Reads the body so often. */
    send(body: unknown, times = 1) {
      const bytes = Buffer.from(typeof body === "string" ? body : writeJson(body));
      for (let time = 0; time < times; time += 1) world.watch.note(readShapes(bytes, shapes, mapping), clock.now());
    },
    /** Runs the duty: sends what is due, and goes on until it is stopped, or the test ends. */
    async run() {
      end ??= runDuty(world.watch);
      await clock.settle();
    },
    stop: async () => end?.(),
    /** Another runs on what was saved, with this mapping from now on. Killed: the end saves nothing. */
    async restart(how: "stopped" | "killed" = "stopped", mappingNow = mapping) {
      const before = saved;
      await world.stop();
      if (how === "killed") saved = before;
      mapping = mappingNow;
      end = undefined;
      world.watch = await open();
      await world.run();
    },
  };
  world.watch = await open();
  return world;
}

export function readShapes(bytes: Buffer, shapes: ShapeReader, mapping?: FactMapping): SeenShape[] {
  return translateRequest(bytes, undefined, { shapes, mapping: compileMapping(mapping) });
}

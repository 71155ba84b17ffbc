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
  /** Why a notice cannot be stored now. */
  refuse?: () => Error | undefined;
}

/** What a relay does with each request's body, up to the notices, with a store in memory. */
export async function createShapeWorld(options: ShapeWorldOptions = {}) {
  const clock = createTestClock();
  const notices: AlertFacts[] = [];
  const shapes = createShapeReader();
  let saved = structuredClone(options.saved);
  let end: (() => Promise<void>) | undefined;
  const save = ({ state }: WatchState) => {
    saved = JSON.parse(JSON.stringify(state));
  };
  const watch = await new ShapeWatch({
    store: { loadWatchState: async () => structuredClone(saved), saveWatchState: async (state) => save(state) },
    async notify(facts, state) {
      const error = options.refuse?.();
      if (error !== undefined) throw error;
      notices.push(facts);
      save(state);
    },
    routes: Object.entries(options.routes ?? {}).map(([name, fields]) =>
      route(name, ["desk"], { matchers: fields.map((field) => ({ field, condition: { exists: true } })) }),
    ),
    askForShape: (id) => shapes.forget([id]),
    readBy: JSON.stringify(options.mapping ?? {}),
    publicUrl: "https://tocsin.example",
    clock,
    log: silentLog,
  }).open();
  const world = {
    ...{ clock, watch, notices },
    /** What a restart finds. */
    saved: () => saved,
    /** Reads the body so often. */
    send(body: unknown, times = 1) {
      const bytes = Buffer.from(typeof body === "string" ? body : writeJson(body));
      for (let time = 0; time < times; time += 1) watch.note(readShapes(bytes, shapes, options.mapping), clock.now());
    },
    /** Runs the duty: sends what is due, and goes on until it is stopped, or the test ends. */
    async run() {
      end ??= runDuty(watch);
      await clock.settle();
    },
    stop: async () => end?.(),
  };
  return world;
}

export function readShapes(bytes: Buffer, shapes: ShapeReader, mapping?: FactMapping): SeenShape[] {
  return translateRequest(bytes, undefined, { shapes, mapping: compileMapping(mapping) });
}

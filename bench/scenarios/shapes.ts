import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Bench, Sample, Scenario } from "../harness/bench.ts";
import { quantile } from "../harness/statistics.ts";
import { sampleRequests } from "../sample-alerts.ts";

/** What it costs to follow the shapes of alerts: reading each body with its shape, and taking it into the catalogue. */
export const shapes: Scenario = {
  name: "shapes",
  what: "what following the shapes of alerts adds to reading a body and to taking it",
  run(bench) {
    return bench.compare({
      title: "reading a body, with its shape",
      rounds: bench.quick ? 1 : Math.max(5, bench.rounds),
      contenders: bench.checkouts.map(({ name, folder }) => ({ name, run: () => measure(bench, folder) })),
      figures: [
        { of: "reading", label: "reading without", unit: "µs" },
        { of: "added", label: "more for its shape", unit: "%", aim: "≤ 3 %" },
        { of: "taking", label: "taking it into the catalogue", unit: "µs" },
        { of: "noise", label: "without against without", unit: "%" },
      ],
      note: "in slices of 100 bodies in turn, in one process; of each the tenth percentile, so that neighbours do not count",
    });
  },
};

type Intake = typeof import("../../src/intake/translate.ts") & typeof import("../../src/intake/find/shape.ts");
type Catalogue = typeof import("../../src/watch/shape-catalogue.ts");

async function measure({ quick }: Bench, checkout: string): Promise<Sample> {
  const load = (path: string) => import(pathToFileURL(join(checkout, "dist", path)).href);
  const { translateRequest }: Intake = await load("intake/translate.js");
  const { createShapeReader }: Intake = await load("intake/find/shape.js");
  const { createShapeCatalogue }: Catalogue = await load("watch/shape-catalogue.js");
  const bodies = [...sampleRequests({ alerts: 300, endAt: 0 })]
    .filter(({ alerts }) => alerts.length === 1)
    .map(({ body }) => body)
    .slice(0, 100);
  const reader = createShapeReader();
  const catalogue = createShapeCatalogue({ isReadByRoutes: () => false, askFor: (id) => reader.forget([id]) });
  const read = (shapes: typeof reader | undefined) =>
    bodies.map((body) => JSON.stringify(translateRequest(body, undefined, { shapes }).map(onTheWire)));
  const slices = {
    plain: () => read(undefined),
    shaped: () => read(reader),
    again: () => read(undefined),
    taken() {
      for (const one of seen) catalogue.note(one, 0);
    },
  };
  const seen = bodies.map((body) => translateRequest(body, undefined, { shapes: createShapeReader() }));
  const times = Object.fromEntries(Object.keys(slices).map((name) => [name, [] as number[]]));
  const endAt = performance.now() + (quick ? 400 : 6_000);
  for (let round = 0; performance.now() < endAt; round += 1) {
    for (const [name, slice] of Object.entries(slices)) {
      const startedAt = performance.now();
      slice();
      // Before that the compiler is not done.
      if (round >= 40) times[name]?.push((1_000 * (performance.now() - startedAt)) / bodies.length);
    }
  }
  const of = (name: keyof typeof slices) =>
    quantile(
      (times[name] ?? []).sort((a, b) => a - b),
      0.1,
    );
  return {
    reading: of("plain"),
    added: 100 * (of("shaped") / of("plain") - 1),
    taking: of("taken"),
    noise: 100 * (of("again") / of("plain") - 1),
  };
}

/** As `toWire` in the thread that reads sends it. */
function onTheWire({ facts, shape }: ReturnType<Intake["translateRequest"]>[number]) {
  return { facts, shape: shape?.places ? shape : shape?.id };
}

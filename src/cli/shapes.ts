import type { ShapesView } from "../contract/operations.ts";
import { shapesPanel } from "../contract/panels/shapes.ts";
import { command } from "./command.ts";
import { flag } from "./options.ts";
import { connectRelay, type RelayRun, relayOptions } from "./relay/connect-relay.ts";
import { fromWire } from "./relay/from-wire.ts";
import { drawPanel } from "./shell/draw-panel.ts";

/** `tocsin shapes`: the paths that alerts have, by kinds of alerts, as the running relay has seen them. */
export const shapes = command({
  name: "shapes",
  summary: "what the payloads of alerts are made of",
  says: "what the payloads of alerts are made of: paths, types, examples, counts, what is read from each",
  options: { all: flag("also the paths that no fact and no route reads"), ...relayOptions },
  examples: ["tocsin shapes", "tocsin shapes --all --json"],
  run: showShapes,
});

async function showShapes({ all = false }: { all?: boolean }, run: RelayRun): Promise<void> {
  const { output, context } = run;
  const { client } = await connectRelay(run);
  const shapes = await client.readShapes();
  const kinds = shapes.kinds.map((kind) => ({
    ...kind,
    places: kind.places.filter(({ facts, routes }) => all || facts.length > 0 || routes.length > 0),
  }));
  await output.result({ ...shapes, kinds }, () =>
    drawPanel(shapesPanel(fromWire<ShapesView>(shapes)), output, context.now(), { all }),
  );
}

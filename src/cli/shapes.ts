import type { Command } from "commander";
import { shapesPanel } from "../contract/panels/shapes.ts";
import type { ShapesView } from "../core/operations.ts";
import { addRelayOptions, connectRelay, type RelayFlags, type RelayRun } from "./relay/connect-relay.ts";
import { fromWire } from "./relay/from-wire.ts";
import type { CliContext } from "./shell/context.ts";
import { drawPanel } from "./shell/draw-panel.ts";
import { addExamples, openOutput } from "./shell/output.ts";

interface ShapesOptions {
  all?: boolean;
}

/** `tocsin shapes`: the paths that alerts have, by kinds of alerts, as the running relay has seen them. */
export function registerShapes(program: Command, context: CliContext): void {
  const command = program
    .command("shapes")
    .description("what the payloads of alerts are made of: paths, types, examples, counts, what is read from each")
    .option("--all", "also the paths that no fact and no route reads")
    .action(async (options: RelayFlags & ShapesOptions, self: Command) => {
      await showShapes({ context, flags: options, output: openOutput(context, self) }, options);
    });
  addExamples(addRelayOptions(command), "tocsin shapes", "tocsin shapes --all --json");
}

async function showShapes(run: RelayRun, { all = false }: ShapesOptions): Promise<void> {
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

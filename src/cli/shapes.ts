import type { Command } from "commander";
import { addRelayOptions, connectRelay, type RelayFlags, type RelayRun } from "./relay/connect-relay.ts";
import type { ShapesOnWire } from "./relay/relay-client.ts";
import { countOf, withAge } from "./shell/amounts.ts";
import type { CliContext } from "./shell/context.ts";
import { addExamples, joinSections, type Output, openOutput } from "./shell/output.ts";
import { terminalText } from "./shell/terminal-text.ts";

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
  await output.result({ ...shapes, kinds }, () => formatShapes({ ...shapes, kinds }, output, context.now()));
}

function formatShapes({ kinds, unfollowed }: ShapesOnWire, output: Output, now: number): string {
  if (kinds.length === 0) return "No alert with a payload has arrived yet.\n";
  return joinSections([
    ...kinds.flatMap((kind) => [describeKind(kind, output, now), formatPlaces(kind, output, now)]),
    unfollowed.unknown === 0
      ? ""
      : `${countOf(unfollowed.unknown, "more alert")} could not be counted here: too many other shapes are known.`,
    unfollowed.without === 0
      ? ""
      : `${countOf(unfollowed.without, "alert")} had no shape: texts, broken JSON, or more than 1,000 places.`,
  ]);
}

type Kind = ShapesOnWire["kinds"][number];

function describeKind({ title, source, alerts, firstAt, lastAt, shapes }: Kind, output: Output, now: number): string {
  const head = output.style("bold", terminalText(source === null ? `Like “${title}”` : `${source}: like “${title}”`));
  const seen = `${countOf(alerts, "alert")} of ${countOf(shapes, "shape")}, first ${withAge(firstAt, now)}, last ${withAge(lastAt, now)}`;
  return `${head}\n${seen}`;
}

function formatPlaces({ places, alerts }: Kind, output: Output, now: number): string {
  if (places.length === 0) return "No fact and no route reads anything of it (--all shows its paths).";
  return output.table(
    [
      { title: "path", keep: true },
      { title: "type" },
      { title: "in", align: "right" },
      { title: "last" },
      { title: "read as" },
      { title: "routes" },
      { title: "example" },
    ],
    places.map((place) => [
      place.path,
      place.isGone ? `${place.type}, gone` : place.type,
      place.alerts === alerts ? "all" : place.alerts.toLocaleString("en-US"),
      withAge(place.lastAt, now),
      place.facts.join(", "),
      place.routes.join(", "),
      place.example,
    ]),
  );
}

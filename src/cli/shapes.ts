import { shapesPanel } from "../panels/shapes.ts";
import { flag } from "./options.ts";
import { question } from "./relay/question.ts";

export const shapes = question({
  name: "shapes",
  summary: "what the payloads of alerts are made of",
  says: "what the payloads of alerts are made of: paths, types, examples, counts, what is read from each",
  options: { all: flag("also the paths that no fact and no route reads") },
  examples: ["tocsin shapes", "tocsin shapes --all --json"],
  of: "readShapes",
  async ask(client, { all }, { output }) {
    const known = await client.readShapes();
    // The folded parts are left out here too, with their numbers.
    if (all || !output.json) return known;
    const kinds = known.kinds.map((kind) => ({
      ...kind,
      places: kind.places.filter(({ facts, routes }) => facts.length > 0 || routes.length > 0),
    }));
    return { ...known, kinds };
  },
  show: shapesPanel,
});

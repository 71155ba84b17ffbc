import type { Mute } from "../core/rules.ts";
import { muteSchema } from "./schema.ts";
import { refuseKind } from "./shape/advise-on-kind.ts";
import type { ProblemList } from "./shape/problem-list.ts";
import { readShape } from "./shape/read-shape.ts";

/** The list `mutes:`. Ids are made of the position, so that the page can name the entry: `configuration:1` is the first. */
export function buildMutes(values: unknown, problems: ProblemList): Mute[] {
  if (!Array.isArray(values)) {
    const { message, instead } = refuseKind(
      "list",
      "mutes",
      values,
      "write a list: each mute begins with '- '",
    );
    problems.add(["mutes"], message, instead);
    return [];
  }
  return values.flatMap((value, index) => {
    const path = ["mutes", index];
    const options = readShape(muteSchema, value, path, problems);
    if (options === undefined) return [];
    const { match, reason, from = 0, until } = options;
    if (until <= from) problems.add([...path, "until"], "is not after from", "turn the two round");
    return [
      {
        id: `configuration:${index + 1}`,
        matchers: match,
        reason,
        startsAt: from,
        endsAt: until,
        createdAt: from,
        createdBy: "configuration",
      },
    ];
  });
}

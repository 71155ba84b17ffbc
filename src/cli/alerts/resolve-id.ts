import type { Client } from "../../contract/client.ts";
import { AppError } from "../../core/errors.ts";
import { idPattern } from "../../core/id.ts";
import { toSeconds } from "../shell/amounts.ts";
import { fitText } from "../shell/terminal-text.ts";
import { wordsOf } from "./alert-line.ts";

/** In words; a title may be long. */
const longestTitle = 60;

/**
 * The one alert whose id begins or ends with `part`; a whole id comes back unasked.
 * @throws AppError `not_found`, and `usage` with the alerts that it may mean.
 */
export async function resolveId(client: Pick<Client, "findByIdPart">, part: string): Promise<string> {
  if (idPattern.test(part)) return part;
  const {
    data: alerts,
    meta: { searchedTo },
  } = await client.findByIdPart({ part });
  const [found, ...others] = alerts;
  if (found === undefined) {
    const within = searchedTo === undefined ? "" : `, of those received since ${toSeconds(searchedTo)}`;
    throw new AppError("not_found", `there is no alert whose id begins or ends with ${part}${within}`, {
      hint: "copy its id from: tocsin alerts list. The whole one is found at any age: tocsin alerts list --json",
    });
  }
  if (others.length === 0) return found.id;
  const lines = alerts.map((alert) => {
    return `  ${alert.id}  ${toSeconds(alert.receivedAt)}  ${fitText(wordsOf(alert), longestTitle)}`;
  });
  throw new AppError("usage", [`${part} matches several alerts:`, ...lines].join("\n"), {
    hint: "give more of the id, from its end or its beginning",
  });
}

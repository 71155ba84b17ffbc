import { AppError } from "../core/errors.ts";
import type { AlertDetail, AlertLog } from "../core/ports/alert-log.ts";

/** What a person means by a name. @throws AppError `not_found`. */
export function findNamed<T extends { name: string }>(destinations: readonly T[], name: string): T {
  const found = destinations.find((candidate) => candidate.name === name);
  if (found) return found;
  throw new AppError("not_found", `There is no destination ${name}.`, {
    hint: `Configured are: ${listNames(destinations)}.`,
  });
}

export function listNames(destinations: readonly { name: string }[]): string {
  return destinations.map(({ name }) => name).join(", ") || "none";
}

/** @throws AppError `not_found`. */
export async function findAlert(store: Pick<AlertLog, "getAlert">, id: string): Promise<AlertDetail> {
  const alert = await store.getAlert(id);
  if (alert) return alert;
  throw new AppError("not_found", `There is no alert ${id}.`, { hint: "Copy its id from the log." });
}

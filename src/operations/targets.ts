import { AppError } from "../core/errors.ts";

/** @throws AppError `not_found` */
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

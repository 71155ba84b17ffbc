import type { Outcome } from "../core/delivery.ts";
import { AppError } from "../core/errors.ts";
import type { DestinationView, TryResult } from "../core/operations.ts";

export interface TryDestinationDeps {
  /** Undefined for an unknown name. */
  tryNow(
    name: string,
  ): Promise<
    { kind: "probed"; outcome: Outcome } | { kind: "parked"; until: number; why: string } | undefined
  >;
  destinations(): Promise<DestinationView[]>;
}

/** See `Operations.tryDestination`. */
export async function tryDestination(deps: TryDestinationDeps, name: string): Promise<TryResult> {
  const trial = await deps.tryNow(name);
  const views = await deps.destinations();
  const view = views.find((candidate) => candidate.name === name);
  if (trial === undefined || view === undefined) {
    throw new AppError("not_found", `There is no destination ${name}.`, {
      hint: `Configured are: ${views.map((candidate) => candidate.name).join(", ") || "none"}.`,
    });
  }
  const { counts, health } = view;
  const waiting = (counts.queued ?? 0) + (counts.waiting ?? 0);
  const known = { destination: name, health, waiting };
  if (trial.kind === "parked")
    return { ...known, result: "parked", detail: trial.why, nextTryAt: trial.until };
  const { outcome } = trial;
  if (outcome.kind !== "sent")
    return { ...known, result: "fails", detail: outcome.detail, nextTryAt: view.nextTryAt };
  if (health === "ok") return { ...known, result: "works", detail: outcome.note ?? "" };
  return { ...known, result: "answers", detail: outcome.note ?? "", nextTryAt: view.nextTryAt };
}

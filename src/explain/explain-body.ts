import type { Operations } from "../contract/operations.ts";
import { AppError } from "../core/errors.ts";
import type { NewId } from "../core/id.ts";
import type { BodyReader } from "../core/ports/body-reader.ts";
import { describeUnreadable } from "../routing/unreadable.ts";
import { createExplainer, type ExplainedReading, type ExplainerOptions } from "./explainer.ts";

export interface BodyExplainerDeps extends Pick<ExplainerOptions, "router" | "composer" | "destinations"> {
  reader: BodyReader;
  activeMutes(): ExplainerOptions["mutes"];
  sources: readonly { name: string }[];
  maxBodyBytes: number;
  now(): number;
  newId: NewId;
}

/** A page that shows more of them helps nobody. */
const mostShown = 20;

/** See `Operations.tryBody`. By the reader and the router of the relay itself, so that it says what they do. */
export function createBodyExplainer(deps: BodyExplainerDeps): Operations["tryBody"] {
  const { reader, maxBodyBytes, newId } = deps;
  return async (body, contentType, source) => {
    if (body.length > maxBodyBytes)
      throw new AppError("too_large", `The hook refuses this body: it is larger than ${maxBodyBytes} bytes.`, {
        hint: "Raise intake.maxBodyBytes, or send less.",
      });
    if (source !== undefined && !deps.sources.some(({ name }) => name === source))
      throw new AppError("not_found", `There is no source ${source}.`);
    const at = deps.now();
    const id = newId();
    const [result] = await reader.read([{ body, contentType, source }]);
    if (result === undefined || result.kind === "not_read")
      throw new AppError("failed", `The body could not be read now: ${result?.reason ?? "nobody says why"}.`);
    const readings: ExplainedReading[] =
      result.kind === "read"
        ? result.translations
        : [{ facts: describeUnreadable({ id, body, reason: result.reason }), unreadable: result.reason }];
    const explain = createExplainer({ ...deps, mutes: deps.activeMutes(), at });
    const alerts = readings.slice(0, mostShown).map((reading) => ({
      facts: reading.facts,
      unreadable: reading.unreadable,
      ...explain({ id, origin: "hook", receivedAt: at }, reading),
    }));
    return { alerts, total: readings.length };
  };
}

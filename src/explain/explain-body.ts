import type { Operations } from "../contract/operations.ts";
import { AppError } from "../core/errors.ts";
import type { NewId } from "../core/id.ts";
import type { BodyReader, StoredBody } from "../core/ports/body-reader.ts";
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

/** Nobody reads more alerts on a page or in a terminal. */
export const mostExplained = 20;

/** The relay's own reader and router judge the body. See `Operations.tryBody`. */
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
    const readings = await readToExplain(reader, { id, body, contentType, source });
    const explain = createExplainer({ ...deps, mutes: deps.activeMutes(), at });
    const alerts = readings
      .slice(0, mostExplained)
      .map((reading) => explain({ id, origin: "hook", receivedAt: at }, reading));
    return { alerts, total: readings.length };
  };
}

/**
 * An unreadable alert has the facts that go out in its place. The reader's limits are the relay's.
 * @throws AppError `failed` where nothing can be read now, and the reason of an aborted `signal`
 */
export async function readToExplain(
  reader: BodyReader,
  { id, body, contentType, source }: StoredBody & { id: string },
  signal?: AbortSignal,
): Promise<ExplainedReading[]> {
  const [result] = await reader.read([{ body, contentType, source }], signal);
  signal?.throwIfAborted();
  if (result === undefined || result.kind === "not_read")
    throw new AppError("failed", `The body could not be read now: ${result?.reason ?? "nobody says why"}.`);
  if (result.kind === "read") return result.translations;
  const { reason } = result;
  return [{ facts: { ...describeUnreadable({ id, body, reason }), source }, unreadable: reason }];
}

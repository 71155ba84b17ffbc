import type { Asked } from "../contract/api.ts";
import type { MutePreview, Operations, PreviewOptions } from "../contract/operations.ts";
import { AppError } from "../core/errors.ts";
import type { Matcher } from "../core/rules.ts";
import { parseDuration } from "../ground/time/duration.ts";
import { parseMatch } from "../matching/read-match.ts";
import type { WebDeps } from "./web-deps.ts";

/** A mute as people write it, whichever way it comes: as the API takes it. */
export type WrittenMute = Asked<"addMute">;

export type MuteInput = Parameters<Operations["addMute"]>[0];

/** Throws AppError `invalid_request` that says what is wrong and how to write it. */
export function readMute(deps: Pick<WebDeps, "clock">, written: WrittenMute, createdBy: string): MuteInput {
  const startsAt = written.from ?? deps.clock.now();
  return {
    matchers: readMuted(written),
    reason: written.reason.trim(),
    startsAt,
    endsAt: readEnd(written, startsAt),
    createdBy,
  };
}

/** What is muted. Throws AppError `invalid_request`. */
export function readMuted({ match, all }: Pick<WrittenMute, "match" | "all">): Matcher[] {
  if ((all === undefined) === (match === undefined)) {
    throw new AppError("invalid_request", "A mute needs either match or all.", {
      hint: 'Write match, e.g. "severity=info", or "all": true for every alert.',
    });
  }
  return all ? [] : parseMatch(match);
}

function readEnd(written: WrittenMute, startsAt: number): number {
  if ((written.for === undefined) === (written.until === undefined)) {
    throw new AppError("invalid_request", "A mute needs either a duration or an end.", {
      hint: 'Write for, e.g. "2h", or until, e.g. "2026-11-21T14:00:00Z".',
    });
  }
  if (written.until !== undefined) return written.until;
  const durationMs = parseDuration(written.for ?? "");
  if (durationMs === undefined || durationMs === 0) {
    throw new AppError("invalid_request", `${JSON.stringify(written.for)} is not a duration.`, {
      hint: "Write e.g. 30m, 2h or 7d.",
    });
  }
  return startsAt + durationMs;
}

/**
 * For where a preview is only said beside something else, which must not fail when the log cannot be read: then
 * undefined.
 */
export async function previewBeside(
  { operations, log }: Pick<WebDeps, "operations" | "log">,
  matchers: Matcher[],
  options?: PreviewOptions,
): Promise<MutePreview | undefined> {
  try {
    return await operations.previewMute(matchers, options);
  } catch (error) {
    log.warn("mute.preview_failed", { error: error instanceof Error ? error.message : String(error) });
    return undefined;
  }
}

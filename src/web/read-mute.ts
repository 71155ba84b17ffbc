import type { Asked } from "../contract/api.ts";
import type { MutePreview, Operations, PreviewOptions } from "../contract/operations.ts";
import { AppError } from "../core/errors.ts";
import type { Matcher } from "../core/rules.ts";
import { parseDuration } from "../ground/time/duration.ts";
import { parseMatch } from "../matching/read-match.ts";
import type { WebDeps } from "./web-deps.ts";

/** A mute as people write it, in the form of the API. */
export type WrittenMute = Asked<"addMute">;

export type MuteInput = Parameters<Operations["addMute"]>[0];

/** @throws AppError `invalid_request` with the mistake and the correct form */
export function readMute(deps: Pick<WebDeps, "clock">, written: WrittenMute, createdBy: string): MuteInput {
  const startsAt = written.from ?? deps.clock.now();
  const matchers = readMuted(written);
  return {
    matchers,
    reason: written.reason.trim(),
    startsAt,
    endsAt: readEnd(written, startsAt),
    untilOver: written.untilOver && readKey(matchers),
    createdBy,
  };
}

/** @throws AppError `invalid_request` */
export function readMuted({ match, all }: Pick<WrittenMute, "match" | "all">): Matcher[] {
  if ((all === undefined) === (match === undefined)) {
    throw new AppError("invalid_request", "A mute needs either match or all.", {
      hint: 'Write match, e.g. "severity=info", or "all": true for every alert.',
    });
  }
  return all ? [] : parseMatch(match);
}

const longestUntilOverMs = 24 * 60 * 60_000;

/** The key that is muted until it is over. It must have its kind (`incident:42`), or the end could not be found. */
function readKey(matchers: Matcher[]): string {
  const [key, ...others] = matchers.flatMap((one) =>
    "field" in one && one.field === "alertKey" ? (one.condition.equals ?? []) : [],
  );
  if (key?.includes(":") && others.length === 0) return key;
  throw new AppError("invalid_request", "Until it is over needs one whole alert key among what must match.", {
    hint: "Write it as an alert shows it, e.g. alertKey=incident:42.",
  });
}

function readEnd(written: WrittenMute, startsAt: number): number {
  const ends = [written.for, written.until, written.untilOver];
  if (ends.filter((end) => end !== undefined).length !== 1) {
    throw new AppError("invalid_request", "A mute needs one of for, until and untilOver.", {
      hint: 'Write for, e.g. "2h", until, e.g. "2026-11-21T14:00:00Z", or "untilOver": true.',
    });
  }
  if (written.until !== undefined) return written.until;
  const durationMs = written.untilOver ? longestUntilOverMs : parseDuration(written.for ?? "");
  if (durationMs === undefined || durationMs === 0) {
    throw new AppError("invalid_request", `${JSON.stringify(written.for)} is not a duration.`, {
      hint: "Write e.g. 30m, 2h or 7d.",
    });
  }
  return startsAt + durationMs;
}

/** A preview next to other content, which must not fail. Undefined when the log cannot be read. */
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

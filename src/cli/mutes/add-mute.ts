import { AppError } from "../../core/errors.ts";
import type { Matcher } from "../../core/rules.ts";
import { describeMatchers } from "../../matching/describe-match.ts";
import { describePreview, matchesNothing } from "../../web/mute-state.ts";
import { connectRelay, type RelayRun } from "../relay/connect-relay.ts";
import { withAge } from "../shell/age.ts";

export interface AddOptions {
  match: string[];
  for?: string;
  /** Epoch milliseconds. */
  until?: number;
  /** Required unless `dryRun`. */
  reason?: string;
  /** Only says what it would have held. */
  dryRun?: boolean;
}

/** `tocsin mutes add`. What is wrong with a matcher is told before anything is asked of the relay. */
export async function addMute(run: RelayRun, options: AddOptions): Promise<void> {
  const { output, context } = run;
  const { match, until } = options;
  const matchers = await readMatch(match);
  if (options.dryRun === true) {
    const { client } = await connectRelay(run);
    const preview = await client.previewMute(match);
    await output.result(preview, () =>
      output.fields([
        ["would mute", describeMatchers(matchers)],
        ["last 24 h", describePreview(preview)],
      ]),
    );
    return;
  }
  const reason = options.reason ?? "";
  if ((options.for === undefined) === (until === undefined)) {
    throw new AppError("usage", "a mute needs its end: either --for or --until", { hint: "e.g. --for 2h" });
  }
  if (until !== undefined && until <= context.now()) {
    throw new AppError("usage", `--until ${new Date(until).toISOString()} is in the past`);
  }
  if (reason.trim() === "") throw new AppError("usage", "a mute needs --reason: say in a few words why");
  const { client } = await connectRelay(run);
  const mute = await client.addMute({
    match,
    reason,
    ...(until === undefined ? { for: options.for } : { until: new Date(until).toISOString() }),
  });
  if (mute.preview !== null && matchesNothing(mute.preview)) {
    await output.note("warning: no alert of the last 24 h matches; see whether it names what you mean");
  }
  await output.result(mute, () =>
    output.fields([
      ["muted", describeMatchers(mute.matchers)],
      ["until", withAge(mute.endsAt, context.now())],
      ["reason", mute.reason],
      [
        "last 24 h",
        mute.preview === null ? "the log could not be read just now" : describePreview(mute.preview),
      ],
      ["id", mute.id],
      ["end it early", `tocsin mutes remove ${mute.id}`],
    ]),
  );
}

async function readMatch(match: string[]): Promise<Matcher[]> {
  const { parseMatch } = await import("../../matching/read-match.ts");
  try {
    return parseMatch(match);
  } catch (error) {
    throw error instanceof AppError ? new AppError("usage", error.message, { cause: error }) : error;
  }
}

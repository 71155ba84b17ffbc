import { describeMatchers } from "../../core/describe-matcher.ts";
import { AppError } from "../../core/errors.ts";
import { withAge } from "../age.ts";
import { connectRelay, type RelayRun } from "../connect-relay.ts";

export interface AddOptions {
  match: string[];
  for?: string;
  /** Epoch milliseconds. */
  until?: number;
  reason: string;
}

/** `tocsin mutes add`. What is wrong with a matcher is told before anything is asked of the relay. */
export async function addMute(run: RelayRun, options: AddOptions): Promise<void> {
  const { output, context } = run;
  const { match, reason, until } = options;
  if ((options.for === undefined) === (until === undefined)) {
    throw new AppError("usage", "a mute needs its end: either --for or --until", { hint: "e.g. --for 2h" });
  }
  if (until !== undefined && until <= context.now()) {
    throw new AppError("usage", `--until ${new Date(until).toISOString()} is in the past`);
  }
  if (reason.trim() === "") throw new AppError("usage", "--reason is empty; say in a few words why");
  const { parseMatch } = await import("../../config/read-match.ts");
  try {
    parseMatch(match);
  } catch (error) {
    throw error instanceof AppError ? new AppError("usage", error.message, { cause: error }) : error;
  }

  const { client } = await connectRelay(run);
  const mute = await client.addMute({
    match,
    reason,
    ...(until === undefined ? { for: options.for } : { until: new Date(until).toISOString() }),
  });
  await output.result(mute, () =>
    output.fields([
      ["muted", describeMatchers(mute.matchers)],
      ["until", withAge(mute.endsAt, context.now())],
      ["reason", mute.reason],
      ["id", mute.id],
      ["end it early", `tocsin mutes remove ${mute.id}`],
    ]),
  );
}

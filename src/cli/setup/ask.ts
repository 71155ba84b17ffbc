import { AppError } from "../../core/errors.ts";
import { canAsk } from "../shell/confirm.ts";
import { type CliContext, writeText } from "../shell/context.ts";
import type { Output } from "../shell/output.ts";

/**
 * Shows a change of the account and asks, on stderr, so that stdout keeps the result alone. Asks nobody with `--yes` or
 * where no person sits at both ends.
 * @returns whether somebody was asked
 * @param change a table, as `Output` makes it
 * @throws AppError `cancelled` unless the answer is yes
 */
export async function askToChange(
  { context, output, yes }: { context: CliContext; output: Output; yes: boolean | undefined },
  change: string,
  message: string,
): Promise<boolean> {
  if (yes || !canAsk(context)) return false;
  await output.progress.clear();
  await writeText(context.stderr, `${change}\n`);
  const { confirm, isCancel } = await import("@clack/prompts");
  const streams = { input: context.stdin as NodeJS.ReadStream, output: context.stderr as NodeJS.WriteStream };
  const answer = await confirm({ message, ...streams });
  if (isCancel(answer) || !answer) throw new AppError("cancelled", "Nothing was changed.");
  return true;
}

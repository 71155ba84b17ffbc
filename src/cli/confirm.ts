import { AppError } from "../core/errors.ts";
import type { CliContext } from "./context.ts";

/** Whether a person sits at both ends and can be asked. */
export function canAsk({ isTty }: CliContext): boolean {
  return isTty.stdin && isTty.stderr;
}

/** @throws AppError `cancelled` unless the answer is yes. */
export async function askFirst(message: string): Promise<void> {
  const { confirm, isCancel } = await import("@clack/prompts");
  const answer = await confirm({ message });
  if (isCancel(answer) || !answer) throw new AppError("cancelled", "Nothing was changed.");
}

import { createInterface } from "node:readline";
import { AppError } from "../../core/errors.ts";
import { type CliContext, writeText } from "./context.ts";
import { terminalText } from "./terminal-text.ts";

/** Whether a person sits at both ends and can be asked. */
export function canAsk({ isTty }: CliContext): boolean {
  return isTty.stdin && isTty.stderr;
}

/**
 * Asks on stderr and reads one line, so that stdout keeps the result alone.
 *
 * @throws AppError `cancelled` unless the answer begins with y, and what `context.signal` is aborted with.
 */
export async function askFirst({ stdin, stderr, signal }: CliContext, question: string): Promise<void> {
  await writeText(stderr, `${terminalText(question)} [y/N] `);
  const lines = createInterface({ input: stdin });
  try {
    const answer = await new Promise<string>((resolve, reject) => {
      lines.once("line", resolve).once("close", () => resolve(""));
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    });
    if (!/^y/i.test(answer.trim())) throw new AppError("cancelled", "Nothing was changed.");
  } finally {
    lines.close();
  }
}

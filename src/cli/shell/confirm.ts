import { createInterface } from "node:readline";
import { AppError } from "../../core/errors.ts";
import { type CliContext, writeText } from "./context.ts";
import { terminalText } from "./output.ts";

export function canAsk({ isTty }: CliContext): boolean {
  return isTty.stdin && isTty.stderr;
}

/** For `check` of a command that asks first: the error where no person can be asked. */
export function refuseAlone(context: CliContext, what: string, hint?: string): AppError | undefined {
  if (canAsk(context)) return undefined;
  return new AppError("usage", `nobody is there to be asked, so ${what} needs --yes`, { hint });
}

/** @throws AppError `cancelled` unless the answer begins with y, and the reason of an aborted `context.signal` */
export async function askFirst(context: CliContext, question: string): Promise<void> {
  await writeText(context.stderr, `${terminalText(question)} [y/N] `);
  if (!/^y/i.test(await readLine(context))) throw new AppError("cancelled", "Nothing was changed.");
}

/** The next line of standard input without outer spaces. Empty at its end. Throws the reason of an aborted signal. */
export async function readLine({ stdin, signal }: CliContext): Promise<string> {
  const lines = createInterface({ input: stdin });
  try {
    return await new Promise<string>((resolve, reject) => {
      lines.once("line", (line) => resolve(line.trim())).once("close", () => resolve(""));
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    });
  } finally {
    lines.close();
  }
}

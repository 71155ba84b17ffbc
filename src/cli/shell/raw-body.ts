import type { Run } from "../command.ts";
import { writeText } from "./context.ts";
import { terminalText } from "./terminal-text.ts";

/** For `check` of a command with `--raw`. */
export function refuseRawJson({ raw }: { raw?: boolean }, { output }: Run): string | undefined {
  return raw && output.json ? "--raw prints the body as it is and goes without --json" : undefined;
}

/** A body as it was received, byte for byte. On a terminal a stranger's bytes must not move the reader's cursor. */
export async function printRaw({ context, output }: Run, body: Buffer): Promise<void> {
  if (!context.isTty.stdout) return writeText(context.stdout, body);
  await output.print(`${body.toString("utf8").split("\n").map(terminalText).join("\n")}\n`);
  await output.note("control characters are shown as codes on a terminal; redirect it to get the exact bytes");
}

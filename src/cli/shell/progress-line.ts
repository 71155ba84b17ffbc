import type { CliContext } from "./context.ts";
import { fitText, terminalText } from "./terminal-text.ts";
import { writeText } from "./write-text.ts";

/** A line on stderr that is rewritten in place while a person waits; silent where stderr is no terminal. */
export interface Progress {
  update(text: string): Promise<void>;
  /** Removes the line. Call it when the waiting is over, also after a failure. */
  clear(): Promise<void>;
}

/** One terminal has one such line: whoever prints something else removes it first, so that texts do not run together. */
export function createProgressLine({ stderr, isTty, columns = 80 }: CliContext): Progress {
  let shown = "";
  const rewrite = async (text: string) => {
    if (!isTty.stderr || text === shown) return;
    shown = text;
    await writeText(stderr, `\r\u001b[K${text}`);
  };
  return {
    update: (text) => rewrite(fitText(terminalText(text), columns - 1)),
    clear: () => rewrite(""),
  };
}

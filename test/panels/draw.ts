import { openOutput } from "../../src/cli/shell/output.ts";

export const now = Date.UTC(2026, 10, 21, 12);

type Drawable = Parameters<ReturnType<typeof openOutput>["draw"]>[0];

/** As people read it, in a terminal of so many columns; default: in no terminal. */
export function draw(panel: Drawable, columns?: number, env: Record<string, string> = { NO_COLOR: "1" }): string {
  const terminal = { stdout: columns !== undefined, stderr: false };
  const context = { env, isTty: terminal, columns, ownCommand: "npx tocsin", now: () => now };
  return openOutput(context as never, false).draw(panel);
}

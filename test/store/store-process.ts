import { fileURLToPath } from "node:url";
import { startCommand } from "../support/cli.ts";

const loader = fileURLToPath(import.meta.resolve("tsx"));

/** Runs a script as a process of its own; gone when the test ends. `wrap` makes the command that is run of it. */
export function startProcess(script: URL, args: string[], wrap = (command: string[]) => command) {
  const started = startCommand(wrap([process.execPath, "--import", loader, fileURLToPath(script), ...args]));
  return {
    ...started,
    /** All lines that it says until it ends; rejects when it fails. */
    async linesUntilEnd(): Promise<string[]> {
      const { status, stdout, stderr } = await started.ended;
      if (status !== 0) throw new Error(`${script.pathname} failed after ${stdout}: ${stderr}`);
      return stdout.trimEnd().split("\n");
    },
  };
}

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

const loader = fileURLToPath(import.meta.resolve("tsx"));

/** Runs a script as a process of its own; gone when the test ends. `wrap` makes the command that is run of it. */
export function startProcess(script: URL, args: string[], wrap = (command: string[]) => command) {
  const path = fileURLToPath(script);
  const [file = "", ...rest] = wrap([process.execPath, "--import", loader, path, ...args]);
  const child = spawn(file, rest, { stdio: ["ignore", "pipe", "pipe"] });
  let complaints = "";
  child.stderr.on("data", (chunk) => {
    complaints += chunk;
  });
  const ended = new Promise<void>((resolve) => child.on("close", () => resolve()));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();

  async function kill(): Promise<void> {
    child.kill("SIGKILL");
    await ended;
  }
  onTestFinished(kill);

  return {
    kill,
    /** The next line that it says; rejects when it ends instead. */
    async nextLine(): Promise<string> {
      const { value, done } = await lines.next();
      if (done) throw new Error(`${path} ended: ${complaints}`);
      return value;
    },
    /** What else it says until it ends; rejects when it fails, not when it is killed. */
    async linesUntilEnd(): Promise<string[]> {
      const said: string[] = [];
      for (let next = await lines.next(); !next.done; next = await lines.next()) said.push(next.value);
      await ended;
      if (child.exitCode) throw new Error(`${path} failed after ${said.at(-1)}: ${complaints}`);
      return said;
    },
  };
}

import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

const loader = fileURLToPath(import.meta.resolve("tsx"));

export interface StoreProcess {
  pid: number;
  /** Answers a line with the process's next line. */
  ask(line: string): Promise<string>;
  /** The next line that it says; rejects when it ends instead. */
  nextLine(): Promise<string>;
  /** What else it says until it ends; rejects when it fails, not when it is killed. */
  linesUntilEnd(): Promise<string[]>;
  kill(): Promise<void>;
}

/** Runs a script as a process of its own; gone when the test ends. `wrap` makes the command that is run of it. */
export function startProcess(
  script: URL,
  args: string[],
  wrap: (command: string[]) => string[] = (command) => command,
): StoreProcess {
  const path = fileURLToPath(script);
  const [file, ...rest] = wrap([process.execPath, "--import", loader, path, ...args]);
  const child: ChildProcess = spawn(file as string, rest, { stdio: ["pipe", "pipe", "pipe"] });
  let complaints = "";
  child.stderr?.on("data", (chunk) => {
    complaints += chunk;
  });
  const ended = new Promise<void>((resolve) => child.on("close", () => resolve()));
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream })[Symbol.asyncIterator]();

  async function kill(): Promise<void> {
    child.kill("SIGKILL");
    await ended;
  }
  onTestFinished(kill);

  async function nextLine(): Promise<string> {
    const { value, done } = await lines.next();
    if (done) throw new Error(`${path} ended: ${complaints}`);
    return value;
  }

  return {
    pid: child.pid as number,
    nextLine,
    ask(line) {
      child.stdin?.write(`${line}\n`);
      return nextLine();
    },
    async linesUntilEnd() {
      const said: string[] = [];
      for (let next = await lines.next(); !next.done; next = await lines.next()) said.push(next.value);
      await ended;
      if (child.exitCode) throw new Error(`${path} failed after ${said.at(-1)}: ${complaints}`);
      return said;
    },
    kill,
  };
}

import type { ChildProcess } from "node:child_process";

/** Resolves with how the child ended, or why it never started. */
export function endOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    const end = () => resolve(child.signalCode ?? `status ${child.exitCode}`);
    if (child.exitCode !== null || child.signalCode !== null) end();
    child.once("exit", end);
    child.once("error", (error) => {
      if (child.pid === undefined) resolve(String((error as NodeJS.ErrnoException).code ?? error.message));
    });
  });
}

/** Sends SIGTERM, and each other signal where the child still runs after its milliseconds. Resolves as `endOf`. */
export async function endChild(child: ChildProcess, others: [NodeJS.Signals, afterMs: number][]): Promise<string> {
  const timers = others.map(([signal, afterMs]) => setTimeout(() => child.kill(signal), afterMs));
  child.kill("SIGTERM");
  const how = await endOf(child);
  for (const timer of timers) clearTimeout(timer);
  return how;
}

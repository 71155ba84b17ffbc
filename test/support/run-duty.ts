import { onTestFinished } from "vitest";

/** Runs it until the test ends at the latest. @returns what ends it sooner, and resolves when it has ended */
export function runDuty(duty: { run(stop: AbortSignal): Promise<void> }): () => Promise<void> {
  const stop = new AbortController();
  const running = duty.run(stop.signal);
  const end = async () => {
    stop.abort();
    await running;
  };
  onTestFinished(end);
  return end;
}

import { createParser } from "eventsource-parser";
import { adminToken } from "../support/relay-process.ts";
import type { Fleet } from "./fleet.ts";
import { pause, type Scope, until } from "./scope.ts";

const againMs = 500;
const seesAllWithinMs = 60_000;

/** A page that stays open all the time: the event stream through the balancer, opened again behind the last event whenever it ends. */
export function followEvents(scope: Scope, { balancer, ask }: Pick<Fleet, "balancer" | "ask">) {
  const seen = new Map<string, string[]>();
  const ending = new AbortController();
  const wrong: string[] = [];
  let lastId: string | undefined;
  let resumed = 0;
  let open: () => void = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });

  const parser = createParser({
    onEvent({ event, id, data }) {
      if (event === "reset") wrong.push(`the event stream was told to begin anew, at ${id}`);
      if (id !== undefined) lastId = id;
      if (event !== "alert" || id === undefined) return;
      const alert = (JSON.parse(data) as { id: string }).id;
      seen.set(alert, [...(seen.get(alert) ?? []), id]);
    },
  });

  async function readOn(): Promise<void> {
    const headers: Record<string, string> = { authorization: `Bearer ${adminToken}` };
    if (lastId !== undefined) headers["last-event-id"] = lastId;
    const answer = await fetch(`${balancer.url}/api/stream`, { headers, signal: ending.signal });
    if (answer.status !== 200) return void (await answer.text());
    if (lastId !== undefined) resumed += 1;
    // Of an event that was cut off in the middle nothing counts.
    parser.reset();
    open();
    const decoder = new TextDecoder();
    for await (const chunk of answer.body ?? []) parser.feed(decoder.decode(chunk, { stream: true }));
  }

  const following = (async () => {
    while (!ending.signal.aborted) {
      await readOn().catch(() => {});
      await pause(againMs);
    }
  })();
  scope.atEnd(async () => {
    ending.abort();
    await following;
  });

  return {
    /** Resolves once the stream is open. */
    opened,
    /** How often it was opened behind an event that it had seen. */
    resumed: () => resumed,
    /** What is wrong with what it has seen of all that the database holds now. */
    async judge(): Promise<string[]> {
      const stored = await ask<{ id: string }>("SELECT id FROM alerts");
      await until(() => stored.every(({ id }) => seen.has(id)), seesAllWithinMs);
      const missing = stored.filter(({ id }) => !seen.has(id));
      const twice = [...seen].filter(([, ids]) => new Set(ids).size < ids.length);
      if (missing.length > 0)
        wrong.push(`the event stream has skipped ${missing.length} of ${stored.length} alerts: ${missing[0]?.id} …`);
      for (const [alert, ids] of twice.slice(0, 10))
        wrong.push(`the event stream has shown one change of ${alert} twice: ${ids.join()}`);
      return wrong;
    },
  };
}

import { expect, it } from "vitest";
import type { DestinationView } from "../../src/core/operations.ts";
import { formatMetrics } from "../../src/operations/metrics.ts";

function view(name: string, channel: DestinationView["channel"]): DestinationView {
  return { name, channel, recipients: [], health: "ok", reason: "", definedAt: "", counts: { sent: 1 } };
}

it("labels destinations by name, and chats of the environment by their place instead of their id", async () => {
  const text = await formatMetrics({
    sources: [],
    watches: [],
    door: { accepted: 1 },
    store: { writable: true, full: false, unrouted: 0, bytes: 1 },
    destinations: [view("ops", "webhook"), view("telegram:-1001", "telegram"), view("telegram:-1002", "telegram")],
    routing: { givenUp: 0, repeats: 0 },
    refusedMessages: new Map([["telegram:-1002", 1]]),
    silence: [],
    now: 0,
  });
  const labels = [...text.matchAll(/tocsin_destination_up\{destination="([^"]*)"\} 1/g)].map(([, label]) => label);
  expect(labels).toEqual(["ops", "telegram:1", "telegram:2"]);
  expect(text).toContain('tocsin_refused_messages_total{destination="telegram:2"} 1');
  expect(text).not.toContain("-100");
});

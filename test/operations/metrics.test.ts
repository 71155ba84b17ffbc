import { expect, it } from "vitest";
import type { SilenceView } from "../../src/contract/operations.ts";
import { DeliveryFigures } from "../../src/core/delivery-figures.ts";
import type { DueDelivery } from "../../src/core/delivery-job.ts";
import { Histogram } from "../../src/ground/numbers/figures.ts";
import { expectWords } from "../support/expect-words.ts";
import { metricsText as textOf, destinationView as view } from "../support/metrics.ts";

const sentAlert = (severity: DueDelivery["severity"], receivedAt: number, purpose: DueDelivery["purpose"] = "alert") =>
  ({ purpose, severity, receivedAt }) as DueDelivery;

it.each([
  'tocsin_refused_messages_total{destination="ops"} 2',
  'tocsin_deliveries{destination="ops",state="sent"} 3',
  'tocsin_hook_requests_total{result="too_large"} 1',
  'tocsin_oldest_waiting_seconds{destination="ops"} 5',
  "tocsin_oldest_unrouted_seconds 1",
  "tocsin_alerts_accepted_total 6",
  "tocsin_repeated_alerts_total 3",
  "tocsin_database_damaged 1",
  "tocsin_unreadable_alerts_total 2",
  'tocsin_silent{watch="hook"} 1',
  'tocsin_silent{watch="source:Pyth"} 0',
])("has %s, with no other labels", (line) => {
  const now = 1_000_000;
  const store = {
    writable: true,
    full: false,
    unrouted: 2,
    oldestUnroutedAt: now - 1_000,
    bytes: 10,
    damage: "malformed",
  };
  const text = textOf({
    door: { accepted: 4, tooLarge: 1, alerts: 6 },
    store,
    destinations: [{ ...view("ops", "webhook"), counts: { sent: 3, failed: 1 }, oldestWaitingAt: now - 5_000 }],
    routing: { givenUp: 2, repeats: 3, senderLag: new Histogram([1]) },
    silence: [
      { watch: "hook", state: "silent", quietMs: 1 } as SilenceView,
      { watch: "source:Pyth", state: "watching", quietMs: 1 } as SilenceView,
    ],
    delivery: Object.assign(new DeliveryFigures(), { refusedMessages: new Map([["ops", 2]]) }),
    now,
  });
  expect(text.split("\n")).toContain(line);
});

it("labels destinations by name, and chats of the environment by their place instead of their id", async () => {
  const delivery = new DeliveryFigures();
  delivery.noteAttempt("telegram:-1002", { kind: "rejected", scope: "message", reason: "too_long", detail: "" });
  delivery.noteSent("telegram:-1001", [sentAlert("critical", 0)], 1_000);
  const chats = [view("telegram:-1001", "telegram"), view("telegram:-1002", "telegram")];
  const text = textOf({ destinations: [view("ops", "webhook"), ...chats], delivery });
  const labels = [...text.matchAll(/tocsin_destination_up\{destination="([^"]*)"\} 1/g)].map(([, label]) => label);
  expect(labels).toEqual(["ops", "telegram:1", "telegram:2"]);
  expect(text).toContain('tocsin_refused_messages_total{destination="telegram:2"} 1');
  expect(text).toContain('tocsin_attempts_total{destination="telegram:2",outcome="rejected",reason="too_long"} 1');
  expectWords(text, 'tocsin_delivery_seconds_count{destination="telegram:1",severity="critical"} 1', { not: "-100" });
});

it("counts how long alerts took by destination and severity as Prometheus does, and no resends, notices or tests", () => {
  const delivery = new DeliveryFigures();
  delivery.noteSent("ops", [sentAlert("critical", 600), sentAlert("critical", 0), sentAlert("info", 0)], 1_000);
  delivery.noteSent("ops", [sentAlert("critical", 0)], 86_400_000);
  // A clock that was set back.
  delivery.noteSent("ops", [sentAlert("info", 2_000)], 1_000);
  for (const purpose of ["resend", "bulk_resend", "test", "notice"] as const)
    delivery.noteSent("ops", [sentAlert("critical", 0, purpose)], 1_000);
  const text = textOf({ delivery });
  const found = [...text.matchAll(/^tocsin_delivery_seconds_(\w+)\{([^}]*)\} (\S+)$/gm)];
  const critical = found.filter(([, , labels = ""]) => labels.includes('severity="critical"'));
  expect(critical.map(([, what, labels = "", figure]) => [what, /le="([^"]*)"/.exec(labels)?.[1], figure])).toEqual([
    ...["0.1", "0.25"].map((le) => ["bucket", le, "0"]),
    ["bucket", "0.5", "1"],
    ...["1", "2.5", "5", "10", "30", "60", "300", "900", "3600", "21600"].map((le) => ["bucket", le, "2"]),
    ["bucket", "+Inf", "3"],
    ["sum", undefined, "86401.4"],
    ["count", undefined, "3"],
  ]);
  expect(text).toContain('tocsin_delivery_seconds_sum{destination="ops",severity="info"} 1\n');
  expect(text).toContain("# TYPE tocsin_delivery_seconds histogram");
});

it("has only what the code knows as labels of attempts: outcomes and reasons", () => {
  const delivery = new DeliveryFigures();
  delivery.noteAttempt("ops", { kind: "sent" });
  for (let call = 0; call < 2; call += 1)
    delivery.noteAttempt("ops", { kind: "retry", reason: "rate_limited", detail: `the vendor said ${call}` });
  const text = textOf({ delivery });
  expect(text).toContain('tocsin_attempts_total{destination="ops",outcome="sent",reason="none"} 1');
  expect(text).toContain('tocsin_attempts_total{destination="ops",outcome="retry",reason="rate_limited"} 2');
  expect(text).not.toContain("the vendor said");
});

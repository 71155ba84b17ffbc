import { expect, it } from "vitest";
import type {
  CanaryView,
  DestinationView,
  MarketServiceView,
  SilenceView,
  SourceView,
  SpoolView,
  WatchView,
} from "../../src/contract/operations.ts";
import type { PictureResult } from "../../src/core/picture-outcome.ts";
import { formatMetrics } from "../../src/operations/metrics.ts";
import { judged } from "../../src/vendors/verdict.ts";
import { codeSpans, readText, tableRows } from "../docs/documents.ts";

function view(name: string, channel: DestinationView["channel"]): DestinationView {
  return judged({ name, channel, recipients: [], health: "ok", reason: "", definedAt: "", counts: { sent: 1 } });
}

it("labels destinations by name, and chats of the environment by their place instead of their id", async () => {
  const text = formatMetrics({
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

it("says of each figure whether it is of this relay or the same on every one", async () => {
  const account = { answer: { keyExpiresAt: 1 } } as SourceView["account"];
  const text = formatMetrics({
    sources: [{ name: "github", accepted: 1, refused: {}, account } as SourceView],
    watches: [{ name: "account", verdict: "well", lookedAt: 0 } as WatchView],
    door: { accepted: 1 },
    store: { writable: true, full: false, unrouted: 0, bytes: 1 },
    destinations: [view("ops", "webhook")],
    routing: { givenUp: 0, repeats: 0 },
    refusedMessages: new Map(),
    silence: [{ watch: "all", state: "quiet", quietMs: 1 } as unknown as SilenceView],
    market: [{ interface: "alerting", calls: { made: 1 } } as MarketServiceView],
    pictures: { joined: 1 } as Record<PictureResult, number>,
    canary: { state: "works" } as unknown as CanaryView,
    spool: { alerts: 1, bytes: 1, maxBytes: 1 } as SpoolView,
    keyExpiresAt: 1,
    now: 0,
  });
  const helps = [...text.matchAll(/^# HELP (tocsin_\w+) (.*)$/gm)].map(([, name = "", help = ""]) => ({ name, help }));
  const documented = tableRows(readText("docs/monitoring.md"), "metric").flatMap(([cell = ""]) => codeSpans(cell));
  expect(helps.map(({ name }) => name).sort()).toEqual(documented.sort());
  expect(helps.filter(({ help }) => /this relay/.test(help) === /the same on every relay/.test(help))).toEqual([]);
  const shared = helps.filter(({ help }) => help.includes("the same on every relay")).map(({ name }) => name);
  expect(shared.filter((name) => name.endsWith("_total"))).toEqual([]);
});

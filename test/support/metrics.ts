import type { DestinationView } from "../../src/contract/operations.ts";
import { DeliveryFigures } from "../../src/core/delivery-figures.ts";
import { Histogram } from "../../src/ground/numbers/figures.ts";
import { formatMetrics, type MetricsInput } from "../../src/operations/metrics.ts";
import { judged } from "../../src/vendors/verdict.ts";

export const destinationView = (name: string, channel: DestinationView["channel"]): DestinationView =>
  judged({ name, channel, recipients: [], health: "ok", reason: "", definedAt: "", counts: { sent: 1 } });

/** What a relay says of itself to Prometheus that is well, and has had one alert and sent it. */
export const metricsText = (more: Partial<MetricsInput> = {}): string =>
  formatMetrics({
    ...{ sources: [], watches: [], silence: [], now: 0 },
    door: { accepted: 1 },
    store: { writable: true, full: false, unrouted: 0, bytes: 1 },
    destinations: [destinationView("ops", "webhook")],
    routing: { givenUp: 0, repeats: 0, senderLag: new Histogram([1]) },
    delivery: new DeliveryFigures(),
    ...more,
  });

/** What one says that has a figure of each kind. */
export const metricsOfAll = (): string =>
  metricsText({
    sources: [
      {
        ...{ name: "desk", accepted: 0, checks: [], refused: {} },
        account: { canPutBack: false, answer: { at: 0, keyExpiresAt: 0 } },
      },
    ],
    watches: [{ name: "account", verdict: "well", summary: "", troubles: [], lookedAt: 0 }],
    silence: [{ watch: "all", state: "quiet", quietMs: 1 } as never],
    market: [{ interface: "alerting", calls: { made: 1, most: 1 } }],
    pictures: { joined: 0, linked: 0, fetched: 0, not_drawn: 0, too_long: 0, many: 0, late: 0, refused: 0, stopped: 0 },
    canary: { schedule: "every 1 h", state: "works", nextAt: 0 },
    spool: { alerts: 0, bytes: 0, maxBytes: 1, stuck: 0, unreadable: 0, damagedFiles: [] },
    keyExpiresAt: 0,
  });

/** The content, times and outcomes of alerts in a stored log. Pure, and the same for the same seed. */
import type { AlertFacts, AlertStatus, Severity } from "../src/core/alert.ts";
import type { DeliveryState } from "../src/core/delivery.ts";

const dayMs = 24 * 60 * 60 * 1000;

/** Words to search for. Their frequency does not depend on the log's length. */
export const sampleWords = {
  everywhere: "market",
  common: "pool",
  some: "liquidation",
  /** In every 10,000th alert. */
  seldom: "depeg",
  /** In three alerts: near the end, in the middle and near the beginning. */
  rare: "zebrafinch",
  /** Only in the first alert. */
  oldest: "coelacanth",
} as const;

/** `left` is no longer configured: it got only the oldest alerts. */
export const sampleDestinations = {
  chat: { channel: "telegram", recipient: "-1001000000001", share: 0.62 },
  desk: { channel: "telegram", recipient: "-1001000000002", share: 0.35 },
  risk: { channel: "email", recipient: "risk@example.com", share: 0.12 },
  archive: { channel: "webhook", recipient: "archive", share: 0.2 },
  pager: { channel: "webhook", recipient: "pager", share: 0 },
  left: { channel: "telegram", recipient: "-1001000000009", share: 0 },
} as const;
export type SampleDestination = keyof typeof sampleDestinations;
const destinationNames = Object.keys(sampleDestinations) as SampleDestination[];

export interface SampleDelivery {
  destination: SampleDestination;
  state: DeliveryState;
  /** Only for an unfinished delivery. */
  dueAt?: number;
  /** The delivery failed, and the next one of the list was sent instead. */
  resent: boolean;
}

export interface SampleAlert {
  facts: AlertFacts;
  /** Absent for an alert that is not routed yet. */
  routed?: {
    deliveries: SampleDelivery[];
    outcome: "delivered" | "unmatched" | "dropped" | "repeat";
  };
}

export interface SampleRequest {
  receivedAt: number;
  alerts: SampleAlert[];
  body: Uint8Array;
  dedupeKey?: string;
  duplicates: number;
}

/** Random numbers from 0 to 1 (mulberry32). */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const metrics = ["tvl", "price", "volume", "funding", "borrow", "supply"];
const chains = ["ethereum", "base", "arbitrum", "solana", "optimism", "polygon", "bsc"];
const verbs = ["fell below", "rose above", "crossed", "moved away from"];
const syllables = ["ba", "do", "ke", "li", "mu", "na", "po", "ri", "su", "te", "vo", "xi", "zu"];

function wordOf(number: number): string {
  let word = "";
  for (let rest = number + 13; rest > 0; rest = Math.floor(rest / 13)) word += syllables[rest % 13];
  return word;
}
const tokens = Array.from({ length: 3_000 }, (_, index) => wordOf(index * 7).toUpperCase());
const venues = Array.from({ length: 400 }, (_, index) => wordOf(index * 31 + 5));

export interface SampleOptions {
  /** At least 1. */
  alerts: number;
  /** The instant of the newest alert, epoch milliseconds. */
  endAt: number;
  seed?: number;
}

/** The time from the oldest alert to the newest. */
export const sampleSpanMs = 180 * dayMs;

/** Oldest first, over half a year: quiet nights, busy days, and bursts. */
export function* sampleRequests({ alerts, endAt, seed = 1 }: SampleOptions): Generator<SampleRequest> {
  const random = createRandom(seed);
  const startAt = endAt - sampleSpanMs;
  let at = startAt;
  let burst = 0;
  for (let made = 0; made < alerts; ) {
    // The rest of the time is spread over the rest of the alerts, so the last one comes at the end.
    const left = alerts - made;
    if (burst > 0) {
      burst -= 1;
      at = Math.min(endAt, at + Math.floor(random() * 12));
    } else {
      if (random() < 0.004) burst = Math.min(Math.floor(left / 20), 20 + Math.floor(random() ** 3 * 2_000));
      const hour = (at % dayMs) / (dayMs / 24);
      const pace = hour > 6 && hour < 20 ? 0.7 : 1.6;
      at = Math.min(endAt, at + Math.floor(((endAt - at) / left) * pace * 3 * -Math.log(1 - random())));
    }
    const size = Math.min(left, sizeOf(random()));
    const items = Array.from({ length: size }, (_, item) => sampleAlert(random, made + item, alerts, at, endAt));
    made += size;
    yield {
      receivedAt: at,
      alerts: items,
      body: bodyOf(items),
      dedupeKey: random() < 0.05 ? `event-${made}` : undefined,
      duplicates: random() < 0.01 ? 1 + Math.floor(random() * 3) : 0,
    };
  }
}

function sizeOf(chance: number): number {
  if (chance < 0.9) return 1;
  return chance < 0.99 ? 2 + Math.floor((chance - 0.9) * 45) : 5 + Math.floor((chance - 0.99) * 4_000);
}

function sampleAlert(random: () => number, index: number, count: number, at: number, endAt: number): SampleAlert {
  const facts = sampleFacts(random, index, count, at);
  // A few of the newest have just come, and are not routed.
  if (index >= count - Math.min(5, count / 100)) return { facts };
  const chance = random();
  if (chance < 0.03) return { facts, routed: { outcome: "unmatched", deliveries: [] } };
  if (chance < 0.05) return { facts, routed: { outcome: "dropped", deliveries: [] } };
  if (chance < 0.06) return { facts, routed: { outcome: "repeat", deliveries: [] } };
  const deliveries = destinationNames
    .filter((name) => isSentTo(name, facts.severity, index / count, random()))
    .flatMap((name) => sampleDelivery(random, name, { isNew: index > count * 0.999, endAt }));
  return { facts, routed: { outcome: deliveries.length === 0 ? "unmatched" : "delivered", deliveries } };
}

/** Critical alerts go only to the pager. Two filters may then each find much, and together nothing. */
function isSentTo(name: SampleDestination, severity: Severity, age: number, chance: number): boolean {
  if (severity === "critical" || name === "pager") return severity === "critical" && name === "pager";
  if (name === "left") return age < 0.02 && chance < 0.3;
  return chance < sampleDestinations[name].share;
}

function sampleDelivery(
  random: () => number,
  destination: SampleDestination,
  { isNew, endAt }: { isNew: boolean; endAt: number },
): SampleDelivery[] {
  const chance = random();
  const one = (state: DeliveryState, dueAt?: number): SampleDelivery => ({ destination, state, dueAt, resent: false });
  if (isNew && chance < 0.2) {
    // Far in the future: a relay that starts on this log does not send them.
    const dueAt = endAt + 30 * dayMs + Math.floor(random() * dayMs);
    const state = chance < 0.1 ? "waiting" : chance < 0.15 ? "held" : "queued";
    return [one(state, dueAt)];
  }
  if (chance < 0.92) return [one("sent")];
  if (chance < 0.97) return [one("digested")];
  if (chance < 0.99) return [one("muted")];
  if (chance < 0.994) return [{ ...one("failed"), resent: true }, one("sent")];
  if (chance < 0.996) return [one("failed")];
  return chance < 0.999 ? [one("expired")] : [one("held")];
}

function sampleFacts(random: () => number, index: number, count: number, at: number): AlertFacts {
  const pick = <T>(list: readonly T[], skew = 1): T => list[Math.floor(random() ** skew * list.length)] as T;
  const token = pick(tokens, 3);
  const chain = pick(chains, 2);
  const metric = pick(metrics, 1.5);
  const isRare = [0.02, 0.5, 0.98].some((part) => index === Math.floor(count * part));
  const threshold = String(Math.floor(random() ** 4 * 1e9));
  const text = [
    `${sampleWords.everywhere} watch: ${token} ${metric} on ${pick(venues, 2)}.`,
    random() < 0.4 && `The ${sampleWords.common} moved against its ${pick(venues)} pair.`,
    random() < 0.02 && `A ${sampleWords.some} is near.`,
    index % 10_000 === 5_000 && `A ${sampleWords.seldom} has begun.`,
    isRare && `Call it ${sampleWords.rare}.`,
    index === 0 && `Call it ${sampleWords.oldest}.`,
  ];
  return {
    title: `${token} ${metric} ${pick(verbs)} ${threshold} on ${chain}`,
    severity: severityOf(random()),
    status: statusOf(random()),
    format: "json",
    text: text.filter((part) => part !== false).join(" "),
    metric,
    token,
    chain,
    value: (random() * Number(threshold)).toFixed(4),
    threshold,
    occurredAt: at - Math.floor(random() * 2_000),
    externalId: `evt_${Math.floor(random() * 2 ** 40).toString(36)}`,
    source: "watcher",
    alertKey: `${metric}:${chain}:${token}`,
    fields: [
      { name: "venue", value: pick(venues) },
      { name: "window", value: pick(["5m", "1h", "24h"]) },
      { name: "change", value: `${(random() * 40 - 20).toFixed(2)} %` },
      { name: "block", value: String(20_000_000 + index) },
    ],
    notes: [],
  };
}

function severityOf(chance: number): Severity {
  if (chance < 0.002) return "critical";
  if (chance < 0.1) return "warning";
  return chance < 0.98 ? "info" : "unknown";
}

function statusOf(chance: number): AlertStatus {
  if (chance < 0.65) return "firing";
  return chance < 0.98 ? "resolved" : "unknown";
}

function bodyOf(alerts: SampleAlert[]): Uint8Array {
  const events = alerts.map(({ facts: { fields, notes: _notes, format: _format, alertKey, ...facts } }) => ({
    ...facts,
    key: alertKey,
    ...Object.fromEntries(fields.map(({ name, value }) => [name, value])),
    token: { symbol: facts.token, address: "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48", decimals: 18 },
    links: {
      metric: `https://example.com/metrics/${facts.metric}`,
      chain: `https://example.com/chains/${facts.chain}`,
    },
  }));
  return Buffer.from(JSON.stringify(events.length === 1 ? events[0] : { events }));
}

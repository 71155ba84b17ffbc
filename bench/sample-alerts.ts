/** The content, times and outcomes of alerts in a stored log. Pure, and the same each time. */
import type { AlertFacts } from "../src/core/alert.ts";
import type { DeliveryState } from "../src/core/delivery.ts";
import { createSeededRandom } from "../test/support/seeded-random.ts";

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

/** With the share of the alerts that each gets. `left` is no longer configured: it got only the oldest. */
const destinations = [
  { destination: "chat", channel: "telegram", recipient: "-1001000000001", share: 0.62 },
  { destination: "desk", channel: "telegram", recipient: "-1001000000002", share: 0.35 },
  { destination: "risk", channel: "email", recipient: "risk@example.com", share: 0.12 },
  { destination: "archive", channel: "webhook", recipient: "archive", share: 0.2 },
  { destination: "pager", channel: "webhook", recipient: "pager", share: 0 },
  { destination: "left", channel: "telegram", recipient: "-1001000000009", share: 0 },
];
type Destination = (typeof destinations)[number];

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

/**
 * Oldest first, over half a year: quiet nights, busy days, and bursts.
 * @param alerts at least 1 @param endAt the instant of the newest alert, epoch milliseconds
 */
export function* sampleRequests(alerts: number, endAt: number) {
  const random = createSeededRandom(1).next;
  let at = endAt - 180 * dayMs;
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
    const dedupeKey = random() < 0.05 ? `event-${made}` : undefined;
    const duplicates = random() < 0.01 ? 1 + Math.floor(random() * 3) : 0;
    yield { row: { received_at: at, body: bodyOf(items), dedupe_key: dedupeKey, duplicates }, alerts: items };
  }
}

/** `row`: some of its columns. */
export type SampleRequest = ReturnType<typeof sampleRequests> extends Generator<infer Request> ? Request : never;

function sizeOf(chance: number): number {
  if (chance < 0.9) return 1;
  return chance < 0.99 ? 2 + Math.floor((chance - 0.9) * 45) : 5 + Math.floor((chance - 0.99) * 4_000);
}

/** The first name whose number is above the chance. */
function nameAt<Name extends string>(chance: number, upTo: Record<Name, number>): Name {
  return (Object.keys(upTo) as Name[]).find((name) => chance < upTo[name]) as Name;
}

/** Without an outcome it is not routed. */
interface SampleAlert {
  facts: AlertFacts;
  outcome?: "delivered" | "unmatched" | "dropped" | "repeat";
  deliveries: SampleDelivery[];
}

/** Some columns of a delivery. A resend comes behind the delivery that failed. */
export interface SampleDelivery extends Omit<Destination, "share"> {
  state: DeliveryState;
  purpose: "alert" | "resend";
  /** Only for an unfinished delivery. */
  due_at?: number;
}

function sampleAlert(random: () => number, index: number, count: number, at: number, endAt: number): SampleAlert {
  const facts = sampleFacts(random, index, count, at);
  // A few of the newest have just come, and are not routed.
  if (index >= count - Math.min(5, count / 100)) return { facts, deliveries: [] };
  const outcome = nameAt(random(), { unmatched: 0.03, dropped: 0.05, repeat: 0.06, delivered: 1 });
  if (outcome !== "delivered") return { facts, outcome, deliveries: [] };
  const deliveries = destinations
    .filter((one) => isSentTo(one, facts.severity, index / count, random()))
    .flatMap((one) => sampleDelivery(random, one, index > count * 0.999 ? endAt : undefined));
  return { facts, outcome: deliveries.length === 0 ? "unmatched" : outcome, deliveries };
}

/** Critical alerts go only to the pager. Two filters may then each find much, and together nothing. */
function isSentTo({ destination, share }: Destination, severity: string, age: number, chance: number): boolean {
  if (severity === "critical" || destination === "pager") return severity === "critical" && destination === "pager";
  return destination === "left" ? age < 0.02 && chance < 0.3 : chance < share;
}

/** @param newestAt only for one of the newest alerts, which may still wait */
function sampleDelivery(random: () => number, { share: _, ...to }: Destination, newestAt?: number): SampleDelivery[] {
  const chance = random();
  const purpose = "alert";
  if (newestAt !== undefined && chance < 0.2) {
    // Far in the future: a relay that starts on this log does not send them.
    const dueAt = newestAt + 30 * dayMs + Math.floor(random() * dayMs);
    return [{ ...to, purpose, state: nameAt(chance, { waiting: 0.1, held: 0.15, queued: 0.2 }), due_at: dueAt }];
  }
  const lost = { resent: 0.994, failed: 0.996, expired: 0.999, held: 1 };
  const state = nameAt(chance, { sent: 0.92, digested: 0.97, muted: 0.99, ...lost });
  if (state !== "resent") return [{ ...to, purpose, state }];
  return [
    { ...to, purpose, state: "failed" },
    { ...to, purpose: "resend", state: "sent" },
  ];
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
    severity: nameAt(random(), { critical: 0.002, warning: 0.1, info: 0.98, unknown: 1 }),
    status: nameAt(random(), { firing: 0.65, resolved: 0.98, unknown: 1 }),
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

import type { DestinationView } from "../../src/contract/operations.ts";
import { createIdSource } from "../../src/core/id.ts";
import { judged } from "../../src/vendors/verdict.ts";
import { type AlertInput, addAlert, attempt, type WebFixture } from "./web-fixture.ts";

const minute = 60_000;

/** A morning of a treasury desk: alerts of every kind, in every state, at four destinations. */
export async function fillScene({ store, clock, destinations, operations }: WebFixture): Promise<{ failedId: string }> {
  const newId = createIdSource(clock.now);
  const to = (destination: string, over = {}) => ({ destination, ...over });
  const mail = (recipient: string) => to("risk-mail", { channel: "email" as const, recipient, route: "critical" });
  const add = (input: AlertInput) => addAlert(store, clock.now(), newId, input);
  type Attempted = Parameters<typeof attempt>[3];
  const tryIt = (name: string, over: Attempted) => attempt(store, name, clock.now(), over);
  const taken = { outcome: "sent", next: { state: "sent", reason: "taken" } } as const;
  /** Refused for now, with these words, and tried again so much later. */
  const later = (reason: Attempted["reason"], detail: string, afterMs: number): Attempted => ({
    ...{ outcome: "retry", reason, detail },
    next: { state: "waiting", reason: detail, dueAt: clock.now() + afterMs },
  });

  await add({
    facts: {
      title: "Daily liquidity report is ready",
      severity: "info",
      alertKey: "report",
      link: "https://reports.example/2026-11-21",
    },
    body: '{"title":"Daily liquidity report is ready"}',
    deliveries: [],
    decisions: [{ route: "critical", result: "not_matched", reason: "severity is info, not critical" }],
  });
  await clock.advance(17 * minute);
  await add({
    facts: {
      title: "Gas price above 80 gwei",
      severity: "info",
      metric: "eth_gas",
      chain: "eth",
      value: "83.2",
      threshold: "80",
      unit: "gwei",
      alertKey: "gas",
    },
    deliveries: [
      to("ops", {
        state: "muted",
        reason: "muted until 2026-11-21 14:00 UTC: known, the airdrop (metric is eth_gas)",
      }),
    ],
  });
  await clock.advance(9 * minute);
  await add({
    facts: {
      title: "Pool volume of WETH/USDC 0.05 % fell by 41 % within an hour on Arbitrum",
      severity: "warning",
      token: "WETH",
      chain: "arbitrum",
      metric: "arb_pool_h24_volume_0xc6962004f452be9203591991d15f6b388e09e8d0",
      value: "12840221.77",
      previousValue: "21764782.10",
      threshold: "15000000",
      unit: "USD",
      alertKey: "arb-weth-usdc-volume",
      source: "market alerts",
    },
    deliveries: [to("ops"), to("treasury", { recipient: "-1009876543210" })],
  });
  await tryIt("ops", taken);
  await tryIt("treasury", later("rate_limited", "Too Many Requests: retry after 14", 14_000));
  await clock.advance(15_000);
  await tryIt("treasury", taken);
  await clock.advance(6 * minute);
  await add({
    facts: {
      title: "USDT trades at 0.9931 on three exchanges",
      severity: "critical",
      token: "USDT",
      metric: "ticker USDT/USD",
      value: "0.9931",
      threshold: "0.995",
      unit: "USD",
      alertKey: "usdt-peg",
    },
    deliveries: [to("ops"), mail("risk@desk.example"), mail("cfo@desk.example")],
  });
  await tryIt("ops", taken);
  await tryIt("risk-mail", taken);
  await clock.advance(4 * minute);
  const failed = await add({
    facts: {
      title: "TVL of USDC on Ethereum below 25,000,000 USD",
      severity: "critical",
      token: "USDC",
      chain: "eth",
      metric: "eth_token_total_tvl_0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48",
      value: "24318772.10",
      previousValue: "25110403.550000000000000001",
      threshold: "25000000.00",
      unit: "USD",
      occurredAt: clock.now() - 95_000,
      externalId: "sub_7f31",
      alertKey: "sub_7f31",
      fields: [
        { name: "subscription.userId", value: "usr_19" },
        { name: "subscription.condition", value: "below" },
      ],
    },
    headers: [
      ["host", "tocsin.test"],
      ["user-agent", "alerts/2.4"],
      ["content-type", "application/json"],
      ["x-api-key", "***"],
    ],
    body: '{"data":{"subscription":{"id":"sub_7f31","userId":"usr_19","condition":"below","threshold":25000000.00},"metric":{"key":"eth_token_total_tvl_0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48","value":24318772.10,"previousValue":25110403.550000000000000001,"unit":"USD"},"timestamp":1795219200,"tags":[]}}',
    deliveries: [
      to("ops"),
      to("treasury", { recipient: "-1009876543210" }),
      mail("risk@desk.example"),
      mail("cfo@desk.example"),
    ],
    decisions: [
      { route: "critical", destination: "ops", result: "deliver", reason: "severity is critical" },
      { route: "critical", destination: "risk-mail", result: "deliver", reason: "severity is critical" },
      { route: "critical", destination: "treasury", result: "deliver", reason: "severity is critical" },
      {
        route: "stablecoins",
        destination: "ops",
        result: "skipped",
        reason: "token is USDC; route critical already delivers it there",
      },
      { route: "quiet", result: "not_matched", reason: "severity is critical, not info" },
    ],
  });
  await tryIt("ops", { ...taken, durationMs: 212 });
  await tryIt("risk-mail", {
    outcome: "ambiguous",
    reason: "no_answer",
    detail: "The mail server did not answer after the end of the mail",
    durationMs: 30_000,
    next: {
      state: "waiting",
      reason: "may or may not have arrived: no answer after the end of the mail",
      dueAt: clock.now() + 5 * minute,
    },
  });
  await tryIt("treasury", { ...later("server_error", "Internal Server Error", 1_000), durationMs: 1_204 });
  await clock.advance(1_200);
  await tryIt("treasury", {
    outcome: "rejected",
    reason: "kicked",
    detail: "Forbidden: bot was kicked from the supergroup chat",
    durationMs: 180,
    next: { state: "failed", reason: "Forbidden: bot was kicked from the supergroup chat" },
  });
  await clock.advance(2 * minute);
  await add({
    facts: {
      title: "TVL of USDC on Ethereum below 25,000,000 USD",
      severity: "critical",
      status: "resolved",
      token: "USDC",
      chain: "eth",
      metric: "eth_token_total_tvl",
      value: "25330110.4",
      threshold: "25000000.00",
      unit: "USD",
      alertKey: "sub_7f31",
    },
    deliveries: [
      to("ops", {
        state: "held",
        reason: "held until 2026-11-21 07:00 UTC by quiet hours",
        dueAt: clock.now() + 90 * minute,
      }),
    ],
  });
  await clock.advance(50_000);
  await add({ body: "{broken", unrouted: true });
  await clock.advance(20_000);

  destinations.splice(0, destinations.length, ...describeDestinations(clock.now(), await store.countByDestination()));
  await operations.addMute({
    matchers: [
      { field: "metric", condition: { equals: ["eth_gas"] } },
      { field: "value", condition: { lt: 120 } },
    ],
    reason: "known, the airdrop",
    endsAt: clock.now() + 90 * minute,
    createdBy: "page",
  });
  await operations.addMute({
    matchers: [{ field: "severity", condition: { equals: ["info"] } }],
    reason: "exchange maintenance on Sunday",
    startsAt: clock.now() + 600 * minute,
    endsAt: clock.now() + 900 * minute,
    createdBy: "api",
  });
  return { failedId: failed.id };
}

function describeDestinations(
  now: number,
  counts: Awaited<ReturnType<WebFixture["store"]["countByDestination"]>>,
): DestinationView[] {
  const of = (name: string) => {
    const found = counts.find(({ destination }) => destination === name);
    return { counts: found?.counts ?? {}, oldestWaitingAt: found?.oldestWaitingAt };
  };
  const kicked = "Forbidden: bot was kicked from the supergroup chat";
  const unanswered = "The mail server did not answer after the end of the mail";
  const well = { health: "ok", reason: "" } as const;
  const since = now - 3 * minute;
  const chat = (name: string, recipient: string, line: number) => ({
    ...{ name, channel: "telegram" as const, recipients: [recipient], definedAt: `tocsin.yaml:${line}`, ...of(name) },
  });
  const mailboxes = ["risk@desk.example", "cfo@desk.example"];
  const views: Omit<DestinationView, "verdict" | "provenAt" | "probeProves">[] = [
    { ...chat("ops", "-1001234567890", 4), ...well, lastSentAt: now - 4 * minute, movedTo: "-1001999888777" },
    {
      ...chat("treasury", "-1009876543210", 9),
      ...{ health: "dead", reason: kicked, since, nextTryAt: now + 1437 * minute, lastSentAt: now - 12 * minute },
    },
    {
      ...chat("risk-mail", "", 14),
      ...{ channel: "email", recipients: mailboxes, health: "degraded", reason: unanswered, since },
      lastSentAt: now - 8 * minute,
    },
    { ...chat("pager", "pager.example", 21), ...well, channel: "webhook" },
  ];
  return views.map((view) => judged(view));
}

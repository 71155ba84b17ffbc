import type { DestinationView } from "../../src/contract/operations.ts";
import { createIdSource } from "../../src/core/id.ts";
import { judged } from "../../src/vendors/verdict.ts";
import { addAlert, attempt, type WebFixture } from "./web-fixture.ts";

const minute = 60_000;

/** A morning of a treasury desk: alerts of every kind, in every state, at four destinations. */
export async function fillScene({ store, clock, destinations, operations }: WebFixture): Promise<{ failedId: string }> {
  const newId = createIdSource(clock.now);
  const to = (destination: string, over = {}) => ({ destination, ...over });
  const mail = (recipient: string) => to("risk-mail", { channel: "email" as const, recipient, route: "critical" });

  await addAlert(store, clock.now(), newId, {
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
  await addAlert(store, clock.now(), newId, {
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
  await addAlert(store, clock.now(), newId, {
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
  await attempt(store, "ops", clock.now(), { outcome: "sent", next: { state: "sent", reason: "taken" } });
  await attempt(store, "treasury", clock.now(), {
    outcome: "retry",
    reason: "rate_limited",
    detail: "Too Many Requests: retry after 14",
    next: { state: "waiting", reason: "Too Many Requests: retry after 14", dueAt: clock.now() + 14_000 },
  });
  await clock.advance(15_000);
  await attempt(store, "treasury", clock.now(), {
    outcome: "sent",
    next: { state: "sent", reason: "taken" },
  });
  await clock.advance(6 * minute);
  await addAlert(store, clock.now(), newId, {
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
  await attempt(store, "ops", clock.now(), { outcome: "sent", next: { state: "sent", reason: "taken" } });
  await attempt(store, "risk-mail", clock.now(), {
    outcome: "sent",
    next: { state: "sent", reason: "taken" },
  });
  await clock.advance(4 * minute);
  const failed = await addAlert(store, clock.now(), newId, {
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
  await attempt(store, "ops", clock.now(), {
    outcome: "sent",
    durationMs: 212,
    next: { state: "sent", reason: "taken" },
  });
  await attempt(store, "risk-mail", clock.now(), {
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
  await attempt(store, "treasury", clock.now(), {
    outcome: "retry",
    reason: "server_error",
    detail: "Internal Server Error",
    durationMs: 1_204,
    next: { state: "waiting", reason: "Internal Server Error", dueAt: clock.now() + 1_000 },
  });
  await clock.advance(1_200);
  await attempt(store, "treasury", clock.now(), {
    outcome: "rejected",
    reason: "kicked",
    detail: "Forbidden: bot was kicked from the supergroup chat",
    durationMs: 180,
    next: { state: "failed", reason: "Forbidden: bot was kicked from the supergroup chat" },
  });
  await clock.advance(2 * minute);
  await addAlert(store, clock.now(), newId, {
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
  await addAlert(store, clock.now(), newId, { body: "{broken", unrouted: true });
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
  const views = [
    {
      name: "ops",
      channel: "telegram",
      recipients: ["-1001234567890"],
      health: "ok",
      reason: "",
      lastSentAt: now - 4 * minute,
      movedTo: "-1001999888777",
      definedAt: "tocsin.yaml:4",
      ...of("ops"),
    },
    {
      name: "treasury",
      channel: "telegram",
      recipients: ["-1009876543210"],
      health: "dead",
      reason: "Forbidden: bot was kicked from the supergroup chat",
      since: now - 3 * minute,
      nextTryAt: now + 1437 * minute,
      lastSentAt: now - 12 * minute,
      definedAt: "tocsin.yaml:9",
      ...of("treasury"),
    },
    {
      name: "risk-mail",
      channel: "email",
      recipients: ["risk@desk.example", "cfo@desk.example"],
      health: "degraded",
      reason: "The mail server did not answer after the end of the mail",
      since: now - 3 * minute,
      lastSentAt: now - 8 * minute,
      definedAt: "tocsin.yaml:14",
      ...of("risk-mail"),
    },
    {
      name: "pager",
      channel: "webhook",
      recipients: ["pager.example"],
      health: "ok",
      reason: "",
      definedAt: "tocsin.yaml:21",
      ...of("pager"),
    },
  ] as const;
  return views.map((view) => judged({ ...view, recipients: [...view.recipients] }));
}

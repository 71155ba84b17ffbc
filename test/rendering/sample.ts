import type { Alert, AlertFacts } from "../../src/core/alert.ts";
import type { MessageData } from "../../src/core/message.ts";
import type { MessageContext } from "../../src/core/message-context.ts";
import { anAlert } from "../support/facts.ts";

/** 21 Nov 2026, 03:02:05 in Zurich. */
export const receivedAt = Date.UTC(2026, 10, 21, 2, 2, 5);
export const minuteMs = 60_000;
export const publicUrl = "https://tocsin.example.com";
export const usdc = "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48";

type Changes = Partial<Omit<Alert, "facts">> & { facts?: Partial<AlertFacts> };

/** What a well-made alert offers; `changes` go over it. */
export function makeAlert(changes: Changes = {}): Alert {
  const { facts, ...rest } = changes;
  return {
    id: "01939a5c-1b2d-7c3e-8f4a-5b6c7d8e9f00",
    seq: 1,
    origin: "hook",
    receivedAt,
    ...rest,
    facts: anAlert({
      title: "USDC total TVL fell below 5,000,000",
      severity: "critical",
      alertKey: "usdc-tvl",
      ...facts,
    }),
  };
}

export function makeContext(changes: Partial<MessageContext> = {}): MessageContext {
  return { now: receivedAt + 1000, purpose: "alert", possibleRepeat: false, ...changes };
}

/** What goes to vendors that are given the facts of alerts with the text. */
export function dataOf(alerts: Alert[], changes: Partial<MessageData> = {}): MessageData {
  const shown = alerts.map(({ id, receivedAt, facts }) => {
    const { title, severity, status } = facts;
    return { id, receivedAt, title, severity, status, facts: { ...facts }, url: `${publicUrl}/alerts/${id}` };
  });
  return { type: "alert", deliveryId: "d", at: receivedAt, repeat: false, silent: false, alerts: shown, ...changes };
}

/** Everything named, as the market-data service may send it. */
export const fullFacts: Partial<AlertFacts> = {
  metric: `eth_token_total_tvl_${usdc}`,
  token: "USDC",
  chain: "eth",
  value: "4812345.67",
  previousValue: "5102000",
  threshold: "5000000",
  unit: "USD",
  occurredAt: receivedAt - 3000,
  link: `https://market.example.com/tokens/eth/${usdc}`,
  text: "Total value locked of USDC on eth fell below your limit.",
  fields: [
    { name: "subscription", value: "sub_8841" },
    { name: "rule", value: "TVL < 5000000" },
  ],
};

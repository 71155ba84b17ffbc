import type { AlertFacts } from "../../src/core/alert.ts";
import type { NextStep } from "../../src/core/delivery-job.ts";
import { createIdSource } from "../../src/core/id.ts";
import type { AttemptRecord } from "../../src/core/ports/dispatch.ts";
import type { IncomingRequest } from "../../src/core/ports/inbox.ts";
import type { RoutingRecord } from "../../src/core/ports/routing-desk.ts";
import type { Store } from "../../src/core/ports/store.ts";
import type { Decision, Mute, PlannedDelivery } from "../../src/core/rules.ts";
import { findUnrouted } from "../conformance/store/scene-samples.ts";
import { anAlert } from "../support/facts.ts";
import { takeLane } from "../support/lane.ts";

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

type Plan = Partial<PlannedDelivery> & Pick<PlannedDelivery, "destination">;
type Said = Partial<AttemptRecord> & Pick<AttemptRecord, "outcome"> & { next: NextStep };

/** Ids of those that the goldens ask for by name. */
export type NamedIds = Record<string, string>;

/**
 * Writes alerts of every outcome, mutes, refused requests and what is known of the destinations, as the days before `now` would
 * have left them. `at` moves the clock by which the store writes.
 */
export async function writeHistory(store: Store, now: number, at: (ms: number) => void): Promise<NamedIds> {
  let time = now;
  let drawn = 0;
  const newId = createIdSource(
    () => time,
    (bytes) => {
      for (const index of bytes.keys()) {
        drawn += 1;
        bytes[index] = Math.imul(drawn, 0x9e3779b1) >>> 24;
      }
    },
  );
  const lane = await takeLane(store);
  const ids: NamedIds = {};
  let claims = 0;

  const named = (name: string) => {
    const id = newId();
    ids[name] = id;
    return id;
  };
  const moveTo = (ms: number) => {
    time = ms;
    at(ms);
  };
  const plan = ({ destination, ...over }: Plan): PlannedDelivery => {
    const isMail = destination === "risk-mail";
    const recipients = { treasury: "-1002", night: "-1003", "risk-mail": "risk@desk.example", pager: "pager" };
    return {
      ...{ destination, recipient: (recipients as Record<string, string>)[destination] ?? "-1001" },
      channel: isMail ? "email" : destination === "pager" ? "webhook" : "telegram",
      route: isMail || destination === "treasury" ? "critical" : "rest",
      ...{ state: "queued", reason: "the route takes every alert", dueAt: time, updates: "auto", ...over },
    };
  };

  /** Accepts and routes one alert `ago` before now. */
  async function arrive(
    name: string,
    ago: number,
    facts: Partial<AlertFacts>,
    plans: Plan[],
    { request, ...routing }: Partial<RoutingRecord> & { request?: Partial<IncomingRequest> } = {},
  ): Promise<string> {
    moveTo(now - ago);
    const id = named(name);
    await store.acceptRequest({
      ...{ receivedAt: time, contentType: "application/json", ids: [id], origin: "hook", dedupeWindowMs: hour },
      headers: '[["content-type","application/json"],["user-agent","alerts/2.4"],["x-api-key","***"]]',
      body: Buffer.from(JSON.stringify({ title: facts.title, id: name })),
      ...request,
    });
    const { seq } = await findUnrouted(store, id);
    const deliveries = plans.map(plan);
    const decisions = deliveries.map(({ route, destination, reason, state }): Decision => {
      const result = state === "muted" || state === "held" ? state : "deliver";
      return { route, destination, reason, result };
    });
    const said = anAlert({ title: name, alertKey: name, ...facts });
    const judged = { decisions, deliveries, purpose: "alert" as const, routedAt: time, ...routing };
    await store.recordRouting([{ alertSeq: seq, facts: said, ...judged }]);
    return id;
  }

  /** One call for each delivery that is due at the destination, `later` than the last that was written. */
  async function attempt(destination: string, said: Said | "sent", later = 400): Promise<void> {
    moveTo(time + later);
    const given: Said = typeof said === "string" ? { outcome: "sent", next: { state: "sent", reason: "taken" } } : said;
    for (const { seq } of await store.listDue(destination, time, 100)) {
      claims += 1;
      const token = `claim ${claims}`;
      await store.claimDeliveries(lane, { token, deliverySeqs: [seq], leaseMs: minute }, []);
      const call = { action: "send", part: 1, parts: 1, countsAsAttempt: true } as const;
      const refs = given.outcome !== "sent" ? [] : [`${100 + claims}`];
      const made = { token, deliverySeqs: [seq], at: time, durationMs: 240, progress: { refs } };
      await store.recordAttempt(lane, { ...call, ...made, ...given }, []);
    }
  }
  const ops: Plan[] = [{ destination: "ops" }];
  /** An alert for `ops` alone, and one call for it. */
  async function send(
    name: string,
    ago: number,
    facts: Partial<AlertFacts>,
    options: Parameters<typeof arrive>[4] = {},
    said: Said | "sent" = "sent",
  ): Promise<void> {
    await arrive(name, ago, facts, ops, options);
    await attempt("ops", said);
  }
  const refused = (reason: AttemptRecord["reason"], detail: string): Said => ({
    ...{ outcome: "rejected", reason, detail },
    next: { state: "failed", reason: detail },
  });
  const kicked = refused("kicked", "Forbidden: bot was kicked from the supergroup chat");

  for (let index = 30; index > 0; index -= 1) {
    const severity = (["info", "warning", "critical"] as const)[index % 3];
    const said = index % 7 === 0 ? refused("server_error", "Internal Server Error") : "sent";
    await send(`old ${index}`, day + index * 5 * hour, { title: `Pool ${index} moved`, severity }, {}, said);
  }
  const usdc = {
    title: "TVL of USDC on Ethereum below 25,000,000 USD",
    ...{ severity: "critical" as const, token: "USDC", chain: "eth", metric: "eth_token_total_tvl", unit: "USD" },
    ...{ threshold: "25000000.00", alertKey: "sub_7f31", externalId: "sub_7f31" },
  } as const;
  const report = { title: "Daily report is ready", severity: "info", link: "https://reports.example/1" } as const;
  const notMatched = { route: "critical", result: "not_matched", reason: "severity is info, not critical" } as const;
  await arrive("unmatched", 9 * hour, report, [], { decisions: [notMatched] });
  const dropped = { route: "staging", result: "dropped", reason: "source is staging" } as const;
  const hello = { title: "Staging says hello", source: "staging" };
  await arrive("dropped", 8.5 * hour, hello, [], { decisions: [dropped] });
  const gas = { title: "Gas price above 80 gwei", severity: "info", metric: "eth_gas", value: "83.2" } as const;
  const why = "muted until 2026-11-21 14:00 UTC: the airdrop (metric is eth_gas)";
  await arrive("muted", 8 * hour, gas, [{ destination: "ops", state: "muted", reason: why }]);
  await arrive("retried", 7 * hour, { title: "USDT trades at 0.9931", token: "USDT", value: "0.9931" }, ops);
  const detail = "Too Many Requests: retry after 14";
  const next = { state: "waiting", reason: detail, dueAt: time + 14_000 } as const;
  await attempt("ops", { outcome: "retry", reason: "rate_limited", detail, next });
  await attempt("ops", "sent", 15_000);
  const values = { value: "24318772.10", previousValue: "25110403.550000000000000001" };
  const lost = ["ops", "treasury", "risk-mail"].map((destination): Plan => ({ destination }));
  lost.push({ destination: "risk-mail", recipient: "cfo@desk.example" });
  const precise = Buffer.from('{"metric":{"key":"eth_token_total_tvl","value":24318772.10},"tags":[]}');
  const occurredAt = now - 6 * hour - 95_000;
  await arrive("failed", 6 * hour, { ...usdc, ...values, occurredAt }, lost, { request: { body: precise } });
  await attempt("ops", "sent");
  await attempt("risk-mail", "sent");
  await attempt("treasury", kicked);
  const edited: Said = { action: "edit", outcome: "sent", next: { state: "sent", reason: "the message was changed" } };
  await send("edited", 5.9 * hour, { ...usdc, status: "resolved", value: "25330110.4" }, {}, edited);
  const toTreasury = [{ destination: "treasury" }];
  await arrive("resent", 5 * hour, { title: "A pool is empty", severity: "critical" }, toTreasury);
  await attempt("treasury", kicked);
  await store.addDeliveries(ids.resent as string, [...ops, ...toTreasury].map(plan), "resend", time);
  await attempt("ops", "sent");
  await attempt("treasury", kicked);
  const fallback = { to: "pager", at: now - 4.4 * hour };
  const late = { title: "Oracle is late", severity: "critical" } as const;
  await arrive("fallback", 4.5 * hour, late, [{ destination: "treasury", fallback }]);
  const [{ seq = 0 } = {}] = await store.listDue("treasury", time, 1);
  const fallbacks = [{ deliverySeq: seq, planned: [plan({ destination: "pager" })] }];
  await attempt("treasury", { ...kicked, fallbacks });
  await attempt("pager", "sent");
  const body = Buffer.from('{"title":"Twice the same","id":"evt_1"}');
  for (const name of ["first", "repeat"]) {
    const again = { request: { body }, repeatWindowMs: hour };
    await send(name, name === "first" ? 4 * hour : 3.9 * hour, { title: "Twice the same", alertKey: "twice" }, again);
  }
  const digested: Said = { outcome: "sent", next: { state: "digested", reason: "sent in a digest of 12" } };
  await send("digested", 3.5 * hour, { title: "One of many" }, {}, digested);
  const expired = { state: "expired", reason: "not delivered within 24 h" } as const;
  const noAnswer = { outcome: "retry", reason: "connect_failed", detail: "connection refused", next: expired } as const;
  await send("expired", 3 * hour, { title: "Too late to matter" }, {}, noAnswer);
  await send("bridge", 2.8 * hour, { title: "The bridge works", severity: "info", source: "bridge watch" });
  const unknown = { title: "Nobody knows whether this came" };
  await arrive("ambiguous", 2.5 * hour, unknown, [{ destination: "risk-mail", route: "rest" }]);
  await attempt("risk-mail", {
    ...{ outcome: "ambiguous", reason: "no_answer", durationMs: 30_000 },
    detail: "The mail server did not answer after the end of the mail",
    next: { state: "held", reason: "may or may not have arrived: no answer after the end of the mail" },
  });
  const notes = ["reading it failed twice: time limit"];
  const unreadable = { severity: "unknown" as const, format: "unreadable" as const, notes };
  const binary = { body: Buffer.from([0xff, 0xfe, 0x00, 0x7b]), contentType: "application/octet-stream" };
  const title = "Alert (its body cannot be read)";
  await send("unreadable", 2 * hour, { title, ...unreadable }, { request: binary });
  const weth = { title: "WETH/USDC volume fell by 41 %", token: "WETH", metric: "arb_volume", unit: "USD" };
  const measured = { value: "12840221.77", threshold: "15000000" };
  for (const severity of ["warning", "critical"] as const)
    await arrive(`twin ${severity}`, 1.5 * hour, { ...weth, ...measured, severity }, ops);
  await attempt("ops", "sent");
  await send("forge", hour, { title: "Build 31 failed", source: "forge" }, { request: { source: "forge" } });
  const until = now + 17.5 * hour;
  const reason = "held until 2026-11-22 06:30 by quiet hours";
  const held: Plan = { destination: "night", state: "held", reason, dueAt: until };
  await arrive("held", 50 * minute, { title: "Volume is low tonight" }, [held]);
  await arrive("waiting", 40 * minute, { title: "Bridge is slow", severity: "critical" }, ops);
  const away = { state: "waiting", reason: "Internal Server Error", dueAt: now + 5 * hour } as const;
  await attempt("ops", { outcome: "retry", reason: "server_error", detail: "Internal Server Error", next: away });
  moveTo(now - 30 * minute);
  const treasuryIsAway = { title: "treasury cannot be reached", alertKey: "tocsin:treasury" };
  await store.recordNotice({
    ...{ id: newId(), at: time, decisions: [], deliveries: [plan({ destination: "ops", route: "" })] },
    facts: anAlert({ ...treasuryIsAway, severity: "critical", format: "empty" }),
  });
  await attempt("ops", "sent");

  const status = { kind: "destination", failures: 0, since: now - day, health: "ok", reason: "" } as const;
  await store.saveStatus(lane, { ...status, name: "ops", lastSentAt: time });
  await store.saveStatus(lane, {
    ...{ kind: "destination", name: "treasury", health: "dead", reason: kicked.detail ?? "", reasonCode: "kicked" },
    ...{ since: now - 6 * hour, failures: 3, probeAt: now + 5 * hour, lastSentAt: now - day },
    notice: { health: "dead", at: time, sent: true, over: false },
  });
  await store.saveStatus(lane, { ...status, name: "pager", paused: { at: now - hour, by: "page" } });
  const mute = (name: string, startsAt: number, endsAt: number, matchers: Mute["matchers"]) =>
    store.addMute({
      ...{ id: named(name), matchers, reason: `the ${name}`, startsAt, endsAt },
      ...{ createdAt: time, createdBy: "page" },
    });
  await mute("airdrop", now - hour, now + 2 * hour, [
    { field: "metric", condition: { equals: ["eth_gas"] } },
    { field: "value", condition: { lt: 120 } },
  ]);
  await mute("maintenance", now + 10 * hour, now + 15 * hour, [{ field: "severity", condition: { equals: ["info"] } }]);
  await mute("migration", now - 9 * hour, now - 7 * hour, [{ field: "token", condition: { matches: "^0x" } }]);
  for (const [index, why] of (["wrong_signature", "no_signature", "wrong_address"] as const).entries())
    await store.recordRefused({
      ...{ id: named(`refused ${index + 1}`), source: "forge", receivedAt: now - (20 - index) * minute, reason: why },
      ...{ detail: `what was sent: ${why}`, address: `203.0.113.${index}`, contentType: "application/json" },
      ...{ headers: '[["content-type","application/json"]]', items: 1, unkept: 40 * index },
      body: Buffer.from(JSON.stringify({ title: `Forged ${index}` })),
    });
  const times = [{ fromAt: now - 30 * hour, toAt: now - 29 * hour }];
  await store.saveWatchState({ name: "restores", state: { times } });
  // Else people would be told at the start, whenever the log has been read.
  const told = { at: now - 48 * minute, last: { at: now - 2.8 * hour, id: ids.bridge } };
  const watches = { "source:bridge watch": { since: now - 7 * day, last: told.last, told, ended: [] } };
  await store.saveWatchState({ name: "silence", state: { aways: [], watches } });
  moveTo(now);
  return ids;
}

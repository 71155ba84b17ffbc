import type { AlertFacts } from "../../src/core/alert.ts";
import { type Json, JsonNumber, type JsonObject } from "../../src/core/json.ts";
import type { Matcher, Mute, Route, Rules } from "../../src/core/rules.ts";
import { Secret } from "../../src/core/secret.ts";
import type { MatchInput } from "../../src/matching/judge.ts";
import type { Router } from "../../src/routing/router.ts";
import type { EmailDestination } from "../../src/vendors/email/vendor.ts";
import type { TelegramDestination } from "../../src/vendors/telegram/vendor.ts";
import { destinationBase } from "../support/destinations.ts";
import { anAlert } from "../support/facts.ts";

/** Saturday, 21 November 2026, noon UTC. */
export const noon = Date.UTC(2026, 10, 21, 12);

export function facts(over: Partial<AlertFacts> = {}): AlertFacts {
  return anAlert({ title: "TVL of USDC dropped", severity: "critical", alertKey: "usdc-tvl", ...over });
}

export function alert(over: Partial<AlertFacts> = {}, more: Partial<MatchInput> = {}): MatchInput {
  return { facts: facts(over), origin: "hook", ...more };
}

/** Like the reader of payloads: null prototypes, and numbers as their text. */
export function json(text: string): Json {
  return toJson(JSON.parse(text));
}

function toJson(value: unknown): Json {
  if (typeof value === "number") return new JsonNumber(String(value));
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (Array.isArray(value)) return value.map(toJson);
  const object: JsonObject = Object.create(null);
  for (const [key, member] of Object.entries(value as object)) object[key] = toJson(member);
  return object;
}

export function chat(name: string, over: Partial<TelegramDestination> = {}): TelegramDestination {
  return {
    ...destinationBase(name),
    type: "telegram",
    chatId: `-100${name.length}`,
    silent: false,
    bot: { id: "1", token: new Secret("1:x"), apiRoot: "https://api.telegram.org" },
    ...over,
  };
}

export function mailbox(name: string, to: string[]): EmailDestination {
  const account = {
    ...{ id: "relay@mail:587", host: "mail", port: 587, secure: false },
    ...{ allowInsecureAuth: false, rejectUnauthorized: true },
  };
  return { ...destinationBase(name), type: "email", to, from: "a@b.example", account };
}

export function route(name: string, to: string[], over: Partial<Route> = {}): Route {
  const given = { continue: false, isDefault: false, updates: "auto", definedAt: "tocsin.yaml:9" } as const;
  return { name, to, matchers: [], ...given, ...over };
}

export function is(field: string, ...equals: string[]): Matcher {
  return { field, condition: { equals } };
}

export function mute(id: string, matchers: Matcher[], over: Partial<Mute> = {}): Mute {
  const times = { startsAt: 0, endsAt: noon + 3_600_000, createdAt: 0 };
  return { id, matchers, reason: "maintenance", ...times, createdBy: "page", ...over };
}

export function rules(over: Partial<Rules>): Rules {
  return { destinations: [], routes: [], mutes: [], ...over };
}

/** How an alert is routed, for a person to read: each decision, and what is planned. */
export function tellRouting(router: Router, input: MatchInput, mutes: Mute[] = [], now = noon): string {
  const { decisions, deliveries } = router.route(input, mutes, now);
  const when = (at: number) => (at === now ? "" : ` at ${new Date(at).toISOString().slice(11, 19)}`);
  const decided = decisions.map(({ route, destination, result, reason, muteId }) => {
    return `${[route, destination, result, muteId && `by ${muteId}`].filter(Boolean).join(" ")}: ${reason}`;
  });
  const planned = deliveries.map(({ destination, recipient, route, state, dueAt, updates, fallback, ring, extras }) => {
    const later = fallback ? `, else ${fallback.to}${when(fallback.at)}` : "";
    const more = [ring, extras].map((one) => (one ? ` ${JSON.stringify(one)}` : "")).join("");
    return `→ ${destination} ${recipient} by ${route}: ${state}${when(dueAt)}, ${updates}${later}${more}`;
  });
  return `\n${[...decided, ...planned].join("\n")}\n`;
}

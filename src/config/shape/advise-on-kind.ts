import { Refusal } from "../../ground/shape/refusal.ts";
import { looksSecret, showValue } from "../../ground/shape/show-value.ts";
import { isMailAddress } from "../../ground/text/mail-address.ts";

/** Where a map or a list belongs and something else stands. `key` is the option, `undefined` for the file itself. */
export function refuseKind(
  wanted: "map" | "list",
  key: string | undefined,
  value: unknown,
  example: string,
): Refusal {
  if (value === undefined || value === null) {
    if (key !== undefined && /^\d+$/.test(key)) {
      return new Refusal("is an empty entry", `remove its '- ', or ${example}`);
    }
    const name = key === undefined ? "it" : `${key}:`;
    return new Refusal(
      "has nothing below it",
      `indent the lines that belong to ${name} by two spaces more than it, or ${example}`,
    );
  }
  const found = typeof value === "string" || typeof value === "number" ? showValue(value) : undefined;
  const kind = Array.isArray(value)
    ? "a list"
    : typeof value === "object"
      ? "a map"
      : `the value ${found ?? String(value)}`;
  return new Refusal(`is ${kind}, and a ${wanted} belongs here`, example);
}

/** What to write for an option that takes a map, made of what was written where that can be known. */
export function adviseOnMap(key: string | number | undefined, value: unknown): string {
  const text = typeof value === "string" || typeof value === "number" ? String(value).trim() : "";
  const name = /^[A-Za-z0-9][\w.:@+-]{0,63}$/.test(text) && !looksSecret(text) ? text : undefined;
  switch (key) {
    case "fallback":
      return `write { to: ${name ?? (Array.isArray(value) ? String(value[0]) : "desk")}, after: 10m }`;
    case "quietHours": {
      const [, from = "22:00", to = "07:00"] =
        /^(\d\d:\d\d)\s*(?:-|–|to|\.\.)\s*(\d\d:\d\d)$/.exec(text) ?? [];
      return `write { from: "${from}", to: "${to}" }`;
    }
    case "pace":
    case "telegramBotPace": {
      const [, count = "18", unit = "min"] = /^(\d+)\s*(?:\/|per)?\s*(s|sec|min|m)?/i.exec(text) ?? [];
      return `write { ${/^s/i.test(unit) ? "perSecond" : "perMinute"}: ${count} }`;
    }
    case "ambiguous":
    case "ambiguousEmail":
      return "write { wait: 30s, repeats: 2 }";
    case "breaker":
      return "write { failures: 5, pause: 30s, maxPause: 10m }";
    case "webhook":
      return "write { giveUpAfter: 96h }";
    case "headers":
      return 'write { X-Team: "treasury" }';
    case "defaults":
      return "write { timeZone: UTC }";
    case "intake":
      return "write { maxBodyBytes: 1048576 }";
    case "delivery":
      return "write { giveUpAfter: 24h }";
    default:
      return typeof key === "number"
        ? "write the options of the entry behind its '- ', e.g. - { match: { severity: critical }, to: [desk] }"
        : "write the options with a name, a colon and a value each, e.g. { name: value }";
  }
}

/** For a destination that is no map: a chat, a mailbox and an address can be known by their looks. */
export function adviseOnDestination(value: unknown): string {
  const text = typeof value === "string" || typeof value === "number" ? String(value).trim() : "";
  if (/^-\d+$/.test(text)) return `write { type: telegram, chatId: ${text} }`;
  if (isMailAddress(text)) return `write { type: email, to: [${text}] }`;
  return "write e.g. { type: telegram, chatId: -1001234567890 }";
}

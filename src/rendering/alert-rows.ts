import type { Alert, AlertFacts } from "../core/alert.ts";
import type { Inline } from "../core/document.ts";
import { cleanLine } from "../ground/text/clean.ts";
import { cut } from "../ground/text/graphemes.ts";
import { isLinkable } from "../ground/text/linkable.ts";
import { code, link, markLongWords, text, time } from "./inlines.ts";

export interface Row {
  label: string;
  value: Inline[];
}

const maxLabelUnits = 80;
const maxLinkTextUnits = 60;
/** Senders' clocks differ and their queues hold things up a little; more than this is worth a line. */
const worthShowingMs = 2 * 60 * 1000;

/** Where and when: one row for each named fact that is there. */
export function writeAlertRows(alert: Alert, now: number): Row[] {
  const { facts } = alert;
  const rows: Row[] = [];
  const token = cleanLine(facts.token ?? "");
  const chain = cleanLine(facts.chain ?? "");
  if (token !== "") rows.push({ label: "Token", value: [...markLongWords(token), ...onChain(chain)] });
  else if (chain !== "") rows.push({ label: "Chain", value: markLongWords(chain) });
  const metric = cleanLine(facts.metric ?? "");
  // What was read from the title itself stands there already.
  if (metric !== "" && !cleanLine(facts.title).includes(metric)) rows.push({ label: "Metric", value: [code(metric)] });
  const isOurs = alert.origin === "notice";
  const source = cleanLine(facts.source ?? "");
  if (source !== "" && !isOurs) rows.push({ label: "From", value: markLongWords(source) });
  rows.push(...writeTimes(alert, now));
  if (facts.link !== undefined && !isOurs) rows.push({ label: "Link", value: [writeLink(facts.link)] });
  return rows;
}

/** What the body offers beyond the named facts. */
export function writeMoreFields(facts: AlertFacts): Row[] {
  return facts.fields.map((field) => ({
    label: cut(cleanLine(field.name), maxLabelUnits) || "?",
    value: markLongWords(cleanLine(field.value, " ⏎ ")),
  }));
}

function onChain(chain: string): Inline[] {
  return chain === "" ? [] : [text(" on "), ...markLongWords(chain)];
}

/** The sender's time where there is one; ours as well where the two disagree. */
function writeTimes(alert: Alert, now: number): Row[] {
  const { occurredAt } = alert.facts;
  const received: Row = { label: "Received", value: [time(alert.receivedAt, now)] };
  if (occurredAt === undefined) return alert.origin === "hook" ? [received] : [];
  const happened: Row = { label: "When", value: [{ kind: "time", at: occurredAt }] };
  return Math.abs(alert.receivedAt - occurredAt) > worthShowingMs ? [happened, received] : [happened];
}

/** The address itself is shown, shortened if need be, so that nobody follows words to an unknown place. */
function writeLink(href: string): Inline {
  const shown = cleanLine(href);
  return isLinkable(href) ? link(cut(shown, maxLinkTextUnits), href) : text(shown);
}

import type {
  DestinationView,
  ExplainedDelivery,
  Explanation,
  MappedFact,
  RoutingPart,
} from "../contract/operations.ts";
import type { Decision } from "../core/rules.ts";
import { groupBy } from "../ground/group-by.ts";
import { quoteValue } from "../matching/judge.ts";
import { vendorOf } from "../vendors/index.ts";
import { isTriedNext } from "./destinations.ts";
import type { Cell, Fact, Panel, Section, Tone } from "./panel.ts";
import { actsOf, aside, factsOf, groupOf, paragraph, say, tableOf } from "./sections.ts";

/** `isApart`: also equal messages one by one. `destinations`: their state, to show where a message cannot arrive. */
export function explanationPanel(
  explanation: Explanation,
  { isApart = false, destinations = [] }: { isApart?: boolean; destinations?: readonly DestinationView[] } = {},
): Panel {
  const { fields, mapping, decisions, deliveries } = explanation;
  const keyOf = ({ destination, texts }: ExplainedDelivery) => (isApart ? destination : JSON.stringify(texts));
  return [
    summarize(explanation),
    tableOf([...fields.facts, ...fields.payload], {
      "field for match": ({ field }) => field,
      value: ({ value }) => value,
    }),
    mapping && tableOf(mapping, { fact: ({ fact }) => fact, "by mapping": describeMapped }),
    factsOf(restOf(explanation)),
    decisions.length === 0 ? { kind: "text", text: say`No route is configured.` } : decisionsTable(decisions),
    ...[...groupBy(deliveries, keyOf).values()].map((group): Section => {
      const to = group.map((one) => headOf(one, obstacleAt(destinations.find(({ name }) => name === one.destination))));
      return { kind: "messages", to, texts: group[0]?.texts ?? [] };
    }),
    deliveries.some(({ channel, state }) => state !== "muted" && !vendorOf(channel).can.informsPrograms) &&
      aside`Whether it rings depends on what rang before: nothing of the log counts here.`,
  ];
}

export const resultWords: Record<RoutingPart["result"], readonly [words: string, tone: Tone]> = {
  nothing: ["nothing", "off"],
  deliver: ["deliver", "good"],
  damped: ["does not ring", "off"],
  standby: ["fallback", "off"],
  muted: ["muted", "off"],
  held: ["held", "busy"],
  dropped: ["dropped", "off"],
  contained: ["in another message", "good"],
  skipped: ["skipped", "off"],
  not_matched: ["not matched", "off"],
};

export const decisionsTable = (
  decisions: readonly Pick<Decision, "route" | "result" | "destination" | "reason">[],
): Section | false =>
  tableOf(
    decisions,
    {
      route: ({ route }) => route,
      decision: ({ result }) => ({ chip: resultWords[result][0], tone: resultWords[result][1] }),
      destination: ({ destination }) => destination,
      because: ({ reason }) => reason,
    },
    { keep: ["decision"] },
  );

/** `3 destinations: desk, mail (route urgent), ops (route all)`, or the reason why it is sent nowhere. */
function summarize({ decisions, deliveries }: Explanation): Section {
  const goes = deliveries.filter(({ state }) => state !== "muted");
  const muted = deliveries.filter(({ state }) => state === "muted").map(({ destination }) => destination);
  if (goes.length === 0) {
    const dropping = decisions.find(({ result }) => result === "dropped");
    const why = muted.length > 0 ? `muted at ${muted.join(", ")}` : "no route wants it";
    const reason = dropping === undefined ? why : `dropped on purpose by route ${dropping.route}`;
    return { kind: "note", note: "warning", text: say`It would go nowhere: ${reason}.` };
  }
  const parts = [...groupBy(goes, ({ route }) => route)].map(([route, those]) => {
    const names = those.map(({ destination, state }) => (state === "held" ? `${destination}, held` : destination));
    return `${names.join(", ")} (route ${route})`;
  });
  const count = goes.length === 1 ? say`1 destination` : say`${goes.length} destinations`;
  const rest = muted.length > 0 && say`; muted: ${muted.join(", ")}`;
  return { kind: "note", note: "done", text: say`${count}: ${parts.join(", ")}${rest}` };
}

function describeMapped({ paths, path, why, value, guess }: MappedFact): string {
  if (path === undefined)
    return `nothing at ${paths.join(", ")}${why === undefined ? "" : ` (${why})`}, so it is guessed`;
  const shown = guess === undefined ? "nothing" : quoteValue(guess);
  return `from ${path} by mapping, the guess would be ${guess === value ? "the same" : shown}`;
}

/** The facts that no matcher can use. */
function restOf({ facts, fields }: Explanation): Fact[] {
  const { more, payload } = fields;
  return [
    ["and", more > 0 && say`${more} more ${{ words: more === 1 ? "place" : "places" }} of the payload`],
    ...(payload.length > 0 ? [] : facts.fields.map(({ name, value }): Fact => [name, value])),
    ["happened", facts.occurredAt !== undefined && { at: facts.occurredAt }],
    ...facts.notes.map((note): Fact => ["note", note]),
  ];
}

function headOf(
  { destination, channel, recipients, state, reason, dueAt }: ExplainedDelivery,
  obstacle: string | undefined,
): Cell {
  const others = recipients.length === 1 && recipients[0] === destination ? "" : ` ${recipients.join(", ")}`;
  const until = dueAt === undefined ? "later" : { at: dueAt };
  const when = {
    queued: say`sent at once${obstacle !== undefined && { words: obstacle }}`,
    muted: say`not sent; ${reason}`,
    held: say`held until ${until}, then sent together with what else was held; ${reason}`,
  }[state];
  return say`${{ bold: destination }} (${channel}${others}): ${when}`;
}

/** Why a message would not arrive now, although routes and mutes let it through. */
function obstacleAt(destination: DestinationView | undefined): string | undefined {
  if (destination === undefined) return undefined;
  const { health, paused } = destination;
  if (paused !== undefined) return ", once somebody resumes it: it is paused";
  if (health === "down") return ", once it answers: it is down";
  if (isTriedNext(destination)) return `, if it takes messages again: it is ${health === "dead" ? "dead" : "refused"}`;
  if (health === "dead") return ", but is dead: it would wait for an hour at most";
  return health === "paused" ? ", once it takes messages again: it is refused" : undefined;
}

export interface TypedBody {
  body: string;
  source: string;
}

/** @param sources their names */
export function tryBodyPanel(sources: readonly string[], typed: TypedBody): Section {
  const source = {
    name: "source",
    label: "Comes by the hook of",
    value: typed.source,
    options: [["", "the account"] as const, ...sources.map((name) => [name, name] as const)],
  };
  const body = {
    name: "body",
    label: "Body",
    value: typed.body,
    lines: 8,
    placeholder: '{"title":"USDC TVL below 25 M","severity":"critical"}',
  };
  return groupOf({ title: "Try a body", id: "try-title" }, [
    paragraph`What a sender posts, as it is. It is read, routed and written out as if it arrived now, and goes nowhere.`,
    actsOf({ label: "Try it", post: "/routes", inputs: sources.length > 0 ? [body, source] : [body], isMain: true }),
    aside`${{ code: "tocsin explain FILE" }} says the same in the terminal.`,
  ]);
}

import type { DestinationView, Release, TryResult } from "../contract/operations.ts";
import { toneOf, wordOf } from "../contract/words.ts";
import { type DeliveryState, deliveryStates } from "../core/delivery.ts";
import { cardIdOf, type DestinationHealth } from "../core/destination-status.ts";
import type { DestinationStatistics } from "../core/ports/statistics.ts";
import { adviseOn, takesNothing } from "../vendors/verdict.ts";
import type { Action, Card, Cell, Panel, Section, Tone } from "./panel.ts";
import {
  actsOf,
  aside,
  factsOf,
  groupOf,
  joined,
  noteDone,
  noteFailed,
  noteWarning,
  paragraph,
  say,
  tableOf,
} from "./sections.ts";

export const failingWords: Record<DestinationHealth, string> = {
  ok: "nothing has arrived",
  degraded: "at times",
  down: "down",
  dead: "dead",
  paused: "refused",
};
const chips = {
  proven: { chip: "works", tone: "good" },
  untried: { chip: "not tried yet", tone: "off" },
} as const;

/** The three verdicts never look the same. */
export function verdictChip(destination: DestinationView): { chip: string; tone: Tone } {
  const { verdict } = destination;
  if (verdict !== "failing") return chips[verdict];
  const how = takesNothing(destination) ? "no message taken" : failingWords[destination.health];
  return { chip: `failing: ${how}`, tone: destination.health === "degraded" ? "busy" : "bad" };
}

/** The destination has refused, and can be reached again: only a message can show more. */
export function isTriedNext({ health, nextTryAt }: Pick<DestinationView, "health" | "nextTryAt">): boolean {
  return (health === "dead" || health === "paused") && nextTryAt === undefined;
}

export function countIn({ counts }: Pick<DestinationView, "counts">, ...states: DeliveryState[]): number {
  return states.reduce((total, state) => total + (counts[state] ?? 0), 0);
}

export function describePauser({ by }: NonNullable<DestinationView["paused"]>): string {
  return by === "page" ? "somebody on the page" : "a command or the API";
}

export function destinationCard(destination: DestinationView, statistics?: DestinationStatistics): Card {
  const { name, channel, recipients, health, since, paused, movedTo, definedAt } = destination;
  const isFailing = destination.verdict === "failing";
  return {
    name,
    id: cardIdOf(name),
    ...verdictChip(destination),
    when: isFailing ? since !== undefined && { since } : describeSeen(destination),
    also: paused && { chip: "paused", tone: "busy" },
    panel: [
      aside`${channel} to ${joined(", ", recipients)}`,
      health !== "ok" && groupOf({ isTrouble: true }, troublePanel(destination)),
      isFailing && health === "ok" && groupOf({ isTrouble: true }, nothingArrivedPanel(statistics)),
      movedTo !== undefined && { kind: "text", text: describeMove(movedTo, definedAt) },
      countsSection(destination),
      queueSection(destination),
    ],
  };
}

/** The event that showed that it works, and when. */
function describeSeen(destination: DestinationView): Cell {
  const at = destination.provenAt;
  if (at === undefined) return undefined;
  const what = at === destination.lastSentAt ? "it took a message" : "it passed a check";
  return say`(${{ words: what }} ${{ age: at }})`;
}

const describeMove = (movedTo: string, definedAt: string): Cell =>
  say`The group was upgraded and has the new id ${{ code: movedTo }}. Messages go there already; write it into
    ${{ code: definedAt }} when you can.`;

function troublePanel(destination: DestinationView): Panel {
  const { reason, since, nextTryAt } = destination;
  return [
    reason !== "" && { kind: "text", text: { bold: reason } },
    { kind: "text", text: adviseOn(destination, { isTriedNext: isTriedNext(destination) }) },
    factsOf([
      ["since", since !== undefined && { at: since }],
      ["next try", nextTryAt !== undefined && { at: nextTryAt, isComing: true }],
    ]),
  ];
}

/** The destination has refused each message for its content. This is no outage, so nothing is tried again. */
function nothingArrivedPanel(statistics: DestinationStatistics | undefined): Panel {
  const last = statistics?.last.at(-1);
  const said =
    last !== undefined &&
    say` It said so of ${{ link: `/alerts/${last.alertId}`, text: last.title }}, ${{ age: last.at }}.`;
  return [
    last !== undefined && { kind: "text", text: { bold: last.reason } },
    paragraph`Nothing has arrived there so far.${said} Put right what it says, send a test, and resend what failed.`,
  ];
}

function countsSection({ name, counts }: DestinationView): Section {
  const shown = deliveryStates.filter((state) => (counts[state] ?? 0) > 0);
  if (shown.length === 0) return aside`Nothing was delivered there yet.`;
  return {
    kind: "counts",
    counts: shown.map((state) => ({
      count: counts[state] ?? 0,
      words: wordOf(state),
      tone: toneOf(state),
      link: `/?${new URLSearchParams({ destination: name, state })}`,
    })),
  };
}

function queueSection(destination: DestinationView): Section | undefined {
  const { oldestWaitingAt, paused } = destination;
  const waiting = countIn(destination, "queued", "waiting", "sending");
  if (oldestWaitingAt === undefined && waiting === 0 && paused === undefined) return undefined;
  const by = paused && say`${{ bold: say`Paused` }} by ${describePauser(paused)}, ${{ since: paused.at }}. `;
  const oldest =
    oldestWaitingAt !== undefined &&
    say`${{ words: waiting > 0 ? ", the oldest arrived " : "; the oldest that is held arrived " }}${{ age: oldestWaitingAt }}`;
  return paragraph`${by}${waiting > 0 ? say`${waiting} waiting` : say`Nothing is waiting`}${oldest}.`;
}

/** The end of its card, below the figures: possible actions, and known facts. */
export function destinationEnd(destination: DestinationView): Panel {
  return [actsOf(...cardActs(destination)), { kind: "text", isSoft: true, text: describeProof(destination) }];
}

/** `act`: the end of the action's address. */
export const actOn = (name: string, label: string, act: string, more: Partial<Action> = {}): Action => ({
  label,
  about: name,
  post: `/destinations/${encodeURIComponent(name)}/${act}`,
  ...more,
});

/** Leads to the failed deliveries that a resend there would include. */
export const resendTo = (name: string, label: string): Action => ({
  label,
  link: `/resend?${new URLSearchParams({ destination: name })}`,
  isButton: true,
});

function cardActs({ name, counts, paused, heldByQuietHours: held }: DestinationView): (Action | false | undefined)[] {
  const failed = countIn({ counts }, "failed", "expired");
  const asked = (label: string, act: string, text: Section) =>
    actOn(name, label, act, { asks: { title: `${label}…`, panel: [text] } });
  return [
    actOn(name, "Try now", "try"),
    failed > 0 && resendTo(name, `Resend ${failed} failed …`),
    paused && actOn(name, "Resume", "resume", { isMain: true }),
    held &&
      actOn(name, "Release now", "release", {
        about: `${held.count} held for ${name}`,
        asks: {
          title: `Release ${held.count} held now…`,
          panel: [
            paragraph`The quiet hours end ${{ at: held.until, isComing: true }}. Released, what they hold is sent at once
              as one summary, with sound unless all of it is over.`,
          ],
        },
      }),
    asked(
      "Send a test",
      "test",
      paragraph`One message, marked as a test, goes straight there, whatever the routes, mutes and quiet hours say.
        People there see and hear it.`,
    ),
    !paused &&
      asked(
        "Pause",
        "pause",
        paragraph`Nothing is sent there until somebody resumes it, also over a restart. What comes waits and is not
          given up; routes' fallbacks still work. Every page says so meanwhile.`,
      ),
  ];
}

const proofWords = {
  delivery: { never: "", last: "A check without a message last passed" },
  account: { never: "", last: "Its access was last accepted" },
  connection: { never: "Only a real message can show that this works. ", last: "Its host last answered" },
};

function describeProof(destination: DestinationView): Cell {
  const { probeProves, health, verdict, lastSentAt, lastProvenAt, failedProbes, relay, definedAt } = destination;
  const words = proofWords[probeProves];
  return [
    lastSentAt !== undefined
      ? say`Last delivered ${{ age: lastSentAt }}. `
      : verdict === "untried" && say`Nothing sent yet. `,
    { words: words.never },
    lastProvenAt !== undefined && say`${{ words: words.last }} ${{ age: lastProvenAt }}. `,
    failedProbes !== undefined &&
      health !== "down" &&
      say`Asked again soon, as it just did not answer: ${failedProbes.detail}. `,
    relay !== undefined && say`Delivered by the relay ${relay}. `,
    say`Defined in ${{ code: definedAt }}.`,
  ];
}

export function changedDestinationPanel(destination: DestinationView): Panel {
  const { name, paused } = destination;
  const waiting = countIn(destination, "queued", "waiting");
  if (paused !== undefined) {
    const resume: Action = { label: "Resume", command: `tocsin destinations resume ${name}` };
    return [
      noteWarning`${name} is paused since ${{ at: paused.at }}: what comes for it waits until somebody resumes
        it${waiting > 0 && say`; ${waiting} waiting`}.`,
      { kind: "acts", where: "terminal", acts: [resume] },
    ];
  }
  return [noteDone`${name} is not paused.${sentWhenDue(waiting)}`];
}

/** Some deliveries may be due at once, and others only in hours. */
const sentWhenDue = (waiting: number): Cell =>
  waiting > 0 && say` ${waiting} waiting: ${{ words: waiting === 1 ? "it" : "each" }} is sent when it is due.`;

export function releasedPanel(released: readonly Release[], destinations: readonly DestinationView[]): Panel {
  if (released.length === 0) return [paragraph`Nothing to release: none of it is held.`];
  const counts = released.map(({ destination, released: count }) => {
    const found = destinations.find(({ name }) => name === destination);
    return say`${count} for ${destination}${found && whyNotNow(found)}`;
  });
  return [paragraph`Released: ${joined(", ", counts)}. Follow it with: ${{ code: "tocsin alerts tail" }}`];
}

const isWell = (health: DestinationHealth) => health === "ok" || health === "degraded";

function whyNotNow({ paused, health }: DestinationView): Cell {
  if (paused) return say` (paused: sent when it is resumed)`;
  return !isWell(health) && say` (${{ words: failingWords[health] }}: sent when it takes messages)`;
}

export function triedDestinationPanel(tried: TryResult): Panel {
  const { destination: name, result, health, detail, nextTryAt, waiting } = tried;
  const next = nextTryAt !== undefined && say` It is tried again by itself ${{ at: nextTryAt, isComing: true }}.`;
  const said = detail !== "" && say`: ${detail.replace(/\.$/, "")}`;
  const flows = sentWhenDue(waiting);
  if (result === "parked") return [noteFailed`${name} wants silence for a while and was not asked${said}.${next}`];
  if (result === "fails" && isWell(health)) {
    return [noteFailed`${name} did not answer as it should${said}. Its next message shows whether it takes messages.`];
  }
  if (health === "ok") return [noteDone`${name} works${result === "works" && said}.${flows}`];
  if (isWell(health))
    return [noteDone`${name} answers${said}. Whether it takes messages, the next one will show.${flows}`];
  if (result !== "answers") return [noteFailed`${name} still does not work${said}.${next}`];
  return isTriedNext({ health, nextTryAt })
    ? [noteWarning`${name} can be reached. Whether it takes messages, the next one will show: send a test.`]
    : [noteFailed`${name} answers. What waits is tried now.`];
}

/** A line for each destination, and below them the troubles with their cures. */
export function destinationsTable(destinations: readonly DestinationView[]): Panel {
  const notes = destinations.flatMap(notesOf);
  return [
    tableOf(
      destinations,
      {
        destination: ({ name }) => name,
        type: ({ channel }) => channel,
        state: (one) => (one.paused ? { chip: "paused", tone: "busy" } : verdictChip(one)),
        sent: (one) => countIn(one, "sent", "digested"),
        waiting: (one) => countIn(one, "queued", "waiting", "sending"),
        held: (one) => countIn(one, "held"),
        failed: (one) => countIn(one, "failed", "expired"),
        "oldest waiting": ({ oldestWaitingAt }) => ageOf(oldestWaitingAt),
        "last seen to work": ({ provenAt }) => ageOf(provenAt),
      },
      { title: "Destinations" },
    ),
    notes.length > 0 && { kind: "list", items: notes },
  ];
}

const ageOf = (at: number | undefined): Cell => at !== undefined && { age: at };

function notesOf(destination: DestinationView): Cell[] {
  const { name, health, reason, since, nextTryAt, paused, movedTo, definedAt } = destination;
  const failed = countIn(destination, "failed", "expired");
  const command = `tocsin destinations try ${name}`;
  const [advice, ...rest] = adviseOn(destination, {
    isTriedNext: isTriedNext(destination),
    where: `, or run: ${command}`,
  }).split(command);
  const began = since !== undefined && say` since ${{ at: since }}`;
  const next = nextTryAt !== undefined && say` Next try ${{ age: nextTryAt, isComing: true }}.`;
  return [
    paused &&
      say`${name} is paused since ${{ at: paused.at }} by ${describePauser(paused)}. Resume with:
        ${{ code: `tocsin destinations resume ${name}` }}`,
    health !== "ok" &&
      say`${name} is ${verdictChip(destination)}${began}: ${reason.replace(/\.$/, "") || "no reason is known"}.
        ${advice}${rest.map((words) => [{ code: command }, words])}${next}`,
    movedTo !== undefined && say`${name}: ${describeMove(movedTo, definedAt)}`,
    failed > 0 &&
      say`${name}: ${failed} failed. Resend with: ${{ code: `tocsin alerts resend --failed --destination ${name}` }}`,
  ].filter((cell) => cell !== undefined && cell !== false);
}

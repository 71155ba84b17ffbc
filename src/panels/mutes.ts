import type { MutePreview, MuteView } from "../contract/operations.ts";
import type { AlertFacts } from "../core/alert.ts";
import type { AlertDetail } from "../core/ports/alert-log.ts";
import { isMadeAtRuntime, type Matcher } from "../core/rules.ts";
import { groupThousands } from "../ground/numbers/format-number.ts";
import { describeAll } from "../matching/describe-match.ts";
import type { Action, Cell, Choices, Input, Panel, Section, Tone } from "./panel.ts";
import { actsOf, aside, factsOf, foldOf, groupOf, joined, noteDone, say, tableOf } from "./sections.ts";

export const muteDurations = [
  ["30m", "30 minutes"],
  ["1h", "1 hour"],
  ["4h", "4 hours"],
  ["24h", "1 day"],
  ["7d", "7 days"],
] as const;

/** "It would have muted 12 of the 1,204 alerts of the last 24 h." */
export function describePreview({ matched, looked, complete }: Omit<MutePreview, "since">): string {
  if (looked === 0) return "No alert came in the last 24 h, so nothing shows what it would mute.";
  const count = groupThousands(looked);
  if (complete && looked === 1) {
    return matched === 0
      ? "It does not match the one alert of the last 24 h."
      : "It would have muted the one alert of the last 24 h.";
  }
  const alerts = complete ? `the ${count} alerts of the last 24 h` : `the newest ${count} alerts of the last 24 h`;
  if (matched === 0) return `It matches none of ${alerts}.`;
  if (complete && matched === looked) return `It would have muted all ${count} alerts of the last 24 h.`;
  return `It would have muted ${groupThousands(matched)} of ${alerts}.`;
}

/** A mute that would have held nothing back is probably written wrongly. */
export function matchesNothing({ matched, looked }: Pick<MutePreview, "matched" | "looked">): boolean {
  return matched === 0 && looked > 0;
}

export function previewNote(preview: MutePreview | undefined): Section | undefined {
  if (preview === undefined) return undefined;
  const text = { words: describePreview(preview) };
  return matchesNothing(preview) ? { kind: "note", note: "warning", text } : { kind: "text", text };
}

export interface WrittenMute {
  for: string;
  reason: string;
}

/** The form of a mute: `what` it mutes, then its end. Enter mutes, like the first button. */
export function muteAct(
  post: string,
  what: readonly (Input | Choices)[],
  written?: WrittenMute,
  ends: Input["options"] = muteDurations,
): Action {
  return {
    label: "Mute",
    post,
    inputs: [
      ...what,
      { name: "for", label: "For", options: ends, value: written?.for || "1h" },
      { name: "reason", label: "Reason", value: written?.reason, placeholder: "what others should know" },
    ],
    isMain: true,
    orElse: { label: "Preview", name: "do", value: "preview" },
  };
}

/** @param written present when the reader has begun to fill it in */
export function muteAllAct(written?: WrittenMute): Action {
  return {
    ...muteAct("/mutes", [], written),
    label: "Mute everything",
    fields: { all: "true" },
    asks: {
      title: "Mute everything for…",
      panel: [aside`Every alert is stored and shown, and sent to nobody. Each page says so while it holds.`],
      isOpen: written !== undefined,
    },
    orElse: undefined,
    command: "tocsin mutes add --all",
  };
}

/** Facts by which other alerts can resemble this one, the narrowest first. */
const likeness = ["alertKey", "title", "metric", "token", "chain", "source", "severity"] as const;

/** The content of an alert's form for a mute. */
export interface MuteChoice {
  chosen: string[];
  preview?: MutePreview;
  /** The form is open, with these typed values. */
  written?: WrittenMute;
}

/** The option for an end of the mute instead of a duration. */
export const endWhenOver = ["over", "until it is over"] as const;

export const likeByDefault: string[] = ["alertKey"];

/** The form sends only names of facts, and the values are the stored ones. `equals` takes a value literally. */
export function matchLike(facts: AlertFacts, chosen: string[]): Record<string, { equals: string }> {
  return Object.fromEntries(
    likeness.flatMap((field) => {
      const value = facts[field];
      return chosen.includes(field) && value !== undefined ? [[field, { equals: value }]] : [];
    }),
  );
}

/** No mute applies to unreadable alerts, nor to Tocsin's own. */
export function muteThisPanel(
  { id, facts, request }: AlertDetail,
  { chosen, preview, written }: MuteChoice,
): Section | undefined {
  if (facts === undefined || facts.format === "unreadable" || request === undefined) return undefined;
  const choices = likeness.flatMap((field) => {
    const [words, value] = [field === "alertKey" ? "alert key" : field, facts[field]];
    if (value === undefined) return [];
    return [{ value: field, text: say`${{ words }} ${{ bold: value }}`, isChosen: chosen.includes(field) }];
  });
  const ends = facts.status !== "resolved" ? ([endWhenOver, ...muteDurations] as const) : muteDurations;
  const act = muteAct(`/alerts/${id}/mute`, [{ name: "like", label: "Alike in all of these", choices }], written, ends);
  const asks = {
    title: "Mute alerts like this…",
    id: "mute",
    panel: [previewNote(preview)],
    isOpen: written !== undefined,
  };
  return actsOf({ ...act, asks });
}

const releaseCell = ({ id, reason }: MuteView): Cell => ({
  act: { label: "Release", about: `what was held back for: ${reason}`, link: `/resend?mute=${id}`, isButton: true },
});

export function mutesPanel(mutes: readonly MuteView[]): Panel {
  const inState = (wanted: MuteView["state"]) => mutes.filter(({ state }) => state === wanted);
  const current = [...inState("active"), ...inState("coming"), ...inState("disabled")];
  const ended = inState("ended").sort((one, other) => other.endsAt - one.endsAt);
  const holding = ended.filter(({ silenced }) => silenced !== undefined);
  const over = ended.filter(({ silenced }) => silenced === undefined);
  return [
    current.length === 0 ? aside`Nothing is muted: every alert is sent as its routes say.` : mutesTable(current),
    holding.length > 0 &&
      groupOf({ title: "Ended, and not all of it released", id: "held-back-title" }, [
        mutesTable(holding),
        {
          kind: "text",
          where: "terminal",
          text: say`Send what one of them has held back: ${{ code: "tocsin mutes release ID" }}`,
        },
      ]),
    over.length > 0 && foldOf({ summary: "Ended", command: "tocsin mutes list --all" }, [mutesTable(over)]),
  ];
}

const tones: Record<MuteView["state"], Tone> = { active: "busy", coming: "off", ended: "off", disabled: "off" };

const mutesTable = (mutes: readonly MuteView[]) =>
  tableOf(mutes, {
    state: ({ state }) => ({ chip: state, tone: tones[state] }),
    silences: ({ matchers }) => matchersCell(matchers),
    from: ({ state, startsAt }) => state === "coming" && { at: startsAt },
    until: untilCell,
    reason: ({ reason }) => reason,
    "made by": ({ createdBy }) => ({ words: createdBy }),
    "held back": ({ silenced }) => silenced,
    "end it": { of: (mute) => mute.state !== "ended" && endCell(mute), where: "page" },
    "release it": { of: (mute) => mute.silenced !== undefined && releaseCell(mute), where: "page" },
    id: { of: ({ id }) => id, keep: true, where: "terminal" },
  });

const untilCell = ({ state, untilOver, endsAt }: MuteView): Cell =>
  untilOver === undefined || state === "ended" ? { at: endsAt } : say`it is over, at the latest ${{ at: endsAt }}`;

const endCell = (mute: MuteView): Cell =>
  isMadeAtRuntime(mute) ? { act: { label: "End now", post: `/mutes/${mute.id}/end` } } : say`in the configuration`;

function matchersCell(matchers: readonly Matcher[]): Cell {
  if (matchers.length === 0) return say`every alert`;
  return joined(
    " and ",
    describeAll(matchers).map((code) => ({ code })),
  );
}

/** @param preview undefined: the log could not be read */
export function addedMutePanel(mute: Omit<MuteView, "state">, preview: MutePreview | undefined): Panel {
  return [
    noteDone`Muted. Alerts that match are stored and not sent until the mute ends.`,
    previewNote(preview),
    {
      kind: "facts",
      where: "terminal",
      rows: [
        ["silences", matchersCell(mute.matchers)],
        ["until", untilCell({ ...mute, state: "active" })],
        ["reason", mute.reason],
        ["id", mute.id],
        ["last 24 h", preview === undefined && "the log could not be read just now"],
        ["end it early", { code: `tocsin mutes remove ${mute.id}` }],
      ],
    },
  ];
}

export function triedMutePanel(matchers: readonly Matcher[], preview: MutePreview): Section {
  return factsOf([
    ["would silence", matchersCell(matchers)],
    ["last 24 h", describePreview(preview)],
  ]);
}

export const endedMutePanel: Panel = [
  noteDone`Ended. Alerts that match are sent again from now on. Each destination is told in some seconds what was held
    back from it; what still fires of that can be released: on the page Mutes, or with
    ${{ code: "tocsin mutes release" }}.`,
];

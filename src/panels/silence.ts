import type { CanaryView, StatusView } from "../contract/operations.ts";
import { formatDuration } from "../ground/time/time-format.ts";
import { muteDurations } from "./mutes.ts";
import type { Card, Cell, Panel, Tone } from "./panel.ts";
import { actsOf, factsOf, say } from "./sections.ts";

export function silencePanel(watches: StatusView["silence"], canary: CanaryView | undefined): Panel {
  return [
    watches.length > 0 && { kind: "cards", title: "Watches of silence", cards: watches.map(watchCard) },
    canary && {
      kind: "cards",
      title: "Canary",
      intro: say`Tocsin sends a test to its own public address ${canary.schedule}, to see that alerts arrive.`,
      cards: [canaryCard(canary)],
    },
  ];
}

const tones: Record<StatusView["silence"][number]["state"], Tone> = {
  watching: "good",
  silent: "bad",
  learning: "busy",
  muted: "off",
};

function watchCard(view: StatusView["silence"][number]): Card {
  const { watch, of, name = "", state, afterMs, since, lastAt, lastId, quietMs, usualMs, tellsAt, toldAt, mute } = view;
  return {
    name: of === "hook" ? "The account's hook" : say`${of} ${name}`,
    chip: state,
    tone: tones[state],
    panel: [
      factsOf([
        [
          "last alert",
          lastAt === undefined ? say`none since ${{ at: since }}` : { link: `/alerts/${lastId}`, text: { at: lastAt } },
        ],
        ["quiet for", formatDuration(quietMs)],
        ["setting", { code: afterMs === undefined ? "auto" : formatDuration(afterMs) }],
        ["usual longest gap now", usualMs !== undefined && formatDuration(usualMs)],
        ["notice due", tellsAt !== undefined && { at: tellsAt, isComing: true }],
        ["notice sent", toldAt === undefined ? state === "silent" && "not yet" : { at: toldAt }],
        ["muted until", mute && say`${{ at: mute.until }}: ${mute.reason}`],
      ]),
      view.learning && { kind: "text", isSoft: true, text: describeLearning(since, view.learning) },
      mute === undefined &&
        actsOf({
          label: "Mute",
          post: "/silence/mute",
          fields: { watch },
          inputs: [{ name: "for", label: "No notice for", options: muteDurations, value: "24h" }],
        }),
    ],
  };
}

function describeLearning(since: number, learning: NonNullable<StatusView["silence"][number]["learning"]>): Cell {
  const { days, daysNeeded, arrivals, arrivalsNeeded, isReading } = learning;
  const reading = isReading ? " The log is being read." : "";
  const rare = days >= daysNeeded ? " Alerts are too rare for auto: write a time." : "";
  return say`Learning since ${{ age: since }}, needs ${daysNeeded} days with Tocsin running (so far ${days}) and
    ${arrivalsNeeded} spans of five minutes with an alert within six weeks (so far ${arrivals}). Until then no notice is
    sent.${reading}${rare}`;
}

function canaryCard({ state, lastOkAt, nextAt, since, stage, detail }: CanaryView): Card {
  return {
    name: "The way from the public address",
    chip: state,
    tone: ({ waiting: "off", works: "good", fails: "bad" } as const)[state],
    panel: [
      factsOf([
        ["fails at", state === "fails" && say`${stage}: ${detail}`],
        ["since", state === "fails" && since !== undefined && { at: since }],
        ["last arrived", lastOkAt === undefined ? "not yet" : { at: lastOkAt }],
        ["next", { at: nextAt, isComing: true }],
      ]),
    ],
  };
}

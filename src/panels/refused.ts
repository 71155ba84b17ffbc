import { countRefused, type DoorRefusal, type DoorRefusalView, type SourceView } from "../contract/operations.ts";
import type { RefusedDetail, RefusedSummary } from "../core/ports/refused.ts";
import { countOf } from "../ground/text/count-of.ts";
import { formatBytes } from "../ground/text/format-bytes.ts";
import { cut } from "../ground/text/graphemes.ts";
import { sentence } from "../ground/text/plain-text.ts";
import type { Cell, Fact, Panel, Section } from "./panel.ts";
import { actsOf, aside, factsOf, groupOf, joined, noteFailed, paragraph, say, tableOf } from "./sections.ts";

/** @param sources those that may have refused one, where they are known */
export function refusedListPanel(list: readonly RefusedSummary[], sources?: readonly SourceView[]): Panel {
  const isUnchecked = sources?.every(({ checks }) => checks.length === 0);
  return [
    list.length === 0 && {
      kind: "text",
      text: isUnchecked
        ? say`Nothing was refused: no source has a check (${{ code: "sources.NAME.check" }}).`
        : say`Nothing is kept that was refused.`,
    },
    tableOf(list, {
      received: ({ receivedAt }) => ({ at: receivedAt }),
      source: ({ source }) => source,
      why: ({ id, detail, unkept }) =>
        say`${{ link: `/refused/${id}`, text: sentence(detail) }}${
          unkept > 0 && say` (and ${unkept} before it that were counted and not kept)`
        }`,
      from: ({ address }) => address,
      size: { of: ({ bodyBytes }) => formatBytes(bodyBytes), align: "right" },
      relayed: ({ released }) => released !== undefined && "yes",
      id: { of: ({ id }) => id, keep: true, where: "terminal" },
    }),
    ...(sources ?? [])
      .filter((source) => countRefused(source) > 0)
      .map(
        (source) =>
          aside`Since the start ${source.name} has refused ${countRefused(source)} and let in ${source.accepted}.`,
      ),
  ];
}

/** Only numbers and rough times: the guesses of a stranger must not fill a disk. */
export function doorPanel(refusals: readonly DoorRefusalView[]): Section {
  const seen = refusals.filter(({ total }) => total > 0);
  return groupOf({ title: "Rejected requests (not stored)", id: "door-title" }, [
    aside`Counted since the last restart, see ${{ link: "/system", text: "System" }}.`,
    seen.length === 0 ? paragraph`None since the start.` : factsOf(seen.map(describeDoor)),
  ]);
}

function describeDoor({ reason, total, day, lastAt }: DoorRefusalView): Fact {
  const { what, help } = doorWords[reason];
  const last = lastAt !== undefined && say`, the last ${{ at: lastAt }}`;
  return [what, say`${day} in 24 h, ${total} since the start${last}. ${help}`];
}

const doorWords: Record<DoorRefusal, { what: string; help: string }> = {
  unknown_secret: {
    what: "Wrong address (404)",
    help: "A sender has an old secret, or somebody guesses. The right addresses are on the page Account.",
  },
  too_large: { what: "Too large (413)", help: "Raise intake.maxBodyBytes, or have the sender write less." },
  too_many_fields: {
    what: "Too many header fields (431)",
    help: "Have the sender, or the proxy before Tocsin, send 200 fields at most.",
  },
  compressed: { what: "Compressed (415)", help: "Have the sender post the body as it is, or with gzip or deflate." },
  turned_away: {
    what: "Not read (503)",
    help: "More than 4,096 connections of networks that sent no alert waited. Whether one brought an alert is not known.",
  },
  not_stored: {
    what: "Not stored (503)",
    help: "The disk was full or slow, too much arrived at once, or Tocsin was being stopped. Senders that retry lose nothing.",
  },
};

const mostNamed = 20;
const linkTo = (alertId: string): Cell => ({ link: `/alerts/${alertId}`, text: alertId });

export function refusedPanel(refused: Omit<RefusedDetail, "body">): Panel {
  const { id, source, receivedAt, detail, reason, address, items, released } = refused;
  return [
    noteFailed`${`${sentence(detail)}.`}`,
    factsOf([
      ["source", { link: `/refused?source=${encodeURIComponent(source)}`, text: source }],
      ["received", { at: receivedAt }],
      ["from", address],
      ["reason", { code: reason }],
      ["would be", countOf(items, "alert")],
      [
        "relayed",
        released === undefined
          ? "no"
          : say`${{ at: released.at }}, as ${joined(", ", released.alertIds.slice(0, mostNamed).map(linkTo))}`,
      ],
    ]),
    released === undefined &&
      groupOf({ title: "Relay it anyway", id: "release-title" }, [
        paragraph`Nobody has proven who sent this. If you know that it is right, it is taken now as
          ${countOf(items, "alert")} of this source, and goes where the routes say. When its sender sends it again under
          the same key, it is a duplicate; when it has done so and passed, nothing is sent.`,
        actsOf({
          label: "I have looked at it: relay it",
          post: `/refused/${id}/release`,
          isMain: true,
          command: `tocsin refused relay ${id}`,
        }),
      ]),
  ];
}

/** Bytes of a body, and characters of a header: a stranger may have sent kilobytes. `--json` shows everything. */
const mostShown = 4_000;
const longestName = 40;
const longestValue = 300;

export function refusedDetailPanel(refused: Omit<RefusedDetail, "body">, body: Buffer): Panel {
  return [
    ...refusedPanel(refused),
    factsOf(refused.headers.map(([name, value]) => [cut(name, longestName), cut(value, longestValue)])),
    body.length === 0
      ? paragraph`The body was empty.`
      : { kind: "block", text: body.subarray(0, mostShown).toString("utf8") },
    body.length > mostShown && paragraph`… ${formatBytes(body.length)} in all; --raw prints them`,
  ];
}

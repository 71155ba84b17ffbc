import type { ShapeKindView, ShapePlaceView, ShapesView } from "../contract/operations.ts";
import { countOf } from "../ground/text/count-of.ts";
import { noteWarning, type Panel, paragraph, type Section, say } from "./panel.ts";

/** What the payloads of alerts are made of: of each kind what is read from it, and the rest folded away. */
export function shapesPanel({ kinds, unfollowed: { unknown, without } }: ShapesView): Panel {
  return [
    kinds.length === 0 && {
      kind: "empty",
      empty: "No alert with a payload has arrived yet",
      text: say`Plain texts have no shape.`,
    },
    ...kinds.map(kindSection),
    unknown > 0 &&
      noteWarning`The fields of ${countOf(unknown, "more alert")} are not listed: there are too many other shapes.`,
    without > 0 && paragraph`${countOf(without, "alert")} had no shape: texts, broken JSON, or more than 1,000 places.`,
  ];
}

function kindSection(kind: ShapeKindView): Section {
  const { title, source, alerts, shapes, firstAt, lastAt, places } = kind;
  const read = places.filter(isRead);
  const rest = places.filter((place) => !isRead(place));
  return {
    kind: "group",
    title: source ? say`${source}: like “${title}”` : say`Like “${title}”`,
    panel: [
      paragraph`${countOf(alerts, "alert")} of ${countOf(shapes, "shape")}, the first ${{ at: firstAt }}, the last ${{ at: lastAt }}.`,
      read.length > 0 && placesTable(read, alerts),
      rest.length > 0 && {
        kind: "fold",
        summary: `${countOf(rest.length, "place")} that no fact and no route reads`,
        command: "tocsin shapes --all",
        panel: [placesTable(rest, alerts)],
      },
    ],
  };
}

function isRead({ facts, routes }: ShapePlaceView): boolean {
  return facts.length > 0 || routes.length > 0;
}

function placesTable(places: ShapePlaceView[], alerts: number): Section {
  return {
    kind: "table",
    columns: [
      { title: "path", keep: true },
      { title: "type" },
      { title: "in", align: "right" },
      { title: "last" },
      { title: "read as", optional: true },
      { title: "routes", optional: true },
      { title: "example" },
    ],
    rows: places.map((place) => [
      { code: place.path },
      place.isGone ? `${place.type}, gone` : place.type,
      place.alerts === alerts ? "all" : place.alerts,
      { age: place.lastAt },
      place.facts.join(", "),
      place.routes.join(", "),
      place.example,
    ]),
  };
}

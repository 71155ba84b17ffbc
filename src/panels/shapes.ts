import type { ShapeKindView, ShapePlaceView, ShapesView } from "../contract/operations.ts";
import { countOf } from "../ground/text/count-of.ts";
import type { Panel, Section } from "./panel.ts";
import { emptyOf, foldOf, groupOf, noteWarning, paragraph, say, tableOf } from "./sections.ts";

/** For each kind the places that are read, and the rest folded away. */
export function shapesPanel({ kinds, unfollowed: { unknown, without } }: ShapesView): Panel {
  return [
    kinds.length === 0 && emptyOf("No alert with a payload has arrived yet", say`Plain texts have no shape.`),
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
  const unread = `${countOf(rest.length, "place")} that no fact and no route reads`;
  return groupOf({ title: source ? say`${source}: like “${title}”` : say`Like “${title}”` }, [
    paragraph`${countOf(alerts, "alert")} of ${countOf(shapes, "shape")}, the first ${{ at: firstAt }}, the last ${{ at: lastAt }}.`,
    placesTable(read, alerts),
    rest.length > 0 && foldOf({ summary: unread, command: "tocsin shapes --all" }, [placesTable(rest, alerts)]),
  ]);
}

function isRead({ facts, routes }: ShapePlaceView): boolean {
  return facts.length > 0 || routes.length > 0;
}

const placesTable = (places: ShapePlaceView[], all: number) =>
  tableOf(places, {
    path: ({ path }) => ({ code: path }),
    type: ({ type, isGone }) => (isGone ? `${type}, gone` : type),
    in: { of: ({ alerts }) => (alerts === all ? "all" : alerts), align: "right" },
    last: ({ lastAt }) => ({ age: lastAt }),
    "read as": ({ facts }) => facts.join(", "),
    routes: ({ routes }) => routes.join(", "),
    example: ({ example }) => example,
  });

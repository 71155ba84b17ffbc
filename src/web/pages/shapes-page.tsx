import type { Hono } from "hono";
import type { ShapeKindView, ShapePlaceView, ShapesView } from "../../core/operations.ts";
import type { WebEnv } from "../web-env.ts";
import { type Frame, frameOf, type PageDeps } from "./frame.ts";
import { Instant } from "./instants.tsx";
import { Layout, Notice } from "./layout.tsx";

/** Of one kind; the API has all. */
const mostShown = 200;

/** `GET /shapes`: what the payloads of alerts are made of, and what is read from them. */
export function addShapesPage(app: Hono<WebEnv>, deps: PageDeps): void {
  app.get("/shapes", async (c) =>
    c.render(<ShapesPage frame={frameOf(c, deps)} shapes={await deps.operations.shapes()} />),
  );
}

function ShapesPage({ frame, shapes: { kinds, unfollowed } }: { frame: Frame; shapes: ShapesView }) {
  return (
    <Layout frame={frame} title="Shapes" section="/shapes">
      <h1>Shapes</h1>
      <p>
        The fields in your senders' alerts. If a field that Tocsin or a route uses disappears or changes its type, you
        get one notice; alerts are still sent. To say which field is the title, the severity and so on, use{" "}
        <code>mapping:</code> in <code>tocsin.yaml</code>.
      </p>
      {kinds.length === 0 && (
        <div class="empty">
          <h2>No alert with a payload has arrived yet</h2>
          <p>Plain texts have no shape.</p>
        </div>
      )}
      {kinds.map((kind) => (
        <Kind kind={kind} now={frame.now} />
      ))}
      {unfollowed.unknown > 0 && (
        <Notice kind="warning">
          The fields of {count(unfollowed.unknown)} more are not listed: there are too many other shapes.
        </Notice>
      )}
      {unfollowed.without > 0 && (
        <p>{count(unfollowed.without)} had no shape: texts, broken JSON, or more than 1,000 places.</p>
      )}
    </Layout>
  );
}

function count(alerts: number): string {
  return alerts === 1 ? "1 alert" : `${alerts.toLocaleString("en")} alerts`;
}

function Kind({ kind, now }: { kind: ShapeKindView; now: number }) {
  const { title, source, alerts, shapes, firstAt, lastAt, places } = kind;
  const read = places.filter(isRead);
  const rest = places.filter((place) => !isRead(place));
  return (
    <section>
      <h2>
        {source !== undefined && (
          <>
            <bdi>{source}</bdi>:{" "}
          </>
        )}
        like “<bdi>{title}</bdi>”
      </h2>
      <p>
        {count(alerts)} of {shapes === 1 ? "1 shape" : `${shapes} shapes`}, the first{" "}
        <Instant at={firstAt} now={now} show="relative" />, the last <Instant at={lastAt} now={now} show="relative" />.
      </p>
      {read.length > 0 && <Places places={read} alerts={alerts} now={now} />}
      {rest.length > 0 && (
        <details>
          <summary>{rest.length === 1 ? "1 more place" : `${rest.length.toLocaleString("en")} more places`}</summary>
          <Places places={rest} alerts={alerts} now={now} />
        </details>
      )}
    </section>
  );
}

function isRead({ facts, routes }: ShapePlaceView): boolean {
  return facts.length > 0 || routes.length > 0;
}

function Places({ places, alerts, now }: { places: ShapePlaceView[]; alerts: number; now: number }) {
  return (
    <div class="table">
      <table class="told">
        <thead>
          <tr>
            <th>Path</th>
            <th>Type</th>
            <th>In</th>
            <th>Last</th>
            <th>Read as</th>
            <th>Routes</th>
            <th>Example</th>
          </tr>
        </thead>
        <tbody>
          {places.slice(0, mostShown).map((place) => (
            <tr>
              <td>
                <code>{place.path}</code>
              </td>
              <td>{place.isGone ? `${place.type}, gone` : place.type}</td>
              <td data-says="in">{place.alerts === alerts ? "all" : place.alerts.toLocaleString("en")}</td>
              <td data-says="last">
                <Instant at={place.lastAt} now={now} show="relative" />
              </td>
              <td data-says="read as">{place.facts.join(", ")}</td>
              <td data-says="routes">{place.routes.length > 0 && <bdi>{place.routes.join(", ")}</bdi>}</td>
              <td>
                <bdi>{place.example}</bdi>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {places.length > mostShown && <p>And {places.length - mostShown} more: the API has all of them.</p>}
    </div>
  );
}

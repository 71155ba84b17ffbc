import type { Hono } from "hono";
import { shapesPanel } from "../../contract/panels/shapes.ts";
import type { WebEnv } from "../web-env.ts";
import { frameOf, type PageDeps } from "./frame.ts";
import { Layout } from "./layout.tsx";
import { PanelView } from "./panel.tsx";

/** `GET /shapes`: what the payloads of alerts are made of, and what is read from them. */
export function addShapesPage(app: Hono<WebEnv>, deps: PageDeps): void {
  app.get("/shapes", async (c) => {
    const frame = frameOf(c, deps);
    const shapes = await deps.operations.shapes();
    return c.render(
      <Layout frame={frame} at="/shapes">
        <p>
          The fields in your senders' alerts. If a field that Tocsin or a route uses disappears or changes its type, you
          get one notice; alerts are still sent. To say which field is the title, the severity and so on, use{" "}
          <code>mapping:</code> in <code>tocsin.yaml</code>.
        </p>
        <PanelView panel={shapesPanel(shapes)} frame={frame} />
      </Layout>,
    );
  });
}

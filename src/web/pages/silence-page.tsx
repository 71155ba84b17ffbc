import type { Hono } from "hono";
import { silencePanel } from "../../contract/panels/silence.ts";
import { AppError } from "../../core/errors.ts";
import { readField, readForm } from "../form.ts";
import { readMute } from "../read-mute.ts";
import type { WebEnv } from "../web-env.ts";
import { frameOf, type PageDeps } from "./frame.ts";
import { Layout, Notice } from "./layout.tsx";
import { PanelView } from "./panel.tsx";

/** `GET /silence`: each watch over alerts that do not come, what it has learned, and when it would tell. */
export function addSilencePage(app: Hono<WebEnv>, deps: PageDeps): void {
  app.get("/silence", (c) => {
    const frame = frameOf(c, deps);
    const watches = deps.operations.silence();
    return c.render(
      <Layout frame={frame} at="/silence">
        {c.req.query("done") === "muted" && (
          <Notice kind="done">Muted. It ends by itself, or on the page Mutes.</Notice>
        )}
        {watches.length === 0 ? (
          <div class="empty">
            <h2>No notice when alerts stop arriving</h2>
            <p>
              Write <code>silence: auto</code> into <code>tocsin.yaml</code> and restart Tocsin: it learns from the last
              six weeks how long it is usually quiet at each hour of the week, and sends one notice when it lasts too
              long. A time, e.g. <code>silence: 6h</code>, needs nothing to be learned.
            </p>
          </div>
        ) : (
          <p class="soft">
            One notice when no alert arrives that should have, and one when they arrive again. Tests, Tocsin's own
            notices, refused requests and repeats do not count; nor does time in which Tocsin did not run.
          </p>
        )}
        <PanelView panel={silencePanel(watches, deps.operations.canary())} frame={frame} />
      </Layout>,
    );
  });

  app.post("/silence/mute", async (c) => {
    const form = await readForm(c);
    const name = readField(form, "watch");
    const view = deps.operations.silence().find(({ watch }) => watch === name);
    if (view === undefined) {
      throw new AppError("not_found", "There is no such watch of silence.", { hint: "Open the page again." });
    }
    const match = { alertKey: { equals: view.alertKey } };
    const reason = readField(form, "reason") || "the silence is meant";
    await deps.operations.addMute(readMute(deps, { match, for: readField(form, "for"), reason }, "page"));
    return c.redirect("/silence?done=muted", 303);
  });
}

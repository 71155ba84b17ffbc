import type { Hono } from "hono";
import { systemPanel } from "../../contract/panels/system.ts";
import type { WebEnv } from "../web-env.ts";
import { frameOf, type PageDeps } from "./frame.ts";
import { Layout, LogOut } from "./layout.tsx";
import { PanelView } from "./panel.tsx";

/** `GET /system`: versions, the configuration in force, throughput, disk with a forecast, and each part's health. */
export function addSystemPage(app: Hono<WebEnv>, deps: PageDeps): void {
  app.get("/system", async (c) => {
    const [status, system] = await Promise.all([deps.operations.status(), deps.operations.system()]);
    const frame = frameOf(c, deps);
    return c.render(
      <Layout frame={frame} at="/system">
        <PanelView panel={systemPanel(status, system)} frame={frame} />
        <section aria-labelledby="browser-title">
          <h2 id="browser-title">This browser</h2>
          <LogOut frame={frame} />
        </section>
        <p class="soft">
          <code>tocsin status</code> and <code>GET /api/status</code> say the same; <code>tocsin doctor</code> also asks
          the alerting service and each destination.
        </p>
      </Layout>,
    );
  });
}

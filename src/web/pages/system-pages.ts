import type { Hono } from "hono";
import type { ApiDocument } from "../../contract/openapi.ts";
import { aside } from "../../panels/panel.ts";
import { systemPanel } from "../../panels/system.ts";
import type { WebEnv } from "../web-env.ts";
import { apiPanel } from "./api-panel.ts";
import type { PageDeps } from "./frame.ts";
import { addPanelPage } from "./panel-page.tsx";

/**
 * `GET /system`: versions, the configuration in force, throughput, disk with a forecast, and each part's health;
 * `GET /api`: the OpenAPI document as a page of our own, for which nothing is loaded from elsewhere.
 */
export function addSystemPages(app: Hono<WebEnv>, deps: PageDeps, document: () => ApiDocument): void {
  addPanelPage(app, deps, "/system", async () => {
    const [status, system] = await Promise.all([deps.operations.status(), deps.operations.system()]);
    return [
      ...systemPanel(status, system),
      { kind: "acts", title: "This browser", id: "browser-title", acts: [{ label: "Log out", post: "/logout" }] },
      aside`${{ code: "tocsin status" }} and ${{ code: "GET /api/status" }} say the same; ${{ code: "tocsin doctor" }}
        also asks the alerting service and each destination.`,
    ];
  });
  addPanelPage(app, deps, "/api", () => apiPanel(document(), deps.publicUrl));
}

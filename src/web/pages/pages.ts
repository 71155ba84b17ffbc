import type { Hono } from "hono";
import type { ApiDocument } from "../api/document.ts";
import type { WebEnv } from "../web-env.ts";
import { addAlertPage } from "./alert-page.tsx";
import { addApiPage } from "./api-page.tsx";
import { addDestinationsPage } from "./destinations-page.tsx";
import type { PageDeps } from "./frame.ts";
import { addLogPage } from "./log-page.tsx";
import { addLoginPages } from "./login-page.tsx";
import { addMutesPage } from "./mutes-page.tsx";
import { addResendPage } from "./resend-page.tsx";
import { addSetupPage } from "./setup-page.tsx";

/** Everything that people see. */
export function addPages(app: Hono<WebEnv>, deps: PageDeps, document: ApiDocument): void {
  addLoginPages(app, deps);
  addLogPage(app, deps);
  addAlertPage(app, deps);
  addResendPage(app, deps);
  addDestinationsPage(app, deps);
  addMutesPage(app, deps);
  addSetupPage(app, deps);
  addApiPage(app, deps, document);
}

import type { Hono } from "hono";
import type { ApiDocument } from "../api/document.ts";
import type { WebEnv } from "../web-env.ts";
import type { PageDeps } from "./frame.ts";
import { addLogPage } from "./log-page.tsx";
import { addLoginPages } from "./login-page.tsx";

/** Everything that people see. */
export function addPages(app: Hono<WebEnv>, deps: PageDeps, _document: ApiDocument): void {
  addLoginPages(app, deps);
  addLogPage(app, deps);
}

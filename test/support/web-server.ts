import { createServer } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { openPage, type Page, type PageOptions } from "./browser.ts";
import { listenOnLoopback } from "./loopback.ts";
import { adminToken, createWebFixture, type WebFixture, type WebFixtureOptions } from "./web-fixture.ts";

/** The pages on a port of this machine, for clients that need a real connection. */
export async function serveWebFixture(options: WebFixtureOptions = {}) {
  let fetch: WebFixture["web"]["fetch"] = () => new Response(null, { status: 503 });
  const server = createServer(getRequestListener((request, env) => fetch(request, env)));
  const { url } = await listenOnLoopback(server);
  const fixture = await createWebFixture({ publicUrl: url, ...options });
  fetch = fixture.web.fetch;
  return { ...fixture, url, dropConnections: () => server.closeAllConnections() };
}

/** In a browser, without the page of the login, which takes longer than many a test of another page. */
export async function logIn(page: Page, url: string, path = "/"): Promise<void> {
  await page.request.post(`${url}/login`, { form: { token: adminToken }, headers: { origin: url }, maxRedirects: 0 });
  await page.goto(url + path);
}

/** Waits until the page follows events. */
export const live = (page: Page) => page.waitForSelector("body[data-stream=open]");

/** A page of its own, logged in. */
export async function openAt(url: string, path?: string, options?: PageOptions): Promise<Page> {
  const page = await openPage(options);
  await logIn(page, url, path);
  return page;
}

/** `openAt`, and the page follows events. */
export async function follow(url: string, path?: string, options?: PageOptions): Promise<Page> {
  const page = await openAt(url, path, options);
  await live(page);
  return page;
}

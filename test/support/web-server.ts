import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { onTestFinished } from "vitest";
import { createWebFixture, type WebFixture, type WebFixtureOptions } from "./web-fixture.ts";

/** The pages on a port of this machine, for clients that need a real connection. */
export async function serveWebFixture(
  options: WebFixtureOptions = {},
): Promise<WebFixture & { url: string; dropConnections(): void }> {
  let fetch: WebFixture["web"]["fetch"] = () => new Response(null, { status: 503 });
  const server = createServer(getRequestListener((request, env) => fetch(request, env)));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const fixture = await createWebFixture({ publicUrl: url, ...options });
  fetch = fixture.web.fetch;
  onTestFinished(async () => {
    fixture.web.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return { ...fixture, url, dropConnections: () => server.closeAllConnections() };
}

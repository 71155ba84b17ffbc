import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import type { TestProject } from "vitest/node";
import { type PostgresServer, startPostgresServer } from "./postgres-server.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** Whoever connects is told the address of the run's PostgreSQL, which is started for the first of them. */
    postgresDesk: number;
  }
}

/** One PostgreSQL for a whole run, started when a test file asks for it. */
export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  let server: Promise<PostgresServer> | undefined;
  const desk = createServer((socket) => {
    socket.on("error", () => {});
    server ??= startPostgresServer({}, undefined, undefined, project.config.env?.TOCSIN_TEST_POSTGRES);
    server.then(
      ({ url }) => socket.end(JSON.stringify({ url })),
      (error: Error) => socket.end(JSON.stringify({ error: error.message })),
    );
  });
  desk.listen(0, "127.0.0.1");
  await once(desk, "listening");
  desk.unref();
  project.provide("postgresDesk", (desk.address() as AddressInfo).port);
  return async () => {
    desk.close();
    await (await server?.catch(() => undefined))?.end();
  };
}

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { waitForState } from "../support/journey-world.ts";
import { startRelayProcess } from "../support/relay-process.ts";
import { makeTempFolder } from "../support/temp-folder.ts";
import { createHttpVendor } from "../support/vendors/http-vendor.ts";

const tracer = new URL("../support/trace-modules.mjs", import.meta.url).pathname;
const bin = new URL("../../bin/tocsin.js", import.meta.url).pathname;

/** What no relay needs for accepting an alert. */
const later = ["undici", "grammy", "nodemailer", "@hono/node-server"];
const never = ["smtp-server", "postal-mime", "@clack/prompts", "eventsource-parser"];

/** Of these libraries those that are loaded from their own folder, or with a file of the bundle that holds a part of them. */
function loadsOf(lines: string[], libraries: string[]): string[] {
  const loaded = lines.map((line) => (line.includes("/dist/bundle/") ? readFileSync(line, "utf8") : `// ${line}`));
  return libraries.filter((library) =>
    loaded.some((text) => new RegExp(`^// .*node_modules/${library}/`, "m").test(text)),
  );
}

test("a relay listens before it loads what sends and shows, and never loads what its configuration does not use", async () => {
  const vendor = await createHttpVendor(() => ({ status: 204 }));
  const folder = makeTempFolder();
  const trace = join(folder, "trace");
  writeFileSync(
    join(folder, "tocsin.yaml"),
    `destinations:\n  desk: { type: webhook, url: "${vendor.origin}", allowInternal: ["127.0.0.1"] }\n`,
  );
  const relay = await startRelayProcess(folder, { TRACE_TO: trace }, ["--import", tracer, bin, "serve", "--json"]);
  const [id = ""] = (await relay.post('{"title":"First"}')).ids;
  const read = () => readFileSync(trace, "utf8").split("\n");
  const atFirst = read();
  const listening = atFirst.indexOf("listening");
  expect(listening).toBeGreaterThan(10);
  expect(loadsOf(atFirst.slice(0, listening), [...later, ...never])).toEqual([]);
  const probe = async () => {
    const answers = await Promise.all(["/healthz", "/readyz"].map((path) => relay.api(path)));
    // How an answer ends is the framework's affair.
    const isFraming = (name: string) => ["content-length", "transfer-encoding", "date"].includes(name);
    return answers.map(({ status, headers }) => [status, [...headers].filter(([name]) => !isFraming(name))]);
  };
  const early = await probe();
  expect(early.map(([status]) => status)).toEqual([200, 200]);
  expect(loadsOf(read(), ["@hono/node-server"])).toEqual([]);

  await waitForState(relay, id, "sent");
  expect(loadsOf(read(), [...later, ...never])).toEqual(["undici", "@hono/node-server"]);

  expect((await relay.api("/metrics")).status).toBe(200);
  expect(await probe()).toEqual(early);
  expect(loadsOf(read(), [...later, ...never])).toEqual(["undici", "@hono/node-server"]);
});

import { Command } from "commander";
import { expect, test } from "vitest";
import { sandbox } from "../../src/cli/workshop.ts";
import { createTestContext } from "../support/cli.ts";
import { makeTempFolder } from "../support/temp-folder.ts";
import { startReceiver } from "./service-fixture.ts";

/** Runs the command until `use` is done with it, on a free port. */
async function run(
  argv: string[],
  use: (data: { alertingUrl: string; apiKey: string }) => Promise<void>,
): Promise<string> {
  const stop = new AbortController();
  const { context, stdout } = createTestContext({ signal: stop.signal, now: Date.now });
  const program = new Command("tocsin")
    .option("--json")
    .exitOverride()
    .configureOutput({ writeErr: () => {} });
  sandbox(program, context);
  const words = ["--json", "sandbox", "--port", "0", "--metrics", "500", ...argv];
  const ended = program.parseAsync(words, { from: "user" });
  try {
    const spoken = expect.poll(stdout).not.toBe("");
    await Promise.race([spoken, ended]);
    await use(JSON.parse(stdout()).data);
  } finally {
    stop.abort();
    await ended;
  }
  return stdout();
}

const readAccount = (url: string, key: string) => fetch(`${url}/account`, { headers: { authorization: key } });

test("tocsin sandbox serves the key it was given until it is stopped, and says where in one document", async () => {
  let address = "";
  const stdout = await run(["--key", "my-key"], async ({ alertingUrl, apiKey }) => {
    address = alertingUrl;
    expect(apiKey).toBe("my-key");
    expect((await readAccount(alertingUrl, "my-key")).status).toBe(200);
  });
  expect(JSON.parse(stdout)).toHaveProperty("data.pricingUrl");
  await expect(readAccount(address, "my-key")).rejects.toThrow("fetch failed");
});

test("tocsin sandbox keeps its key in --data", async () => {
  const folder = makeTempFolder();
  const keys: string[] = [];
  const note = async ({ apiKey }: { apiKey: string }) => void keys.push(apiKey);
  await run(["--data", folder], note);
  await run(["--data", folder], note);
  expect(keys[0]).toMatch(/^sandbox-/);
  expect(keys[1]).toBe(keys[0]);
});

test("tocsin sandbox fires the storm as soon as there is an output", async () => {
  const receiver = await startReceiver();
  await run(["--storm", "25"], async ({ alertingUrl, apiKey }) => {
    await fetch(`${alertingUrl}/account`, {
      method: "PUT",
      headers: { authorization: apiKey },
      body: JSON.stringify({ webhookUrl: receiver.url }),
    });
    await expect.poll(() => receiver.received.length).toBeGreaterThanOrEqual(25);
  });
});

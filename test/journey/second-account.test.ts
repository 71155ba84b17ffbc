import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { runTocsin } from "../support/cli.ts";
import { createJourneyWorld, deskChat } from "../support/journey-world.ts";
import { waitUntil, webhookSecret } from "../support/relay-process.ts";
import { startSandbox } from "../workshop/service-fixture.ts";

interface Status {
  data: {
    account: { canPutBack: boolean };
    sources: { name: string; account?: { canPutBack: boolean; answer?: { webhook?: string } } }[];
    watches: { name: string; verdict: string; troubles: string[] }[];
  };
}

const publicUrl = "http://alerts.example:9";

it("each of two accounts is registered, watched, told of once and put back by itself", async () => {
  const first = await startSandbox({ at: Date.now() });
  const second = await startSandbox({ at: Date.now(), key: "canary-key-of-the-second" });
  for (const { sandbox } of [first, second]) onTestFinished(() => sandbox.close());
  const world = await createJourneyWorld({
    yaml: `watch: { every: 1h }\nsources: { second: { account: { url: "${second.sandbox.alertingUrl}", apiKey: "\${SECOND_KEY}" } } }\n`,
  });
  const env = {
    PUBLIC_URL: publicUrl,
    ALERTING_URL: first.sandbox.alertingUrl,
    ALERTING_API_KEY: first.sandbox.apiKey,
    SECOND_KEY: second.sandbox.apiKey,
  };
  let relay = await world.start(env);
  const command = { ...env, TOCSIN_CONFIG: join(world.dataDir, "tocsin.yaml"), DATA_DIR: world.dataDir };
  const setup = (...argv: string[]) =>
    runTocsin(["setup", "--skip-proof", "--yes", ...argv], {
      env: { ...command, WEBHOOK_SECRET: webhookSecret, TELEGRAM_BOT_TOKEN: world.env.TELEGRAM_BOT_TOKEN as string },
      cwd: world.dataDir,
    });
  const webhookOf = async ({ sandbox, call }: typeof first) => {
    const { body } = await call(`${sandbox.alertingUrl}/account`);
    return (body as { data: { alertOutputs: { webhookUrl: string | null } } }).data.alertOutputs.webhookUrl;
  };
  const hookOf = (secret: string) => `${publicUrl}/hooks/${secret}`;
  const ownSecret = readFileSync(join(world.dataDir, "secrets/source-second"), "utf8").trim();
  const untilVerdict = (name: string, verdict: string) =>
    waitUntil(
      async () => (await relay.getJson<Status>("/api/status")).data,
      ({ watches }) => watches.some((watch) => watch.name === name && watch.verdict === verdict),
      `${name} to be ${verdict}`,
    );
  const told = (words: string) => world.chat.messages(deskChat).filter(({ text }) => text.includes(words)).length;

  expect((await setup()).status).toBe(0);
  const registered = await setup("--source", "second");
  expect([registered.status, registered.stdout + registered.stderr]).toEqual([
    0,
    expect.stringContaining("tocsin setup --source second --restore"),
  ]);
  expect(registered.stdout + registered.stderr).not.toContain(ownSecret);
  expect(await webhookOf(first)).toBe(hookOf(webhookSecret));
  expect(await webhookOf(second)).toBe(hookOf(ownSecret));
  await untilVerdict("account", "well");
  await untilVerdict("account:second", "well");

  await second.setOutputs({ webhookUrl: "https://other.example/in/4f1c9a-secret" });
  // A start looks at once; setup and the API are heard of long before the next look.
  await relay.kill();
  relay = await world.start(env);
  const found = await untilVerdict("account:second", "trouble");
  expect(found.watches.find(({ name }) => name === "account")?.verdict).toBe("well");
  expect(found.account.canPutBack).toBe(false);
  expect(found.sources).toMatchObject([{ account: { canPutBack: true, answer: { webhook: "elsewhere" } } }]);
  const trouble = found.watches.find(({ name }) => name === "account:second")?.troubles.join();
  expect(trouble).toContain("tocsin setup --source second --take-over");
  const words = "second: The account sends its alerts to https://other.example/…";
  await expect.poll(() => told(words)).toBeGreaterThan(0);

  const headers = { "content-type": "application/json" };
  const putBack = () => relay.api("/api/account/put-back", { method: "POST", headers, body: '{"source":"second"}' });
  expect(await (await putBack()).json()).toEqual({ data: { result: "put-back" } });
  expect(await webhookOf(second)).toBe(hookOf(ownSecret));
  const again = "second: The account sends its alerts here again";
  await expect.poll(() => told(again)).toBeGreaterThan(0);
  expect([told(words), told(again)]).toEqual([1, 1]);

  expect((await setup("--source", "second", "--restore")).status).toBe(0);
  expect(await webhookOf(second)).toBeNull();
  expect(await webhookOf(first)).toBe(hookOf(webhookSecret));
  const metrics = await (await relay.api("/metrics")).text();
  expect(metrics).toContain('tocsin_watch{watch="account",verdict="well"} 1');
  expect(relay.log() + metrics).not.toMatch(new RegExp(`4f1c9a|${webhookSecret}|${second.sandbox.apiKey}`));

  second.sandbox.faults.next({ kind: "delay", delayMs: 3_600_000, route: "GET /account", times: "always" });
  const refused = putBack().catch(() => undefined);
  await expect.poll(() => second.sandbox.describe().waiting).toBeGreaterThan(0);
  expect(await relay.stop()).toBe(0);
  await refused;
});

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { startSandbox } from "../sandbox/service-fixture.ts";
import { runTocsin } from "../support/cli.ts";
import { makeTempFolder } from "../support/temp-folder.ts";

const publicUrl = "http://127.0.0.1:9";
const secret = "setup-hook-kS93jdLwm2PzQe81";
const hookUrl = `${publicUrl}/hooks/${secret}`;
const others = { webhookUrl: "https://other.example/in/4f1c9a-secret", messengerChannelId: "-100999" };

async function startWorld() {
  const { sandbox, call, setOutputs } = await startSandbox();
  onTestFinished(() => sandbox.close());
  const dataDir = makeTempFolder();
  const env = {
    DATA_DIR: dataDir,
    PUBLIC_URL: publicUrl,
    WEBHOOK_SECRET: secret,
    ALERTING_URL: sandbox.alertingUrl,
    ALERTING_API_KEY: sandbox.apiKey,
  };
  return {
    dataDir,
    setOutputs,
    setup: (...argv: string[]) =>
      runTocsin(["setup", ...(argv.includes("--put-back") ? [] : ["--skip-proof"]), ...argv], { env, cwd: dataDir }),
    async outputs() {
      const { body } = await call(`${sandbox.alertingUrl}/account`);
      return (body as { data: { alertOutputs: unknown } }).data.alertOutputs;
    },
  };
}

it("tocsin setup --put-back lets the account send here again, channel and all, and shows no secret", async () => {
  const { setup, setOutputs, outputs } = await startWorld();
  await setup("--channel", "-100555");
  const ours = { webhookUrl: hookUrl, messengerChannelId: "-100555" };
  expect((await setup("--put-back", "--json")).json().data).toMatchObject({ result: "unchanged", changed: false });
  await setOutputs(others);
  const dry = await setup("--put-back", "--dry-run");
  expect(dry.stdout).toContain("Nothing was changed");
  expect(await outputs()).toEqual(others);
  const run = await setup("--put-back");
  expect(run.status).toBe(0);
  expect(run.stdout).toMatch(/-100999 +-100555/);
  expect(run.stdout + run.stderr + dry.stdout).not.toMatch(/4f1c9a|kS93jd/);
  expect(await outputs()).toEqual(ours);
});

it("takes what setup found in order for what was meant, and leaves what --restore puts back alone", async () => {
  const { setup, setOutputs, outputs } = await startWorld();
  await setOutputs({ webhookUrl: "https://before.example/in", messengerChannelId: null });
  await setup("--take-over");
  await setOutputs({ messengerChannelId: "-100777" });
  expect((await setup("--json")).json().data).toMatchObject({ result: "unchanged" });
  await setOutputs(others);
  await setup("--put-back");
  expect(await outputs()).toEqual({ webhookUrl: hookUrl, messengerChannelId: "-100777" });
  await setup("--restore");
  expect(await outputs()).toEqual({ webhookUrl: "https://before.example/in", messengerChannelId: null });
  const run = await setup("--put-back");
  expect(run.status).toBe(1);
  expect(run.stderr).toContain("not registered from here yet");
});

it("refuses what setup itself has turned off, a broken note of it, and options that say something else", async () => {
  const { setup, setOutputs, outputs, dataDir } = await startWorld();
  await setup();
  await setup("--webhook-off");
  expect((await setup("--put-back")).stderr).toContain("turned the account's webhook off");
  writeFileSync(join(dataDir, "registration.json"), "{");
  await setOutputs(others);
  expect((await setup("--put-back")).stderr).toContain("not registered from here yet");
  expect((await setup("--put-back", "--restore")).status).toBe(2);
  expect((await setup("--put-back", "--channel", "-1")).status).toBe(2);
  expect(await outputs()).toEqual(others);
});

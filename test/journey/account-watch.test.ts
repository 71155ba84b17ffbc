import { expect, it, onTestFinished } from "vitest";
import { runTocsin } from "../support/cli.ts";
import { createJourneyWorld, deskChat, mailAddress, opsChat } from "../support/journey-world.ts";
import { type RelayProcess, waitUntil, webhookSecret } from "../support/relay-process.ts";
import { startSandbox } from "../workshop/service-fixture.ts";

interface Status {
  data: {
    account: { answer?: { webhook?: string }; canPutBack: boolean };
    watches: { name: string; verdict: string; troubles: string[]; lookedAt?: string }[];
  };
}

const publicUrl = "http://alerts.example:9";
const others = { webhookUrl: "https://other.example/in/4f1c9a-secret" };

async function startWorld(every = "10s") {
  const { sandbox, call, setOutputs } = await startSandbox({ at: Date.now() });
  onTestFinished(() => sandbox.close());
  const world = await createJourneyWorld({ yaml: `watch: { every: ${every} }\n` });
  const env = { PUBLIC_URL: publicUrl, ALERTING_URL: sandbox.alertingUrl, ALERTING_API_KEY: sandbox.apiKey };
  const command = { ...env, DATA_DIR: world.dataDir, WEBHOOK_SECRET: webhookSecret };
  const count = (words: string) => ({
    chats: [deskChat, opsChat].map(
      (chat) => world.chat.messages(chat).filter(({ text }) => text.includes(words)).length,
    ),
    mails: world.mailbox.mails(mailAddress).filter(({ subject }) => subject?.includes(words)).length,
  });
  return {
    sandbox,
    setOutputs,
    start: () => world.start(env),
    setup: (...argv: string[]) => runTocsin(["setup", ...argv], { env: command, cwd: world.dataDir }),
    count,
    untilTold: (words: string) =>
      waitUntil(
        () => count(words),
        ({ chats, mails }) => chats.every((some) => some > 0) && mails > 0,
        { what: `"${words}" everywhere` },
      ),
    untilVerdict: (relay: RelayProcess, verdict: string) =>
      waitUntil(
        async () => (await relay.getJson<Status>("/api/status")).data,
        ({ watches }) => watches[0]?.verdict === verdict,
        { what: `the verdict ${verdict}` },
      ),
    async outputs() {
      const { body } = await call(`${sandbox.alertingUrl}/account`);
      return (body as { data: { alertOutputs: { webhookUrl: string } } }).data.alertOutputs;
    },
  };
}

it("another program's PUT is told once on each destination, over a kill, and put back by setup", async () => {
  const world = await startWorld();
  const first = await world.start();
  expect((await world.setup("--skip-proof", "--yes")).status).toBe(0);
  await world.untilVerdict(first, "well");
  await world.setOutputs(others);
  const words = "sends its alerts to https://other.example/…";
  await world.untilTold(words);
  await first.kill();

  const second = await world.start();
  const { account, watches } = await world.untilVerdict(second, "trouble");
  expect(account).toMatchObject({ canPutBack: true, answer: { webhook: "elsewhere" } });
  const lookedAt = watches[0]?.lookedAt;
  await expect
    .poll(async () => (await second.getJson<Status>("/api/status")).data.watches[0]?.lookedAt)
    .not.toBe(lookedAt);
  expect(world.count(words)).toEqual({ chats: [1, 1], mails: 1 });

  expect((await world.setup("--take-over", "--skip-proof", "--yes")).status).toBe(0);
  expect((await world.outputs()).webhookUrl).toBe(`${publicUrl}/hooks/${webhookSecret}`);
  await world.untilTold("The account sends its alerts here again");
  expect((await world.untilVerdict(second, "well")).account.canPutBack).toBe(false);
  const { data } = await second.getJson<{ data: { origin: string }[] }>("/api/alerts");
  expect(data.map(({ origin }) => origin)).toEqual(["notice", "notice"]);
  const status = await second.api("/metrics");
  const everything = [await status.text(), JSON.stringify(data), first.log(), second.log()].join("\n");
  expect(everything).toContain('tocsin_watch{watch="account",verdict="well"} 1');
  expect(everything).not.toMatch(new RegExp(`4f1c9a|${webhookSecret}|${world.sandbox.apiKey}`));
});

it("status knows what setup and the API have just done, long before the next look, and a look that hangs holds up no stop", async () => {
  const world = await startWorld("1h");
  const relay = await world.start();
  expect((await world.untilVerdict(relay, "idle")).account.answer?.webhook).toBe("nowhere");
  await world.setup("--skip-proof", "--yes");
  await world.untilVerdict(relay, "well");
  await world.setOutputs(others);
  await relay.kill();
  const second = await world.start();
  await world.untilVerdict(second, "trouble");
  expect((await world.setup("--take-over", "--skip-proof", "--yes")).status).toBe(0);
  await world.untilVerdict(second, "well");

  await world.setOutputs(others);
  const putBack = () => second.api("/api/account/put-back", { method: "POST" });
  expect(await (await putBack()).json()).toEqual({ data: { result: "put-back" } });
  expect((await world.outputs()).webhookUrl).toBe(`${publicUrl}/hooks/${webhookSecret}`);
  world.sandbox.addFault({ kind: "delay", delayMs: 3_600_000, route: "GET /account", times: "always" });
  const refused = putBack().catch(() => undefined);
  await expect.poll(() => world.sandbox.describe().waiting).toBeGreaterThan(0);
  expect(await second.stop()).toBe(0);
  await refused;
});

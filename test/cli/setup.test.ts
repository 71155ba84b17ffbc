import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { describe, expect, it, onTestFinished } from "vitest";
import type { CliContext } from "../../src/cli/shell/context.ts";
import { loadOrCreateSecrets } from "../../src/config/generated-secrets.ts";
import { loadConfig } from "../../src/config/load-config.ts";
import { AppError } from "../../src/core/errors.ts";
import { answerQuestion, readQuestion } from "../../src/core/hook-proof.ts";
import { silentLog } from "../../src/core/log.ts";
import { Secret } from "../../src/core/secret.ts";
import { startRelay } from "../../src/start/relay.ts";
import { keptFiles } from "../../src/store/kept-files.ts";
import { personWho, runTocsin } from "../support/cli.ts";
import { openLoneDoor } from "../support/lone-door.ts";
import { readingThreadEntry } from "../support/reader.ts";
import { halve, type Spoil, startSpoilingProxy } from "../support/spoiling-proxy.ts";
import { makeTempFolder } from "../support/temp-folder.ts";
import { startFakeService } from "../upstream/fake-service.ts";
import { startSandbox } from "../workshop/service-fixture.ts";
import { createRelayWorld, deskChat, storeThreadEntry } from "./relay-world.ts";

const publicUrl = "http://127.0.0.1:9";
const secret = "setup-hook-kS93jdLwm2PzQe81";

async function startWorld() {
  const fixture = await startSandbox();
  const { sandbox } = fixture;
  onTestFinished(() => sandbox.close());
  const dataDir = makeTempFolder();
  const env: Record<string, string> = {
    DATA_DIR: dataDir,
    PUBLIC_URL: publicUrl,
    WEBHOOK_SECRET: secret,
    ALERTING_URL: sandbox.alertingUrl,
    ALERTING_API_KEY: sandbox.apiKey,
  };
  const outputs = async () => {
    const { body } = await fixture.call(`${sandbox.alertingUrl}/account`);
    return (body as { data: { alertOutputs: { webhookUrl: string | null; messengerChannelId: string | null } } }).data
      .alertOutputs;
  };
  const setOutputs = (change: object) =>
    fixture.call(`${sandbox.alertingUrl}/account`, {
      method: "PUT",
      headers: { authorization: sandbox.apiKey, "content-type": "application/json" },
      body: JSON.stringify(change),
    });
  // What becomes of the account, for a relay that is not there; test/journey/setup.test.ts has the proof.
  const setup = (argv: string[] = [], changes: Record<string, string> = {}) =>
    runTocsin(["setup", "--skip-proof", ...argv], { env: { ...env, ...changes }, cwd: dataDir });
  return { fixture, sandbox, dataDir, env, outputs, setOutputs, setup };
}

const hookUrl = `${publicUrl}/hooks/${secret}`;

describe("tocsin setup", () => {
  it.each([
    ["y", 0, `${publicUrl}/hooks/${secret}`],
    ["n", 1, null],
    ["\u0003", 1, null],
  ])("shows a person at a terminal what changes, and asks on stderr: %j", async (key, status, webhookUrl) => {
    const { outputs, env, dataDir } = await startWorld();
    const { terminal, said } = personWho(["Change the account like this?", key]);
    const run = await runTocsin(["setup", "--skip-proof", "--json"], { env, cwd: dataDir, ...terminal });
    expect(said()).toMatch(/output +before +after\nwebhook +none +http:\/\/127\.0\.0\.1:9\/hooks\/\*\*\*\n/);
    expect(run.status).toBe(status);
    expect(run.json()).toMatchObject(status === 0 ? { data: { changed: true } } : { error: { code: "cancelled" } });
    expect((await outputs()).webhookUrl).toBe(webhookUrl);
  });

  it("overwrites nothing that somebody has set while the question stood there", async () => {
    const { outputs, setOutputs, env, dataDir } = await startWorld();
    const others = { webhookUrl: "https://other.example/in", messengerChannelId: null };
    const { terminal } = personWho(["Change the account like this?", () => setOutputs(others).then(() => "y")]);
    const run = await runTocsin(["setup", "--skip-proof", "--json"], { env, cwd: dataDir, ...terminal });
    expect(run.status).toBe(1);
    expect(run.json().error).toMatchObject({
      code: "conflict",
      message: expect.stringContaining("Somebody has changed the webhook's address meanwhile"),
    });
    expect(await outputs()).toEqual(others);
  });

  it("takes what leads to this relay in another form for its own, before the change and behind it", async () => {
    const { setup } = await startWorld();
    const { url } = await openLoneDoor(new Secret(secret));
    let stored: string | null = null;
    const service = await startFakeService(({ method, body }) => {
      if (method === "PUT") stored = `${(JSON.parse(body) as { webhookUrl: string }).webhookUrl}/`;
      return { json: { data: { id: "a", alertOutputs: { webhookUrl: stored, messengerChannelId: null } } } };
    });
    const own = { PUBLIC_URL: url, ALERTING_URL: service.url };
    expect((await setup(["--json"], own)).json().data).toMatchObject({ result: "changed" });
    expect((await setup(["--json"], own)).json().data).toMatchObject({ result: "unchanged" });
    stored = `${url.replace("127.0.0.1", "LOCALHOST")}/hooks/${secret}`;
    expect((await setup(["--json"], own)).json().data).toMatchObject({ result: "unchanged" });
    stored = `${url.replace("127.0.0.1", "localhost")}/hooks/another-secret-Vb72kdPwq0XnRt64`;
    expect((await setup(["--json"], own)).json().error).toMatchObject({ code: "conflict" });
  });

  it("turns the webhook off, reads back, and is turned on again by the next setup", async () => {
    const { setup, outputs, setOutputs } = await startWorld();
    await setOutputs({ messengerChannelId: "-100555" });
    await setup();
    const tried = await setup(["--webhook-off", "--dry-run", "--json"]);
    expect(tried.json().data).toMatchObject({
      result: "dry-run",
      changed: false,
      after: { webhookUrl: null },
    });
    expect((await outputs()).webhookUrl).toBe(hookUrl);
    const run = await setup(["--webhook-off", "--json"]);
    expect(run.json().data).toMatchObject({
      result: "turned-off",
      changed: true,
      after: { webhookUrl: null },
    });
    expect(await outputs()).toEqual({ webhookUrl: null, messengerChannelId: "-100555" });
    expect((await setup(["--webhook-off", "--json"])).json().data).toMatchObject({ result: "unchanged" });
    const both = await setup(["--channel", "-1005", "--no-channel"]);
    expect(both).toMatchObject({ status: 2, stderr: expect.stringContaining("do not go together") });
    const channelOnly = await setup(["--webhook-off", "--no-channel", "--json"]);
    expect(channelOnly.json().data).toMatchObject({ result: "changed" });
    await setup();
    expect((await outputs()).webhookUrl).toBe(hookUrl);
  });

  it("turns somebody else's webhook off only when asked to, and puts it back", async () => {
    const { setup, outputs, setOutputs } = await startWorld();
    const others = { webhookUrl: "https://other.example/hook/1", messengerChannelId: "-100555" };
    await setOutputs(others);
    const refused = await setup(["--webhook-off"]);
    expect(refused.status).toBe(1);
    expect(refused.stderr).toMatch(/sends its alerts to https:\/\/other\.example\/….*not to this relay/);
    expect(refused.stderr).toContain("--take-over");
    const unknown = await setup(["--webhook-off"], { PUBLIC_URL: "" });
    expect(unknown.stderr).toContain("set PUBLIC_URL");
    expect(unknown.stderr).not.toContain("not to this relay");
    expect(await outputs()).toEqual(others);
    const off = await setup(["--webhook-off", "--take-over", "--no-channel"]);
    expect(off.stdout).toContain("Undo with: tocsin setup --restore");
    expect(await outputs()).toEqual({ webhookUrl: null, messengerChannelId: null });
    await setup();
    expect((await outputs()).webhookUrl).toBe(hookUrl);
    expect((await setup(["--restore"])).status).toBe(0);
    expect(await outputs()).toEqual(others);
  });

  const [first, second] = ["https://first.example/in", "https://second.example/in"];
  const off = ["--webhook-off", "--take-over"];
  // What somebody sets at the service, and runs of setup.
  it.each<[string, (string | null | string[])[], string | null]>([
    ["what somebody has set since it was turned off", [first, off, second, ["--take-over"], ["--restore"]], second],
    [
      "none where somebody else has turned it off since the last setup",
      [first, off, [], null, [], ["--restore"]],
      null,
    ],
    [
      "what was there first, also when it is run again",
      [first, ["--take-over"], ["--channel", "-100777"], ["--restore"]],
      first,
    ],
  ])("puts back a webhook: %s", async (_what, steps, webhookUrl) => {
    const { setup, outputs, setOutputs } = await startWorld();
    for (const step of steps) await (Array.isArray(step) ? setup(step) : setOutputs({ webhookUrl: step }));
    expect(await outputs()).toEqual({ webhookUrl, messengerChannelId: null });
  });

  it("still knows what was there before --webhook-off when the setup after it was cut off", async () => {
    const { setup, outputs, setOutputs, sandbox } = await startWorld();
    await setOutputs({ webhookUrl: "https://first.example/in" });
    await setup(["--webhook-off", "--take-over"]);
    sandbox.faults.next({ kind: "status", status: 500, route: "PUT /account", times: 1 });
    expect((await setup()).status).toBe(1);
    const next = await setup(["--json"]);
    expect(next.stderr).toContain("did not finish. It changed nothing");
    expect(next.json().data).toMatchObject({ result: "changed", interrupted: { account: "old" } });
    await setup(["--restore"]);
    expect((await outputs()).webhookUrl).toBe("https://first.example/in");
  });

  it("says that somebody else has changed the account since a run that was cut off, or that it cannot tell", async () => {
    const { setup, setOutputs, sandbox } = await startWorld();
    sandbox.faults.next({ kind: "status", status: 500, route: "PUT /account", times: 1 });
    await setup();
    const unknown = await setup([], { ALERTING_URL: "http://127.0.0.1:2" });
    expect(unknown.stderr).toContain("Whether the account was changed cannot be seen now.");
    await setOutputs({ webhookUrl: "https://colleague.example/in" });
    for (const argv of [["--dry-run", "--take-over"], ["--take-over"]]) {
      expect((await setup(argv)).stderr).toContain("Somebody has changed the account since");
    }
    expect((await setup()).stderr).not.toContain("did not come to its end");
  });

  it("keeps what this account had, not what another one had whose key was here before", async () => {
    const { setup, dataDir } = await startWorld();
    await setup();
    const path = join(dataDir, "outputs-before-setup.json");
    const kept = JSON.parse(readFileSync(path, "utf8"));
    writeFileSync(path, JSON.stringify({ ...kept, accountId: "acc_another" }));
    await setup(["--webhook-off"]);
    expect(JSON.parse(readFileSync(path, "utf8"))).toMatchObject({
      accountId: kept.accountId,
      outputs: { webhookUrl: hookUrl },
    });
  });

  it("takes a channel that it finds for what was meant, so that the relay watches that one", async () => {
    const { setup, setOutputs, dataDir } = await startWorld();
    await setup();
    await setOutputs({ messengerChannelId: "-100777" });
    expect((await setup(["--json"])).json().data).toMatchObject({ result: "unchanged" });
    const registration = JSON.parse(readFileSync(join(dataDir, "registration.json"), "utf8"));
    expect(registration).toMatchObject({ messengerChannelId: "-100777" });
  });

  it("refuses a channel id that does not start with -, before anything is asked or changed", async () => {
    const { setup, outputs } = await startWorld();
    const run = await setup(["--channel", "100777"]);
    expect(run).toMatchObject({ status: 2, stderr: expect.stringContaining("-100777") });
    expect(await outputs()).toEqual({ webhookUrl: null, messengerChannelId: null });
  });

  it("refuses to replace somebody else's address unless asked to, and puts it back with --restore", async () => {
    const { setup, outputs, setOutputs, dataDir } = await startWorld();
    await setOutputs({ webhookUrl: "https://other.example.com/in/abc", messengerChannelId: "-100555" });
    expect(await setup()).toMatchObject({ status: 1, stderr: expect.stringContaining("--take-over") });
    expect((await outputs()).webhookUrl).toBe("https://other.example.com/in/abc");

    expect((await setup(["--take-over", "--no-channel"])).status).toBe(0);
    expect(await outputs()).toEqual({ webhookUrl: hookUrl, messengerChannelId: null });
    const kept = join(dataDir, "outputs-before-setup.json");
    expect(statSync(kept).mode & 0o777).toBe(0o600);
    expect(readFileSync(kept, "utf8")).toContain("other.example.com");

    expect((await setup(["--restore", "--json"])).json().data).toMatchObject({ result: "restored" });
    expect(await outputs()).toEqual({
      webhookUrl: "https://other.example.com/in/abc",
      messengerChannelId: "-100555",
    });
    expect((await setup(["--restore"])).status).toBe(1);
  });

  it.each([
    "https://other.example.com/hooks/abcdefghijklmnopqrstuvwx",
    "http://127.0.0.1:10/hooks/abcdefghijklmnopqrstuvwx",
    `${publicUrl}/hook/abc`,
  ])("does not take %s for its own", async (webhookUrl) => {
    const { setup, outputs, setOutputs } = await startWorld();
    await setup();
    await setOutputs({ webhookUrl });
    for (const argv of [[], ["--webhook-off"], ["--restore"]]) expect((await setup(argv)).status).toBe(1);
    expect((await outputs()).webhookUrl).toBe(webhookUrl);
  });

  it("does not restore over an address that somebody has set since, unless asked to", async () => {
    const { setup, outputs, setOutputs } = await startWorld();
    await setup();
    await setOutputs({ webhookUrl: "https://colleague.example.com/in" });
    expect(await setup(["--restore"])).toMatchObject({ status: 1, stderr: expect.stringContaining("--take-over") });
    expect((await outputs()).webhookUrl).toBe("https://colleague.example.com/in");
    expect((await setup(["--restore", "--take-over"])).status).toBe(0);
    expect((await outputs()).webhookUrl).toBeNull();
  });

  it("does not restore over an address of which nobody can tell whether it is this relay's", async () => {
    const { setup, outputs, setOutputs } = await startWorld();
    await setup();
    const unaware = { PUBLIC_URL: "" };
    const refused = await setup(["--restore"], unaware);
    expect(refused).toMatchObject({ status: 1, stderr: expect.stringContaining("set PUBLIC_URL") });
    expect((await outputs()).webhookUrl).toBe(hookUrl);
    await setOutputs({ webhookUrl: "https://colleague.example.com/in" });
    expect((await setup(["--restore"], unaware)).status).toBe(1);
    expect((await setup(["--restore", "--take-over"], unaware)).status).toBe(0);
    expect((await outputs()).webhookUrl).toBeNull();
  });

  it("distinguishes the new secret from the old one without showing either, and plans one with --dry-run", async () => {
    const { setup, outputs } = await startWorld();
    const own = { WEBHOOK_SECRET: "" };
    await setup([], own);
    const first = (await outputs()).webhookUrl;
    const dry = await setup(["--rotate-secret", "--dry-run"], own);
    expect(dry.stdout).toContain(`${publicUrl}/hooks/*** (new secret)`);
    expect((await outputs()).webhookUrl).toBe(first);
    expect((await setup(["--rotate-secret"], own)).stdout).toContain(`${publicUrl}/hooks/*** (new secret)`);
    const second = (await outputs()).webhookUrl;
    expect(second).toMatch(/^http:\/\/127\.0\.0\.1:9\/hooks\/[\w-]{22,}$/);
    expect(second).not.toBe(first);
  });

  it("rotates nothing when it is refused", async () => {
    const { setup, setOutputs, dataDir } = await startWorld();
    await setup([], { WEBHOOK_SECRET: "" });
    const kept = readFileSync(join(dataDir, "secrets/webhook-secret"), "utf8");
    await setOutputs({ webhookUrl: "https://other.example.com/in" });
    expect((await setup(["--rotate-secret"], { WEBHOOK_SECRET: "" })).status).toBe(1);
    expect(readFileSync(join(dataDir, "secrets/webhook-secret"), "utf8")).toBe(kept);
  });

  it("goes on taking the registered secret over a restart until the service has confirmed the new one", async () => {
    const { setup, outputs, sandbox, dataDir } = await startWorld();
    const own = { WEBHOOK_SECRET: "" };
    await setup([], own);
    const registered = (await outputs()).webhookUrl?.split("/").at(-1) ?? "";
    sandbox.faults.next({ kind: "status", status: 500, route: "PUT /account", times: 10 });
    expect((await setup(["--rotate-secret"], own)).status).toBe(1);
    expect((await setup(["--rotate-secret"], own)).status).toBe(1);

    const config = loadConfig({ env: { PORT: "0", DATA_DIR: dataDir }, cwd: dataDir });
    const secrets = await loadOrCreateSecrets(keptFiles(dataDir), config);
    const relay = await startRelay({ config, secrets, log: silentLog, storeThreadEntry, readingThreadEntry });
    onTestFinished(() => relay.stop());
    const answer = await fetch(`${relay.localUrl}/hooks/${registered}`, { method: "POST", body: "TVL fell" });
    expect(answer.status).toBe(202);

    sandbox.faults.clear();
    expect((await setup([], own)).status).toBe(0);
    expect((await outputs()).webhookUrl).not.toContain(registered);
    expect((await loadOrCreateSecrets(keptFiles(dataDir), config)).previousWebhookSecrets).toEqual([]);
  });

  it("changes the account only when the relay that runs takes the new secret, also with --skip-proof", async () => {
    const { setup, dataDir } = await startWorld();
    const path = join(dataDir, "secrets/webhook-secret");
    // A relay that looks for a new secret late: it is asked for it twice before.
    const known = new Set<string>();
    let refused = 0;
    const relay = await startFakeService(({ path: asked }) => {
      const given = asked.split("/").at(-1) ?? "";
      const secrets = [...known].map((some) => Buffer.from(some));
      const { nonce = "", secret: found } = readQuestion(secrets, given) ?? {};
      if (found === undefined) refused += 1;
      if (refused === 2) known.add(readFileSync(path, "utf8").trim());
      if (found === undefined) return { status: 404, text: "" };
      return { json: JSON.parse(answerQuestion(nonce, found, { relay: "relay" })) };
    });
    const wrongAt: string[] = [];
    const service = await startFakeService(({ method, body }) => {
      const url = method === "PUT" ? (JSON.parse(body) as { webhookUrl: string }).webhookUrl : undefined;
      if (url !== undefined && !known.has(url.split("/").at(-1) ?? "")) wrongAt.push(url);
      registered = url ?? registered;
      return { json: { data: { id: "a", alertOutputs: { webhookUrl: registered, messengerChannelId: null } } } };
    });
    let registered: string | null = null;
    const own = { WEBHOOK_SECRET: "", PUBLIC_URL: relay.url, ALERTING_URL: service.url };
    expect((await setup([], own)).status).toBe(0);
    wrongAt.length = 0;
    known.add(readFileSync(path, "utf8").trim());
    refused = 0;
    expect((await setup(["--rotate-secret"], own)).status).toBe(0);
    expect(wrongAt).toEqual([]);
    expect(refused).toBe(2);
  });

  it("knows its own hook behind a PUBLIC_URL with a path", async () => {
    const { setup, outputs } = await startWorld();
    const under = { PUBLIC_URL: `${publicUrl}/tocsin`, WEBHOOK_SECRET: "" };
    expect((await setup([], under)).status).toBe(0);
    expect((await setup([], under)).status).toBe(0);
    expect((await setup(["--rotate-secret"], under)).status).toBe(0);
    expect((await outputs()).webhookUrl).toContain(`${publicUrl}/tocsin/hooks/`);
  });

  it("does not rotate a secret that comes from the environment", async () => {
    const { setup } = await startWorld();
    const run = await setup(["--rotate-secret"]);
    expect(run).toMatchObject({ status: 2, stderr: expect.stringContaining("WEBHOOK_SECRET") });
  });
});

describe("when the service or the configuration is not right", () => {
  const oneLine = (text: string) =>
    text
      .trim()
      .split("\n")
      .filter((line) => !line.startsWith("hint:"));

  it.each([
    ["a wrong key", { ALERTING_API_KEY: "not-the-key-of-anybody" }, 1, /GET \/account answered 401/],
    ["a missing key", { ALERTING_API_KEY: "" }, 2, /ALERTING_API_KEY is not set/],
    ["an unreachable service", { ALERTING_URL: "http://127.0.0.1:2" }, 1, /connection refused/],
    ["no public address", { PUBLIC_URL: "" }, 2, /PUBLIC_URL is not set/],
  ])("says %s in one line and changes nothing", async (_name, changes, status, words) => {
    const { setup, outputs } = await startWorld();
    const run = await setup([], changes);
    expect(run.status).toBe(status);
    const lines = oneLine(run.stderr).filter((line) => line.startsWith("error:"));
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(words);
    expect(run.stderr).not.toMatch(/\n\s+at /);
    expect(await outputs()).toEqual({ webhookUrl: null, messengerChannelId: null });
  });

  it("says that the key has expired", async () => {
    const { setup, sandbox, fixture } = await startWorld();
    await sandbox.setKey(sandbox.apiKey, fixture.now() - 1_000);
    const run = await setup();
    expect(run.status).toBe(1);
    expect(run.stderr).toContain("check ALERTING_API_KEY, and whether it has expired");
  });

  const now = Date.UTC(2026, 10, 21, 12);
  it.each<[unknown, RegExp]>([
    [undefined, /✓ API key: no expiry is given\n/],
    ["never", /– API key: accepted, but its expiry cannot be read: the service says "never"\n/],
    [{ kind: "none" }, /– API key: accepted, but its expiry cannot be read: the service says \{"kind":"none"\}\n/],
    [0, /– API key: accepted, but its expiry cannot be read: the service says 0\n/],
    ["2001-05-01T00:00:00Z", /– API key: accepted, but its expiry cannot be read: the service says "2001-05-01T/],
    [now / 1000 + 90 * 86_400, /✓ API key: expires \S+ \(in 90 d\)\n/],
    [now + 86_400_000 / 2, /! API key: expires \S+ \(in 12 h\)\n/],
    // A clock of this machine that is an hour ahead.
    [now - 3_600_000, /! API key: expired \S+ \(1 h ago\)\n/],
  ])("takes a key whose end is %j, and says so", async (apiKeyExpirationTimestamp, words) => {
    const { setup } = await startWorld();
    const account = { id: "acc_1", alertOutputs: null, apiKeyExpirationTimestamp };
    const { url, seen } = await startFakeService(() => ({ json: { data: account } }));
    const run = await setup(["--dry-run"], { ALERTING_URL: url });
    expect(run.stdout).toMatch(words);
    expect(run.status).toBe(0);
    expect(seen.map(({ method }) => method)).toEqual(["GET"]);
  });

  it.each([
    ["setup", []],
    ["setup --webhook-off", ["--webhook-off", "--take-over"]],
  ])("%s does not believe a service that takes the change and does not make it", async (_name, argv) => {
    const { setup, dataDir } = await startWorld();
    const before = {
      webhookUrl: argv.length > 0 ? "https://other.example/in" : null,
      messengerChannelId: null,
    };
    const service = await startFakeService(({ method, body }) => ({
      json: {
        data:
          method === "PUT"
            ? { alertOutputs: { ...before, ...JSON.parse(body) } }
            : { id: "acc-1", accountName: "Desk", alertOutputs: before },
      },
    }));
    const run = await setup(argv, { ALERTING_URL: service.url });
    expect(run.status).toBe(1);
    expect(run.stderr).toContain("the webhook's address reads back differently");
    expect(readFileSync(join(dataDir, "outputs-before-setup.json"), "utf8")).toContain("acc-1");
  });

  it("keeps what was there before it asks for the change, since nobody knows what becomes of a failed one", async () => {
    const { setup, sandbox, setOutputs, dataDir } = await startWorld();
    await setOutputs({ webhookUrl: "https://other.example/in" });
    for (const argv of [["--take-over"], ["--webhook-off", "--take-over"]]) {
      sandbox.faults.next({ kind: "status", status: 500, route: "PUT /account", times: 1 });
      expect((await setup(argv)).status).toBe(1);
      const path = join(dataDir, "outputs-before-setup.json");
      expect(readFileSync(path, "utf8")).toContain("other.example");
      rmSync(path);
    }
  });

  it("changes nothing where it cannot keep what was there", async () => {
    const { setup, setOutputs, outputs, dataDir } = await startWorld();
    await setOutputs({ webhookUrl: "https://other.example/in" });
    mkdirSync(join(dataDir, "outputs-before-setup.json.new"));
    const run = await setup(["--webhook-off", "--take-over"]);
    expect(run.status).toBe(1);
    expect(run.stderr).toMatch(/^error: Cannot write .*outputs-before-setup\.json: EISDIR\.\nhint: {2}.+DATA_DIR/);
    expect((await outputs()).webhookUrl).toBe("https://other.example/in");
  });
});

describe("a test that fails behind the change", () => {
  /** The relay is proven, and then what is as small as the test of setup arrives spoiled. */
  async function startSpoiledWorld() {
    const { sandbox, outputs, setOutputs } = await startWorld();
    const world = await createRelayWorld();
    const spoil: Spoil = (body) => (body.length > 10_000 ? body : halve(body, {}));
    const PUBLIC_URL = await startSpoilingProxy(world.relay.localUrl, spoil);
    const account = { ALERTING_URL: sandbox.alertingUrl, ALERTING_API_KEY: sandbox.apiKey };
    const env = { ...world.env, PUBLIC_URL, ...account };
    await setOutputs({ webhookUrl: "https://other.example/in" });
    return { world, env, outputs, setOutputs };
  }

  /** @param beforeUndo what happens while the question for the undo stands */
  async function answerYes(
    { world, env }: Awaited<ReturnType<typeof startSpoiledWorld>>,
    beforeUndo?: () => Promise<unknown>,
  ) {
    const undo = "The test failed. Put back what the account had before?";
    const { terminal, unasked } = personWho(
      ["Change the account like this?", "y"],
      [undo, () => beforeUndo?.().then(() => "y") ?? "y"],
    );
    const run = await world.run(["setup", "--take-over", "--json"], { env, ...terminal });
    expect(unasked(), `${run.stdout}\n${run.stderr}`).toEqual([]);
    expect(run.status).toBe(1);
    return run.json();
  }

  it("is asked about at a terminal, and the account has again what it had before", async () => {
    const spoiled = await startSpoiledWorld();
    const { world, env, outputs } = spoiled;
    const { data } = await answerYes(spoiled);
    expect(data).toMatchObject({ result: "restored", changed: false, confirmed: false });
    expect(data.test.detail).toMatch(/^The test arrives cut off: \d+ bytes sent, \d+ arrived\./);
    expect((await outputs()).webhookUrl).toBe("https://other.example/in");
    expect((await world.run(["setup", "--dry-run", "--take-over"], { env })).stderr).toBe("");
  });

  it("puts nothing back over what somebody has set while that question stood there", async () => {
    const spoiled = await startSpoiledWorld();
    const { outputs, setOutputs } = spoiled;
    const others = { webhookUrl: "https://third.example/in", messengerChannelId: null };
    const { error } = await answerYes(spoiled, () => setOutputs(others));
    expect(error).toMatchObject({
      code: "conflict",
      message: "Somebody has changed the webhook's address meanwhile, so nothing was put back.",
    });
    expect(await outputs()).toEqual(others);
  });

  it("puts back also where the service has given the relay's address another form", async () => {
    const spoiled = await startSpoiledWorld();
    const { env, outputs, setOutputs } = spoiled;
    const { data } = await answerYes(spoiled, async () => {
      const { webhookUrl } = await outputs();
      expect(webhookUrl).toContain(env.PUBLIC_URL);
      await setOutputs({ webhookUrl: `${webhookUrl}/` });
    });
    expect(data).toMatchObject({ result: "restored" });
    expect((await outputs()).webhookUrl).toBe("https://other.example/in");
  });

  it("leaves the change where nobody can be asked, and says how to undo it", async () => {
    const { world, env, outputs } = await startSpoiledWorld();
    const run = await world.run(["setup", "--take-over", "--yes"], { env });
    expect(run.status).toBe(1);
    expect(run.stdout).toMatch(/Not confirmed\. .* Or undo the change with: tocsin setup --restore\./);
    expect((await outputs()).webhookUrl).toContain(env.PUBLIC_URL);
    await world.run(["setup", "--restore", "--yes"], { env });
    expect((await outputs()).webhookUrl).toBe("https://other.example/in");
  });
});

describe("setup where no relay runs", () => {
  async function startWithoutRelay() {
    const { sandbox, outputs } = await startWorld();
    const world = await createRelayWorld();
    await world.stopRelay();
    const PUBLIC_URL = world.relay.localUrl;
    const account = { ALERTING_URL: sandbox.alertingUrl, ALERTING_API_KEY: sandbox.apiKey };
    const overrides: Partial<CliContext> = { env: { ...world.env, PUBLIC_URL, ...account }, storeThreadEntry };
    const setup = (argv: string[], more: Partial<CliContext> = {}) =>
      world.run(["setup", "--yes", ...argv], { ...overrides, ...more });
    return { world, outputs, setup, PUBLIC_URL };
  }

  it("is the relay itself until its test has arrived, and says that none runs any more", async () => {
    const { world, outputs, setup, PUBLIC_URL } = await startWithoutRelay();
    const run = await setup([]);
    const place = new URL(PUBLIC_URL).host;
    expect(run.stderr.trim().split("\n")).toEqual([
      `No relay runs here, so setup answers on ${place} itself while it proves the address, and sends what waits.`,
      "The relay that setup ran has ended. Start one: tocsin serve. Until it runs, alerts are refused here.",
    ]);
    expect(run.stdout).toContain(`✓ relay: running at ${PUBLIC_URL}, ready`);
    expect(run.stdout).toContain("3 of 3 destinations have the test.");
    // The relay is asked for them as for a resend, and each is a first message there.
    expect(run.stdout).toMatch(/, test +sent/);
    expect(run.stdout).not.toContain(", resend");
    expect(run.status).toBe(0);
    expect((await outputs()).webhookUrl).toContain(`${PUBLIC_URL}/hooks/`);
    expect(world.chat.messages(deskChat)).toHaveLength(1);
    await expect(fetch(PUBLIC_URL)).rejects.toThrow();
  });

  it("starts no relay with --dry-run, which would send what waits, and says so", async () => {
    const { setup } = await startWithoutRelay();
    const run = await setup(["--dry-run"]);
    expect(run.stderr).toBe("");
    expect(run.stdout).toContain("and --dry-run starts none: the address cannot be proven without one");
    expect(run.status).toBe(1);
  });

  it("changes nothing where another program has its port, and says so", async () => {
    const { outputs, setup, PUBLIC_URL } = await startWithoutRelay();
    const server = createServer((_request, response) => void response.writeHead(404).end("<html>"));
    server.listen(Number(new URL(PUBLIC_URL).port), "127.0.0.1");
    onTestFinished(() => void server.close());
    const run = await setup([]);
    expect(run.status).toBe(1);
    expect(run.stderr).toMatch(/error: relay: another program listens at \S+, where the relay is to be\nhint: .*PORT/);
    expect((await outputs()).webhookUrl).toBeNull();
  });

  it("ends its relay too when it is interrupted", async () => {
    const { outputs, setup, PUBLIC_URL } = await startWithoutRelay();
    const interrupt = new AbortController();
    const stderr = new PassThrough();
    let said = "";
    stderr.on("data", (chunk) => {
      said += chunk;
    });
    const stdout = new PassThrough();
    stdout.on("data", (chunk) => {
      if (String(chunk).includes("relay: running")) interrupt.abort(new AppError("cancelled", "stopped by SIGINT"));
    });
    expect((await setup([], { signal: interrupt.signal, stderr, stdout })).status).toBe(1);
    expect(said).toMatch(
      /The relay that setup ran has ended\.[\s\S]*error: stopped by SIGINT\nhint: {2}the account was not changed/,
    );
    expect((await outputs()).webhookUrl).toBeNull();
    await expect(fetch(PUBLIC_URL)).rejects.toThrow();
  });
});

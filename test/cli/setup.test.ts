import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
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
import { expectWords } from "../support/expect-words.ts";
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
  const account = { ALERTING_URL: sandbox.alertingUrl, ALERTING_API_KEY: sandbox.apiKey };
  const env: Record<string, string> = { DATA_DIR: dataDir, PUBLIC_URL: publicUrl, WEBHOOK_SECRET: secret, ...account };
  const outputs = async () => {
    const { body } = await fixture.call(`${sandbox.alertingUrl}/account`);
    return (body as { data: { alertOutputs: { webhookUrl: string | null; messengerChannelId: string | null } } }).data
      .alertOutputs;
  };
  const { setOutputs } = fixture;
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
    const message = expect.stringContaining("Somebody has changed the webhook's address meanwhile");
    expect(run.json().error).toMatchObject({ code: "conflict", message });
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

  type Step = (world: Awaited<ReturnType<typeof startWorld>>) => Promise<unknown>;

  /** @param words those of stderr where it fails, otherwise of stdout; or what else there is to see of the run */
  const run =
    (line: string, status = 0, words: string | RegExp | object = "", env = {}): Step =>
    async ({ setup }) => {
      const ran = await setup(line === "" ? [] : line.split(" "), env);
      expect(ran.status, `${line}: ${ran.stderr}`).toBe(status);
      const seen = { ...ran, data: line.includes("--json") && ran.json().data };
      if (typeof words === "object" && !(words instanceof RegExp)) expect(seen).toMatchObject(words);
      else expect(status === 0 ? ran.stdout : ran.stderr).toMatch(words);
    };
  /** Somebody else does. */
  const set =
    (webhookUrl: string | null, messengerChannelId: string | null = null): Step =>
    ({ setOutputs }) =>
      setOutputs({ webhookUrl, messengerChannelId });
  const has =
    (webhookUrl: string | null, messengerChannelId: string | null = null): Step =>
    async ({ outputs }) =>
      expect(await outputs()).toEqual({ webhookUrl, messengerChannelId });
  const putFails: Step = async ({ sandbox }) =>
    sandbox.faults.next({ kind: "status", status: 500, route: "PUT /account", times: 1 });
  const keptFile = "outputs-before-setup.json";

  const [first, second, channel] = ["https://other.example/in/1", "https://second.example/in", "-100555"];
  const ofStranger = /sends its alerts to https:\/\/other\.example\/….*not to this relay[\s\S]*--take-over/;
  const isUnknown = /^(?!.*not to this relay).*set PUBLIC_URL/s;
  const nowhere = { data: { result: "dry-run", changed: false, after: { webhookUrl: null } } };
  const off = run("--webhook-off --take-over");
  const unaware = { PUBLIC_URL: "" };
  const since = { stderr: expect.stringContaining("Somebody has changed the account since") };
  const noWord = { stderr: expect.not.stringContaining("did not come to its end") };
  const notFinished = { stderr: expect.stringContaining("did not finish. It changed nothing") };
  const changedNow = { data: { result: "changed", interrupted: { account: "old" } } };
  const unseen = "Whether the account was changed cannot be seen now.";
  const under = { PUBLIC_URL: `${publicUrl}/tocsin`, WEBHOOK_SECRET: "" };
  const isUnder: Step = async ({ outputs }) =>
    expect((await outputs()).webhookUrl).toContain(`${publicUrl}/tocsin/hooks/`);
  const isKept: Step = async ({ dataDir }) => {
    const kept = join(dataDir, keptFile);
    expect(statSync(kept).mode & 0o777).toBe(0o600);
    expect(readFileSync(kept, "utf8")).toContain(first);
  };

  it.each<[string, ...Step[]]>([
    [
      "turns the webhook off, reads back, and is turned on again by the next setup",
      ...[set(null, channel), run(""), run("--webhook-off --dry-run --json", 0, nowhere), has(hookUrl, channel)],
      run("--webhook-off --json", 0, { data: { ...nowhere.data, result: "turned-off", changed: true } }),
      ...[has(null, channel), run("--webhook-off --json", 0, { data: { result: "unchanged" } })],
      run("--channel -1005 --no-channel", 2, "do not go together"),
      run("--webhook-off --no-channel --json", 0, { data: { result: "changed" } }),
      ...[run(""), has(hookUrl)],
    ],
    [
      "turns somebody else's webhook off only when asked to, and puts it back",
      ...[set(first, channel), run("--webhook-off", 1, ofStranger), run("--webhook-off", 1, isUnknown, unaware)],
      ...[has(first, channel), run("--webhook-off --take-over --no-channel", 0, "Undo with: tocsin setup --restore")],
      ...[has(null), run(""), has(hookUrl), run("--restore"), has(first, channel)],
    ],
    [
      "puts back what somebody has set since it was turned off",
      ...[set(first), off, set(second), run("--take-over"), run("--restore"), has(second)],
    ],
    [
      "puts back no webhook where somebody else has turned it off since the last setup",
      ...[set(first), off, run(""), set(null), run(""), run("--restore"), has(null)],
    ],
    [
      "puts back what was there first, also when it is run again",
      ...[set(first), run("--take-over"), run("--channel -100777"), run("--restore"), has(first)],
    ],
    [
      "still knows what was there before --webhook-off when the setup after it was cut off",
      ...[set(first), off, putFails, run("", 1), run("--json", 0, { ...notFinished, ...changedNow })],
      ...[run("--restore"), has(first)],
    ],
    [
      "says that somebody else has changed the account since a run that was cut off, or that it cannot tell",
      ...[putFails, run("", 1), run("", 1, unseen, { ALERTING_URL: "http://127.0.0.1:2" }), set(first)],
      ...[run("--dry-run --take-over", 0, since), run("--take-over", 0, since), run("", 0, noWord)],
    ],
    ["refuses a channel id without - before anything is changed", run("--channel 100777", 2, "-100777"), has(null)],
    [
      "refuses to replace somebody else's address unless asked to, and puts it back with --restore",
      ...[set(first, channel), run("", 1, "--take-over"), has(first, channel), run("--take-over --no-channel")],
      ...[has(hookUrl), isKept, run("--restore --json", 0, { data: { result: "restored" } }), has(first, channel)],
      run("--restore", 1),
    ],
    ...[
      "https://other.example.com/hooks/abcdefghijklmnopqrstuvwx",
      "http://127.0.0.1:10/hooks/abcdefghijklmnopqrstuvwx",
      `${publicUrl}/hook/abc`,
    ].map((url): [string, ...Step[]] => [
      `does not take ${url} for its own`,
      ...[run(""), set(url), run("", 1), run("--webhook-off", 1), run("--restore", 1), has(url)],
    ]),
    [
      "does not restore over an address that somebody has set since, unless asked to",
      ...[run(""), set(first), run("--restore", 1, "--take-over"), has(first)],
      ...[run("--restore --take-over"), has(null)],
    ],
    [
      "does not restore over an address of which nobody can tell whether it is this relay's",
      ...[run(""), run("--restore", 1, "set PUBLIC_URL", unaware), has(hookUrl), set(first)],
      ...[run("--restore", 1, "", unaware), run("--restore --take-over", 0, "", unaware), has(null)],
    ],
    [
      "knows its own hook behind a PUBLIC_URL with a path",
      ...[run("", 0, "", under), run("", 0, "", under), run("--rotate-secret", 0, "", under), isUnder],
    ],
    ["does not rotate a secret that comes from the environment", run("--rotate-secret", 2, "WEBHOOK_SECRET")],
    [
      "keeps what was there before it asks for the change, since nobody knows what becomes of a failed one",
      ...[set(first), putFails, run("--take-over", 1), isKept],
    ],
    [
      "keeps it also before it turns the webhook off",
      ...[set(first), putFails, run("--webhook-off --take-over", 1), isKept],
    ],
  ])("%s", async (_what, ...steps) => {
    const world = await startWorld();
    for (const step of steps) await step(world);
  });

  it("keeps what this account had, not what another one had whose key was here before", async () => {
    const { setup, dataDir } = await startWorld();
    await setup();
    const path = join(dataDir, "outputs-before-setup.json");
    const kept = JSON.parse(readFileSync(path, "utf8"));
    writeFileSync(path, JSON.stringify({ ...kept, accountId: "acc_another" }));
    await setup(["--webhook-off"]);
    const { accountId } = kept;
    expect(JSON.parse(readFileSync(path, "utf8"))).toMatchObject({ accountId, outputs: { webhookUrl: hookUrl } });
  });

  it("takes a channel that it finds for what was meant, so that the relay watches that one", async () => {
    const { setup, setOutputs, dataDir } = await startWorld();
    await setup();
    await setOutputs({ messengerChannelId: "-100777" });
    expect((await setup(["--json"])).json().data).toMatchObject({ result: "unchanged" });
    const registration = JSON.parse(readFileSync(join(dataDir, "registration.json"), "utf8"));
    expect(registration).toMatchObject({ messengerChannelId: "-100777" });
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
});

describe("when the service or the configuration is not right", () => {
  it.each([
    ["a missing key", { ALERTING_API_KEY: "" }, 2, /ALERTING_API_KEY is not set/],
    ["an unreachable service", { ALERTING_URL: "http://127.0.0.1:2" }, 1, /connection refused/],
    ["no public address", { PUBLIC_URL: "" }, 2, /PUBLIC_URL is not set/],
  ])("says %s in one line and changes nothing", async (_name, changes, status, words) => {
    const { setup, outputs } = await startWorld();
    const run = await setup([], changes);
    expect(run.status).toBe(status);
    expect(run.stderr.match(/^error:.*$/gm)).toEqual([expect.stringMatching(words)]);
    expect(run.stderr).not.toMatch(/\n\s+at /);
    expect(await outputs()).toEqual({ webhookUrl: null, messengerChannelId: null });
  });

  it("says that the key has expired", async () => {
    const { setup, sandbox, fixture } = await startWorld();
    sandbox.accounts.setKey(sandbox.apiKey, fixture.now() - 1_000);
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
    const before = { webhookUrl: argv.length > 0 ? "https://other.example/in" : null, messengerChannelId: null };
    const service = await startFakeService(({ method, body }) => {
      const taken = { alertOutputs: { ...before, ...JSON.parse(body || "{}") } };
      return { json: { data: method === "PUT" ? taken : { id: "acc-1", accountName: "Desk", alertOutputs: before } } };
    });
    const run = await setup(argv, { ALERTING_URL: service.url });
    expect(run.status).toBe(1);
    expect(run.stderr).toContain("the webhook's address reads back differently");
    expect(readFileSync(join(dataDir, "outputs-before-setup.json"), "utf8")).toContain("acc-1");
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
    const run = await world.run("setup --take-over --json", { env, ...terminal });
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
    expect((await world.run("setup --dry-run --take-over", { env })).stderr).toBe("");
  });

  it("puts nothing back over what somebody has set while that question stood there", async () => {
    const spoiled = await startSpoiledWorld();
    const { outputs, setOutputs } = spoiled;
    const others = { webhookUrl: "https://third.example/in", messengerChannelId: null };
    const { error } = await answerYes(spoiled, () => setOutputs(others));
    const message = "Somebody has changed the webhook's address meanwhile, so nothing was put back.";
    expect(error).toMatchObject({ code: "conflict", message });
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
    const run = await world.run("setup --take-over --yes", { env });
    expect(run.status).toBe(1);
    expect(run.stdout).toMatch(/Not confirmed\. .* Or undo the change with: tocsin setup --restore\./);
    expect((await outputs()).webhookUrl).toContain(env.PUBLIC_URL);
    await world.run("setup --restore --yes", { env });
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
    expectWords(run.stdout, [`✓ relay: running at ${PUBLIC_URL}, ready`, "3 of 3 destinations have the test."]);
    // The relay is asked for them as for a resend, and each is a first message there.
    expectWords(run.stdout, /, test +sent/, { not: ", resend" });
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
    const stdout = new PassThrough().on("data", (chunk) => {
      if (String(chunk).includes("relay: running")) interrupt.abort(new AppError("cancelled", "stopped by SIGINT"));
    });
    const run = await setup([], { signal: interrupt.signal, stdout });
    expect(run.status).toBe(1);
    const unchanged = /has ended\.[\s\S]*error: stopped by SIGINT\nhint: {2}the account was not changed/;
    expect(run.stderr).toMatch(unchanged);
    expect((await outputs()).webhookUrl).toBeNull();
    await expect(fetch(PUBLIC_URL)).rejects.toThrow();
  });
});

import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import { createServiceSandbox } from "../../workshop/service/service.ts";
import { runTocsin, startProgram } from "../support/cli.ts";
import { createJourneyWorld, deskChat, mailAddress, opsChat } from "../support/journey-world.ts";
import { findLastingPort } from "../support/lasting-port.ts";
import { listenOnLoopback } from "../support/loopback.ts";
import { adminToken, startRelayProcess, webhookSecret } from "../support/relay-process.ts";
import { createScriptedSmtpServer } from "../support/scripted-smtp-server.ts";
import { createSelfSignedCertificate } from "../support/self-signed-certificate.ts";
import { drop, forwardTo, startSpoilingProxy } from "../support/spoiling-proxy.ts";
import { makeTempFolder } from "../support/temp-folder.ts";

const bin = new URL("../../bin/tocsin.js", import.meta.url).pathname;
const secret = webhookSecret;
const thirdChat = "-1001700000003";

/** A relay, two chats, a mailbox and the service, each a server of its own; setup as another process, or in this one. */
async function createSetupWorld() {
  const chats = [deskChat, opsChat, thirdChat].map((id) => ({ id, title: id }));
  const world = await createJourneyWorld({ chat: { chats } });
  const relay = await world.start();
  // Its market stands still: what it alerted about would come between the tests of setup.
  const sandbox = await createServiceSandbox({ now: Date.now, random: () => 0.5, metricCount: 500, tickMs: 0 });
  onTestFinished(() => sandbox.close());
  const account = (init: RequestInit = {}) =>
    fetch(`${sandbox.alertingUrl}/account`, { ...init, headers: { authorization: sandbox.apiKey } });

  const env: NodeJS.ProcessEnv = {
    HOME: world.dataDir,
    ...world.env,
    DATA_DIR: world.dataDir,
    PORT: new URL(relay.url).port,
    WEBHOOK_SECRET: secret,
    ADMIN_TOKEN: adminToken,
    PUBLIC_URL: relay.url,
    ALERTING_URL: sandbox.alertingUrl,
    ALERTING_API_KEY: sandbox.apiKey,
  };

  const spawnSetup = (changes: Record<string, string> = {}, argv: string[] = []) =>
    startProgram([bin, "setup", "--yes", ...argv], { cwd: world.dataDir, env: { ...env, ...changes } });

  return {
    world,
    relay,
    sandbox,
    spawnSetup,
    setup: (changes?: Record<string, string>, argv?: string[]) => spawnSetup(changes, argv).ended,
    /** The same in this process, which starts none. */
    setupHere: (changes: Record<string, string> = {}, argv: string[] = []) =>
      runTocsin(["setup", "--yes", ...argv], {
        env: { ...env, ...changes },
        cwd: world.dataDir,
        now: Date.now,
        sleep: (ms, signal) => delay(ms, undefined, { signal }),
      }),
    async webhookUrl(): Promise<string | null> {
      const { data } = (await (await account()).json()) as { data: { alertOutputs: { webhookUrl: string | null } } };
      return data.alertOutputs.webhookUrl;
    },
    async setWebhookUrl(webhookUrl: string) {
      expect((await account({ method: "PUT", body: JSON.stringify({ webhookUrl }) })).status).toBe(200);
    },
  };
}

it("tocsin setup proves the way, registers the relay, and sends a test to every destination, whatever the routes say", async () => {
  const { world, relay, setup, setupHere, webhookUrl, sandbox } = await createSetupWorld();
  const path = join(world.dataDir, "tocsin.yaml");
  writeFileSync(
    path,
    `
destinations:
  desk: { type: telegram, chatId: "${deskChat}" }
  ops: { type: telegram, chatId: "${opsChat}" }
  mail: { type: email, to: [${mailAddress}] }
routes: [{ name: urgent, match: { severity: critical }, to: [desk, mail] }]
`,
  );
  await relay.stop();
  const own = { TOCSIN_CONFIG: path, TELEGRAM_CHAT_IDS: "", EMAIL_TO: "" };
  const { url } = await world.start(own);
  const here = { ...own, PUBLIC_URL: url, PORT: new URL(url).port };

  const dry = await setupHere(here, ["--dry-run"]);
  expect(dry).toMatchObject({ status: 0, stdout: expect.stringContaining("Nothing was changed (--dry-run).") });
  expect(await webhookUrl()).toBeNull();
  expect(world.chat.messages(deskChat)).toEqual([]);

  const run = await setup(here);
  expect(run).toMatchObject({ stderr: "", status: 0 });
  const lines = run.stdout.split("\n").filter((line) => line.startsWith("✓"));
  expect(lines.map((line) => line.slice(2).split(":")[0])).toEqual([
    ...["configuration", "relay", "destination desk", "destination ops", "destination mail"],
    ...["public URL", "public URL", "public URL", "public URL", "account", "API key"],
  ]);
  expect(run.stdout).toMatch(/✓ API key: expires \S+ \(in \d+ d\)/);
  for (const words of ["3 of 3 destinations have the test.", "Confirmed:"]) expect(run.stdout).toContain(words);
  expect(run.stdout).not.toContain(secret);
  expect(await webhookUrl()).toBe(`${url}/hooks/${secret}`);
  for (const chat of [deskChat, opsChat]) {
    expect(world.chat.messages(chat)).toMatchObject([{ text: expect.stringContaining("Test of the setup") }]);
    expect(world.chat.messages(chat)[0]?.text).not.toContain("Resent");
  }
  expect(world.mailbox.mails(mailAddress)).toHaveLength(1);

  const again = await setupHere(here, ["--json"]);
  expect(JSON.parse(again.stdout).data).toMatchObject({ result: "unchanged", changed: false });
  expect(world.chat.messages(deskChat)).toHaveLength(1);
  expect(JSON.parse((await setupHere(here, ["--restore", "--json"])).stdout).data).toMatchObject({
    result: "restored",
  });
  expect(await webhookUrl()).toBeNull();
  expect(sandbox.faults.pending()).toEqual([]);
});

it("tocsin setup owes another test to the next run when a destination has not got the first", async () => {
  const { world, setupHere, webhookUrl, relay } = await createSetupWorld();
  // A mail that is refused is tried once more in its plain form.
  world.mailbox.faults.next({ stage: "mail", kind: 550, mailbox: mailAddress, times: 2 });
  const run = await setupHere();
  expect(run).toMatchObject({ status: 1, stdout: expect.stringContaining("2 of 3 destinations have the test.") });
  expect(run.stdout).toContain("Not confirmed.");
  expect(await webhookUrl()).toBe(`${relay.url}/hooks/${secret}`);
  expect((await setupHere({}, ["--dry-run"])).stderr).toContain("a test of it is still to be sent");
  const next = await setupHere({}, ["--json"]);
  expect(JSON.parse(next.stdout).data).toMatchObject({ result: "unchanged", confirmed: true });
  expect(world.mailbox.mails(mailAddress)).toHaveLength(1);
  expect((await setupHere()).stderr).toBe("");
});

it("tocsin setup takes an address with TLS that this machine trusts, through a proxy", async () => {
  const { relay, setup, webhookUrl, world } = await createSetupWorld();
  const certificate = createSelfSignedCertificate(Date.now());
  const authority = join(world.dataDir, "authority.pem");
  writeFileSync(authority, certificate.cert);
  const { port } = await listenOnLoopback(createTlsServer(certificate, forwardTo(relay.url)));
  const run = await setup({ PUBLIC_URL: `https://localhost:${port}`, NODE_EXTRA_CA_CERTS: authority });
  expect(run.stderr).toBe("");
  expect(run.stdout).toMatch(/✓ public URL: TLS with a certificate of localhost, good for 364 days/);
  expect(run.status).toBe(0);
  expect(await webhookUrl()).toBe(`https://localhost:${port}/hooks/${secret}`);
});

it("tocsin setup asks the relay behind the public address when none runs here, and says so", async () => {
  const { setupHere, relay } = await createSetupWorld();
  const run = await setupHere({ PORT: String(await findLastingPort()) });
  expect(run.stdout).toMatch(/– relay: none runs on this machine \(\S+\); the one behind \S+ is asked/);
  expect(run.stdout).toContain(`✓ relay: running at ${relay.url}, ready`);
  expect(run.status).toBe(0);
});

/** This answers at the public address. */
const answering =
  (status: number, headers = {}) =>
  async () => ({
    PUBLIC_URL: (
      await listenOnLoopback(createServer((_, response) => void response.writeHead(status, headers).end("<html>")))
    ).url,
  });
const withTls = async () => {
  const { port } = await listenOnLoopback(createTlsServer(createSelfSignedCertificate(Date.now())));
  return { PUBLIC_URL: `https://localhost:${port}` };
};
const withoutTls = async () => ({ PUBLIC_URL: (await answering(200)()).PUBLIC_URL.replace("http:", "https:") });
const redirecting = answering(301, { location: "https://x.y/z" });
const spoiling = async (relay: string) => ({ PUBLIC_URL: await startSpoilingProxy(relay, drop) });
const another = async () => ({ PUBLIC_URL: (await startRelayProcess(makeTempFolder(), {})).url });
const mailServer = (script: Record<string, string>) => async () => {
  const server = await createScriptedSmtpServer({ script });
  return { SMTP_URL: `smtp://desk:wrong-password@127.0.0.1:${server.port}?allowInsecureAuth=true` };
};
const wrongLogin = mailServer({ auth: "535 5.7.8 Authentication failed" });
const wrongSender = mailServer({ mail: "553 5.7.1 Not your address" });
const unknownName = { PUBLIC_URL: "https://no-such-name.invalid" };
const unknownChat = { TELEGRAM_CHAT_IDS: `${deskChat},${opsChat},-1009` };
const moreChats = {
  EMAIL_TO: `${mailAddress},desk@desk.example`,
  TELEGRAM_CHAT_IDS: `${deskChat},${opsChat},${thirdChat}`,
};

type Changes = Record<string, string>;
const cases: [change: Changes | ((relay: string) => Promise<Changes>), words: RegExp][] = [
  [unknownName, /^public URL: the name no-such-name\.invalid (is not known|could not be looked up) \(.+\)$/],
  [withTls, /^public URL: nobody whom this machine trusts vouches for the certificate of localhost:\d+ \(\w+\)$/],
  [withoutTls, /^public URL: what answers at \S+ does not speak TLS as expected \(\w+\)$/],
  [answering(404), /^public URL: something else answers there with 404$/],
  [redirecting, /^public URL: it is redirected \(301 to https:\/\/x\.y\), and senders of webhooks do not follow$/],
  [answering(502), /^public URL: the proxy there does not reach the relay \(502\)$/],
  [spoiling, /^public URL: an alert arrives without its body: 65,536 bytes sent, 0 arrived$/],
  [{ WEBHOOK_SECRET: `another-${secret}` }, /^public URL: a relay answers there, but does not know this secret$/],
  [another, /^public URL: the relay behind \S+ is another one than that at \S+, though both know this secret$/],
  [unknownChat, /^destination telegram:-1009: telegram: .*chat not found/],
  [wrongLogin, /^destination email: email: .*(535|refused)/],
  [wrongSender, /^destination email: email: .*Not your address/],
  [{ ALERTING_API_KEY: "the-key-of-nobody" }, /^alerting: GET \/account answered 401/],
  [{ ADMIN_TOKEN: `another-${adminToken}` }, /^relay: the relay at \S+ does not take the admin token of ADMIN_TOKEN$/],
  [moreChats, /^destination \S+0003: the configuration here has it, and the relay that runs does not$/],
];

it("a stage that fails stops setup before the PUT, in one line: whichever it is", async () => {
  const { setup, setupHere, sandbox, world, relay } = await createSetupWorld();
  // Still there afterwards: no PUT has come.
  sandbox.faults.next({ kind: "delay", delayMs: 0, route: "PUT /account", times: 1 });
  for (const [index, [change, words]] of cases.entries()) {
    const name = String(words);
    const run = await (index === 0 ? setup : setupHere)(
      typeof change === "function" ? await change(relay.url) : change,
    );
    const [error = "", ...rest] = run.stderr.trimEnd().split(/\n(?=hint:)/);
    expect.soft([run.status, error.split(/^error: /m).length], name).toEqual([1, 2]);
    expect.soft(error.replace(/^error: /, ""), name).toMatch(words);
    expect.soft(rest.join(), name).toMatch(/^hint: {2}\S/);
    for (const canary of [secret, adminToken, "wrong-password", "the-key-of-nobody", "another-"])
      expect.soft(run.stdout + run.stderr, name).not.toContain(canary);
    expect.soft([sandbox.faults.pending().length, world.chat.messages(deskChat)], name).toEqual([1, []]);
  }
});

it("a stage that fails stops setup before the PUT, in one line, but for --skip-proof, which says loudly that nobody has looked", async () => {
  const { setupHere, webhookUrl } = await createSetupWorld();
  const run = await setupHere({ PUBLIC_URL: "https://no-such-name.invalid" }, ["--skip-proof"]);
  expect(run).toMatchObject({ status: 0, stderr: expect.stringMatching(/^WARNING: --skip-proof: /) });
  expect(await webhookUrl()).toBe(`https://no-such-name.invalid/hooks/${secret}`);
});

it("a stage that fails stops setup before the PUT, in one line, and all that is wrong is said by --dry-run, beside what would change", async () => {
  const { setupHere } = await createSetupWorld();
  const changes = { TELEGRAM_CHAT_IDS: `${deskChat},-1009`, PUBLIC_URL: `http://127.0.0.1:${await findLastingPort()}` };
  const run = await setupHere(changes, ["--dry-run"]);
  expect(run).toMatchObject({ status: 1, stdout: expect.stringMatching(/✗ destination telegram:-1009: .*\n {4}→ /) });
  expect(run.stdout).toMatch(
    /✗ public URL: nothing answers there from this machine \(connection refused\)\n {4}→ start the relay/,
  );
  expect(run.stdout).toMatch(/webhook +none +http:\/\/127\.0\.0\.1:\d+\/hooks\/\*\*\*/);
  expect(run.stdout).toContain("setup would stop at what is marked ✗");
});

/** Ways to several servers, each through a port of its own, of which one kind of request is held. */
function createGate(isHeld: (request: string) => boolean, when: "before" | "after") {
  let reach = () => {};
  const reached = new Promise<void>((resolve) => {
    reach = resolve;
  });
  return {
    /** A request is held: nothing goes on until the test says so. */
    reached,
    async open(target: string): Promise<string> {
      const hold = async (what: string, moment: "before" | "after") => {
        if (moment !== when || !isHeld(what)) return;
        reach();
        await new Promise(() => {});
      };
      return (await listenOnLoopback(createServer(forwardTo(target, undefined, hold)))).url;
    },
  };
}

/** The nth request that matches. */
function nth(pattern: RegExp, count = 1): (what: string) => boolean {
  let seen = 0;
  return (what) => {
    if (pattern.test(what)) seen += 1;
    return pattern.test(what) && seen === count;
  };
}

/** Setup ends by this signal when it has reached the gate. */
async function endAtGate(
  { child, ended }: ReturnType<typeof startProgram>,
  reached: Promise<void>,
  signal: NodeJS.Signals,
) {
  expect(await Promise.race([reached, ended])).toBeUndefined();
  child.kill(signal);
  return ended;
}

const steps: [string, (what: string) => boolean, "before" | "after", "old" | "new"][] = [
  ["has read the account", nth(/^GET \/alerting\/account/), "after", "old"],
  ["asks for the change", nth(/^PUT /), "before", "old"],
  ["has changed the account", nth(/^PUT /), "after", "new"],
  ["has read back", nth(/^GET \/alerting\/account/, 2), "after", "new"],
  ["has sent the test", nth(/^POST \/hooks\//, 2), "after", "new"],
];

it("setup that is cut off by SIGKILL around the change leaves the account old or new, and the next run says which", async () => {
  const { world, relay, sandbox, spawnSetup, setupHere, webhookUrl, setWebhookUrl } = await createSetupWorld();
  const former = "https://other.example/in";
  await setWebhookUrl(former);
  for (const [name, isHeld, when, state] of steps) {
    const gate = createGate(isHeld, when);
    const [alerting, publicUrl, telegram] = await Promise.all(
      [new URL(sandbox.alertingUrl).origin, relay.url, world.chat.url].map((target) => gate.open(target)),
    );
    const own = { PUBLIC_URL: publicUrl ?? "" };
    const gated = { ...own, ALERTING_URL: `${alerting}/alerting`, TELEGRAM_API_ROOT: telegram ?? "" };
    await endAtGate(spawnSetup(gated, ["--take-over"]), gate.reached, "SIGKILL");
    const wanted = `${publicUrl}/hooks/${secret}`;
    expect(await webhookUrl(), name).toBe(state === "old" ? former : wanted);

    const words = state === "old" ? "the account has what it had before" : "The account has its change";
    const next = await setupHere(own, ["--take-over", "--json"]);
    expect(next.stderr, name).toContain(words);
    expect(next.json().data, name).toMatchObject({
      result: state === "old" ? "changed" : "unchanged",
      confirmed: true,
      interrupted: { account: state },
    });
    expect(await webhookUrl(), name).toBe(wanted);
    expect((await setupHere(own)).stderr, name).toBe("");
    await setupHere(own, ["--restore"]);
    expect(await webhookUrl(), name).toBe(former);
  }
});

it("setup that is cut off by SIGKILL while --restore asks for the change or has made it can be told and run again", async () => {
  const { sandbox, spawnSetup, setupHere, webhookUrl, setWebhookUrl } = await createSetupWorld();
  const former = "https://other.example/in";
  await setWebhookUrl(former);
  for (const [when, state] of [
    ["before", "old"],
    ["after", "new"],
  ] as const) {
    await setupHere({}, ["--skip-proof", "--take-over"]);
    const registered = await webhookUrl();
    const gate = createGate(nth(/^PUT /), when);
    const alerting = await gate.open(new URL(sandbox.alertingUrl).origin);
    await endAtGate(spawnSetup({ ALERTING_URL: `${alerting}/alerting` }, ["--restore"]), gate.reached, "SIGKILL");
    expect(await webhookUrl()).toBe(state === "old" ? registered : former);
    const next = await setupHere({}, ["--restore", "--json"]);
    expect(next.stderr).toMatch(state === "old" ? /It changed nothing/ : /The account has its change\.\n/);
    expect(next.json().data).toMatchObject({ interrupted: { account: state } });
    expect(await webhookUrl()).toBe(former);
  }
});

it("setup that is cut off by Ctrl-C says what it leaves, before the change and after it", async () => {
  const { relay, sandbox, spawnSetup, setup, webhookUrl } = await createSetupWorld();
  for (const [pattern, words] of [
    [/^GET \/hooks\/proof\./, /^error: stopped by SIGINT\n/],
    [
      /^POST \/hooks\/journey/,
      /^error: Stopped: the account has the change, read back; only the test was not awaited\.\n/,
    ],
  ] as const) {
    const gate = createGate(nth(pattern), "before");
    const publicUrl = await gate.open(relay.url);
    const run = spawnSetup({ PUBLIC_URL: publicUrl }, ["--take-over"]);
    expect(await endAtGate(run, gate.reached, "SIGINT")).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(words),
    });
    const isChanged = (await webhookUrl()) === `${publicUrl}/hooks/${secret}`;
    expect(isChanged).toBe(pattern.source.includes("POST"));
    if (isChanged)
      expect((await setup({ PUBLIC_URL: publicUrl }, ["--dry-run"])).stderr).toContain("The account has its change");
  }
  expect(sandbox.faults.pending()).toEqual([]);
});

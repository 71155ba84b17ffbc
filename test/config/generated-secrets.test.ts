import { chmod, mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import {
  followSecrets,
  forgetPreviousSecrets,
  type HookSecrets,
  loadOrCreateSecrets,
  loadSourceSecrets,
  rotateSecret,
  type SecretName,
  secretRecord,
} from "../../src/config/generated-secrets.ts";
import { silentLog } from "../../src/core/log.ts";
import { Secret } from "../../src/core/secret.ts";
import { keptFiles } from "../../src/store/kept-files.ts";
import { runDuty } from "../support/run-duty.ts";
import { makeTempFolder } from "../support/temp-folder.ts";
import { createTestClock } from "../support/test-clock.ts";

let folder: string;
let dataDir: string;

beforeEach(() => {
  folder = makeTempFolder();
  dataDir = join(folder, "data");
});

const files = () => keptFiles(dataDir);
const placeOf = (name: SecretName) => files().placeOf(secretRecord(name));
const create = () => loadOrCreateSecrets(files(), {});
const modeOf = async (path: string): Promise<number> => (await stat(path)).mode & 0o777;

test("makes both, of 256 bits each, and keeps them over a restart", async () => {
  const both = ({ webhookSecret, adminToken }: Awaited<ReturnType<typeof create>>) =>
    [webhookSecret, adminToken].map((secret) => secret.reveal());
  const first = await create();
  expect(first.created).toEqual(["webhook-secret", "admin-token"]);
  for (const secret of both(first)) expect(secret).toMatch(/^[A-Za-z0-9_-]{43}$/);
  expect(new Set(both(first)).size).toBe(2);
  const second = await create();
  expect([second.created, both(second)]).toEqual([[], both(first)]);
});

test("nobody else can read them, also after a restore has loosened it, and nothing half-written stays behind", async () => {
  for (let start = 0; start < 2; start += 1) {
    await create();
    expect(await modeOf(join(dataDir, "secrets"))).toBe(0o700);
    expect((await readdir(join(dataDir, "secrets"))).sort()).toEqual(["admin-token", "webhook-secret"]);
    for (const name of ["admin-token", "webhook-secret"] as const) {
      expect(await modeOf(placeOf(name))).toBe(0o600);
      await chmod(placeOf(name), 0o644);
    }
  }
});

test("what is given is used and not written down", async () => {
  const given = { webhookSecret: new Secret("given-hook"), adminToken: new Secret("given-admin") };
  const secrets = await loadOrCreateSecrets(files(), given);
  expect(secrets.webhookSecret.reveal()).toBe("given-hook");
  expect(secrets.adminToken.reveal()).toBe("given-admin");
  expect(secrets.created).toEqual([]);
  await expect(stat(dataDir)).rejects.toThrow();
});

test("rotation replaces one and leaves the other", async () => {
  const before = await create();
  const rotated = await rotateSecret(files(), "webhook-secret");
  const after = await create();
  expect(rotated.reveal()).not.toBe(before.webhookSecret.reveal());
  expect(after.webhookSecret.reveal()).toBe(rotated.reveal());
  expect(after.adminToken.reveal()).toBe(before.adminToken.reveal());
  expect(await modeOf(placeOf("webhook-secret"))).toBe(0o600);
});

test.each(["", "short", "canary canary canary canary canary"])(
  "a kept file with %j is refused with its path, never replaced and never shown",
  async (content) => {
    const path = placeOf("webhook-secret");
    await mkdir(join(dataDir, "secrets"), { recursive: true });
    await writeFile(path, content);
    const error = await create().catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "config_invalid", message: expect.stringContaining(path) });
    expect(String(error)).not.toContain("canary");
    expect(await readFile(path, "utf8")).toBe(content);
  },
);

test("a folder that cannot be made is refused with its path", async () => {
  await writeFile(join(folder, "data"), "a file stands where the folder belongs");
  await expect(create()).rejects.toMatchObject({ code: "config_invalid", message: expect.stringContaining(dataDir) });
});

const textsOf = (secrets: HookSecrets) => secrets.map((secret) => secret.reveal());

/** Follows the secrets of a hook as a relay does; `look` lets it look once more, a second later. */
async function follow(name: SecretName, known: HookSecrets, errors: string[] = []) {
  const clock = createTestClock();
  const handed: string[][] = [];
  let looks = 0;
  const sleep: typeof clock.sleep = (ms, signal) => {
    looks += 1;
    return clock.sleep(ms, signal);
  };
  const log = { ...silentLog, error: (event: string) => errors.push(event) };
  const take = (_name: string, secrets: HookSecrets) => handed.push(textsOf(secrets));
  const poll = followSecrets(files(), new Map([[name, known]]), take, { clock: { ...clock, sleep }, log });
  runDuty(poll);
  /** Reading a file takes as many turns as it takes, and the clock stands still meanwhile. */
  const hasLooked = async (times: number) => {
    while (looks < times) await clock.settle();
  };
  await hasLooked(1);
  const look = async () => {
    const before = looks;
    await clock.advance(1_000);
    await hasLooked(before + 1);
  };
  return { handed, look };
}

test("a rotated secret is handed over within a second, and one that cannot be used never is", async () => {
  const { webhookSecret } = await create();
  const errors: string[] = [];
  const { handed, look } = await follow("webhook-secret", [webhookSecret], errors);
  const first = webhookSecret.reveal();
  const second = (await rotateSecret(files(), "webhook-secret")).reveal();
  await look();
  expect(handed).toEqual([[second, first]]);
  await writeFile(placeOf("webhook-secret"), "short");
  await look();
  expect(errors).toEqual(["hook.secret_unread"]);
  const third = (await rotateSecret(files(), "admin-token")).reveal();
  await writeFile(placeOf("webhook-secret"), third);
  await look();
  expect(handed).toEqual([
    [second, first],
    [third, first],
  ]);
  expect(errors).toEqual(["hook.secret_unread"]);
});

test("a source that was given no secret gets one that is kept", async () => {
  const given = new Secret("given-hook-secret-kS93jdLwm2Pz");
  const sources = [{ name: "forge" }, { name: "other", secret: given }];
  const { sourceSecrets, webhookSecret } = await loadOrCreateSecrets(files(), { sources });
  expect(sourceSecrets.get("other")).toEqual([given]);
  const path = placeOf("source-forge");
  const forge = sourceSecrets.get("forge")?.[0].reveal();
  expect(await readFile(path, "utf8")).toBe(`${forge}\n`);
  expect(await modeOf(path)).toBe(0o600);
  expect(forge).not.toBe(webhookSecret.reveal());
  expect((await loadSourceSecrets(files(), sources)).get("forge")?.[0].reveal()).toBe(forge);
});

test("the former secrets of a source are known until they are forgotten, and a relay that runs follows both", async () => {
  const sources = [{ name: "forge" }, { name: "given", secret: new Secret("given-hook-secret-kS93jdLwm2Pz") }];
  const secretsOf = async (name: string) => (await loadSourceSecrets(files(), sources)).get(name) as HookSecrets;
  const known = await secretsOf("forge");
  const { handed, look } = await follow("source-forge", known);
  const first = known[0].reveal();
  const second = (await rotateSecret(files(), "source-forge")).reveal();
  await look();
  expect(textsOf(await secretsOf("forge"))).toEqual([second, first]);
  expect(textsOf(await secretsOf("given"))).toEqual(["given-hook-secret-kS93jdLwm2Pz"]);
  await forgetPreviousSecrets(files(), "source-forge");
  await look();
  expect(handed).toEqual([[second, first], [second]]);
});

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
  secretRecord,
} from "../../src/config/generated-secrets.ts";
import { silentLog } from "../../src/core/log.ts";
import { Secret } from "../../src/core/secret.ts";
import { keptFiles } from "../../src/store/kept-files.ts";
import { makeTempFolder } from "../support/temp-folder.ts";
import { createTestClock } from "../support/test-clock.ts";

let folder: string;
let dataDir: string;

beforeEach(() => {
  folder = makeTempFolder();
  dataDir = join(folder, "data");
});

const modeOf = async (path: string): Promise<number> => (await stat(path)).mode & 0o777;

test("makes both, of 256 bits each, and keeps them over a restart", async () => {
  const first = await loadOrCreateSecrets(keptFiles(dataDir), {});
  expect(first.created).toEqual(["webhook-secret", "admin-token"]);
  expect(first.webhookSecret.reveal()).toMatch(/^[A-Za-z0-9_-]{43}$/);
  expect(first.adminToken.reveal()).toMatch(/^[A-Za-z0-9_-]{43}$/);
  expect(first.adminToken.reveal()).not.toBe(first.webhookSecret.reveal());

  const second = await loadOrCreateSecrets(keptFiles(dataDir), {});
  expect(second.created).toEqual([]);
  expect(second.webhookSecret.reveal()).toBe(first.webhookSecret.reveal());
  expect(second.adminToken.reveal()).toBe(first.adminToken.reveal());
});

test("nobody else can read them, and nothing half-written stays behind", async () => {
  await loadOrCreateSecrets(keptFiles(dataDir), {});
  expect(await modeOf(join(dataDir, "secrets"))).toBe(0o700);
  expect((await readdir(join(dataDir, "secrets"))).sort()).toEqual(["admin-token", "webhook-secret"]);
  expect(await modeOf(keptFiles(dataDir).placeOf(secretRecord("admin-token")))).toBe(0o600);
  expect(await modeOf(keptFiles(dataDir).placeOf(secretRecord("webhook-secret")))).toBe(0o600);
});

test("a mode that a restore has loosened is tightened again", async () => {
  await loadOrCreateSecrets(keptFiles(dataDir), {});
  await chmod(keptFiles(dataDir).placeOf(secretRecord("admin-token")), 0o644);
  await loadOrCreateSecrets(keptFiles(dataDir), {});
  expect(await modeOf(keptFiles(dataDir).placeOf(secretRecord("admin-token")))).toBe(0o600);
});

test("what is given is used and not written down", async () => {
  const given = { webhookSecret: new Secret("given-hook"), adminToken: new Secret("given-admin") };
  const secrets = await loadOrCreateSecrets(keptFiles(dataDir), given);
  expect(secrets.webhookSecret.reveal()).toBe("given-hook");
  expect(secrets.adminToken.reveal()).toBe("given-admin");
  expect(secrets.created).toEqual([]);
  await expect(stat(dataDir)).rejects.toThrow();
});

test("processes that start together agree on one secret", async () => {
  const all = await Promise.all(Array.from({ length: 8 }, () => loadOrCreateSecrets(keptFiles(dataDir), {})));
  expect(new Set(all.map((secrets) => secrets.webhookSecret.reveal())).size).toBe(1);
  expect(all.filter((secrets) => secrets.created.includes("webhook-secret"))).toHaveLength(1);
  expect(await readdir(join(dataDir, "secrets"))).toHaveLength(2);
});

test("rotation replaces one and leaves the other", async () => {
  const before = await loadOrCreateSecrets(keptFiles(dataDir), {});
  const rotated = await rotateSecret(keptFiles(dataDir), "webhook-secret");
  const after = await loadOrCreateSecrets(keptFiles(dataDir), {});
  expect(rotated.reveal()).not.toBe(before.webhookSecret.reveal());
  expect(after.webhookSecret.reveal()).toBe(rotated.reveal());
  expect(after.adminToken.reveal()).toBe(before.adminToken.reveal());
  expect(await modeOf(keptFiles(dataDir).placeOf(secretRecord("webhook-secret")))).toBe(0o600);
});

test.each(["", "short", "canary canary canary canary canary"])(
  "a kept file with %j is refused with its path, never replaced and never shown",
  async (content) => {
    const path = keptFiles(dataDir).placeOf(secretRecord("webhook-secret"));
    await mkdir(join(dataDir, "secrets"), { recursive: true });
    await writeFile(path, content);
    const error = await loadOrCreateSecrets(keptFiles(dataDir), {}).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "config_invalid", message: expect.stringContaining(path) });
    expect(String(error)).not.toContain("canary");
    expect(await readFile(path, "utf8")).toBe(content);
  },
);

test("a folder that cannot be made is refused with its path", async () => {
  await writeFile(join(folder, "data"), "a file stands where the folder belongs");
  await expect(loadOrCreateSecrets(keptFiles(dataDir), {})).rejects.toMatchObject({
    code: "config_invalid",
    message: expect.stringContaining(dataDir),
  });
});

test("a rotated secret is handed over within a second, and one that cannot be used never is", async () => {
  const { webhookSecret } = await loadOrCreateSecrets(keptFiles(dataDir), {});
  const clock = createTestClock();
  const handed: string[][] = [];
  const errors: string[] = [];
  const log = { ...silentLog, error: (event: string) => errors.push(event) };
  let looks = 0;
  const sleep: typeof clock.sleep = (ms, signal) => {
    looks += 1;
    return clock.sleep(ms, signal);
  };
  const poll = followSecrets(
    keptFiles(dataDir),
    new Map([["webhook-secret", [webhookSecret]]]),
    (_name, secrets) => handed.push(secrets.map((secret) => secret.reveal())),
    { clock: { ...clock, sleep }, log },
  );
  const stop = new AbortController();
  const running = poll.run(stop.signal);
  /** Reading a file takes as many turns as it takes, and the clock stands still meanwhile. */
  const hasLooked = async (times: number) => {
    while (looks < times) await clock.settle();
  };
  const lookWithinASecond = async () => {
    const before = looks;
    await clock.advance(1_000);
    await hasLooked(before + 1);
  };
  await hasLooked(1);

  const second = (await rotateSecret(keptFiles(dataDir), "webhook-secret")).reveal();
  await lookWithinASecond();
  const first = webhookSecret.reveal();
  expect(handed).toEqual([[second, first]]);
  await writeFile(keptFiles(dataDir).placeOf(secretRecord("webhook-secret")), "short");
  await lookWithinASecond();
  expect(errors).toEqual(["hook.secret_unread"]);
  const third = (await rotateSecret(keptFiles(dataDir), "admin-token")).reveal();
  await writeFile(keptFiles(dataDir).placeOf(secretRecord("webhook-secret")), third);
  await lookWithinASecond();
  expect(handed).toEqual([
    [second, first],
    [third, first],
  ]);
  expect(errors).toEqual(["hook.secret_unread"]);
  stop.abort();
  await running;
});

test("a source that was given no secret gets one that is kept", async () => {
  const given = new Secret("given-hook-secret-kS93jdLwm2Pz");
  const sources = [{ name: "forge" }, { name: "other", secret: given }];
  const { sourceSecrets, webhookSecret } = await loadOrCreateSecrets(keptFiles(dataDir), { sources });
  expect(sourceSecrets.get("other")).toEqual([given]);
  const path = keptFiles(dataDir).placeOf(secretRecord("source-forge"));
  const forge = sourceSecrets.get("forge")?.[0].reveal();
  expect(await readFile(path, "utf8")).toBe(`${forge}\n`);
  expect(await modeOf(path)).toBe(0o600);
  expect(forge).not.toBe(webhookSecret.reveal());
  expect((await loadSourceSecrets(keptFiles(dataDir), sources)).get("forge")?.[0].reveal()).toBe(forge);
});

test("the former secrets of a source are known until they are forgotten, and a relay that runs follows both", async () => {
  const sources = [{ name: "forge" }, { name: "given", secret: new Secret("given-hook-secret-kS93jdLwm2Pz") }];
  const load = async () => loadSourceSecrets(keptFiles(dataDir), sources);
  const textsOf = (secrets: HookSecrets = [new Secret("none")]) => secrets.map((secret) => secret.reveal());
  const known = await load();
  const first = known.get("forge")?.[0].reveal();
  const clock = createTestClock();
  const seen: string[][] = [];
  const poll = followSecrets(
    keptFiles(dataDir),
    new Map([["source-forge", known.get("forge") as HookSecrets]]),
    (_name, secrets) => seen.push(textsOf(secrets)),
    { clock, log: silentLog },
  );
  const stop = new AbortController();
  const running = poll.run(stop.signal);
  const looksUntil = async (count: number) => {
    while (seen.length < count) await clock.advance(1_000);
  };

  const second = (await rotateSecret(keptFiles(dataDir), "source-forge")).reveal();
  await looksUntil(1);
  expect(textsOf((await load()).get("forge"))).toEqual([second, first]);
  expect(textsOf((await load()).get("given"))).toEqual(["given-hook-secret-kS93jdLwm2Pz"]);
  await forgetPreviousSecrets(keptFiles(dataDir), "source-forge");
  await looksUntil(2);
  // Between the two steps of a rotation the same one may have been seen twice.
  expect(seen.map((taken) => [...new Set(taken)]).filter((taken) => taken[0] !== first)).toEqual([
    [second, first],
    [second],
  ]);
  stop.abort();
  await running;
});

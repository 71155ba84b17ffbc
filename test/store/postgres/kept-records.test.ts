import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { registrationRecord } from "../../../src/config/account-records.ts";
import { forgetPreviousSecrets, loadOrCreateSecrets, rotateSecret } from "../../../src/config/generated-secrets.ts";
import type { KeptRecords } from "../../../src/core/ports/kept-records.ts";
import { Secret } from "../../../src/core/secret.ts";
import { keptFiles } from "../../../src/store/kept-files.ts";
import { openKeptRecords } from "../../../src/store/postgres/store.ts";
import { withKept } from "../../../src/store/with-kept.ts";
import { makePostgresDatabase, postgresDatabaseOf, runSql } from "../../support/postgres.ts";
import { makeTempFolder } from "../../support/temp-folder.ts";

async function openPostgres(folder: string): Promise<KeptRecords> {
  const { kept, close } = await openKeptRecords({ url: await postgresDatabaseOf(folder) });
  onTestFinished(close);
  return kept;
}

const drivers: [string, (folder: string) => Promise<KeptRecords>][] = [
  ["files", async (folder) => keptFiles(folder)],
  ["PostgreSQL", openPostgres],
];

const name = "secrets/webhook-secret";

describe.each(drivers)("records in %s", (_name, open) => {
  it("are there for whoever opens them next, until they are removed", async () => {
    const folder = makeTempFolder();
    const one = await open(folder);
    expect(await one.read(name, "registration.json")).toEqual([undefined, undefined]);
    await one.write("registration.json", "{}\n");
    await one.write(name, "first\n");
    await one.write(name, "second\n");
    const other = await open(folder);
    expect(await other.read("registration.json", "setup-run.json", name)).toEqual(["{}\n", undefined, "second\n"]);
    expect(await other.list()).toEqual(["registration.json", name]);
    await other.write(name, undefined);
    await other.write(name, undefined);
    expect(await one.read(name)).toEqual([undefined]);
    expect(await one.list()).toEqual(["registration.json"]);
  });

  it("change as one has seen them, or not at all", async () => {
    const kept = await open(makeTempFolder());
    const made = { name, from: undefined, to: "1" };
    expect(await kept.change([made])).toBe(true);
    expect(await kept.change([made])).toBe(false);
    const other = { name: `${name}.previous`, from: undefined, to: "1" };
    expect(await kept.change([{ name, from: "0", to: "2" }, other])).toBe(false);
    expect(await kept.read(name, other.name)).toEqual(["1", undefined]);
    expect(await kept.change([other, { name, from: "1", to: "2" }])).toBe(true);
    expect(await kept.read(name, other.name)).toEqual(["2", "1"]);
    const isGone = [
      { name, from: undefined, to: undefined },
      { ...other, from: "1", to: "3" },
    ];
    expect(await kept.change(isGone)).toBe(false);
    expect(await kept.change([{ name, from: "1", to: undefined }])).toBe(false);
    expect(await kept.change([{ name, from: "2", to: undefined }])).toBe(true);
    expect(await kept.change(isGone)).toBe(true);
    expect(await kept.read(name, other.name)).toEqual([undefined, "3"]);
  });

  it("tell whoever follows one that it has changed, and not of others", async () => {
    const folder = makeTempFolder();
    const [kept, other] = [await open(folder), await open(folder)];
    await other.write("registration.json", "1");
    const changed = vi.fn();
    const unfollow = registrationRecord(kept).follow(changed);
    onTestFinished(unfollow);
    await other.write("setup-run.json", "1");
    // It is known from the first time that it was looked at on.
    let written = Promise.resolve();
    const writes = setInterval(() => {
      written = written.then(() => other.write("registration.json", String(Math.random())));
    }, 200);
    await expect.poll(() => changed.mock.calls.length, { interval: 5 }).toBeGreaterThan(0);
    unfollow();
    clearInterval(writes);
    await written;
    expect(changed).toHaveBeenCalledTimes(1);
  });

  it("are one set of secrets for all who start at once", async () => {
    const folder = makeTempFolder();
    const sources = [{ name: "forge" }, { name: "desk" }];
    const load = async () => loadOrCreateSecrets(await open(folder), { sources });
    const all = await Promise.all([load(), load(), load(), load()]);
    const texts = all.map(({ webhookSecret, adminToken, sourceSecrets }) =>
      [webhookSecret, adminToken, ...[...sourceSecrets.values()].flat()].map((secret) => secret.reveal()).join(" "),
    );
    expect(new Set(texts).size).toBe(1);
    expect(new Set(texts[0]?.split(" ")).size).toBe(4);
    expect(all.flatMap(({ created }) => created).sort()).toEqual(["admin-token", "webhook-secret"]);
  });

  it("hold what setup has registered, and nothing that is damaged", async () => {
    const kept = await open(makeTempFolder());
    const registration = { accountId: "a1", publicUrl: "https://relay.example", at: 1_700_000_000_000 };
    const [own, ofSource] = [registrationRecord(kept), registrationRecord(kept, "forge")];
    await own.write(registration);
    await ofSource.write({ ...registration, accountId: "a2" });
    expect([await own.read(), (await ofSource.read())?.accountId]).toEqual([registration, "a2"]);
    await kept.write("registration.json", "{");
    expect(await own.read()).toBeUndefined();
    await ofSource.remove();
    expect(await ofSource.read()).toBeUndefined();
  });
});

it("in PostgreSQL, of several rotations at once none loses a secret that somebody was given", async () => {
  const folder = makeTempFolder();
  const all = await Promise.all(Array.from({ length: 4 }, () => openPostgres(folder)));
  const { webhookSecret } = await loadOrCreateSecrets(all[0] as KeptRecords, {});
  const rotated = await Promise.all(all.map((kept) => rotateSecret(kept, "webhook-secret")));
  const after = await loadOrCreateSecrets(all[1] as KeptRecords, {});
  const taken = [after.webhookSecret, ...after.previousWebhookSecrets].map((secret) => secret.reveal());
  expect(new Set(taken)).toEqual(new Set([webhookSecret, ...rotated].map((secret) => secret.reveal())));
});

it("in PostgreSQL no error repeats a secret, nor the password of the database", async () => {
  const url = await makePostgresDatabase();
  const { kept, close } = await openKeptRecords({ url: url.replace("@", ":canary-password@") });
  onTestFinished(close);
  await kept.write(name, "canary short");
  const error = await loadOrCreateSecrets(kept, {}).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: "config_invalid", message: expect.stringContaining(`${name} in PostgreSQL`) });
  expect(`${error} ${(error as { hint: string }).hint}`).not.toContain("canary");
});

const placeOf = (dataDir: string, url: string) => ({ dataDir, databaseUrl: new Secret(url) });
const load = (folder: string, url: string) =>
  withKept(placeOf(folder, url), (kept) => loadOrCreateSecrets(kept, {}), { isExisting: false });

it("what lies in the folder of a relay that goes to PostgreSQL is taken over by the first, and what was forgotten since does not come back", async () => {
  const folder = makeTempFolder();
  const files = keptFiles(folder);
  const { adminToken } = await loadOrCreateSecrets(files, {});
  const hook = await rotateSecret(files, "webhook-secret");
  writeFileSync(join(folder, "secrets", "notes.txt"), "not Tocsin's");
  const url = await postgresDatabaseOf(folder);
  const taken = await load(folder, url);
  expect([taken.adminToken.reveal(), taken.webhookSecret.reveal()]).toEqual([adminToken.reveal(), hook.reveal()]);
  expect(taken.previousWebhookSecrets).toHaveLength(1);
  expect(taken.created).toEqual([]);
  const names = ["admin-token", "webhook-secret", "webhook-secret.previous"].map((secret) => `secrets/${secret}`);
  const kept = await runSql(url, "SELECT name FROM kept_records ORDER BY name");
  expect(kept).toEqual(names.map((one) => ({ name: one })));
  await withKept(placeOf(folder, url), (kept) => forgetPreviousSecrets(kept, "webhook-secret"));
  expect((await load(folder, url)).previousWebhookSecrets).toEqual([]);
  expect((await load(makeTempFolder(), url)).webhookSecret.reveal()).toBe(hook.reveal());
});

it("what lies in the folder of a relay that goes to PostgreSQL stays as it is", async () => {
  const folder = makeTempFolder();
  mkdirSync(join(folder, "secrets"), { mode: 0o700 });
  writeFileSync(join(folder, "secrets", "admin-token"), "canary-admin-token-9f3b1c77aa\n", { mode: 0o600 });
  await load(folder, await postgresDatabaseOf(folder));
  expect(readdirSync(join(folder, "secrets"))).toEqual(["admin-token"]);
  expect(readFileSync(join(folder, "secrets", "admin-token"), "utf8")).toBe("canary-admin-token-9f3b1c77aa\n");
  expect(statSync(join(folder, "secrets")).mode & 0o777).toBe(0o700);
});

import * as files from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { IncomingRequest } from "../../../src/core/ports/inbox.ts";
import { SpoolFile } from "../../../src/store/spool/spool-file.ts";
import { withSqlite } from "../../../src/store/sqlite/sqlite-library.ts";
import { packCalls } from "../../../src/store/sqlite/thread-protocol.ts";
import { request } from "../../conformance/store/scene-samples.ts";
import { idsOf, openTestSpoolDatabase as open } from "../../support/spool.ts";
import { makeTempFolder } from "../../support/temp-folder.ts";

const { chmodSync, closeSync, existsSync, openSync, readdirSync, rmSync, statSync, writeFileSync, writeSync } = files;

const pathOf = (dir: string) => join(dir, "spool.db");
const several = (count: number, changes = {}) => Array.from({ length: count }, () => request(changes));
const keptAside = (dir: string) => readdirSync(dir).filter((name) => /before-damage-\w+$/.test(name));
const handOver = (taken: { done(): void }[]) => {
  for (const one of taken) one.done();
};

it("the database of a spool gives back what was put there, byte for byte and in order, also to the next process", async () => {
  const dir = join(makeTempFolder(), "deep", "spool");
  const large = [7, 8].map((byte) => Buffer.alloc(3_000_000, byte));
  const bodies = [Buffer.alloc(0), Buffer.from([0, 10, 255, 92]), ...large, Buffer.from("é\ud800 ü", "utf16le")];
  const sent = bodies.map((body, index) =>
    request({ body, contentType: "a\0b", dedupeKey: `k\ud800${index}`, source: "Git", headers: '[["x","\\u0000"]]' }),
  );
  sent.push(request({ contentType: undefined, ids: ["a", "b", "c"] }));
  const first = await open(dir);
  await Promise.all(sent.map(first.append));
  expect(statSync(dir).mode & 0o777).toBe(0o700);
  for (const name of readdirSync(dir)) expect(statSync(join(dir, name)).mode & 0o777, name).toBe(0o600);
  const plain = ({ body, ...fields }: IncomingRequest) =>
    JSON.stringify({ ...fields, body: Buffer.from(body).toString("hex") });
  const plainOf = (taken: { request: IncomingRequest }[]) => taken.map((one) => JSON.parse(plain(one.request)));
  const wanted = plainOf(sent.map((one) => ({ request: one })));
  expect(plainOf(await first.takeAll())).toEqual(wanted);
  await first.close();
  const next = await open(dir);
  expect(next.found).toMatchObject({ requests: 6, alerts: 8, oldestAt: sent[0]?.receivedAt, torn: [] });
  expect(plainOf(await next.takeAll())).toEqual(wanted);
});

it("the database of a spool gives all room back as soon as all is handed over, and nothing before", async () => {
  const dir = makeTempFolder();
  const { database, append, take, takeAll } = await open(dir);
  for (const one of several(50, { body: Buffer.alloc(1_000) })) await append(one);
  const taken = await takeAll();
  handOver(taken.slice(0, -1));
  await append(request({ ids: ["next"] }));
  taken.at(-1)?.done();
  expect(database.bytes()).toBeGreaterThan(0);
  const next = await take();
  expect(idsOf(next)).toEqual(["next"]);
  handOver(next);
  await expect.poll(() => existsSync(pathOf(dir))).toBe(false);
  expect(database.bytes()).toBe(0);
  await append(request({ ids: ["later"] }));
  expect(idsOf(await take())).toEqual(["later"]);
});

it("the database of a spool loses nothing that is on its way when all that was there is handed over just then", async () => {
  const { database, append, take } = await open(makeTempFolder());
  for (let count = 0; count < 20; count += 1) {
    await append(request());
    const first = await take();
    const appended = append(request({ ids: [`next ${count}`] }));
    handOver(first);
    await appended;
    const next = await take();
    expect(idsOf(next)).toEqual([`next ${count}`]);
    handOver(next);
    expect(database.bytes()).toBe(0);
  }
});

it("the database of a spool takes all that comes while it is taken", async () => {
  const { append, take, takeAll, unreadable } = await open(makeTempFolder());
  const sent = several(200);
  const appended = Promise.all(sent.map(append));
  const taken: (string | undefined)[] = [];
  while (taken.length < 200 && unreadable.length === 0) {
    taken.push(...idsOf(await take()));
    await new Promise(setImmediate);
  }
  await appended;
  expect(taken).toEqual(sent.map(({ ids }) => ids[0]));
  expect([unreadable, await takeAll()]).toEqual([[], []]);
});

it("the database of a spool hands over once more what a kill has kept from being removed, and goes on behind it", async () => {
  const dir = makeTempFolder();
  const first = await open(dir);
  const sent = several(4);
  for (const one of sent) await first.append(one);
  handOver((await first.takeAll()).slice(0, 3));
  await first.close();
  const next = await open(dir);
  await next.append(request({ ids: ["new"] }));
  expect(idsOf(await next.takeAll())).toEqual([...sent.map(({ ids }) => ids[0]), "new"]);
});

it("the database of a spool leaves out what was refused since its thread had ended before it could answer", async () => {
  const dir = makeTempFolder();
  const accept = (...ids: string[]) =>
    packCalls(ids.map((id) => ({ name: "acceptRequest", arguments: [request({ ids: [id] })] })));
  const first = new SpoolFile(dir, 0);
  await first.calls(accept("acknowledged", "refused"));
  await first.close();
  const next = new SpoolFile(dir, 1);
  await next.calls(accept("later"));
  await next.close();
  expect(idsOf((await next.take(0, 3, [])).rows)).toEqual(["acknowledged", "later"]);
  await next.close();
});

it.each([
  ["in the middle", [7, 12]],
  ["at the end", [-1]],
])("the database of a spool goes round pages that cannot be read %s, and keeps the file", async (_where, pages) => {
  const dir = makeTempFolder();
  const writer = await open(dir);
  for (const one of several(300, { body: Buffer.alloc(500, 1) })) await writer.append(one);
  await writer.close();
  spoilPages(pathOf(dir), pages);
  const next = await open(dir);
  expect(next.found.damaged).toBe(pathOf(dir));
  expect(next.found.requests).toBeLessThan(300);
  const taken = await next.takeAll();
  expect(taken).toHaveLength(next.found.requests);
  expect(taken.length).toBeGreaterThan(250);
  handOver(taken);
  await expect.poll(() => keptAside(dir).length).toBe(1);
  await next.append(request());
});

it("the database of a spool starts with a file that is no database, which it keeps and names until somebody takes it away", async () => {
  const dir = makeTempFolder();
  writeFileSync(pathOf(dir), Buffer.alloc(100_000, 1));
  const { database, append, takeAll, found, close } = await open(dir);
  const damaged = found.damaged ?? "";
  expect(damaged).toContain("before-damage-");
  expect(database.damagedFiles()).toEqual([damaged]);
  await append(request());
  const taken = await takeAll();
  expect(taken).toHaveLength(1);
  handOver(taken);
  await close();
  const later = await open(dir);
  expect(later.database.damagedFiles()).toEqual([damaged]);
  rmSync(damaged);
  await later.take();
  expect(later.database.damagedFiles()).toEqual([]);
});

it("the database of a spool refuses the database of a newer version, and leaves it", async () => {
  const dir = makeTempFolder();
  const first = await open(dir);
  await first.append(request());
  await first.close();
  withSqlite(pathOf(dir), {}, (db) => db.pragma("user_version = 99"));
  await expect(open(dir)).rejects.toMatchObject({ code: "store_too_new" });
  expect(readdirSync(dir)).toContain("spool.db");
});

it("the database of a spool is one process's at a time", async () => {
  const dir = makeTempFolder();
  const first = await open(dir);
  const [message, hint] = [dir, "SPOOL_DIR"].map((word) => expect.stringContaining(word));
  await expect(open(dir)).rejects.toMatchObject({ code: "store_locked", message, hint });
  await first.close();
  await open(dir);
});

it("the database of a spool says which place it may not use, and where a file stands in its place", async () => {
  const [closed, file] = [makeTempFolder(), join(makeTempFolder(), "file")];
  chmodSync(closed, 0o500);
  writeFileSync(file, "");
  // Nothing is closed to root but what the kernel keeps.
  const dir = process.getuid?.() === 0 ? "/sys/tocsin-spool" : closed;
  await expect(open(dir)).rejects.toMatchObject({ message: expect.stringMatching(/EACCES|EPERM|EROFS/) });
  const refusal = { code: "store_unavailable", message: expect.stringContaining("SPOOL_DIR") };
  await expect(open(join(file, "spool"))).rejects.toMatchObject(refusal);
});

/** As a disk does it that has lost them; -1 is the last one. */
function spoilPages(path: string, pages: number[]): void {
  const file = openSync(path, "r+");
  const last = statSync(path).size / 8192;
  for (const page of pages) {
    const place = page > 0 ? page - 1 : last + page;
    writeSync(file, Buffer.alloc(8192, 0xa5), 0, 8192, place * 8192);
  }
  closeSync(file);
}

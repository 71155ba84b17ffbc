import { chmodSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it, onTestFinished } from "vitest";
import type { IncomingRequest } from "../../../src/core/ports/inbox.ts";
import { openSpoolFolder, type SpoolFolderOptions, type Unreadable } from "../../../src/store/spool/spool-folder.ts";
import { request } from "../../conformance/store/scene-samples.ts";
import { createSeededRandom } from "../../support/seeded-random.ts";
import { makeTempFolder } from "../../support/temp-folder.ts";

async function open(dir: string, options: Partial<SpoolFolderOptions> = {}) {
  const found: IncomingRequest[] = [];
  const torn: { file: string; bytes: number; isDamaged: boolean }[] = [];
  const unreadable: Unreadable[] = [];
  const folder = await openSpoolFolder({
    dir,
    maxBytes: 1e9,
    onFound: (one) => found.push(one),
    onTorn: (one) => torn.push(one),
    onUnreadable: (one) => unreadable.push(one),
    ...options,
  });
  let isOpen = true;
  const close = async () => {
    if (isOpen) await folder.close();
    isOpen = false;
  };
  onTestFinished(close);
  return { ...folder, found, torn, unreadable, close };
}

/** As a disk does it, one bit. */
function damage(path: string, at: number): void {
  const bytes = readFileSync(path);
  const place = at < 0 ? bytes.length + at : at;
  bytes.writeUInt8(bytes.readUInt8(place) ^ 1, place);
  writeFileSync(path, bytes);
}

const spooledFiles = (dir: string) => readdirSync(dir).filter((name) => name.endsWith(".spool"));
const pathOf = (dir: string, place = 0) => join(dir, spooledFiles(dir)[place] as string);
const idsOf = (requests: { request: IncomingRequest }[]) => requests.map((one) => one.request.ids[0]);
const several = (count: number, changes = {}) => Array.from({ length: count }, () => request(changes));

async function takeAll(folder: { take: Awaited<ReturnType<typeof open>>["take"] }) {
  const all = [];
  for (let some = await folder.take(); some.length > 0; some = await folder.take()) all.push(...some);
  return all;
}

describe("the folder of a spool", () => {
  it("gives back what was put there, byte for byte and in order, also to the next process", async () => {
    const dir = join(makeTempFolder(), "deep", "spool");
    const bodies = [
      Buffer.alloc(0),
      Buffer.from([0, 10, 255, 92]),
      Buffer.alloc(3_000_000, 7),
      Buffer.from("é\ud800 ü", "utf16le"),
    ];
    const sent = bodies.map((body, index) =>
      request({ body, contentType: "a\0b", dedupeKey: `k\ud800${index}`, source: "Git", headers: '[["x","\\u0000"]]' }),
    );
    sent.push(request({ contentType: undefined, ids: ["a", "b", "c"] }));
    const first = await open(dir, { fileBytes: 1_000_000 });
    await Promise.all(sent.map(first.append));
    expect(statSync(dir).mode & 0o777).toBe(0o700);
    for (const name of readdirSync(dir)) expect(statSync(join(dir, name)).mode & 0o777).toBe(0o600);
    const plain = ({ body, ...fields }: IncomingRequest) => ({ ...fields, body: Buffer.from(body).toString("hex") });
    const wanted = JSON.parse(JSON.stringify(sent.map(plain)));
    expect((await takeAll(first)).map(({ request: one }) => JSON.parse(JSON.stringify(plain(one))))).toEqual(wanted);
    await first.close();
    const next = await open(dir);
    expect(JSON.parse(JSON.stringify(next.found.map(plain)))).toEqual(wanted);
    expect((await takeAll(next)).map(({ request: one }) => JSON.parse(JSON.stringify(plain(one))))).toEqual(wanted);
    expect(next.torn).toEqual([]);
  });

  it("removes its files as soon as all in them is handed over, and nothing before", async () => {
    const dir = makeTempFolder();
    const folder = await open(dir, { fileBytes: 20_000 });
    for (const one of several(50, { body: Buffer.alloc(1_000) })) await folder.append(one);
    expect(spooledFiles(dir).length).toBe(3);
    const taken = await takeAll(folder);
    for (const one of taken.slice(0, -1)) one.done();
    await expect.poll(() => spooledFiles(dir).length).toBe(1);
    await folder.append(request());
    taken.at(-1)?.done();
    const [last] = await folder.take();
    expect(spooledFiles(dir).length).toBe(1);
    last?.done();
    await expect.poll(() => spooledFiles(dir)).toEqual([]);
    expect(folder.bytes()).toBe(0);
    await folder.append(request());
    expect(await folder.take()).toHaveLength(1);
  });

  it("keeps the file to which something is on its way, when all that was in it is handed over just then", async () => {
    const folder = await open(makeTempFolder());
    await folder.append(request());
    const [first] = await folder.take();
    const appended = folder.append(request({ ids: ["next"] }));
    first?.done();
    await appended;
    const [next] = await folder.take();
    expect(next?.request.ids).toEqual(["next"]);
    next?.done();
    expect(folder.bytes()).toBe(0);
  });

  it("keeps nothing of what it has found in memory", async () => {
    const dir = makeTempFolder();
    const first = await open(dir, { fileBytes: 1_000_000 });
    for (const one of several(20, { body: Buffer.alloc(1_000_000) })) await first.append(one);
    await first.close();
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    collect();
    const before = process.memoryUsage().arrayBuffers;
    const next = await open(dir, { onFound() {} });
    expect(next.bytes()).toBeGreaterThan(20_000_000);
    // What a turn of the event loop still holds is gone with one of the next.
    await expect
      .poll(() => {
        collect();
        return process.memoryUsage().arrayBuffers - before;
      })
      .toBeLessThan(5_000_000);
  });

  it("leaves out what was torn wherever the write was cut, and nothing that was acknowledged", async () => {
    const random = createSeededRandom(20261123);
    const dir = makeTempFolder();
    const first = await open(dir);
    const acknowledged = several(5, { body: Buffer.from("acknowledged") });
    for (const one of acknowledged) await first.append(one);
    const safeBytes = statSync(pathOf(dir)).size;
    await Promise.all(several(4, { body: Buffer.alloc(600, 1) }).map(first.append));
    await first.close();
    const whole = readFileSync(pathOf(dir));
    for (let run = 0; run < 60; run += 1) {
      const torn = Buffer.from(whole);
      const isCut = random.next() < 0.5;
      const at = safeBytes + Math.floor(random.next() * (whole.length - safeBytes));
      // A page that was not written back, or an end that is missing.
      if (!isCut) torn.fill(0, at, Math.min(at + 200, torn.length));
      const copy = makeTempFolder();
      writeFileSync(join(copy, "00000001.spool"), isCut ? torn.subarray(0, at) : torn);
      const next = await open(copy);
      const found = next.found.map(({ ids }) => ids[0]);
      expect(found.slice(0, 5), `cut ${isCut} at ${at}`).toEqual(acknowledged.map(({ ids }) => ids[0]));
      expect(new Set(found).size).toBe(found.length);
      expect(idsOf(await takeAll(next))).toEqual(found);
      await next.append(request({ ids: ["new"] }));
      expect(idsOf(await next.take())).toEqual(["new"]);
      await next.close();
    }
  });

  it("keeps a file that is damaged between two records, and gives what is whole in it", async () => {
    const dir = makeTempFolder();
    const first = await open(dir);
    const sent = several(3);
    for (const one of sent) await first.append(one);
    await first.close();
    const bytes = readFileSync(pathOf(dir));
    bytes.writeUInt8(bytes.readUInt8(120) ^ 1, 120);
    writeFileSync(pathOf(dir), bytes);
    const next = await open(dir);
    expect(next.torn).toMatchObject([{ isDamaged: true }]);
    const taken = await takeAll(next);
    expect(idsOf(taken)).toEqual(sent.slice(1).map(({ ids }) => ids[0]));
    for (const one of taken) one.done();
    await next.close();
    expect(readdirSync(dir)).toContain("00000001.spool.damaged");
  });

  it.each([3, 20])("hands over what lies behind a header that is damaged at byte %i", async (damagedAt) => {
    const dir = makeTempFolder();
    const first = await open(dir);
    const sent = several(2);
    for (const one of sent) await first.append(one);
    await first.close();
    const bytes = readFileSync(pathOf(dir));
    bytes.writeUInt8(bytes.readUInt8(damagedAt) ^ 1, damagedAt);
    writeFileSync(pathOf(dir), bytes);
    const next = await open(dir);
    expect(next.torn).toMatchObject([{ isDamaged: true }]);
    const taken = await takeAll(next);
    expect(idsOf(taken)).toEqual(sent.map(({ ids }) => ids[0]));
    for (const one of taken) one.done();
    await next.close();
    expect(readdirSync(dir)).toContain("00000001.spool.damaged");
  });

  it.each([
    ["the first", 120, [1, 2]],
    ["the last", -3, [0, 1]],
  ])(
    "says that %s record was damaged since it was written, gives the others, and keeps the file",
    async (_which, at, left) => {
      const dir = makeTempFolder();
      const folder = await open(dir);
      const sent = several(3, { ids: undefined }).map((one, index) => ({ ...one, ids: [`${index}`, `${index}'`] }));
      for (const one of sent) await folder.append(one);
      damage(pathOf(dir), at);
      const before = readFileSync(pathOf(dir));
      const taken = await takeAll(folder);
      expect(idsOf(taken)).toEqual(left.map(String));
      const keptIn = `${pathOf(dir)}.damaged`;
      expect(folder.unreadable).toEqual([{ keptIn, requests: 1, alerts: 2 }]);
      // What comes now lies in another file.
      await folder.append(request({ ids: ["new"] }));
      for (const one of taken) one.done();
      await expect.poll(() => readdirSync(dir)).toContain("00000001.spool.damaged");
      expect(readFileSync(keptIn)).toEqual(before);
      const next = await folder.take();
      expect(idsOf(next)).toEqual(["new"]);
      next[0]?.done();
      expect(folder.bytes()).toBe(0);
      expect(await folder.take()).toEqual([]);
      expect(folder.damagedFiles()).toEqual([keptIn]);
      await folder.close();
      // Until somebody takes it away.
      const later = await open(dir);
      expect(later.damagedFiles()).toEqual([keptIn]);
      // What is written now is never kept in its place.
      await later.append(request());
      expect(spooledFiles(dir)).toEqual(["00000002.spool"]);
      for (const one of await takeAll(later)) one.done();
      rmSync(keptIn);
      await later.take();
      expect(later.damagedFiles()).toEqual([]);
    },
  );

  it("goes on behind a file in which nothing can be read, and one that is gone", async () => {
    const dir = makeTempFolder();
    const folder = await open(dir, { fileBytes: 1 });
    for (const id of ["zeros", "gone", "whole"]) await folder.append(request({ ids: [id] }));
    const [zeros, gone] = spooledFiles(dir).map((name) => join(dir, name)) as [string, string];
    writeFileSync(zeros, Buffer.alloc(statSync(zeros).size));
    rmSync(gone);
    const taken = [];
    let refusals = 0;
    while (taken.length === 0 && refusals < 100) {
      taken.push(
        ...(await folder.take().catch(() => {
          refusals += 1;
          return [];
        })),
      );
    }
    expect(idsOf(taken)).toEqual(["whole"]);
    expect(refusals).toBeGreaterThan(5);
    expect(folder.unreadable).toMatchObject([{ alerts: 1 }, { alerts: 1 }]);
    taken[0]?.done();
    expect(folder.bytes()).toBe(0);
    await expect
      .poll(() => readdirSync(dir).filter((name) => name.includes("spool")))
      .toEqual(["00000001.spool.damaged"]);
  });

  it("writes what comes next to another file when the one that it writes cannot be read", async () => {
    const dir = makeTempFolder();
    const folder = await open(dir);
    await folder.append(request({ ids: ["gone"] }));
    rmSync(pathOf(dir));
    await expect(folder.take()).rejects.toMatchObject({ code: "store_unavailable" });
    await folder.append(request({ ids: ["next"] }));
    const taken = [];
    for (let tries = 0; taken.length === 0 && tries < 100; tries += 1)
      taken.push(...(await folder.take().catch(() => [])));
    expect(idsOf(taken)).toEqual(["next"]);
    expect(folder.unreadable).toMatchObject([{ alerts: 1 }]);
  });

  it("keeps a file whose last record is not whole: the disk may have damaged it since it was acknowledged", async () => {
    const dir = makeTempFolder();
    const first = await open(dir);
    for (const one of several(2)) await first.append(one);
    await first.close();
    damage(pathOf(dir), -3);
    const next = await open(dir);
    for (const one of await takeAll(next)) one.done();
    await next.close();
    expect(readdirSync(dir)).toContain("00000001.spool.torn");
  });

  it("removes a file whose beginning was torn", async () => {
    const dir = makeTempFolder();
    const first = await open(dir);
    await first.append(request());
    await first.close();
    truncateSync(pathOf(dir), 20);
    const next = await open(dir);
    expect(next.found).toEqual([]);
    await next.close();
    expect(spooledFiles(dir)).toEqual([]);
  });

  it("takes no record for one that a body imitates", async () => {
    const [dir, elsewhere] = [makeTempFolder(), makeTempFolder()];
    const other = await open(elsewhere);
    await other.append(request({ source: "somebody else" }));
    const imitation = readFileSync(pathOf(elsewhere)).subarray(32);
    const first = await open(dir);
    await first.append(request({ body: Buffer.concat([imitation, imitation]) }));
    await first.close();
    const bytes = readFileSync(pathOf(dir));
    bytes.writeUInt8(bytes.readUInt8(90) ^ 1, 90);
    writeFileSync(pathOf(dir), bytes);
    expect((await open(dir)).found).toEqual([]);
  });

  it("is one process's at a time", async () => {
    const dir = makeTempFolder();
    const first = await open(dir);
    await expect(open(dir)).rejects.toMatchObject({
      code: "store_locked",
      message: expect.stringContaining(dir),
      hint: expect.stringContaining("SPOOL_DIR"),
    });
    await first.close();
    await open(dir);
  });

  it("says which place it may not use", async () => {
    const closed = makeTempFolder();
    chmodSync(closed, 0o500);
    // Nothing is closed to root but what the kernel keeps.
    const dir = process.getuid?.() === 0 ? "/sys/tocsin-spool" : closed;
    await expect(open(dir)).rejects.toMatchObject({ message: expect.stringMatching(/EACCES|EPERM|EROFS/) });
  });

  it("says so where a file stands in its place", async () => {
    const path = join(makeTempFolder(), "file");
    writeFileSync(path, "");
    await expect(open(join(path, "spool"))).rejects.toMatchObject({
      code: "store_unavailable",
      message: expect.stringContaining("SPOOL_DIR"),
    });
  });

  it("refuses what goes beyond its limit, and takes more when there is room", async () => {
    const dir = makeTempFolder();
    const folder = await open(dir, { maxBytes: 10_000 });
    const outcomes = await Promise.allSettled(several(20, { body: Buffer.alloc(1_000) }).map(folder.append));
    const refused = outcomes.filter(({ status }) => status === "rejected");
    expect(refused.length).toBeGreaterThan(5);
    expect(refused[0]).toMatchObject({
      reason: { code: "store_unavailable", message: expect.stringContaining("is full") },
    });
    const taken = await takeAll(folder);
    expect(taken).toHaveLength(20 - refused.length);
    expect(folder.bytes()).toBeLessThanOrEqual(10_000);
    for (const one of taken) one.done();
    await folder.append(request());
  });
});

import { copyFileSync, cpSync, readdirSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { countSpooled } from "../../../src/store/spool/spool-file.ts";
import { request } from "../../conformance/store/scene-samples.ts";
import { createSeededRandom } from "../../support/seeded-random.ts";
import { idsOf, openTestSpoolDatabase } from "../../support/spool.ts";
import { makeTempFolder } from "../../support/temp-folder.ts";

/** Written by commit 2067d484, the last that had files: six requests of eight alerts, three in each. */
const fixture = new URL("../../fixtures/spool/", import.meta.url);
const [one, other] = ["00000001.spool", "00000002.spool"];
const idOf = (number: number) => `019aa66f-a200-7000-8000-${String(number).padStart(12, "0")}`;
/** The first of each request. */
const ids = [1, 2, 6, 7, 8, 9].map(idOf);

function makeFolder(): string {
  const dir = makeTempFolder();
  cpSync(fixture, dir, { recursive: true });
  return dir;
}

async function open(dir: string) {
  const opened = await openTestSpoolDatabase(dir);
  const files = () => readdirSync(dir).filter((name) => name.includes(".spool"));
  return { ...opened.found, ...opened, files, taken: async () => idsOf(await opened.take()) };
}

/** As a disk does it, one bit. */
function damage(path: string, at: number): void {
  const bytes = readFileSync(path);
  const place = at < 0 ? bytes.length + at : at;
  bytes.writeUInt8(bytes.readUInt8(place) ^ 1, place);
  writeFileSync(path, bytes);
}

it("takes in what a former version has left, byte for byte and in order, with what comes behind it", async () => {
  const dir = makeFolder();
  expect(countSpooled(dir)).toMatchObject({ requests: 6, bytes: expect.any(Number) });
  const { requests, alerts, torn, files, append, take } = await open(dir);
  expect({ requests, alerts, torn, files: files() }).toEqual({ requests: 6, alerts: 8, torn: [], files: [] });
  await append(request({ ids: ["new"] }));
  const taken = (await take()).map((spooled) => spooled.request);
  expect(taken.map((spooled) => spooled.ids[0])).toEqual([...ids, "new"]);
  expect(taken[1]?.ids).toEqual([2, 3, 4].map(idOf));
  expect(taken[2]).toMatchObject({ body: Buffer.from([0, 10, 255, 92]), origin: "hook", dedupeWindowMs: 86_400_000 });
  expect(taken[3]).toMatchObject({ dedupeKey: "k1", source: "git", headers: '[["x","\\u0000"]]' });
  expect(taken[5]).toMatchObject({ origin: "test", body: Buffer.alloc(0), contentType: "application/json" });
  expect(countSpooled(dir)).toMatchObject({ requests: 7 });
});

it("adds nothing twice where a kill has left a file whose requests are in the database", async () => {
  const dir = makeFolder();
  await (await open(dir)).close();
  for (const name of [one, other]) copyFileSync(new URL(name, fixture), join(dir, name));
  const next = await open(dir);
  expect(next.files()).toEqual([]);
  expect(await next.taken()).toEqual(ids);
});

it("leaves out what was torn wherever the write was cut, keeps that file, and loses nothing that was acknowledged", async () => {
  const random = createSeededRandom(20261123);
  const whole = readFileSync(new URL(other, fixture));
  for (let run = 0; run < 20; run += 1) {
    const dir = makeFolder();
    const isCut = run % 2 === 0;
    const at = 64 + Math.floor(random.next() * (whole.length - 64));
    // An end that is missing, or a page that was not written back.
    const torn = Buffer.from(whole).fill(0, at, Math.min(at + 200, whole.length));
    writeFileSync(join(dir, other), isCut ? whole.subarray(0, at) : torn);
    const { taken, close } = await open(dir);
    const found = await taken();
    expect(found.slice(0, 3), `cut ${isCut} at ${at}`).toEqual(ids.slice(0, 3));
    expect(found).toEqual(ids.filter((id) => found.includes(id)));
    await close();
  }
});

it.each([
  ["between two records", 120, ids.slice(1), "damaged"],
  ["in the first bytes", 3, ids, "damaged"],
  ["in the bytes of chance", 20, ids, "damaged"],
  ["in the last record, which may never have been whole", -3, ids.toSpliced(2, 1), "torn"],
])("keeps a file that is damaged %s, and gives what is whole in it", async (_where, at, whole, ending) => {
  const dir = makeFolder();
  damage(join(dir, one), at);
  const { torn, taken, files } = await open(dir);
  expect(torn).toMatchObject([{ file: join(dir, one), isDamaged: ending === "damaged" }]);
  expect(await taken()).toEqual(whole);
  expect(files()).toEqual([`${one}.${ending}`]);
});

it("removes a file whose beginning was torn", async () => {
  const dir = makeFolder();
  truncateSync(join(dir, one), 20);
  const { taken, files } = await open(dir);
  expect(await taken()).toEqual(ids.slice(3));
  expect(files()).toEqual([]);
});

import * as files from "node:fs";
import { join, relative } from "node:path";
import { scratch } from "../support/scratch.ts";
import { createSeededRandom, type SeededRandom } from "../support/seeded-random.ts";
import { checkImage, type Expected } from "./check-image.ts";
import { createDisk, type Disk, type Image } from "./disk.ts";
import { type Promises, readPromises } from "./promises.ts";
import { loadSent, recordingPaths, type SentRecord } from "./record.ts";
import { type Call, readTrace } from "./trace.ts";

const { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync } = files;
const { rmSync, truncateSync, writeFileSync } = files;

/** A recording, read. */
export interface Recording {
  disk: string;
  calls: Call[];
  promises: Promises;
  sent: SentRecord;
  /** As they were at the end, by name. */
  secrets: Map<string, string>;
  /** What the disk held when it began. */
  found: Image;
}

/** A moment at which the power goes, and how. The same for the same numbers. */
export type Point = { number: number; seed: number };

export interface Finding {
  point: Point;
  /** Place in the recording. */
  place: number;
  /** At most eight of what is wrong. */
  wrong: string[];
}

export async function loadRecording(path: string): Promise<Recording> {
  const folder = realpathSync(path);
  const { trace, disk, printed, found } = recordingPaths(folder);
  const sent = loadSent(folder);
  const calls = await readTrace(trace, folder);
  const promises = readPromises(calls, printed);
  for (const { at, line } of promises.printed) {
    const { accepted, body } = JSON.parse(line) as { accepted?: string; body: string };
    if (accepted === undefined) continue;
    promises.accepted.push({ at, ids: [accepted] });
    sent.bodies.push(body);
    sent.accepted[accepted] = { body, items: 1 };
  }
  const recording = { disk, promises, sent, secrets: readSecrets(disk), found: readFolder(found, disk) };
  addEarlier(recording, folder);
  return { ...recording, calls: calls.filter((call) => isOnDisk(call, disk)) };
}

/** What a power cut left, as the beginning of another recording, with all that must still hold then. */
export function beginWith(recording: Recording, seed: number, folder: string): void {
  const { disk, found, earlier } = recordingPaths(folder);
  const half = recording.promises.accepted[Math.floor(recording.promises.accepted.length / 2)]?.at ?? 0;
  const random = createSeededRandom(seed);
  const place = half + random.below(200);
  const live = createDisk(recording.disk, recording.found, isBlank);
  createProgress(live, recording.calls)(place);
  const image = live.cut(random);
  forgetBoot(image);
  for (const target of [disk, found]) {
    mkdirSync(target, { recursive: true });
    writeImage(image, recording.disk, target, createSeededRandom(seed));
  }
  const accepted = recording.promises.accepted.filter(({ at }) => at <= place);
  const calls = recording.promises.calls.filter(({ at }) => at <= place);
  writeFileSync(earlier, JSON.stringify({ accepted, calls, sent: recording.sent }));
}

/** After a power cut the machine is started anew, and what holds for one boot alone must not name this one. */
function forgetBoot(image: Image): void {
  const boot = readFileSync("/proc/sys/kernel/random/boot_id", "latin1").trim();
  for (const content of image.values()) {
    if (content === "folder") continue;
    for (let at = content.indexOf(boot); at !== -1; at = content.indexOf(boot, at + 1)) content.fill("0", at, at + 8);
  }
}

function addEarlier({ promises, sent }: Pick<Recording, "promises" | "sent">, folder: string): void {
  const { earlier } = recordingPaths(folder);
  if (!existsSync(earlier)) return;
  type Earlier = Pick<Promises, "accepted" | "calls"> & { sent: SentRecord };
  const before = JSON.parse(readFileSync(earlier, "utf8")) as Earlier;
  const atFirst = <T extends { at: number }>(list: T[]) => list.map((one) => ({ ...one, at: -1 }));
  promises.accepted.unshift(...atFirst(before.accepted));
  promises.calls.unshift(...atFirst(before.calls));
  sent.bodies.push(...before.sent.bodies);
  Object.assign(sent.accepted, before.sent.accepted);
}

/** Everything in a folder, as if it lay in another. */
function readFolder(folder: string, elsewhere: string): Image {
  const image: Image = new Map();
  if (!existsSync(folder)) return image;
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    const content = entry.isDirectory() ? "folder" : isBlank(path) ? Buffer.alloc(0) : readFileSync(path);
    image.set(join(elsewhere, relative(folder, path)), content);
  }
  return new Map([...image].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** The ballast, which holds random bytes. */
const isBlank = (path: string) => path.endsWith(".ballast");

function isOnDisk(call: Call, disk: string): boolean {
  if (call.kind === "send") return true;
  const path = "path" in call ? call.path : call.to;
  return path === disk || path.startsWith(`${disk}/`);
}

function readSecrets(disk: string): Map<string, string> {
  const folder = join(disk, "state", "data", "secrets");
  const names = existsSync(folder) ? readdirSync(folder) : [];
  return new Map(names.map((name) => [name, readFileSync(join(folder, name), "utf8").trim()]));
}

/**
 * Cuts the power at each point and opens what is left.
 *
 * @param keep a folder in which the last image stays, to look at
 */
export async function replay(
  recording: Recording,
  points: readonly Point[],
  { keep, stopAtFirst = false }: { keep?: string; stopAtFirst?: boolean } = {},
): Promise<Finding[]> {
  const placed = points.map((point) => ({ point, ...placeOf(point, recording) })).sort((a, b) => a.place - b.place);
  const disk = createDisk(recording.disk, recording.found, isBlank);
  const advance = createProgress(disk, recording.calls);
  const findings: Finding[] = [];
  for (const { point, place, random } of placed) {
    advance(place);
    const folder = keep ?? mkdtempSync(join(scratch, "tocsin-power-"));
    try {
      writeImage(disk.cut(random), recording.disk, folder, random);
      const expected = expectAt(recording, place, folder);
      const wrong = await checkImage(join(folder, "state", "data"), expected, point.number % 10 === 0);
      if (wrong.length > 0) findings.push({ point, place, wrong: wrong.slice(0, 8) });
    } finally {
      if (keep === undefined) rmSync(folder, { recursive: true, force: true });
    }
    if (stopAtFirst && findings.length > 0) break;
  }
  return findings;
}

/**
 * A third of them anywhere; the others just behind something that was promised, above all while the log had writes that
 * were not synced, or amid a sync, or while the log is emptied into the database.
 */
function placeOf({ number, seed }: Point, { calls, promises }: Recording): { place: number; random: SeededRandom } {
  const random = createSeededRandom(seed * 100_003 + number);
  const last = calls.at(-1)?.end ?? 0;
  const near = (places: number[]) => (places.length === 0 ? random.below(last) : random.pick(places) + random.below(3));
  const syncs = () => calls.filter(({ kind }) => kind === "sync").map(({ end }) => end - 1);
  const database = () =>
    calls.flatMap((call) => (call.kind === "write" && call.path.endsWith(".db") ? [call.begin] : []));
  const anywhere = () => random.below(last);
  const daring = () => near(findDaring({ calls, promises }));
  const promised = [promises.accepted, promises.calls].map((list) => () => near(list.map(({ at }) => at)));
  const amid = [() => near(syncs()), () => near(database())];
  return { place: random.pick([anywhere, anywhere, anywhere, daring, daring, ...promised, ...amid])(), random };
}

/** Where something was promised while a part of the log was not synced: a part that should not matter to it. */
function findDaring({ calls, promises }: Pick<Recording, "calls" | "promises">): number[] {
  const log = calls.filter((call) => (call.kind === "write" || call.kind === "sync") && call.path.endsWith("-wal"));
  let next = 0;
  let isSynced = true;
  const places = [...promises.accepted, ...promises.calls].map(({ at }) => at).sort((a, b) => a - b);
  return places.filter((place) => {
    for (; next < log.length && (log[next]?.end ?? 0) < place; next += 1) isSynced = log[next]?.kind === "sync";
    return !isSynced;
  });
}

/** Lets the disk live through the recording up to and with a place. */
function createProgress(disk: Disk, calls: readonly Call[]): (place: number) => void {
  const steps = calls
    .flatMap((call) => [
      { place: call.begin, step: () => disk.begin(call) },
      { place: call.end, step: () => disk.end(call) },
    ])
    .sort((a, b) => a.place - b.place);
  let next = 0;
  return (place) => {
    for (; next < steps.length && (steps[next]?.place ?? 0) <= place; next += 1) steps[next]?.step();
  };
}

function writeImage(image: Image, disk: string, folder: string, random: SeededRandom): void {
  for (const [path, content] of image) {
    const target = join(folder, relative(disk, path));
    if (content === "folder") mkdirSync(target, { recursive: true });
    else if (isBlank(path)) {
      writeFileSync(target, "");
      truncateSync(target, content.length);
    } else writeFileSync(target, path.endsWith("-shm") ? randomBytes(random) : content);
  }
}

/** SQLite writes its index of the log through mapped memory, of which any page may have reached the disk. */
function randomBytes(random: SeededRandom): Buffer {
  const bytes = Buffer.alloc(32_768);
  if (random.below(2) === 0)
    for (let at = 0; at < bytes.length; at += 4) bytes.writeUInt32LE(random.below(2 ** 32), at);
  return bytes;
}

function expectAt({ promises, sent, secrets, disk, calls }: Recording, place: number, folder: string): Expected {
  const until = <T extends { at: number }>(list: T[]) => list.filter(({ at }) => at <= place);
  const expected: Expected = {
    ...{ accepted: new Map(), calls: new Map(), sent: new Map(), secrets: new Map(), backups: new Map() },
    mutes: until(promises.mutes).map(({ id }) => id),
    bodies: new Set(sent.bodies),
  };
  const accepted = until(promises.accepted);
  for (const id of accepted.flatMap(({ ids }) => ids)) {
    const known = sent.accepted[id];
    // A stop may end the connection before the sender has read the answer.
    if (known !== undefined) expected.accepted.set(id, known);
  }
  if (accepted.length > 0) expected.secrets = secrets;
  for (const { destination, ids } of until(promises.calls)) {
    for (const id of ids) {
      if (sent.accepted[id] === undefined) continue;
      const counts = expected.calls.get(id) ?? new Map<string, number>();
      expected.calls.set(id, counts.set(destination, (counts.get(destination) ?? 0) + 1));
    }
  }
  for (const { id, deliveries } of until(promises.shown).flatMap(({ alerts }) => alerts)) {
    const done = deliveries.filter(({ state }) => state === "sent" || state === "digested");
    if (done.length > 0) expected.sent.set(id, new Set(done.map(({ destination }) => destination)));
  }
  for (const { line } of until(promises.printed)) {
    const { data } = JSON.parse(line) as { data?: { file?: string } };
    if (data?.file === undefined) continue;
    const { file } = data;
    const began = calls.find((call) => call.kind === "open" && call.path.startsWith(file))?.begin ?? 0;
    const before = promises.accepted.filter(({ at }) => at < began).flatMap(({ ids }) => ids);
    expected.backups.set(join(folder, relative(disk, file)), before);
  }
  return expected;
}

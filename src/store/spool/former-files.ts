import { createHash } from "node:crypto";
import { readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { IncomingRequest } from "../../core/ports/inbox.ts";

/*
 * What a spool was before it was a database: numbered files. A file is 16 bytes that say what it is, 16 of chance, and records one
 * behind the other. A record is those 16 of chance again, the length of its content, 16 bytes of the hash of both, and the content:
 * the length of its fields as JSON, these, and the body. Lengths have 4 bytes, the highest first.
 *
 * Behind what a power cut has torn the next record is found by the bytes of chance. No sender knows them, so no body can
 * hold what would be read as a record.
 */
const magic = Buffer.from("tocsin spool 1\n\0", "latin1");
const headerBytes = 32;
const markBytes = 16;
const overheadBytes = markBytes + 4 + 16;

interface FormerFile {
  file: string;
  requests: IncomingRequest[];
  /** Between or behind the records: what was cut off while it was written, and was not acknowledged; or a disk that fails. */
  tornBytes: number;
  /** Records follow what is torn: what was once whole is damaged. */
  isDamaged: boolean;
  /** Its beginning was written whole. If not, nothing in it was acknowledged. */
  isBegun: boolean;
}

/** Bytes that are no record in a file. */
export type TornFile = Pick<FormerFile, "file" | "tornBytes" | "isDamaged">;

/**
 * @param add puts the requests of a file on disk. The file is removed behind it, or kept aside where not all of it is a record.
 * @returns those that were not whole
 */
export function takeInFormerFiles(dir: string, add: (requests: IncomingRequest[]) => void): TornFile[] {
  const torn: TornFile[] = [];
  for (const one of readFormerFiles(dir)) {
    const { file, requests, tornBytes, isDamaged, isBegun } = one;
    add(requests);
    if (tornBytes > 0) torn.push({ file, tornBytes, isDamaged });
    // What is not whole may be the rest of an alert that was answered 202, if the disk has damaged it later.
    if (isDamaged) renameSync(file, `${file}.damaged`);
    else if (isBegun && tornBytes > 0) renameSync(file, `${file}.torn`);
    else rmSync(file);
  }
  return torn;
}

/** The oldest first. */
export function* readFormerFiles(dir: string): Generator<FormerFile> {
  for (const name of listNames(dir)) {
    const file = join(dir, name);
    yield { file, ...readFormerFile(readFileSync(file)) };
  }
}

export const hasFormerFiles = (dir: string): boolean => listNames(dir).length > 0;

const listNames = (dir: string): string[] =>
  readdirSync(dir)
    .filter((name) => /^\d{8}\.spool$/.test(name))
    .sort();

/** Each record has the bytes of chance, so the first one names them where the header is damaged. */
function readFormerFile(file: Buffer): Omit<FormerFile, "file"> {
  const header = file.subarray(0, headerBytes);
  const first = file.subarray(headerBytes, headerBytes + markBytes);
  const isOfFirst = recordAt(file, first, headerBytes) !== undefined;
  const isBegun = isOfFirst || (header.length === headerBytes && header.subarray(0, magic.length).equals(magic));
  if (!isBegun) return { requests: [], tornBytes: file.length, isDamaged: false, isBegun };
  const mark = isOfFirst ? first : header.subarray(magic.length);
  const isWhole = header.equals(Buffer.concat([magic, mark]));
  const found = {
    requests: [] as IncomingRequest[],
    tornBytes: isWhole ? 0 : headerBytes,
    isDamaged: !isWhole,
    isBegun,
  };
  let isTorn = false;
  for (let at = headerBytes; at < file.length; ) {
    const record = recordAt(file, mark, at);
    if (record !== undefined) {
      found.isDamaged ||= isTorn;
      found.requests.push(parseRecord(record));
      at += record.length;
      continue;
    }
    isTorn = true;
    const next = file.indexOf(mark, at + 1);
    const skipped = (next === -1 ? file.length : next) - at;
    found.tornBytes += skipped;
    at += skipped;
  }
  return found;
}

function recordAt(bytes: Buffer, mark: Buffer, at: number): Buffer | undefined {
  if (bytes.length - at < overheadBytes + 4 || bytes.compare(mark, 0, markBytes, at, at + markBytes) !== 0)
    return undefined;
  const length = bytes.readUInt32BE(at + markBytes);
  const record = bytes.subarray(at, at + overheadBytes + length);
  if (record.length < overheadBytes + length) return undefined;
  return hashOf(record).equals(record.subarray(markBytes + 4, overheadBytes)) ? record : undefined;
}

function parseRecord(record: Buffer): IncomingRequest {
  const bodyAt = overheadBytes + 4 + record.readUInt32BE(overheadBytes);
  const fields = JSON.parse(record.toString("utf8", overheadBytes + 4, bodyAt)) as Omit<IncomingRequest, "body">;
  return { ...fields, body: record.subarray(bodyAt) };
}

/** The hash covers everything but the record's place in the file. */
function hashOf(record: Buffer): Buffer {
  const hash = createHash("sha256").update(record.subarray(0, markBytes + 4));
  return hash.update(record.subarray(overheadBytes)).digest().subarray(0, 16);
}

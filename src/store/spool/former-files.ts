import { createHash } from "node:crypto";
import { readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { IncomingRequest } from "../../core/ports/inbox.ts";

/*
 * The form of a spool before it was a database: numbered files. A file has 16 bytes that name its format, 16 random bytes, and
 * then its records. A record has the same 16 random bytes, the length of its content, 16 bytes of the hash of both, and the
 * content. The content is the length of the fields' JSON, that JSON, and the body. Lengths have 4 bytes, the highest first.
 *
 * After bytes that a power cut has torn, the random bytes show where the next record begins. No sender knows them, so no body can
 * contain a false record.
 */
const magic = Buffer.from("tocsin spool 1\n\0", "latin1");
const headerBytes = 32;
const markBytes = 16;
const overheadBytes = markBytes + 4 + 16;

interface FormerFile {
  file: string;
  requests: IncomingRequest[];
  /** Bytes that are no record: cut off while they were written, and thus not acknowledged, or damaged by the disk. */
  tornBytes: number;
  /** Whether records follow the torn bytes. These were then a whole record once. */
  isDamaged: boolean;
  /** Whether the beginning of the file was written whole. If not, nothing in it was acknowledged. */
  isBegun: boolean;
}

/** A file with bytes that are no record. */
export type TornFile = Pick<FormerFile, "file" | "tornBytes" | "isDamaged">;

/**
 * @param add puts the requests of a file on disk. The file is then removed, or kept aside where not all of it is records.
 * @returns the files that were not whole
 */
export function takeInFormerFiles(dir: string, add: (requests: IncomingRequest[]) => void): TornFile[] {
  const torn: TornFile[] = [];
  for (const one of readFormerFiles(dir)) {
    const { file, requests, tornBytes, isDamaged, isBegun } = one;
    add(requests);
    if (tornBytes > 0) torn.push({ file, tornBytes, isDamaged });
    // The torn part may be an alert that was answered 202, and was damaged later.
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

/** Each record has the random bytes. If the header is damaged, the first record gives them. */
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

/** The hash covers the whole record except its place in the file. */
function hashOf(record: Buffer): Buffer {
  const hash = createHash("sha256").update(record.subarray(0, markBytes + 4));
  return hash.update(record.subarray(overheadBytes)).digest().subarray(0, 16);
}

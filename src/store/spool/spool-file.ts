import { createHash, randomBytes } from "node:crypto";
import type { IncomingRequest } from "../../core/ports/inbox.ts";

/*
 * A file of the spool: 16 bytes that say what it is, 16 of chance, and records one behind the other. A record is those 16 of
 * chance again, the length of its content, 16 bytes of the hash of both, and the content: the length of its fields as JSON,
 * these, and the body. Lengths have 4 bytes, the highest first.
 *
 * Behind what a power cut has torn the next record is found by the bytes of chance. No sender knows them, so no body can
 * hold what would be read as a record.
 */
const magic = Buffer.from("tocsin spool 1\n\0", "latin1");
const headerBytes = 32;
const markBytes = 16;
const overheadBytes = markBytes + 4 + 16;

export interface SpoolHeader {
  bytes: Buffer;
  mark: Buffer;
}

export interface FoundRecord {
  request: IncomingRequest;
  /** Where it ends in the file. */
  end: number;
}

/** What a file holds. */
export interface FoundRecords {
  records: FoundRecord[];
  /** Between or behind the records: what was cut off while it was written, and was not acknowledged; or a disk that fails. */
  tornBytes: number;
  /** Records follow what is torn: what was once whole is damaged. */
  isDamaged: boolean;
}

export function newHeader(): SpoolHeader {
  const mark = randomBytes(markBytes);
  return { bytes: Buffer.concat([magic, mark]), mark };
}

/**
 * A whole file. Undefined where its beginning was never written whole, so that nothing in it was acknowledged. Each record has the
 * bytes of chance, so the first one names them where the header is damaged.
 */
export function readSpoolFile(file: Buffer): (FoundRecords & { mark: Buffer }) | undefined {
  const header = file.subarray(0, headerBytes);
  const first = file.subarray(headerBytes, headerBytes + markBytes);
  const isOfFirst = recordAt(file, first, headerBytes) !== undefined;
  if (!isOfFirst && !(header.length === headerBytes && header.subarray(0, magic.length).equals(magic)))
    return undefined;
  // No window on the file, which would keep all of it in memory for as long as it waits.
  const mark = Buffer.from(isOfFirst ? first : header.subarray(magic.length));
  const found = { ...readRecords(file.subarray(headerBytes), mark, headerBytes), mark };
  if (header.equals(Buffer.concat([magic, mark]))) return found;
  return { ...found, tornBytes: found.tornBytes + headerBytes, isDamaged: true };
}

export function writeRecord(mark: Buffer, request: IncomingRequest): Buffer {
  const { body, ...fields } = request;
  const json = Buffer.from(JSON.stringify(fields));
  const record = Buffer.allocUnsafe(overheadBytes + 4 + json.length + body.length);
  mark.copy(record, 0);
  record.writeUInt32BE(4 + json.length + body.length, markBytes);
  record.writeUInt32BE(json.length, overheadBytes);
  json.copy(record, overheadBytes + 4);
  record.set(body, overheadBytes + 4 + json.length);
  hashOf(record).copy(record, markBytes + 4);
  return record;
}

/** @param bytes a part of a file that begins with a record, or behind its header */
export function readRecords(bytes: Buffer, mark: Buffer, start: number): FoundRecords {
  const records: FoundRecord[] = [];
  let [tornBytes, isDamaged, isTorn] = [0, false, false];
  for (let at = 0; at < bytes.length; ) {
    const record = recordAt(bytes, mark, at);
    if (record !== undefined) {
      isDamaged ||= isTorn;
      at += record.length;
      records.push({ request: parseRecord(record), end: start + at });
      continue;
    }
    isTorn = true;
    const next = bytes.indexOf(mark, at + 1);
    const skipped = (next === -1 ? bytes.length : next) - at;
    tornBytes += skipped;
    at += skipped;
  }
  return { records, tornBytes, isDamaged };
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

/** Of all but the place where it stands. */
function hashOf(record: Buffer): Buffer {
  const hash = createHash("sha256").update(record.subarray(0, markBytes + 4));
  return hash.update(record.subarray(overheadBytes)).digest().subarray(0, 16);
}

export const spoolHeaderBytes = headerBytes;

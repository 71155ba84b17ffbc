import { hash } from "node:crypto";
import { closeSync, constants, fstatSync, openSync, readSync, writeSync } from "node:fs";
import type { ArrivalJournal, ReadingJournal } from "../../core/ports/body-reader.ts";

export interface FileJournal extends ReadingJournal, ArrivalJournal {
  close(): void;
}

/** The digest of the body that was read on arrival. Zeros before the first one. */
const digestLength = 16;
const noDigest = "0".repeat(digestLength);
const behindDigest = "|";
const end = ";";
/** A longer file is no journal. */
const maxNoteBytes = 16 * 1024 * 1024;

/**
 * The journal as a small file, overwritten in place and not synced: written data outlives the process.
 * @param path undefined: nothing is noted or known
 * @param onFault called when the file cannot be used, and at the first failing write after a successful one
 */
export function openReadingJournal(path: string | undefined, onFault: (error: Error) => void): FileJournal {
  const file = path === undefined ? undefined : openFile(path, onFault);
  const { interrupted, suspect } = parse(file?.text ?? "");
  let digest = noDigest;
  let reading = interrupted;
  let hasFailed = false;

  function save(): void {
    if (file === undefined) return;
    try {
      writeSync(file.descriptor, `${digest}${behindDigest}${reading.join(",")}${end}`, 0);
      hasFailed = false;
    } catch (error) {
      if (!hasFailed) onFault(error as Error);
      hasFailed = true;
    }
  }

  return {
    interrupted,
    write(alertSeqs) {
      if (reading.length === 0 && alertSeqs.length === 0) return;
      reading = alertSeqs;
      save();
    },
    noteArrival(body) {
      if (file === undefined) return;
      digest = digestOf(body);
      save();
    },
    isSuspect: (body) => suspect !== undefined && digestOf(body) === suspect,
    close() {
      if (file !== undefined) closeSync(file.descriptor);
    },
  };
}

/** Undefined when the path is no file, or may not be opened. The relay starts without a journal. */
function openFile(path: string, onFault: (error: Error) => void): { descriptor: number; text: string } | undefined {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(path, constants.O_RDWR | constants.O_CREAT | constants.O_NONBLOCK, 0o600);
    const stat = fstatSync(descriptor);
    if (!stat.isFile()) throw new Error(`${path} is no file: remove it`);
    const bytes = Buffer.alloc(Math.min(stat.size, maxNoteBytes));
    return { descriptor, text: bytes.toString("latin1", 0, readSync(descriptor, bytes, 0, bytes.length, 0)) };
  } catch (error) {
    if (descriptor !== undefined) closeSync(descriptor);
    onFault(error as Error);
    return undefined;
  }
}

/** A file of an older version has no digest. Remains of longer notes follow the end. */
function parse(text: string): { interrupted: readonly number[]; suspect?: string } {
  const isNew = text[digestLength] === behindDigest;
  const suspect = isNew ? text.slice(0, digestLength) : undefined;
  const [note = "", ...rest] = text.slice(isNew ? digestLength + behindDigest.length : 0).split(end, 2);
  if (rest.length === 0 || !/^\d{1,15}(,\d{1,15})*$/.test(note)) return { interrupted: [], suspect };
  return { interrupted: note.split(",").map(Number), suspect };
}

function digestOf(body: Uint8Array): string {
  return hash("sha256", body).slice(0, digestLength);
}

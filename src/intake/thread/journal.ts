import { closeSync, constants, fstatSync, openSync, readSync, writeSync } from "node:fs";
import type { ReadingJournal } from "../../core/ports/body-reader.ts";

export interface FileJournal extends ReadingJournal {
  close(): void;
}

const end = ";";
/** Far more than a round notes. What is longer is not the journal's. */
const maxNoteBytes = 16 * 1024 * 1024;

/**
 * The journal as a small file, overwritten in place. It need not be synced: what a process has written outlives it, and
 * reading causes no power cut. So noting what is read costs microseconds and no commit.
 *
 * @param path undefined: nothing is noted, and nothing known of the process before
 * @param onFault called when the file cannot be used, and at the first write that fails after one that did not. Routing
 * goes on without the note.
 */
export function openReadingJournal(path: string | undefined, onFault: (error: Error) => void): FileJournal {
  const file = path === undefined ? undefined : openFile(path, onFault);
  const interrupted = file === undefined ? [] : parse(file.text);
  let isEmpty = interrupted.length === 0;
  let hasFailed = false;
  return {
    interrupted,
    write(alertSeqs) {
      if (file === undefined || (isEmpty && alertSeqs.length === 0)) return;
      try {
        writeSync(file.descriptor, `${alertSeqs.join(",")}${end}`, 0);
        isEmpty = alertSeqs.length === 0;
        hasFailed = false;
      } catch (error) {
        if (!hasFailed) onFault(error as Error);
        hasFailed = true;
      }
    },
    close() {
      if (file !== undefined) closeSync(file.descriptor);
    },
  };
}

/** Undefined when something else stands there, or it may not be opened: no reason not to start. */
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

/** Behind the end stands what is left of longer notes. */
function parse(text: string): number[] {
  const [note = "", ...rest] = text.split(end, 2);
  if (rest.length === 0 || !/^\d{1,15}(,\d{1,15})*$/.test(note)) return [];
  return note.split(",").map(Number);
}

import { closeSync, constants, openSync, readFileSync, writeSync } from "node:fs";
import type { ReadingJournal } from "../../core/ports.ts";

export interface FileJournal extends ReadingJournal {
  close(): void;
}

const end = ";";

/**
 * The journal as a small file, overwritten in place. It need not be synced: what a process has written outlives it, and reading
 * causes no power cut. So noting what is read costs microseconds and no commit.
 *
 * @param onFault called at the first write that fails after one that did not. Routing goes on without the note.
 */
export function openReadingJournal(path: string, onFault: (error: Error) => void): FileJournal {
  const file = openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600);
  const interrupted = parse(readFileSync(file, "utf8"));
  let isEmpty = interrupted.length === 0;
  let hasFailed = false;
  return {
    interrupted,
    write(alertSeqs) {
      if (isEmpty && alertSeqs.length === 0) return;
      try {
        writeSync(file, `${alertSeqs.join(",")}${end}`, 0);
        isEmpty = alertSeqs.length === 0;
        hasFailed = false;
      } catch (error) {
        if (!hasFailed) onFault(error as Error);
        hasFailed = true;
      }
    },
    close: () => closeSync(file),
  };
}

/** Behind the end stands what is left of longer notes. */
function parse(text: string): number[] {
  const [note = "", ...rest] = text.split(end, 2);
  if (rest.length === 0 || !/^\d{1,15}(,\d{1,15})*$/.test(note)) return [];
  return note.split(",").map(Number);
}

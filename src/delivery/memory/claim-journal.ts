import { closeSync, constants, fstatSync, ftruncateSync, openSync, readFileSync, readSync, writeSync } from "node:fs";
import { idPattern } from "../../core/id.ts";
import type { ClaimJournal } from "../../core/ports/claim-journal.ts";

export interface FileClaimJournal extends ClaimJournal {
  close(): void;
}

export interface FileClaimJournalOptions {
  onFault: (error: Error) => void;
  /** Differs after each start of the machine. Default: Linux's, elsewhere none. */
  bootId?: string | undefined;
}

/** Each line is a slot, with a token or with spaces. The first line has the boot id, under which the others count. */
const lineLength = 37;
const emptyLine = `${" ".repeat(lineLength - 1)}\n`;
/** Far more than all lanes claim ahead. Later slots are ignored. */
const mostSlots = 16_384;

/**
 * The journal is a small file, overwritten in place and never synced. Written bytes outlive the process, so a note costs two
 * microseconds. A restart of the machine may lose the last notes, so a journal of another boot is not believed.
 * @returns undefined where the file cannot be opened, or the system has no boot id
 */
export function openClaimJournal(path: string, options: FileClaimJournalOptions): FileClaimJournal | undefined {
  const { onFault, bootId = readBootId() } = options;
  if (bootId?.length !== lineLength - 1) return undefined;
  let descriptor: number;
  let lines: string[];
  try {
    descriptor = openSync(path, constants.O_RDWR | constants.O_CREAT | constants.O_NONBLOCK, 0o600);
    lines = readLines(descriptor, path);
    if (lines[0] !== bootId) lines = begin(descriptor, bootId);
  } catch (error) {
    onFault(error as Error);
    return undefined;
  }

  const inherited = new Map<string, number>();
  const noted = new Map<string, number>();
  const free: number[] = [];
  lines.forEach((line, slot) => {
    if (slot === 0) return;
    if (idPattern.test(line)) inherited.set(line, slot);
    else free.push(slot);
  });
  let slots = Math.max(1, lines.length);

  function write(slot: number, line: string): void {
    if (writeSync(descriptor, line, slot * lineLength, "latin1") !== lineLength) throw new Error(`${path}: cut short`);
  }

  function noteOne(token: string): void {
    if (noted.has(token)) return;
    if (token.length !== lineLength - 1) throw new Error(`${token} is no token of a claim`);
    const slot = free.pop() ?? slots;
    if (slot >= mostSlots) throw new Error(`${path} is full`);
    if (slot === slots) slots += 1;
    // Noted before the write: a failed write may leave a part of the line.
    noted.set(token, slot);
    write(slot, `${token}\n`);
  }

  function strike(token: string, from = noted): void {
    const slot = from.get(token);
    if (slot === undefined) return;
    write(slot, emptyLine);
    from.delete(token);
    free.push(slot);
  }

  /** Frees the slot and leaves its line: no claim has the token. */
  function forget(token: string): void {
    const slot = noted.get(token);
    if (slot === undefined) return;
    noted.delete(token);
    free.push(slot);
  }

  return {
    isUntried: (token) => inherited.has(token) || noted.has(token),
    note(tokens) {
      try {
        tokens.forEach(noteOne);
        return true;
      } catch (error) {
        onFault(error as Error);
        tokens.forEach(forget);
        return false;
      }
    },
    strike,
    forget,
    forgetInherited() {
      try {
        for (const token of inherited.keys()) strike(token, inherited);
      } catch (error) {
        // The inherited claims are all settled, so a token that was left in the file does no harm.
        onFault(error as Error);
      }
    },
    close: () => closeSync(descriptor),
  };
}

function readLines(descriptor: number, path: string): string[] {
  const stat = fstatSync(descriptor);
  if (!stat.isFile()) throw new Error(`${path} is no file: remove it`);
  const bytes = Buffer.alloc(Math.min(stat.size, mostSlots * lineLength));
  const text = bytes.toString("latin1", 0, readSync(descriptor, bytes, 0, bytes.length, 0));
  const count = Math.ceil(text.length / lineLength);
  // A line without its end was not written whole.
  return Array.from({ length: count }, (_, slot) => {
    const line = text.slice(slot * lineLength, (slot + 1) * lineLength);
    return line.endsWith("\n") ? line.slice(0, -1) : "";
  });
}

/** Empties the file first: no line of another boot may follow this boot's id. */
function begin(descriptor: number, bootId: string): string[] {
  ftruncateSync(descriptor);
  writeSync(descriptor, `${bootId}\n`, 0, "latin1");
  return [bootId];
}

function readBootId(): string | undefined {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "latin1").trim();
  } catch {
    return undefined;
  }
}

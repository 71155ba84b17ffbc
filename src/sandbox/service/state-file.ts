import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { AppError } from "../../core/errors.ts";
import { makePrivateFolder } from "../../ground/files/private-folder.ts";
import { replaceFile } from "../../ground/files/replace-file.ts";
import type { SandboxState } from "./state.ts";
import { stateSchema } from "./state.ts";

export interface StateFile {
  /** The state of the last run, or undefined on the first. */
  read(): Promise<SandboxState | undefined>;
  /** Resolves when a write that began after this call is on disk. Calls that wait share one write. */
  save(state: SandboxState): Promise<void>;
}

/** Nothing is kept: for tests and quick tries. */
export function createMemoryState(): StateFile {
  return { read: async () => undefined, save: async () => undefined };
}

/**
 * One JSON file, `sandbox.json` with mode 0600, replaced as a whole, so that a crash leaves the old state or the
 * new one.
 *
 * Throws `AppError` "failed" when the file cannot be read as a state, "store_unavailable" when it cannot be written.
 */
export function createStateFile(dataDir: string): StateFile {
  const path = join(dataDir, "sandbox.json");
  let writing: Promise<void> = Promise.resolve();
  let waiting: Promise<void> | undefined;

  return {
    async read() {
      const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
        if (error.code === "ENOENT") return undefined;
        throw unreadable(path, error.message, error);
      });
      return text === undefined ? undefined : parseState(path, text);
    },
    save(state) {
      waiting ??= writing.then(() => {
        waiting = undefined;
        // A failed write is told to its own callers and must not stop the next one.
        const write = writeState(dataDir, path, `${JSON.stringify(state)}\n`);
        writing = write.catch(() => undefined);
        return write;
      });
      return waiting;
    },
  };
}

function parseState(path: string, text: string): SandboxState {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw unreadable(path, "it is not JSON", error);
  }
  const parsed = stateSchema.safeParse(value);
  if (!parsed.success)
    throw unreadable(path, `it is no state of a sandbox (${firstFault(parsed.error)})`, parsed.error);
  return parsed.data;
}

/** The first of what may be many, in one line. */
function firstFault({ issues: [first] }: z.ZodError): string {
  return first === undefined ? "unknown" : `${z.core.toDotPath(first.path) || "all of it"}: ${first.message}`;
}

function unreadable(path: string, why: string, cause: unknown): AppError {
  return new AppError("failed", `The sandbox's state in ${path} cannot be read: ${why}`, {
    hint: "Move the file away to begin anew, or name another folder with --data",
    cause,
  });
}

async function writeState(folder: string, path: string, text: string): Promise<void> {
  try {
    makePrivateFolder(folder);
    await replaceFile(path, text);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new AppError("store_unavailable", `The sandbox's state in ${path} cannot be written: ${why}`, {
      hint: "Free some room, or name another folder with --data",
      cause: error,
    });
  }
}

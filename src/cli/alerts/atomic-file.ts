import { open, rename, rm } from "node:fs/promises";
import { AppError } from "../../core/errors.ts";

/** A file that has its name only when it is complete; until then readers find what was there before. */
export interface AtomicFile {
  readonly path: string;
  write(text: string): Promise<void>;
  /** Puts it on disk under its name. Its size in bytes. */
  commit(): Promise<number>;
  /** Removes what was not committed. Does nothing afterwards. */
  discard(): Promise<void>;
}

/** Readable by its owner only: alerts are not for everybody. Throws AppError `failed` when it cannot be written. */
export async function openAtomicFile(path: string): Promise<AtomicFile> {
  const partial = `${path}.partial`;
  const refuse = (error: NodeJS.ErrnoException): never => {
    throw new AppError("failed", `${path} cannot be written (${error.code ?? "unknown"})`, {
      hint: "check that its folder exists, may be written to and has room",
    });
  };
  const file = await open(partial, "w", 0o600).catch(refuse);
  let bytes = 0;
  let isOpen = true;
  const close = async () => {
    if (isOpen) await file.close();
    isOpen = false;
  };
  let committed = false;
  return {
    path,
    async write(text) {
      await file.writeFile(text).catch(refuse);
      bytes += Buffer.byteLength(text);
    },
    async commit() {
      await file.sync().catch(refuse);
      await close();
      await rename(partial, path).catch(refuse);
      committed = true;
      return bytes;
    },
    async discard() {
      await close();
      if (!committed) await rm(partial, { force: true });
    },
  };
}

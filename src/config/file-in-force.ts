import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { SystemView } from "../contract/operations.ts";

/** The configuration in force against the file on disk, which somebody may have changed since the start. */
export function watchConfigFile(file: string | undefined): () => SystemView["configuration"] {
  const hashOf = (path: string) => createHash("sha256").update(readFileSync(path)).digest("hex").slice(0, 12);
  const read = () => {
    try {
      return file === undefined ? undefined : hashOf(file);
    } catch {
      return undefined;
    }
  };
  const hash = read();
  return () => {
    if (file === undefined) return { onDisk: "none" };
    const now = read();
    return { file, hash, onDisk: now === undefined ? "gone" : now === hash ? "same" : "differs" };
  };
}

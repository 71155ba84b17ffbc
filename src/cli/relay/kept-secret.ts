import { readFile } from "node:fs/promises";
import { AppError } from "../../core/errors.ts";
import { Secret } from "../../core/secret.ts";

/** A secret, and where it was found, for words. */
export interface FoundSecret {
  secret: Secret;
  from: string;
}

/** A secret that the relay made and keeps in its DATA_DIR. Makes none: a relay takes what it finds there for its own. */
export async function readKeptSecret(
  dataDir: string,
  name: "admin-token" | "webhook-secret",
): Promise<FoundSecret | undefined> {
  const { secretPath } = await import("../../config/generated-secrets.ts");
  const path = secretPath(dataDir, name);
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw new AppError("failed", `${path} cannot be read (${error.code ?? "unknown"})`, {
      hint: "run this as the user that the relay runs as",
    });
  });
  return text === undefined ? undefined : toFoundSecret(text, path);
}

/** @throws AppError `config_invalid` for what no header and no address can carry. */
export function toFoundSecret(text: string, from: string): FoundSecret {
  const secret = text.trim();
  if (/^[\x21-\x7e]{1,512}$/.test(secret)) return { secret: new Secret(secret), from };
  throw new AppError("config_invalid", `${from} holds no token that a header can carry`, {
    hint: "it must be one line of visible ASCII characters",
  });
}

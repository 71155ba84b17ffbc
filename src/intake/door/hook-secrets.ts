import { timingSafeEqual } from "node:crypto";
import type { Secret } from "../../core/secret.ts";
import type { NamedHook } from "./named-hook.ts";

/** A secret that is taken, and whose it is. */
export interface HookSecret {
  bytes: Buffer;
  /** Absent: the account's. */
  source?: NamedHook;
}

/** The secrets that open the hooks. */
export class HookSecrets {
  #all: HookSecret[] = [];

  add(secret: Secret, source?: NamedHook): void {
    this.#all.push({ bytes: Buffer.from(secret.reveal()), source });
  }

  /** From now on these are the secrets of a source, and no others. */
  replace(source: NamedHook, secrets: readonly Secret[]): void {
    this.#all = this.#all.filter((one) => one.source !== source);
    for (const secret of secrets) this.add(secret, source);
  }

  bytes(): Buffer[] {
    return this.#all.map(({ bytes }) => bytes);
  }

  /**
   * In a time that does not depend on where they differ. It may show whether a guess has the length of a secret, which is
   * the same for all that are generated; to hide it behind a hash costs more than a hundredth of the time of a request.
   * All are compared, whichever it is: a tenth of a microsecond each.
   */
  find(given: string): HookSecret | undefined {
    const bytes = Buffer.from(given);
    let found: HookSecret | undefined;
    for (const one of this.#all) {
      if (one.bytes.length === bytes.length && timingSafeEqual(one.bytes, bytes)) found = one;
    }
    return found;
  }
}

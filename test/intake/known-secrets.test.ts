import { describe, expect, it } from "vitest";
import { Secret } from "../../src/core/secret.ts";
import { createKnownSecrets } from "../../src/intake/door/known-secrets.ts";

const long = `${"l".repeat(400)}-end`;

describe("known secrets", () => {
  it("are known, each of them, and nothing else is", () => {
    const secrets = createKnownSecrets(new Secret("first-kS93"));
    secrets.add(new Secret("zweites-ü€😀"));
    secrets.add(new Secret(long));
    for (const known of ["first-kS93", "zweites-ü€😀", long]) expect(secrets.has(known)).toBe(true);
    for (const other of [
      "",
      "first-kS9",
      "first-kS933",
      "first-kS93\0",
      "FIRST-KS93",
      "zweites-ü€",
      `${long}-`,
      long.slice(0, -1),
      `${long}${"x".repeat(1_000)}`,
      "x".repeat(16_000),
    ]) {
      expect(secrets.has(other), JSON.stringify(other.slice(-20))).toBe(false);
    }
  });

  it.each([251, 252, 253, 255, 256, 257, 1_000])(
    "of %i bytes are told from whatever follows on them",
    (bytes) => {
      const secret = "s".repeat(bytes);
      const secrets = createKnownSecrets(new Secret(secret));
      expect(secrets.has(secret)).toBe(true);
      for (const end of ["s", "😀", "\0", "\0\0\0\0\0"]) expect(secrets.has(secret + end)).toBe(false);
      expect(secrets.has(secret.slice(1))).toBe(false);
    },
  );
});

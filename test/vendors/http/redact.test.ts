import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createRedactor } from "../../../src/ground/text/redact.ts";
import { secretsOfUrl, toOneLine } from "../../../src/vendors/http/redact.ts";

describe("redaction", () => {
  const url = new URL(
    "https://user:pass-word@hooks.example.com/services/T000/tok%20en-canary?key=query-canary",
  );
  const redact = createRedactor(secretsOfUrl(url));

  it.each([
    url.href,
    "tok%20en-canary",
    "tok en-canary",
    "query-canary",
    "pass-word",
    url.pathname,
    JSON.stringify(url.href).replaceAll("/", "\\/"),
  ])("hides %s", (echoed) => {
    const clean = redact(`before ${echoed} after`);
    expect(clean).toMatch(/^before .* after$/);
    expect(clean).not.toMatch(/canary|pass-word/);
  });

  it("leaves other words alone", () => {
    expect(redact("invalid_blocks at /services")).toBe("invalid_blocks at /services");
  });

  it("ignores what is too short to be a secret", () => {
    expect(createRedactor(["", "a", "ok"])("a okay day")).toBe("a okay day");
  });
});

describe("one line", () => {
  it("holds no control, no lone surrogate and no more than it may", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "binary", maxLength: 400 }),
        fc.integer({ min: 1, max: 60 }),
        (text, max) => {
          const line = toOneLine(text, max);
          expect(line.length).toBeLessThanOrEqual(max);
          expect(line).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}\p{Surrogate}\u202a-\u202e]/u);
        },
      ),
    );
  });
});

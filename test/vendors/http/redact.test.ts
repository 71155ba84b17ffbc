import { describe, expect, it } from "vitest";
import { createRedactor } from "../../../src/ground/text/redact.ts";
import { secretsOfHeader, secretsOfUrl } from "../../../src/vendors/http/redact.ts";

describe("redaction", () => {
  const url = new URL("https://user:pass-word@hooks.example.com/services/T000/tok%20en-canary?key=query-canary");
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

  it("hides the value of a header without its scheme as well", () => {
    const ofHeader = createRedactor(secretsOfHeader("Bearer canary-of-a-header"));
    expect(ofHeader("it said canary-of-a-header")).toBe("it said ***");
  });

  it("leaves other words alone", () => {
    expect(redact("invalid_blocks at /services")).toBe("invalid_blocks at /services");
  });
});

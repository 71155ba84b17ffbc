import { expect, it } from "vitest";
import { exchangeRaw } from "../support/raw-http.ts";
import { startRelayProcess, webhookSecret } from "../support/relay-process.ts";
import { makeTempFolder } from "../support/temp-folder.ts";

const guesses = [
  "",
  "guess-of-a-stranger",
  webhookSecret.slice(0, -1),
  `${webhookSecret}x`,
  webhookSecret.toUpperCase(),
  `${webhookSecret}%00`,
  `%6a${webhookSecret.slice(1)}`,
  `x/../${webhookSecret}`,
  "%zz",
  "a".repeat(10_000),
  // What the question for a proof looks like to a stranger, who does not know the secret.
  `proof.${"a".repeat(43)}.${"b".repeat(43)}`,
  "proof.",
];

const variants: Record<string, string> = {
  plain: "Content-Length: 2\r\n\r\n{}",
  "with a body over the limit": "Content-Length: 999999999\r\n\r\n{}",
  compressed: "Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}",
  chunked: "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
  "with another expectation": "Expect: tea\r\nContent-Length: 2\r\n\r\n{}",
  "with an id": "Webhook-Id: 1\r\nX-Tocsin-Test: 1\r\nContent-Length: 2\r\n\r\n{}",
};

/** Item 4: nothing shows a stranger how near a guess is, and nobody who reads the log learns an address. */
it("answers every unknown secret alike, byte for byte, and never logs what was asked for", async () => {
  const relay = await startRelayProcess(makeTempFolder(), { LOG_LEVEL: "trace" });
  const seen = new Map<string, string>();
  for (const method of ["POST", "GET", "PUT", "OPTIONS"]) {
    for (const guess of guesses) {
      for (const [name, rest] of Object.entries(variants)) {
        const [answer] = await exchangeRaw(relay.url, `${method} /hooks/${guess} HTTP/1.1\r\nHost: x\r\n${rest}`);
        seen.set(`${answer?.head}\r\n\r\n${answer?.body}`, `${method} ${guess} ${name}`);
      }
    }
  }
  expect([...seen.keys()]).toEqual([expect.stringMatching(/^HTTP\/1\.1 404 /)]);

  // Mistyped addresses hold the secret as well.
  for (const path of [`/hook/${webhookSecret}`, `//hooks/${webhookSecret}`, `/api/hooks/${webhookSecret}`]) {
    const response = await fetch(`${relay.url}${path}`, { method: "POST", body: "{}" });
    expect(response.status).toBe(404);
    expect(await response.text()).not.toContain(webhookSecret);
  }
  const { status } = await relay.post(`{"title":"good"}`);
  expect(status).toBe(202);
  expect(await relay.stop()).toBe(0);
  for (const text of [webhookSecret, "guess-of-a-stranger", "/hook"]) expect(relay.log()).not.toContain(text);
});

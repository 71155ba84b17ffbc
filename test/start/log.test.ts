import { expect, it } from "vitest";
import { createLog } from "../../src/start/log.ts";

function collect(level: string, secrets: string[] = []) {
  const lines: string[] = [];
  const log = createLog(level, { write: (line: string) => void lines.push(line) });
  log.hide(secrets);
  return { log, lines };
}

it("writes one JSON line an event, however hostile a field is", () => {
  const { log, lines } = collect("info");
  log.info("alert.accepted", { title: "a\r\nb\u001b[31m\u2028c\u2029\u0000" });
  expect(lines).toHaveLength(1);
  const forbidden = ["\r", "\n", "\u001b", "\u2028", "\u2029", "\u0000"];
  expect(forbidden.filter((character) => lines[0]?.trimEnd().includes(character))).toEqual([]);
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({
    level: "info",
    event: "alert.accepted",
    title: "a\r\nb\u001b[31m\u2028c\u2029\u0000",
  });
});

it("hides secrets wherever they stand, and keeps to its level", () => {
  const { log, lines } = collect("warn", ["7700:canary-token"]);
  log.info("quiet");
  log.error("loud", { error: "GET https://api.example/bot7700:canary-token/getMe failed" });
  expect(lines).toHaveLength(1);
  expect(lines[0]).not.toContain("canary-token");
  expect(lines[0]).toContain("bot***/getMe");
});

it("hides a secret also where quotes or percent signs have changed its look", () => {
  const secret = 'canary"pass\\word/+';
  const { log, lines } = collect("info", ["canary", secret]);
  log.info("loud", { plain: secret, address: `smtp://u:${encodeURIComponent(secret)}@mail.example` });
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({ plain: "***", address: "smtp://u:***@mail.example" });
});

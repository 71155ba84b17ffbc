import { expect, test } from "vitest";
import { formatMetrics } from "../../src/operations/metrics.ts";
import { readText } from "./documents.ts";

/** The page with these rows in the table whose header begins with this cell. `npx vitest run test/docs -u` writes it. */
function withRows(path: string, firstHeader: string, rows: string[][]): string {
  const table = new RegExp(`^(\\| ${firstHeader} \\|.*\\n\\|[-|]+\\n)(?:\\|.*\\n)*`, "m");
  const page = readText(path);
  expect(page).toMatch(table);
  return page.replace(table, (_, head: string) => head + rows.map((cells) => `| ${cells.join(" | ")} |\n`).join(""));
}

test("docs/monitoring.md has every metric with its text", async () => {
  const text = formatMetrics({
    sources: [
      {
        name: "desk",
        accepted: 0,
        checks: [],
        refused: {},
        account: { canPutBack: false, answer: { at: 0, keyExpiresAt: 0 } },
      },
    ],
    watches: [{ name: "account", verdict: "well", summary: "", troubles: [], lookedAt: 0 }],
    keyExpiresAt: 0,
    door: { accepted: 1 },
    store: { writable: true, full: false, unrouted: 0, bytes: 1 },
    destinations: [],
    routing: { givenUp: 0, repeats: 0 },
    spool: { alerts: 0, bytes: 0, maxBytes: 1, stuck: 0, unreadable: 0, damagedFiles: [] },
    refusedMessages: new Map(),
    pictures: { joined: 0, linked: 0, fetched: 0, not_drawn: 0, too_long: 0, many: 0, late: 0, refused: 0, stopped: 0 },
    silence: [],
    canary: { schedule: "every 1 h", state: "works", nextAt: 0 },
    now: 0,
  });
  const rows = [...text.matchAll(/^# HELP (\S+) (.*)$/gm)].map(([, name, help = ""]) => [`\`${name}\``, help]);
  await expect(withRows("docs/monitoring.md", "metric", rows)).toMatchFileSnapshot("../../docs/monitoring.md");
});

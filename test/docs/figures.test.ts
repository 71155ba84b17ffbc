import { expect, it } from "vitest";
import { parse } from "yaml";
import { DeliveryFigures } from "../../src/core/delivery-figures.ts";
import { Histogram } from "../../src/ground/numbers/figures.ts";
import { metricsText } from "../support/metrics.ts";
import { codeSpans, readText, tableRows } from "./documents.ts";

interface Panel {
  id: number;
  title: string;
  targets: { expr: string; legendFormat: string; datasource: { uid: string } }[];
  gridPos: { x: number; y: number; w: number; h: number };
}

const dashboard = JSON.parse(readText("deploy/grafana-dashboard.json")) as {
  panels: Panel[];
  templating: { list: { name: string; query: string | { query: string } }[] };
};
const rules = (
  parse(readText("deploy/prometheus-rules.yaml")) as {
    groups: {
      rules: { alert: string; expr: string; labels: { severity: string }; annotations: { summary: string } }[];
    }[];
  }
).groups.flatMap((group) => group.rules);

const variables = dashboard.templating.list;
const queries = variables.flatMap(({ query }) => (typeof query === "string" ? [] : [query.query]));
const panelExpressions = dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
const expressions = [...queries, ...panelExpressions, ...rules.map(({ expr }) => expr)];

/** Each metric that a relay can have, with its type. Those of a page are in the documents, by another test. */
const named = new Set(tableRows(readText("docs/monitoring.md"), "metric").flatMap(([cell = ""]) => codeSpans(cell)));

/** Metrics and their labels as they are written, of what has labels that the rules and the dashboard use. */
function labelsInUse(): Map<string, Set<string>> {
  const delivery = new DeliveryFigures();
  delivery.noteAttempt("ops", { kind: "sent" });
  delivery.seconds.observe({ destination: "ops", severity: "critical" }, 1);
  const senderLag = new Histogram([1]);
  senderLag.observe({ source: "hook" }, 1);
  const text = metricsText({
    sources: [{ name: "desk", accepted: 1, refused: { wrong_signature: 1 }, checks: [] }],
    watches: [{ name: "account", verdict: "well", summary: "", troubles: [] }],
    delivery,
    routing: { givenUp: 0, repeats: 0, senderLag },
    silence: [{ watch: "all", state: "quiet", quietMs: 1 } as never],
  });
  const found = new Map<string, Set<string>>();
  for (const [, name = "", labels = ""] of text.matchAll(/^(tocsin_\w+)\{([^}]*)\}/gm)) {
    const known = found.get(name) ?? new Set<string>();
    found.set(name, known);
    for (const [, label = ""] of labels.matchAll(/(\w+)="/g)) known.add(label);
  }
  return found;
}

it("the dashboard and the rules name only metrics that there are, with labels that these have", () => {
  const labels = labelsInUse();
  expect(expressions.length).toBeGreaterThan(30);
  for (const expression of expressions) {
    const names = [...expression.matchAll(/\b(tocsin_\w+)(?:\{([^}]*)\})?/g)];
    for (const [, name = "", selector = ""] of names) {
      const isHistogram = labels.has(`${name.replace(/_(bucket|sum|count)$/, "")}_bucket`);
      expect(named, expression).toContain(isHistogram ? name.replace(/_(bucket|sum|count)$/, "") : name);
      const used = [...selector.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label]) => label);
      for (const label of used) expect([...(labels.get(name) ?? [])], `${label} in ${expression}`).toContain(label);
    }
    for (const [, list = ""] of expression.matchAll(/\bby \(([^)]*)\)/g)) {
      const known = names.flatMap(([, name = ""]) => [...(labels.get(name) ?? [])]);
      for (const label of list.split(",").map((one) => one.trim())) expect(known, expression).toContain(label);
    }
    const depth = (open: string, close: string) => expression.split(open).length - expression.split(close).length;
    expect([depth("(", ")"), depth("{", "}"), depth("[", "]")], expression).toEqual([0, 0, 0]);
  }
});

it("the rules say each once what is wrong, and what they compare with a bucket is one", () => {
  expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
  for (const { labels, annotations, expr } of rules) {
    expect(["critical", "warning"]).toContain(labels.severity);
    const used = [...annotations.summary.matchAll(/\$labels\.(\w+)/g)].map(([, label = ""]) => label);
    for (const label of used) expect(label === "instance" || expr.includes(`(${label}`), expr).toBe(true);
  }
  const buckets = expressions.flatMap((text) => [...text.matchAll(/le="([^"]+)"/g)].map(([, le]) => Number(le)));
  expect(new DeliveryFigures().seconds.bounds).toEqual(expect.arrayContaining(buckets));
});

it("the dashboard uses the variables that it has, and its panels lie beside each other", () => {
  const text = JSON.stringify(dashboard.panels);
  const given = variables.map(({ name }) => name);
  const used = [...text.matchAll(/\$\{?([a-z]\w*)/g)].map(([, name = ""]) => name);
  expect([...new Set(used)].sort()).toEqual(given.sort());
  const cells = dashboard.panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, at) => `${x + (at % w)},${y + Math.floor(at / w)}`),
  );
  expect(new Set(cells).size).toBe(cells.length);
  expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
});

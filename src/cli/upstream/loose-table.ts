import type { Output } from "../shell/output.ts";

const leading = ["id", "key", "symbol", "name", "chainId", "chain", "address"];
/** What is copied into the next command is never cut. */
const copied = /(^|\.)(id|key|address)$|(Id|Key|Address)$/;

/**
 * A table of objects whose fields nobody documents. Columns are the fields that any item of `sample` has a value for,
 * nested ones as `outer.inner`, the usual names first.
 */
export function layOutLooseTable(sample: readonly object[], output: Pick<Output, "layOutTable">) {
  const names = new Set<string>();
  const textual = new Set<string>();
  for (const [name, value] of sample.flatMap((item) => flatten(item))) {
    if (value === null || value === undefined) continue;
    names.add(name);
    if (typeof value !== "number") textual.add(name);
  }
  const ordered = [...names].sort((a, b) => rank(a) - rank(b));
  const toRow = (item: object) => {
    const values = new Map(flatten(item));
    return ordered.map((name) => cellText(values.get(name)));
  };
  const columns = ordered.map((title) => ({
    title,
    align: textual.has(title) ? ("left" as const) : ("right" as const),
    keep: copied.test(title),
  }));
  const layout = output.layOutTable(columns, sample.map(toRow));
  return {
    format: (items: readonly object[], { head }: { head: boolean }) =>
      (head ? layout.head() : "") + layout.rows(items.map(toRow)),
  };
}

/** All items as one table; empty when there are none. */
export function formatLooseTable(items: readonly object[], output: Pick<Output, "layOutTable">): string {
  return items.length === 0 ? "" : layOutLooseTable(items, output).format(items, { head: true });
}

/** Nested objects become dotted names, three levels deep; what is deeper, and lists, are one value. */
function flatten(item: object, prefix = "", depth = 0): [string, unknown][] {
  return Object.entries(item).flatMap(([name, value]): [string, unknown][] => {
    const isNested = typeof value === "object" && value !== null && !Array.isArray(value) && depth < 2;
    return isNested ? flatten(value, `${prefix}${name}.`, depth + 1) : [[prefix + name, value]];
  });
}

function cellText(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (Array.isArray(value) && value.every((element) => typeof element !== "object")) return value.join(", ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

function rank(name: string): number {
  const path = name.split(".");
  const place = leading.indexOf(path.at(-1) ?? "");
  return (place === -1 ? leading.length : place) + (path.length - 1) * (leading.length + 1);
}
